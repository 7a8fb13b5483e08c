"""What a run needs in its container, out of its record; and how the engine is asked for it."""

from __future__ import annotations

from pathlib import Path

from agentdbg.redaction.keys import load_key
from agentdbg.replay.container.box import Box, command_line
from agentdbg.replay.container.engines import Engine
from agentdbg.replay.container.interpreters import Interpreter
from agentdbg.replay.container.mounts import OVERLAY, gather
from agentdbg.replay.container.wishes import _files_read, _folders, members, variables
from agentdbg.replay.spec import working_directory
from agentdbg.replay.start_state import start_state
from tests.support.replay_lab import ReplayLab

PROGRAM = """\
import os
import agentdbg

@agentdbg.agent
def run(order):
    with open(os.environ["OUTSIDE"] + "/read") as read, open(os.environ["OUTSIDE"] + "/own/written", "w") as written:
        return written.write(read.read())

if __name__ == "__main__":
    run("o-1")
"""


def test_the_program_its_files_and_where_it_wrote_are_needed(lab: ReplayLab, tmp_path: Path) -> None:
    (lab.outside / "own").mkdir()
    (lab.outside / "read").write_text("x")
    lab.record(PROGRAM)
    scratch = tmp_path / "scratch"
    scratch.mkdir()
    source = lab.run()
    cwd = working_directory(source, scratch)
    found = _folders(source, start_state(source, cwd, scratch), cwd, scratch)
    source.close()
    assert {str(lab.place), str(lab.outside / "own")} <= set(found)
    assert not any(place.startswith(str(scratch)) for place in found)
    assert str(lab.outside / "read") in _files_read(lab.run())


def test_the_key_of_the_placeholders_goes_along(tmp_path: Path) -> None:
    place = Path(variables(tmp_path)["AGENTDBG_REDACTION_KEY_FILE"])
    assert place.read_bytes() == load_key().secret
    assert place.stat().st_mode & 0o077 == 0


def test_every_engine_is_asked_for_the_same_walls() -> None:
    for name in ("docker", "podman", "nerdctl"):
        words = " ".join(command_line(Engine(name, f"/bin/{name}"), "n"))
        assert words.startswith(f"/bin/{name} run --rm --interactive --pull=never --name n ")
        for wall in ("--network none", "--cap-drop ALL", "--security-opt no-new-privileges", "--read-only"):
            assert wall in words
        for wall in ("--ipc private", "--pids-limit 2048", "--log-driver none", "--user "):
            assert wall in words
        assert "--privileged" not in words


def test_what_is_told_of_it_names_the_engine(tmp_path: Path) -> None:
    seen = gather(tmp_path, [], [], str(tmp_path), [])
    box = Box(Engine("podman", "podman"), "i", "python3", seen, Interpreter("3.11.7"), "p", tmp_path)
    assert members(box) == {"folders": seen.writable, "held": ["container without network (podman)", OVERLAY]}


def test_variables_of_this_machine_stay_here_and_none_is_on_the_command_line(tmp_path: Path) -> None:
    seen = gather(tmp_path, [], [], str(tmp_path), [])
    box = Box(Engine("podman", "podman"), "i", "python3", seen, Interpreter("3.11.7"), "p", tmp_path)
    given = {"PATH": "/here", "LD_PRELOAD": "x", "DOCKER_HOST": "tcp://x", "TOKEN": "s3cret", "TZ": "UTC"}
    box.prepare(["-c", "pass"], "/", given, [])
    told = (tmp_path / "inside.json").read_text()
    assert '"env": {"TOKEN": "s3cret", "TZ": "UTC"}' in told
    assert (tmp_path / "inside.json").stat().st_mode & 0o077 == 0

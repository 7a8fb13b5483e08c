"""The start state of a replay: which folders are seen copy-on-write, and what stood in the files."""

from __future__ import annotations

import os
import shutil
import tempfile
from pathlib import Path

from agentdbg.replay.start_state import start_state
from tests.support.kernel import needs_kernel_layers
from tests.support.replay_lab import ReplayLab

PROGRAM = """\
import os
import agentdbg

OUTSIDE = os.environ["OUTSIDE"]

@agentdbg.agent
def run(order):
    for name in ("changed", "removed", "binary"):
        path = f"{OUTSIDE}/{name}"
        agentdbg.checkpoint(name, {"was": open(path, "rb").read().hex()})
        open(path, "ab").write(b"more")
    os.remove(OUTSIDE + "/removed")
    open(OUTSIDE + "/made", "x").close()

if __name__ == "__main__":
    run("o-1")
"""


def _recorded(lab: ReplayLab) -> None:
    (lab.outside / "changed").write_text("old")
    (lab.outside / "removed").write_text("was here")
    (lab.outside / "binary").write_bytes(bytes(range(256)))
    lab.record(PROGRAM)


def test_files_are_put_back_as_they_were(lab: ReplayLab, tmp_path: Path) -> None:
    _recorded(lab)
    found = start_state(lab.run(), str(lab.place), tmp_path)
    contents = {Path(path).name: Path(place).read_bytes() if place else None for path, place in found.files.items()}
    kept = {name: contents.get(name) for name in ("changed", "removed", "binary", "made")}
    assert kept == {"changed": b"old", "removed": b"was here", "binary": bytes(range(256)), "made": None}
    assert found.problems == ()
    assert not any(a != b and Path(a).is_relative_to(b) for a in found.views for b in found.views), (
        "none within another"
    )


@needs_kernel_layers
def test_a_replay_sees_the_old_files_whatever_has_become_of_them(lab: ReplayLab) -> None:
    _recorded(lab)
    for name in ("changed", "binary", "made"):
        (lab.outside / name).write_text("something else by now")
    for _ in range(2):
        outcome = lab.replay(guard="auto")
        assert outcome.verdict == "identical", outcome.reason


@needs_kernel_layers
def test_a_link_that_leads_out_of_the_views_is_not_followed_when_files_are_put_back(
    lab: ReplayLab,
) -> None:
    program = """\
    import agentdbg

    @agentdbg.tool(effect="read")
    def look(order):
        return order

    @agentdbg.agent
    def run(order):
        with open("agent.log", "a") as file:
            file.write("x")
        return look(order)

    if __name__ == "__main__":
        run("o-1")
    """
    (lab.place / "agent.log").write_text("before")
    lab.record(program)
    with tempfile.TemporaryDirectory(dir="/var/tmp") as elsewhere:
        precious = Path(elsewhere, "precious")
        precious.write_text("precious")
        (lab.place / "agent.log").unlink()
        (lab.place / "agent.log").symlink_to(precious)
        outcome = lab.replay(guard="auto")
        assert precious.read_text() == "precious"
    assert outcome.verdict == "refused", (outcome.reason, outcome.log)
    assert "precious" in outcome.reason


DIRECTORIES = """\
import os, shutil
import agentdbg

OUTSIDE = os.environ["OUTSIDE"]

@agentdbg.tool(effect="read")
def look(what):
    return what

@agentdbg.agent
def run(order):
    look(sorted(os.listdir(OUTSIDE)))
    look(sorted(os.listdir(OUTSIDE + "/old")))
    shutil.rmtree(OUTSIDE + "/old")
    os.mkdir(OUTSIDE + "/new")
    os.makedirs(OUTSIDE + "/kept/deep")
    open(OUTSIDE + "/kept/deep/file", "x").close()
    os.symlink("new", OUTSIDE + "/latest")
    os.link(OUTSIDE + "/kept/file", OUTSIDE + "/kept/hard")
    return look(sorted(os.listdir(OUTSIDE + "/kept")))

if __name__ == "__main__":
    run("o-1")
"""


@needs_kernel_layers
def test_directories_and_links_are_put_back_too(lab: ReplayLab) -> None:
    (lab.outside / "old" / "inner").mkdir(parents=True)
    (lab.outside / "old" / "inner" / "file").write_text("precious")
    (lab.outside / "kept").mkdir()
    (lab.outside / "kept" / "file").write_text("kept, with a key: sk-abcdefghijklmnopqrstuvwxyz0123456789")
    lab.record(DIRECTORIES)
    assert not (lab.outside / "old").exists()
    outcome = lab.replay(guard="auto")
    assert outcome.verdict == "identical", (outcome.reason, outcome.log)
    assert not outcome.notes
    shutil.rmtree(lab.outside / "kept" / "deep")
    outcome = lab.replay(guard="auto")
    assert outcome.verdict == "identical", (outcome.reason, outcome.log)


@needs_kernel_layers
def test_a_moved_directory_that_cannot_be_kept_is_named(lab: ReplayLab) -> None:
    (lab.outside / "d").mkdir()
    os.mkfifo(lab.outside / "d" / "pipe")
    (lab.outside / "d" / "file").write_text("x")
    deed = "os.rename(OUTSIDE + '/d', OUTSIDE + '/e')"
    before, after = DIRECTORIES.index("    look(s"), DIRECTORIES.index("    return look(s")
    text = f"{DIRECTORIES[:before]}    {deed}\n{DIRECTORIES[after:]}"
    lab.record(text.replace("/kept", "/e"))
    outcome = lab.replay(guard="auto")
    assert outcome.verdict == "diverged", outcome.reason
    assert any("start state not recorded" in note and note.endswith("/d") for note in outcome.notes)


HANDLED = """\
import os, sys
import agentdbg

os.chdir(os.environ["OUTSIDE"])

def seen(*names):
    agentdbg.checkpoint("seen", {name: os.path.lexists(name) and os.readlink(name) if os.path.islink(name)
                                 else [os.stat(name).st_mode, os.path.isdir(name) or os.stat(name).st_mtime_ns]
                                 if os.path.exists(name) else None for name in names})

@agentdbg.agent
def run(order):
    seen("link", "moved", "moved/within/file", "new", "file", "twin")
    os.unlink("link"); open("link", "w").close()
    os.rename("moved", "new"); open("new/within/file", "a").write("more")
    os.chmod("file", 0o600); os.utime("file", (1, 1))
    os.link("file", "twin"); open("twin", "a").write("more")
    seen("new")
    agentdbg.checkpoint("read", {"file": open("file").read()})

if __name__ == "__main__":
    run("o-1")
"""


@needs_kernel_layers
def test_links_moved_directories_permissions_and_times_are_put_back(lab: ReplayLab) -> None:
    (lab.outside / "link").symlink_to("nowhere")
    (lab.outside / "moved" / "within").mkdir(parents=True)
    (lab.outside / "moved" / "within" / "file").write_text("inside")
    (lab.outside / "file").write_text("own")
    lab.record(HANDLED)
    shutil.copytree(lab.outside / "new", lab.outside / "moved", dirs_exist_ok=True)  # somebody has put it back
    outcome = lab.replay(guard="auto")
    assert outcome.verdict == "identical", outcome.reason
    assert not outcome.notes

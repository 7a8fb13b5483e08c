"""Exact replays in containers of a real engine: what they come to, what holds them, and that nothing is left."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from agentdbg.replay.container import mounts
from agentdbg.replay.container.engines import Engine, NoContainer
from agentdbg.replay.outcome import Outcome
from tests.support.engine import BARE, IMAGE, engine, made_image
from tests.support.replay_lab import SRC, EffectServer, ReplayLab

pytestmark = [
    pytest.mark.wide,
    pytest.mark.skipif(not isinstance(engine(), Engine), reason=f"no container engine: {engine()}"),
]
PROGRAM = """\
import ctypes, os, socket, sqlite3, sys, threading, time
import agentdbg

@agentdbg.tool(effect="external")
def pay(amount):
    socket.create_connection(("127.0.0.1", int(os.environ["PORT"])), 2).close()
    return amount + 1

{more}

@agentdbg.agent
def run(order):
    before = {before}
    paid = pay(3)
    {after}
    return paid, before, os.getcwd(), __file__, time.strftime("%Z"), list({{"a", "b", "c", "d"}})

if __name__ == "__main__":
    run("o-1")
"""


@pytest.fixture(scope="module")
def ready() -> Iterator[Engine]:
    """An engine with the images."""
    found = made_image()
    yield found
    left = found.ask("ps", "--all", "--format", "{{.Names}}").stdout
    assert "agentdbg-" not in left
    found.ask("image", "rm", "--force", IMAGE, BARE)


_LIBRARY = """\
#include <arpa/inet.h>
#include <sys/socket.h>
int reach(void)
{
    struct sockaddr_in to = {.sin_family = AF_INET, .sin_port = htons(80), .sin_addr = {htonl(INADDR_LOOPBACK)}};
    return connect(socket(AF_INET, SOCK_STREAM, 0), (struct sockaddr *)&to, sizeof to);
}
"""


@pytest.fixture(autouse=True)
def hash_seed(monkeypatch: pytest.MonkeyPatch) -> None:
    """The programs look at the order of a set."""
    monkeypatch.setenv("PYTHONHASHSEED", "7")


def program(before: str = "None", after: str = "pass", more: str = "") -> str:
    return PROGRAM.format(before=before, after=after, more=more)


def replay(lab: ReplayLab, ready: Engine, *, timeout: float = 120, image: str = IMAGE) -> Outcome:
    outcome = lab.replay(guard="auto", timeout=timeout, image=image, engine=ready.command)
    left = ready.ask("ps", "--all", "--format", "{{.Names}}").stdout
    assert "agentdbg-" not in left
    return outcome


def test_it_comes_to_the_same_and_says_what_held(lab: ReplayLab, ready: Engine, effect_server: EffectServer) -> None:
    lab.record(program())
    before = effect_server.connections
    outcome = replay(lab, ready)
    assert outcome.verdict == "identical", (outcome.reason, outcome.notes, outcome.log)
    assert outcome.guard[:3] == ("audit", f"container without network ({ready.name})", mounts.OVERLAY)
    assert effect_server.connections == before
    assert any("this machine's packages are used there" in note for note in outcome.notes)


def test_what_the_program_writes_is_contained(lab: ReplayLab, ready: Engine) -> None:
    counted = "(open('n').read(), open('n', 'w').write('2'), open('/tmp/agentdbg-box-test', 'w').close())"
    (lab.place / "n").write_text("1")
    lab.record(program(before=counted))
    (lab.place / "n").write_text("changed since")
    Path("/tmp/agentdbg-box-test").unlink()
    outcome = replay(lab, ready)
    assert outcome.verdict == "identical", (outcome.reason, outcome.log)
    assert (lab.place / "n").read_text() == "changed since"
    assert not Path("/tmp/agentdbg-box-test").exists()
    assert str(lab.place / "n") in [each["detail"] for each in outcome.contained]


def test_by_copies_it_comes_to_the_same(lab: ReplayLab, ready: Engine, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(mounts, "can_overlay", lambda *_: False)
    (lab.place / "n").write_text("1")
    (lab.place / "node_modules").mkdir()
    lab.record(program(before="(open('n').read(), open('n', 'a').write('2'))"))
    (lab.place / "n").write_text("3")
    outcome = replay(lab, ready)
    assert outcome.verdict == "identical", (outcome.reason, outcome.log)
    assert mounts.COPY in outcome.guard
    assert (lab.place / "n").read_text() == "3"
    assert any("node_modules" in note for note in outcome.notes)


def test_a_directory_with_a_comma_is_copied(tmp_path: Path, ready: Engine, effect_server: EffectServer) -> None:
    place = tmp_path / "a,b c"
    place.mkdir()
    lab = ReplayLab(place, effect_server)
    lab.record(program())
    assert replay(lab, ready).verdict == "identical"


def test_an_undeclared_effect_is_refused_by_name(lab: ReplayLab, ready: Engine, effect_server: EffectServer) -> None:
    lab.record(program())
    lab.write(program(after="socket.create_connection(('127.0.0.1', int(os.environ['PORT'])), 2)"))
    before = effect_server.connections
    outcome = replay(lab, ready)
    assert outcome.verdict == "refused"
    assert "socket.connect" in outcome.reason
    assert "program.py" in outcome.reason
    assert effect_server.connections == before


@pytest.mark.skipif(shutil.which("cc") is None, reason="no C compiler is here")
def test_code_below_python_is_refused_by_name(lab: ReplayLab, ready: Engine) -> None:
    """By the filter inside; without one the container stops it and the outcome says that it would not be told."""
    (lab.place / "reach.c").write_text(_LIBRARY)
    subprocess.run(["cc", "-shared", "-fPIC", "-o", "reach.so", "reach.c"], cwd=lab.place, check=True)
    lab.record(program())
    lab.write(program(before="ctypes.CDLL('./reach.so').reach() and None"))
    outcome = replay(lab, ready)
    if "seccomp" in outcome.guard:
        assert outcome.verdict == "refused"
        assert "connect 127.0.0.1:80" in outcome.reason
    else:
        assert any("without a word" in note for note in outcome.notes)


def test_a_program_that_hangs_is_ended_and_gone(lab: ReplayLab, ready: Engine) -> None:
    lab.record(program())
    lab.write(program(after="threading.Event().wait()"))
    outcome = replay(lab, ready, timeout=15)
    assert outcome.verdict == "timed_out"


@pytest.mark.parametrize(
    ("after", "verdict"), [("ctypes.string_at(0)", "crashed"), ("os._exit(3)", "crashed"), ("os.fork()", "refused")]
)
def test_a_program_that_dies_is_named(lab: ReplayLab, ready: Engine, after: str, verdict: str) -> None:
    lab.record(program())
    lab.write(program(after=after))
    outcome = replay(lab, ready)
    assert outcome.verdict == verdict, outcome.reason
    if "string_at" in after:
        assert "SIGSEGV" in outcome.reason


def test_a_flood_on_standard_output_is_bounded(lab: ReplayLab, ready: Engine) -> None:
    lab.record(program(after="[sys.stdout.write('x' * 100_000 + chr(10)) for _ in range(100)]"))
    outcome = replay(lab, ready)
    assert outcome.verdict == "identical"
    assert 0 < len(outcome.log) <= 64 * 1024


def test_a_program_that_is_launched_gets_its_input_and_its_packages(lab: ReplayLab, ready: Engine) -> None:
    lab.write(
        "import sys, httpx\nprint(sys.stdin.readline(), httpx.__version__, sys.argv)\nopen('out', 'w').write('x')\n"
    )
    command = ["-m", "agentdbg.cli.main", "record", "--run-id", "run-1", "--", sys.executable, "program.py", "one"]
    environ = {**os.environ, **lab.environment()}
    done = subprocess.run(
        [sys.executable, *command],
        cwd=lab.place,
        env=environ,
        input="line\n",
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    outcome = replay(lab, ready)
    assert outcome.verdict == "identical", (outcome.reason, outcome.notes, outcome.log)


def test_an_image_without_python_is_refused(lab: ReplayLab, ready: Engine) -> None:
    lab.record(program())
    with pytest.raises(NoContainer, match="has no Python that starts"):
        replay(lab, ready, image=BARE)
    with pytest.raises(NoContainer, match="nothing is fetched by itself"):
        replay(lab, ready, image="localhost/agentdbg-test:absent")
    assert [each.name for each in (lab.store / "runs").iterdir()] == ["run-1"]


def test_the_container_ends_with_its_parent(lab: ReplayLab, ready: Engine) -> None:
    lab.record(program())
    lab.write(program(after="threading.Event().wait()"))
    words = ["replay", "run-1", "--exact", "--in", IMAGE, "--store", str(lab.store)]
    environ = {**os.environ, **lab.environment(), "PYTHONPATH": str(SRC), "AGENTDBG_CONTAINER_ENGINE": ready.command}
    child = subprocess.Popen(
        [sys.executable, "-m", "agentdbg.cli.main", *words], env=environ, stderr=subprocess.DEVNULL
    )

    def running() -> list[str]:
        found = ready.ask("ps", "--all", "--format", "{{.Names}}").stdout.split()
        return [name for name in found if name.startswith("agentdbg-") and not name.endswith("-look")]

    deadline = time.monotonic() + 90
    while not running() and time.monotonic() < deadline:
        time.sleep(0.2)
    assert running()
    time.sleep(0.2)
    child.send_signal(signal.SIGKILL)
    child.wait()
    while running() and time.monotonic() < deadline:
        time.sleep(0.2)
    assert running() == []

"""The recorder and its process: how programs end, fork, name runs, and go on when nothing can be recorded."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from agentdbg.model.records import RunStatus, StepStatus
from tests.support.recorded import environment, only_run, program, run, runs

DESK = """
import os, signal, sys
import agentdbg

@agentdbg.tool(effect="write")
def refund(order, amount):
    print("refunding", flush=True)
    END
    return "done"

@agentdbg.agent
def desk(order):
    return refund(order, amount=12.5)

if __name__ == "__main__":
    print(desk("o1"))
"""


@pytest.mark.parametrize(
    ("end", "code", "status"),
    [
        ("pass", 0, RunStatus.OK),
        ("os.kill(os.getpid(), signal.SIGKILL)", -9, RunStatus.LOST),
        ("os.kill(os.getpid(), signal.SIGTERM)", -15, RunStatus.LOST),
        ("os._exit(4)", 4, RunStatus.LOST),
        ("sys.exit(3)", 3, RunStatus.FAILED),
        ("raise KeyboardInterrupt", -2, RunStatus.FAILED),
        ("raise ValueError('bad')", 1, RunStatus.FAILED),
    ],
)
def test_however_a_program_ends_its_run_says_so(tmp_path: Path, end: str, code: int, status: RunStatus) -> None:
    source = DESK.replace("END", end)
    done = run(tmp_path, source)
    assert done.returncode == code
    plain = run(tmp_path, source, env={"AGENTDBG": "off"})
    assert (plain.returncode, plain.stdout) == (done.returncode, done.stdout)
    found = only_run(tmp_path / "store")
    assert found.status is status
    step = found.named("refund")
    assert found.arguments(step) == {"order": "o1", "amount": 12.5}
    if status is RunStatus.LOST:
        assert step.status is StepStatus.OPEN


@pytest.mark.parametrize(
    ("end", "status"),
    [("pass", RunStatus.OK), ("1 / 0", RunStatus.FAILED), ("raise KeyboardInterrupt", RunStatus.FAILED)],
)
def test_a_process_without_a_root_is_one_run_with_its_end(tmp_path: Path, end: str, status: RunStatus) -> None:
    source = f"import agentdbg\nagentdbg.checkpoint('a', {{}})\nprint(agentdbg.run_id())\n{end}\n"
    done = run(tmp_path, source)
    found = only_run(tmp_path / "store")
    assert found.status is status
    summary = found.source.summary()
    assert (summary.agent, summary.run_id) == ("agent.py", done.stdout.strip())


FORKED = """
import multiprocessing, os, sys, threading
import agentdbg

@agentdbg.tool
def work(where):
    return where

@agentdbg.agent
def desk():
    work("before")
    pid = os.fork()
    if not pid:
        work("child")
        if sys.argv[1] == "exit":
            os._exit(0)
        sys.exit(0)
    os.waitpid(pid, 0)
    process = multiprocessing.get_context("fork").Process(target=work, args=("pool",))
    process.start()
    process.join()
    return work("after")

if __name__ == "__main__":
    print(desk())
"""


@pytest.mark.parametrize("how", ["exit", "return"])
def test_a_forked_child_writes_its_own_files_and_does_not_end_the_run(tmp_path: Path, how: str) -> None:
    done = run(tmp_path, FORKED, how, flags=("-W", "error"))
    assert (done.returncode, done.stdout, done.stderr) == (0, "after\n", "")
    found = only_run(tmp_path / "store")
    assert found.status is RunStatus.OK
    steps = [step for step in found.steps if step.name == "work"]
    assert sorted(found.result(step) for step in steps) == ["after", "before", "child", "pool"]
    writers = {step.id.partition(":")[0]: found.result(step) for step in steps}
    assert len(writers) == 3
    assert len({step.lane for step in steps}) == 3  # each child in a lane of its own
    root = found.named("desk")
    assert {step.parent for step in steps} == {root.id}
    assert len(list((tmp_path / "store").glob("runs/*/events/*"))) == 3


def test_a_child_that_records_nothing_leaves_no_file(tmp_path: Path) -> None:
    source = """
        import subprocess, sys
        import agentdbg

        @agentdbg.agent
        def desk():
            command = [sys.executable, "-c", "print(1)"]
            return subprocess.run(command, preexec_fn=lambda: None, capture_output=True).stdout

        print(desk())
    """
    assert run(tmp_path, source).stdout == "b'1\\n'\n"
    assert len(list((tmp_path / "store").glob("runs/*/events/*"))) == 1


def test_a_run_that_began_in_a_forked_server_worker_is_that_worker_s(tmp_path: Path) -> None:
    source = """
        import os
        import agentdbg

        @agentdbg.agent
        def desk(n):
            return n

        desk(0)
        for n in (1, 2):
            if not os.fork():
                desk(n)
                os._exit(0)
            os.wait()
    """
    assert run(tmp_path, source).returncode == 0
    found = runs(tmp_path / "store")
    assert sorted(r.arguments(r.steps[0])["n"] for r in found) == [0, 1, 2]
    assert {r.status for r in found} == {RunStatus.OK}
    assert len({str(r.source.summary().meta["owner"]) for r in found}) == 3


SIMPLE = """
import agentdbg

@agentdbg.agent
def desk():
    return agentdbg.run_id()

print(desk())
"""


def test_a_run_id_from_outside_is_used_once(tmp_path: Path) -> None:
    env = {"AGENTDBG_RUN_ID": "ticket-4711"}
    first, second = run(tmp_path, SIMPLE, env=env), run(tmp_path, SIMPLE, env=env)
    assert (first.stdout, first.stderr) == ("ticket-4711\n", "")
    assert second.stdout.startswith("ticket-4711-")
    assert second.stderr == "agentdbg: a run 'ticket-4711' exists already: recording under another id\n"
    assert len(runs(tmp_path / "store")) == 2


@pytest.mark.parametrize("wanted", ["../up", ".hidden", "a b", "a/b", "x" * 129, "a\n\x1b[31mb", "é"])
def test_a_run_id_that_is_none_is_refused_in_one_line(tmp_path: Path, wanted: str) -> None:
    done = run(tmp_path, SIMPLE, env={"AGENTDBG_RUN_ID": wanted})
    assert done.stdout.startswith("desk-")
    assert done.stderr.count("\n") == 1 and "is not allowed" in done.stderr and "\x1b" not in done.stderr
    assert len(runs(tmp_path / "store")) == 1


def test_recording_off_touches_nothing(tmp_path: Path) -> None:
    done = run(tmp_path, SIMPLE, env={"AGENTDBG": "off"})
    assert (done.stdout, done.stderr) == ("None\n", "")
    assert not (tmp_path / "store").exists()


@pytest.mark.parametrize("closed", ["2>&-", "<&- >&- 2>&-", "2>/dev/full"])
def test_without_a_stderr_the_agent_goes_on(tmp_path: Path, closed: str) -> None:
    path = program(
        tmp_path,
        """
        import os, subprocess
        import agentdbg

        @agentdbg.agent
        def desk():
            subprocess.run(["sh", "-c", "echo from a $0 >&2", "child"])
            return open("out", "w").write(str(agentdbg.run_id()))

        desk()
        """,
    )
    env = environment(tmp_path, {"AGENTDBG_RUN_ID": "not allowed"})
    assert (
        subprocess.run(f"{sys.executable} {path} {closed}", shell=True, cwd=tmp_path, env=env, check=False).returncode
        == 0
    )
    found = only_run(tmp_path / "store")
    assert found.source.summary().run_id == (tmp_path / "out").read_text()
    for file in (tmp_path / "store").rglob("*"):
        assert file.is_dir() or b"from a child" not in file.read_bytes()


@pytest.mark.parametrize(
    "env",
    [
        {"AGENTDBG_STORE": "postgresql://x/y"},
        {"AGENTDBG_STORE": "/proc/nothing/here"},
        {"AGENTDBG_STORE": "agent.py"},
        {"AGENTDBG_STORE": "agent.py/below"},
    ],
)
def test_where_nothing_can_be_recorded_the_agent_goes_on(tmp_path: Path, env: dict[str, str]) -> None:
    done = run(tmp_path, DESK.replace("END", "pass"), env=env)
    assert (done.returncode, done.stdout) == (0, "refunding\ndone\n")
    assert done.stderr.startswith("agentdbg: ") and done.stderr.count("\n") == 1


def test_a_deleted_working_directory_is_no_obstacle(tmp_path: Path) -> None:
    source = "import os\nos.mkdir('gone'); os.chdir('gone'); os.rmdir('../gone')\n" + SIMPLE
    done = run(tmp_path, source)
    assert (done.returncode, done.stderr) == (0, "")
    assert len(runs(tmp_path / "store")) == 1


def test_an_interrupted_run_shows_where_it_was(tmp_path: Path) -> None:
    path = program(
        tmp_path,
        """
        import time
        import agentdbg

        @agentdbg.tool
        def wait():
            print("waiting", flush=True)
            time.sleep(60)

        @agentdbg.agent
        def desk():
            wait()

        desk()
        """,
    )
    process = subprocess.Popen(
        [sys.executable, path], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, env=environment(tmp_path)
    )
    assert process.stdout is not None
    with process.stdout:
        process.stdout.readline()
        assert only_run(tmp_path / "store").status is RunStatus.RUNNING
        process.send_signal(signal.SIGINT)
        assert process.wait(30) == -signal.SIGINT
    found = only_run(tmp_path / "store")
    assert found.status is RunStatus.FAILED
    assert [step.error and step.error.type for step in found.steps] == ["KeyboardInterrupt"] * 2


def test_modes_are_private_whatever_the_umask(tmp_path: Path) -> None:
    source = "import os\nos.umask(0)\n" + DESK.replace("END", "pass") + "\nagentdbg.checkpoint('big', 'x' * 300_000)\n"
    before = os.umask(0)
    try:
        assert run(tmp_path, source.replace("@agentdbg.agent\n", "")).returncode == 0
    finally:
        os.umask(before)
    for path in (tmp_path / "store", *(tmp_path / "store").rglob("*")):
        assert path.stat().st_mode & 0o777 == (0o700 if path.is_dir() else 0o600), path
    assert list((tmp_path / "store").rglob("large/*"))


def test_a_group_may_read_when_it_is_told_to(tmp_path: Path) -> None:
    assert run(tmp_path, SIMPLE, env={"AGENTDBG_STORE_GROUP": "1"}).returncode == 0
    modes = {path.stat().st_mode & 0o777 for path in (tmp_path / "store").rglob("*")}
    assert modes == {0o750, 0o640}

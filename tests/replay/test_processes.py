"""Python processes that a recorded program started are started again in its replay, and nothing else is."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from agentdbg.recording.starts import COMMAND, FORK, WORKER, Start
from agentdbg.replay.outcome import Outcome
from agentdbg.replay.plan import plan_exact, plan_regression
from agentdbg.replay.processes import Ledger
from agentdbg.replay.regression import RegressionOptions
from agentdbg.replay.run import ReplayOptions
from agentdbg.store.address import open_store
from tests.support.kernel import needs_kernel_layers
from tests.support.replay_lab import ReplayLab

HEAD = """
import asyncio, multiprocessing, os, posix, random, subprocess, sys, time, urllib.request, uuid
from concurrent.futures import ProcessPoolExecutor, as_completed
OUTSIDE, PORT, PY = os.environ["OUTSIDE"], os.environ["PORT"], sys.executable

def look(n):
    with open(OUTSIDE + "/log", "a") as file:
        file.write("x")
    return f"seen {n}"

def slow(n):
    time.sleep(n / 10)
    return n

def task(n):
    return look(n), str(uuid.uuid4())

def reach():
    return urllib.request.urlopen(f"http://127.0.0.1:{PORT}/", timeout=5).read()

def puts(queue):
    queue.put((look("queued"), random.random()))

def out(*command, **more):
    return subprocess.run([PY, *command], stdout=subprocess.PIPE, text=True, **more)
"""
WORKER_FILE = (
    HEAD
    + """
if __name__ == "__main__":
    print(repr(sys.stdin.read()), look(sys.argv[1]), uuid.uuid4())
    sys.exit(3)
"""
)
MAIN = """
if __name__ == "__main__":
    BODY
    print(look("end"))
"""


@dataclass(frozen=True)
class Case:
    """A program: what it does, files beside it, and what is replaced in which file before the replay."""

    body: str
    verdict: str = "identical"
    files: Mapping[str, str] = field(default_factory=dict)
    change: tuple[str, str, str] = ("", "", "")
    reason: str = ""


COMMANDS = """\
done = out("worker.py", "4", input="hello")
    look(done.stdout + str(done.returncode))
    look(out("-c", "import worker; print(worker.look(7))").stdout)
    look(os.waitpid(os.posix_spawn(PY, [PY, "-m", "worker", "5"], dict(os.environ)), 0)[1])"""
PROCESSES = """\
queue, spawn = multiprocessing.Queue(), multiprocessing.get_context("spawn")
    process = spawn.Process(target=puts, args=(queue := spawn.Queue(),)); process.start()
    look(str(queue.get())); process.join()
    with multiprocessing.get_context("fork").Pool(2) as pool:
        look(str(pool.map(task, range(4))))
    if os.fork() == 0:
        look("forked"); os._exit(2)
    look(os.wait()[1])"""
CASES = {
    "commands": Case(COMMANDS),
    "processes": Case(PROCESSES),
    "order_of_completion": Case("""\
with ProcessPoolExecutor(3, mp_context=multiprocessing.get_context("spawn")) as pool:
        found = [each.result() for each in as_completed([pool.submit(slow, n) for n in (6, 3, 1)])]
    look(str(found))"""),
    "forkserver": Case("""\
with multiprocessing.get_context("forkserver").Pool(2) as pool:
        look(str(pool.map(task, range(4))))"""),
    "manager": Case("""\
with multiprocessing.Manager() as manager:
        look(str(dict(manager.dict(a=1))))"""),
    "asyncio": Case("""\
async def go():
        process = await asyncio.create_subprocess_exec(PY, "worker.py", "6", stdin=-1, stdout=-1)
        found, _ = await asyncio.wait_for(process.communicate(b"abc"), 60)
        look(found.decode() + str(process.returncode))
    asyncio.run(go())"""),
    "killed_and_crashed": Case("""\
code = "import time, worker; worker.look(1); print('up', flush=True); time.sleep(60)"
    process = subprocess.Popen([PY, "-c", code], stdout=subprocess.PIPE)
    process.stdout.readline(); process.terminate(); look(process.wait())
    try:
        subprocess.run([PY, "-c", "import time; time.sleep(60)"], timeout=1)
    except subprocess.TimeoutExpired:
        look("too late")
    look(out("-c", "import os; os.abort()").returncode)
    look(out("-c", "import os; os._exit(7)").returncode)"""),
    "grandchildren": Case("""\
look(0)
    if os.fork() == 0:
        print(out("-c", "import worker; print(worker.look(33))").stdout); sys.stdout.flush(); os._exit(0)
    os.wait()"""),
    "fork_returns": Case("""\
pid = os.fork()
    if pid:
        os.waitpid(pid, 0)
    look(pid > 0)"""),
    "session_of_its_own": Case("""\
for more in ({"start_new_session": True}, {"preexec_fn": lambda: os.nice(1)}):
        look(out("worker.py", "4", stdin=subprocess.DEVNULL, **more).stdout)"""),
    "outlives_its_parent": Case("""\
subprocess.Popen([PY, "-c", "import time, worker; time.sleep(0.3); worker.look(9)"])"""),
    "floods": Case("look(len(out('-c', \"import worker; worker.look(1); print('x' * 3000000)\").stdout))"),
    "one_more": Case(
        "out('-c', 'pass')",
        "refused",
        change=("program.py", "out('-c', 'pass')", "out('-c', 'pass'); out('-c', 'pass')"),
        reason="subprocess.Popen",
    ),
    "one_fewer": Case(
        "out('-c', 'pass')", "diverged", change=("program.py", "out('-c', 'pass')", ""), reason="-c pass"
    ),
    "other_arguments": Case(
        "out('-c', 'pass', 'a')",
        "refused",
        change=("program.py", "'a')", "'b')"),
        reason="-c pass b",
    ),
    "effect_that_a_child_swallows": Case(
        "out('child.py')",
        "refused",
        {"child.py": "import worker\ntry: worker.reach()\nexcept BaseException: pass\n"},
        reason="127.0.0.1",
    ),
    "effect_in_a_pool": Case(
        """\
with multiprocessing.get_context("fork").Pool(2) as pool:
        for each in [pool.apply_async(reach) for _ in range(2)]:
            try:
                each.get(5)
            except BaseException:
                pass""",
        "refused",
        reason="127.0.0.1",
    ),
    "file_that_a_child_writes": Case(
        "out('-c', \"import os; open('/var/tmp/agentdbg-' + str(os.getpid()), 'w')\")", "refused", reason="/var/tmp"
    ),
    "child_takes_another_path": Case(
        "out('child.py')",
        "diverged",
        {"child.py": "import worker\ntry: worker.look(5)\nexcept BaseException: pass\n"},
        change=("child.py", "look(5)", "look(6)"),
        reason="5",
    ),
    **{
        f"start_of_{name}": Case(f"out('-c', 'pass')\n    {start}", "refused", reason=reason)
        for name, start, reason in (
            ("a_shell", "subprocess.run('exit 0', shell=True)", "subprocess.Popen"),
            ("a_program", "subprocess.run(['/bin/true'])", "/bin/true"),
            ("an_isolated_python", "out('-I', '-c', 'pass')", "-I"),
            ("a_python_without_site", "out('-S', '-c', 'pass')", "-S"),
            ("a_python_without_environment", "out('-c', 'pass', env={})", "-c pass"),
            ("another_python", "subprocess.run(['/usr/bin/env', 'python3', '-c', 'pass'])", "/usr/bin/env"),
            ("a_script", "subprocess.run(['./run.sh'])", "run.sh"),
            ("a_system_command", "os.system(f'{PY} -c pass')", "os.system"),
            ("a_program_in_its_place", "os.fork() or os.execv(PY, [PY, '-c', 'pass'])", "os."),
            ("a_fork_past_us", "posix.fork() or os._exit(0)", "os.fork"),
        )
    },
}
QUICK = ("commands", "processes", "effect_that_a_child_swallows", "start_of_an_isolated_python")


def _record(lab: ReplayLab, case: Case) -> None:
    lab.write(WORKER_FILE, "worker.py")
    lab.write(f"#!/bin/sh\nexec {sys.executable} -c pass\n", "run.sh").chmod(0o755)
    for name, text in case.files.items():
        lab.write(text, name)
    tools = [word for tool in ("look", "slow") for word in ("--tool", f"{tool}=read")]
    command = ["-m", "agentdbg.cli.main", "record", *tools, "--", sys.executable, "program.py"]
    lab.record(HEAD + MAIN.replace("BODY", case.body), command=command, ok=False)
    assert [each.name for each in (lab.store / "runs").iterdir()] == ["run-1"], "one program is one run"


def _replay(lab: ReplayLab, case: Case, guard: str, timeout: float = 120) -> Outcome:
    _record(lab, case)
    name, old, new = case.change
    if name:
        place = lab.place / name
        text = place.read_text(encoding="utf-8")
        assert old in text
        place.write_text(text.replace(old, new), encoding="utf-8")
    return lab.replay(guard=guard, timeout=timeout)


def _check(lab: ReplayLab, name: str, guard: str) -> None:
    case = CASES[name]
    outcome = _replay(lab, case, guard)
    assert (outcome.verdict, case.reason in outcome.reason) == (case.verdict, True), (outcome.reason, outcome.log)


@needs_kernel_layers
@pytest.mark.parametrize("name", QUICK)
def test_processes_under_all_layers(lab: ReplayLab, name: str) -> None:
    _check(lab, name, "auto")


@needs_kernel_layers
@pytest.mark.wide
@pytest.mark.parametrize("name", [name for name in CASES if name not in QUICK])
def test_every_way_to_start_a_process_under_all_layers(lab: ReplayLab, name: str) -> None:
    _check(lab, name, "auto")


@pytest.mark.wide
@pytest.mark.parametrize("name", [name for name in CASES if name != "file_that_a_child_writes"])
def test_every_way_to_start_a_process_under_the_audit_hook(lab: ReplayLab, name: str) -> None:
    _check(lab, name, "audit")


@needs_kernel_layers
@pytest.mark.wide
@pytest.mark.parametrize("guard", ["auto", "audit"])
def test_a_child_that_hangs_is_ended_with_the_replay(lab: ReplayLab, guard: str) -> None:
    case = Case(
        "subprocess.run([PY, 'child.py'], start_new_session=True)",
        files={"child.py": "print(1)\n"},
        change=("child.py", "print(1)", "while True: pass"),
    )
    outcome = _replay(lab, case, guard, timeout=10)
    assert outcome.verdict == "timed_out"
    for _ in range(100):
        if not (left := _running("child.py", lab.place)):
            break
        time.sleep(0.02)
    assert not left


def _running(word: str, place: Path) -> list[str]:
    """Processes with a word in their command line and a working directory."""
    found = []
    for pid in filter(str.isdigit, os.listdir("/proc")):
        try:
            command = Path(f"/proc/{pid}/cmdline").read_bytes().decode("utf-8", "replace")
            if word in command and os.readlink(f"/proc/{pid}/cwd") == str(place):
                found.append(command)
        except OSError:
            continue
    return found


@needs_kernel_layers
@pytest.mark.wide
def test_the_plan_says_what_is_started_again_and_a_regression_that_it_will_not(lab: ReplayLab) -> None:
    _record(lab, Case(f"{COMMANDS}\n    {PROCESSES}"))
    source, store = lab.run(), open_store(str(lab.store))
    options = ReplayOptions("auto", 30, False, (), store)
    texts = [each.text for each in plan_exact(source, options).remarks if each.about == "process"]
    assert [text.partition(": ")[2] for text in texts] == [
        "python worker.py 4",
        "python -c import worker; print(worker.look(7))",
        "python -m worker 5",
        "multiprocessing, spawn puts",
        "os.fork",
        "workers of a pool",
    ]
    (remark,) = (e for e in plan_regression(source, RegressionOptions(options)).remarks if e.about == "process")
    assert "started 7 Python processes" in remark.text
    source.close()


def test_a_start_is_due_as_often_as_it_was_recorded() -> None:
    ledger = Ledger([{"how": COMMAND, "what": "python a.py ⟦R:1:abc⟧"}, {"how": WORKER}, {"how": FORK}])
    assert ledger.left() == ["python a.py ⟦R⟧", "os.fork"]
    assert ledger.take(Start(COMMAND, "python a.py ⟦R:1:xyz⟧")), "placeholders are others under another key"
    assert not ledger.take(Start(COMMAND, "python a.py ⟦R:1:abc⟧"))
    assert not ledger.take(Start(COMMAND, "python b.py"))
    assert [ledger.take(Start(WORKER, "")) for _ in range(3)] == [True] * 3, "how many a pool needs is its own affair"
    assert ledger.left() == ["os.fork"]


def test_nothing_is_due_that_was_not_recorded() -> None:
    assert not any(Ledger([]).take(Start(how, "")) for how in (COMMAND, FORK, WORKER))


def test_the_bootstrap_does_nothing_outside_of_a_replay() -> None:
    place = Path(__file__).resolve().parents[2] / "src" / "agentdbg" / "replay" / "bootstrap"
    code = "import sys; print([name for name in sys.modules if name.startswith('agentdbg')])"
    env = {"PYTHONPATH": str(place), "PATH": os.environ["PATH"]}
    done = subprocess.run([sys.executable, "-c", code], env=env, capture_output=True, text=True, check=True)
    assert (done.stdout, done.stderr) == ("[]\n", "")

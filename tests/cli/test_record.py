"""``agentdbg record``: what it refuses, what it says at the end, and that the program is left alone either way."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from agentdbg.recording.launch import pth
from tests.support.environments import NoInterpreter, environment, interpreter
from tests.support.launching import AGENTDBG, Outcome, record, run
from tests.support.terminal import Shell

WIDE = pytest.mark.wide
SAYS = "print('out'); import sys; print('err', file=sys.stderr); sys.exit(4)"
AGENT = """
import agentdbg, sys
@agentdbg.tool
def look(x):
    return x + 1
def quiet(x):
    return x
@agentdbg.agent
def work():
    return look(1), quiet(2)
print(work())
sys.exit(3)
"""


def said(outcome: Outcome) -> str:
    """What the launcher said: the last line of stderr."""
    lines = outcome.stderr.decode().splitlines()
    return lines[-1] if lines else ""


def runs(store: Path) -> dict[str, dict[str, Any]]:
    return {path.parent.name: json.loads(path.read_bytes()) for path in store.glob("runs/*/run.json")}


@pytest.fixture
def agent(tmp_path: Path) -> Path:
    path = tmp_path / "agent.py"
    path.write_text(AGENT)
    return path


def python() -> Path:
    return environment()


def test_a_program_is_recorded_where_agentdbg_is_not_installed(agent: Path, tmp_path: Path) -> None:
    done = record([python(), "agent.py"], tmp_path, "--run-id", "first-1")
    assert done == Outcome(3, b"(2, 2)\n", b"")
    (run_id, facts), *others = runs(tmp_path / ".store").items()
    assert (run_id, others) == ("first-1", [])
    assert facts["entry"]["launch"]["kind"] == "script"
    assert facts["entry"]["launch"]["random_seed"].isdigit()
    assert facts["entry"]["launch"]["hash_seed"].isdigit()


@pytest.mark.wide
def test_the_store_is_the_same_wherever_the_program_goes(agent: Path, tmp_path: Path) -> None:
    (tmp_path / ".agentdbg").mkdir()
    agent.write_text("import os; os.chdir('/')\n" + AGENT)
    run([*AGENTDBG, "record", "--", python(), "agent.py"], tmp_path)
    assert len(runs(tmp_path / ".agentdbg")) == 1


@pytest.mark.parametrize(
    ("words", "line"),
    [
        (["no-such-program"], "there is no program no-such-program"),
        (["./plain.txt"], "./plain.txt is not executable"),
        (["/"], "/ is a directory"),
        (["./lost"], "./lost cannot be run: the interpreter in its first line is not there"),
    ],
)
def test_what_cannot_be_run_is_said(words: list[str], line: str, tmp_path: Path) -> None:
    (tmp_path / "plain.txt").write_text("x")
    (tmp_path / "lost").write_text("#!/no/such\n")
    (tmp_path / "lost").chmod(0o755)
    done = record(words, tmp_path)
    assert (done.status, done.stdout) == (2, b"")
    assert done.stderr.decode().splitlines() == [said(done)]
    assert line in said(done)


@pytest.mark.parametrize(
    ("options", "line"),
    [
        (("--run-id", "../x"), "'../x' is no run id"),
        (("--run-id", "taken"), "there is a run taken already"),
        (("--tool", "look"), "'look' declares no tool"),
        (("--tool", "look=delete"), "'look=delete' declares no tool"),
        (("--tool", "=read"), "'=read' declares no tool"),
        (("--json",), "stdout belongs to the program"),
        (("--store", "sqlite:///x"), "cannot be recorded into"),
    ],
)
def test_bad_options_are_refused_before_anything_runs(options: tuple[str, ...], line: str, tmp_path: Path) -> None:
    (tmp_path / ".store/runs/taken").mkdir(parents=True)
    done = record(["touch", "ran"], tmp_path, *options)
    assert done.status == 2
    assert line in said(done)
    assert not (tmp_path / "ran").exists()


def test_nothing_to_run_is_a_usage_error(tmp_path: Path) -> None:
    assert run([*AGENTDBG, "record"], tmp_path).status == 2


@pytest.mark.parametrize(
    ("words", "line"),
    [
        (["sh", "-c", "echo out; echo err >&2; exit 4"], "sh started no Python"),
        (["{python}", "-I", "-c", SAYS], "Python -I;"),
        pytest.param(["{python}", "-sE", "-c", SAYS], "Python -E;", marks=WIDE),
        pytest.param(["{python}", "-S", "-c", SAYS], "with -S", marks=WIDE),
    ],
)
def test_what_is_not_recorded_is_said_after_the_end(words: list[str], line: str, tmp_path: Path) -> None:
    done = record([word.format(python=python()) for word in words], tmp_path)
    assert (done.status, done.stdout) == (4, b"out\n")
    first, last = done.stderr.decode().splitlines()
    assert first == "err"
    assert last.startswith("agentdbg: nothing was recorded: ")
    assert line in last


@pytest.mark.wide
def test_a_shell_script_that_starts_python_is_recorded(agent: Path, tmp_path: Path) -> None:
    script = tmp_path / "start.sh"
    script.write_text(f"#!/bin/sh\ncd /\n{python()} {agent}\nexit $?\n")
    script.chmod(0o755)
    assert record(["./start.sh"], tmp_path) == Outcome(3, b"(2, 2)\n", b"")
    assert len(runs(tmp_path / ".store")) == 1


@pytest.mark.parametrize("version", [pytest.param("2.7", marks=WIDE), "3.8", pytest.param("3.10", marks=WIDE)])
def test_an_older_python_runs_unrecorded(version: str, tmp_path: Path) -> None:
    try:
        old = interpreter(version)
    except NoInterpreter as missing:
        pytest.skip(str(missing))
    done = record([old, "-c", "import sys; print(len(sys.path)); sys.exit(3)"], tmp_path)
    assert (done.status, done.stdout) == (3, run([old, "-c", "import sys; print(len(sys.path))"], tmp_path).stdout)
    assert f"not recorded: Python {version}" in said(done)
    assert "is older than 3.11" in said(done)


@pytest.mark.skipif(os.name == "nt" or os.geteuid() == 0, reason="needs a user whom modes bind")
def test_a_store_that_cannot_be_written_is_said_and_harms_nothing(agent: Path, tmp_path: Path) -> None:
    (tmp_path / ".store").mkdir(mode=0o500)
    done = record([python(), "agent.py"], tmp_path)
    assert (done.status, done.stdout) == (3, b"(2, 2)\n")
    assert said(done).startswith("agentdbg: not everything was recorded: ")


def test_a_store_that_is_a_file_is_said_and_harms_nothing(agent: Path, tmp_path: Path) -> None:
    (tmp_path / ".store").write_text("")
    done = record([python(), "agent.py"], tmp_path)
    assert (done.status, done.stdout) == (3, b"(2, 2)\n")
    assert done.stderr.decode().splitlines() == [said(done)]
    assert said(done).startswith("agentdbg: not everything was recorded: ")


@pytest.mark.wide
@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="needs /dev/full")
def test_a_full_disk_is_said_and_harms_nothing(agent: Path, tmp_path: Path) -> None:
    """Every file of the store may hold one byte: as good as full."""
    limit = "import resource; resource.setrlimit(resource.RLIMIT_FSIZE, (4096, 4096))\n"
    agent.write_text(limit + AGENT.replace("look(1)", "look('x' * 9000 + '1') and 2").replace("x + 1", "x"))
    done = record([python(), "agent.py"], tmp_path)
    assert (done.status, done.stdout) == (3, b"(2, 2)\n")
    assert done.stderr.decode().splitlines() == [said(done)]


@pytest.mark.wide
def test_no_place_for_the_launch_is_said_and_harms_nothing(tmp_path: Path) -> None:
    nowhere = {name: str(tmp_path / "none") for name in ("TMPDIR", "TEMP", "TMP")}
    code = "import tempfile; tempfile._candidate_tempdir_list = lambda: ['/none']; import runpy; "
    words = [sys.executable, "-P", "-c", f"{code} runpy.run_module('agentdbg.cli.main', run_name='__main__')"]
    done = run([*words, "record", "--", "sh", "-c", "echo out; exit 4"], tmp_path, env=nowhere)
    assert (done.status, done.stdout) == (4, b"out\n")
    assert said(done).startswith("agentdbg: nothing was recorded: ")


def test_a_library_of_an_unknown_shape_is_said_and_harms_nothing(tmp_path: Path) -> None:
    (tmp_path / "httpx.py").write_text("__version__ = '99'\n")
    done = record([python(), "-c", "import httpx; print(httpx.__version__)"], tmp_path)
    assert (done.status, done.stdout) == (0, b"99\n")
    assert said(done).startswith("agentdbg: not everything was recorded: httpx is not covered: ")


def test_a_program_that_is_switched_off_is_left_alone(agent: Path, tmp_path: Path) -> None:
    done = record([python(), "agent.py"], tmp_path, env={"AGENTDBG": "off"})
    assert (done.status, done.stdout) == (3, b"(2, 2)\n")
    assert "AGENTDBG is switched off" in said(done)
    assert not (tmp_path / ".store").exists()


@pytest.mark.wide
def test_the_inner_of_two_launches_records(agent: Path, tmp_path: Path) -> None:
    inner: list[str | Path] = [
        sys.executable,
        "-m",
        "agentdbg.cli.main",
        "record",
        "--store",
        str(tmp_path / "inner"),
        "--",
        python(),
        "agent.py",
    ]
    assert record(inner, tmp_path) == Outcome(3, b"(2, 2)\n", b"")
    assert len(runs(tmp_path / "inner")) == 1
    assert all(facts["agent"] != "work" for facts in runs(tmp_path / ".store").values())


@pytest.mark.wide
def test_a_launch_from_another_place_gives_way_to_the_inner_one(tmp_path: Path) -> None:
    """Two installations of agentdbg: their bootstraps must not load each other over and over."""
    copy = tmp_path / "copy"
    shutil.copytree(Path(pth.__file__).parents[2], copy / "agentdbg", ignore=shutil.ignore_patterns("__pycache__"))
    outer = copy / "agentdbg/recording/launch/bootstrap"
    look = "import agentdbg, sys; print(agentdbg.__file__, [type(f).__name__ for f in sys.meta_path][:3])"
    env = {"PYTHONPATH": str(outer), "AGENTDBG_LAUNCH": str(tmp_path)}
    done = record([python(), "-c", look], tmp_path, env=env)
    assert done.status == 0
    assert str(copy) not in done.stdout.decode()
    assert done.stdout.decode().count("AgentdbgFinder") == 1


def test_declared_tools_win_over_the_settings_file(agent: Path, tmp_path: Path) -> None:
    (tmp_path / "agentdbg.toml").write_text('[tools]\nlook = "external"\n"a,b" = "read"\n')
    look = (
        "from agentdbg.recording.process import recorder; print(sorted(recorder().settings.table('tools').items()));"
        "import os, json; print(json.load(open(os.environ['AGENTDBG_LAUNCH'] + '/launch.json'))['tools'])"
    )
    done = record([python(), "-c", look], tmp_path, "--tool", "look=read", "--tool", "m.f=write")
    wanted = {"look": "read", "a,b": "read", "m.f": "write"}
    assert done.stdout.decode() == f"{sorted(wanted.items())}\n{wanted}\n"


def test_the_launch_is_private_and_goes_away(tmp_path: Path) -> None:
    look = "import os; p = os.environ['AGENTDBG_LAUNCH']; print(p, oct(os.stat(p).st_mode)[-3:])"
    path, mode = record([python(), "-c", look], tmp_path).stdout.decode().split()
    assert mode == "700"
    assert not os.path.exists(path)


@pytest.mark.wide
def test_a_user_s_hash_seed_is_kept(tmp_path: Path) -> None:
    look = "import os; print(os.environ['PYTHONHASHSEED'], os.environ.get('AGENTDBG_RUN_ID'))"
    env = {"PYTHONHASHSEED": "7", "AGENTDBG_RUN_ID": "x-1"}
    assert record([python(), "-c", look], tmp_path, env=env).stdout == b"7 None\n"


@pytest.mark.wide
def test_random_is_the_launched_programs_alone(tmp_path: Path) -> None:
    """Its seed is known for a replay; children draw their own, or they would all draw the same."""
    child = "import random; from agentdbg.recording import launched; print(launched.random_seed, random.random())"
    look = (
        "import random, subprocess, sys; from agentdbg.recording import launched; a = random.random();"
        "print(a == random.Random(launched.random_seed).random());"
        f"out = [subprocess.check_output([sys.executable, '-c', '{child}']).split() for _ in range(2)];"
        "print(out[0][0], out[0][1] != out[1][1])"
    )
    assert record([python(), "-c", look], tmp_path).stdout == b"True\nb'None' True\n"


@pytest.mark.wide
def test_a_python_that_ignores_its_environment_is_recorded_after_a_fix(agent: Path, tmp_path: Path) -> None:
    made = tmp_path / "env"
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", str(made)], check=True)
    mine = made / "bin/python"
    fixed = run([*AGENTDBG, "doctor", "--fix", "--json", "--", mine], tmp_path)
    (installed,) = [c for c in json.loads(fixed.stdout)["checks"] if c["name"] == pth.NAME]
    assert installed["note"] == f"installed; to remove it: rm {installed['value']}"
    before = Path(installed["value"]).read_bytes()
    run([*AGENTDBG, "doctor", "--fix", "--", mine], tmp_path)
    assert Path(installed["value"]).read_bytes() == before
    assert record([mine, "-I", "agent.py"], tmp_path) == Outcome(3, b"(2, 2)\n", b"")
    assert len(runs(tmp_path / ".store")) == 1
    assert record([mine, "agent.py"], tmp_path) == Outcome(3, b"(2, 2)\n", b"")
    look = "import sys; print([type(f).__name__ for f in sys.meta_path])"
    assert b"Agentdbg" not in run([mine, "-c", look], tmp_path).stdout
    assert record([mine, "-c", look], tmp_path).stdout.count(b"AgentdbgFinder") == 1


@pytest.mark.wide
@pytest.mark.parametrize("order", ["before", "after"])
@pytest.mark.parametrize("tool", ["opentelemetry-instrument", "ddtrace-run"])
def test_other_instrumentation_goes_along(agent: Path, tmp_path: Path, tool: str, order: str) -> None:
    needs = ("opentelemetry-distro",) if tool.startswith("open") else ("ddtrace",)
    mine = environment(*needs, python="3.12")
    quiet = {
        "DD_TRACE_ENABLED": "false",
        "DD_INSTRUMENTATION_TELEMETRY_ENABLED": "false",
        "OTEL_TRACES_EXPORTER": "none",
    }
    quiet |= {
        "OTEL_METRICS_EXPORTER": "none",
        "OTEL_LOGS_EXPORTER": "none",
        "PATH": f"{mine.parent}:{os.environ['PATH']}",
    }
    loaded = "opentelemetry.instrumentation.auto_instrumentation" if tool.startswith("open") else "ddtrace"
    agent.write_text(f"import sys; assert {loaded!r} in sys.modules\n" + AGENT)
    store = str(tmp_path / ".store")
    if order == "before":
        done = run([*AGENTDBG, "record", "--store", store, "--", tool, mine, "agent.py"], tmp_path, env=quiet)
    else:
        done = run(
            [mine.parent / tool, *AGENTDBG, "record", "--store", store, "--", mine, "agent.py"], tmp_path, env=quiet
        )
    assert (done.status, done.stdout) == (3, b"(2, 2)\n"), done.stderr.decode()
    assert [facts["agent"] for facts in runs(tmp_path / ".store").values()] == ["work"]


@pytest.mark.wide
def test_on_a_terminal_the_run_is_named(agent: Path, tmp_path: Path) -> None:
    start = " ".join([*AGENTDBG, "record", "--store", str(tmp_path / ".store"), "--run-id", "my-run", "--"])
    with Shell(str(tmp_path)) as shell:
        shown = shell.run(f"{start} {python()} agent.py")
    assert "agentdbg: recorded my-run; 'agentdbg my-run' opens it" in shown

"""Errors are one line, exit statuses are the agreed ones, and pipes and locales do no harm."""

from __future__ import annotations

import os
import shlex
import subprocess
import sys
from pathlib import Path

import pytest

from agentdbg.cli import main as entry
from tests.support.program import agentdbg
from tests.support.run_records import RunRecords


def one_line(done: subprocess.CompletedProcess[str]) -> str:
    assert done.stdout == ""
    assert done.stderr.count("\n") == 1, done.stderr
    assert done.stderr.startswith("agentdbg: ")
    return done.stderr


def test_help_and_version_are_no_errors() -> None:
    assert agentdbg("--help").returncode == 0
    assert agentdbg("--version").stdout.startswith("agentdbg 0.")


def test_a_mistyped_option_is_trouble_in_one_line() -> None:
    done = agentdbg("runs", "--jsn")
    assert done.returncode == 2
    assert "--json" in one_line(done)


def test_a_run_that_is_not_there_is_status_5(store: Path) -> None:
    done = agentdbg("show", "nothing-like-it", "--store", store)
    assert done.returncode == 5
    assert str(store) in one_line(done)


def test_a_traceback_comes_with_debug_alone(monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]) -> None:
    def explode(*_: object) -> int:
        raise RuntimeError("boom \x1b[31m")

    monkeypatch.setattr(entry, "_run", explode)
    assert entry.main(["runs"]) == 2
    said = capfd.readouterr().err
    assert said.count("\n") == 1
    assert "unexpected RuntimeError: boom" in said
    assert "\x1b" not in said


def test_an_error_of_the_system_names_the_file(
    monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    def explode(*_: object) -> int:
        raise PermissionError(13, "Permission denied", "/some/file")

    monkeypatch.setattr(entry, "_run", explode)
    assert entry.main(["runs"]) == 2
    assert capfd.readouterr().err == "agentdbg: /some/file: permission denied; --debug shows where\n"


def test_an_interrupt_is_quiet(monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]) -> None:
    def interrupt(*_: object) -> int:
        raise KeyboardInterrupt

    monkeypatch.setattr(entry, "_run", interrupt)
    assert entry.main(["runs"]) == 130
    assert capfd.readouterr().err == ""


@pytest.mark.skipif(os.name == "nt", reason="pipes close differently on this platform")
def test_a_pipe_that_closes_early_is_no_error(tmp_path: Path) -> None:
    run = RunRecords(tmp_path / "store", "long")
    for number in range(3000):
        run.tool("look", {"n": number}, number)
    run.end()
    command = [sys.executable, "-m", "agentdbg.cli.main", "show", "long", "--json", "--store", str(tmp_path / "store")]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as program:
        assert program.stdout and program.stderr
        assert program.stdout.read(20)
        program.stdout.close()
        said = program.stderr.read()
    assert (program.returncode, said) == (0, b"")


def test_output_is_utf8_whatever_the_locale(store: Path) -> None:
    locale = {"LC_ALL": "C", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0", "PYTHONIOENCODING": "ascii"}
    done = agentdbg("show", "refund-7", "--step", "2", "--store", store, env=locale)
    assert done.returncode == 0
    assert "退款" in done.stdout


def test_colours_can_be_switched_off(store: Path) -> None:
    forced = {"FORCE_COLOR": "1", "TERM": "xterm-256color"}
    assert "\x1b[" in agentdbg("runs", "--store", store, env=forced).stdout
    assert "\x1b" not in agentdbg("runs", "--store", store, env={**forced, "NO_COLOR": "1"}).stdout
    assert "\x1b" not in agentdbg("runs", "--no-color", "--store", store, env=forced).stdout


def test_a_mistyped_command_is_named_whatever_follows_it(store: Path) -> None:
    for words in (["shwo", "refund-7"], ["shwo", "refund-7", "--brief"]):
        said = one_line(agentdbg(*words, "--store", store))
        assert "taken for a run" in said
        assert "'show'" in said
    assert "did you mean" not in one_line(agentdbg("refund-7", "--brief", "--store", store))


def test_choices_are_listed_on_one_line() -> None:
    assert "bash, zsh, fish" in one_line(agentdbg("completion"))


@pytest.mark.skipif(os.name == "nt", reason="a POSIX shell closes the streams")
@pytest.mark.parametrize(
    ("words", "closed", "status"),
    [
        (["runs", "--json"], ">&-", 0),
        (["show", "refund-7"], "<&- >&- 2>&-", 0),
        (["show", "nope", "--json"], "2>&-", 5),
        (["open", "refund-7"], "<&-", 2),
        (["show", "-"], "<&-", 5),
    ],
)
def test_closed_streams_are_no_trouble(store: Path, words: list[str], closed: str, status: int) -> None:
    line = shlex.join([sys.executable, "-m", "agentdbg.cli.main", "--store", str(store), *words])
    done = subprocess.run(["sh", "-c", f"{line} {closed}"], capture_output=True, encoding="utf-8", check=False)
    assert done.returncode == status, done.stderr
    assert "unexpected" not in done.stderr
    assert status == 0 or done.stdout == ""


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="there is no full device")
def test_an_error_that_cannot_be_told_keeps_its_status(store: Path) -> None:
    with open("/dev/full", "wb") as full:
        command = [sys.executable, "-m", "agentdbg.cli.main", "show", "nope", "--store", str(store)]
        assert subprocess.run(command, stderr=full, check=False).returncode == 5


def test_a_store_that_is_refused_is_no_surprise(tmp_path: Path, store: Path) -> None:
    (tmp_path / "runs").symlink_to(store / "runs")
    for words in ([], ["runs"], ["runs", "--json"]):
        done = agentdbg(*words, "--store", tmp_path)
        assert done.returncode == 5
        assert "unexpected" not in one_line(done)

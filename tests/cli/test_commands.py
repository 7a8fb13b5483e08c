"""How words on the command line become commands, and what is loaded for them."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import click
import pytest

from agentdbg.cli.commands import COMMANDS, Verb, root
from tests.support.program import agentdbg, document

PROBE = """
import sys
from agentdbg.cli.main import main
status = main(sys.argv[1:])
heavy = ("textual", "rich", "deepdiff", "watchfiles", "asyncio", "httpx", "openai")
print(status, *[name for name in heavy if name in sys.modules], file=sys.stderr)
"""


@pytest.mark.parametrize(
    ("arguments", "loaded"),
    [(["--help"], []), (["runs", "--json"], []), (["runs"], ["rich"]), (["show", "@"], ["rich"])],
)
def test_a_command_loads_only_what_it_needs(arguments: list[str], loaded: list[str], store: Path) -> None:
    probe = [sys.executable, "-c", PROBE, *arguments, *(["--store", str(store)] if len(arguments) > 1 else [])]
    if arguments == ["runs"]:
        probe += ["--store", str(store)]
    done = subprocess.run(probe, capture_output=True, encoding="utf-8", check=True)
    assert done.stderr.splitlines()[-1].split() == ["0", *loaded]


@pytest.mark.parametrize("name", COMMANDS)
def test_every_command_has_help_and_the_global_options(name: str) -> None:
    command = root.get_command(root.make_context("agentdbg", [], resilient_parsing=True), name)
    assert isinstance(command, Verb)
    assert command.help
    assert {"store", "json", "no_color", "lang", "debug"} <= {param.name for param in command.params}
    assert all(param.help for param in command.params if isinstance(param, click.Option))


def test_global_options_stand_before_or_after_the_command(store: Path) -> None:
    before = agentdbg("--store", store, "--json", "runs").stdout
    assert before == agentdbg("runs", "--json", "--store", store).stdout
    assert before.startswith('{"schema": "agentdbg.runs/1"')


def test_the_nearer_of_two_global_options_wins(store: Path, tmp_path: Path) -> None:
    assert len(document("--store", tmp_path / "other", "runs", "--store", store)["runs"]) == 3


def test_a_word_that_is_no_command_is_a_run(store: Path) -> None:
    done = agentdbg("refund-7", "--store", store)
    assert done.returncode == 2
    assert done.stderr == "agentdbg: the debugger needs a terminal; 'agentdbg show refund-7' prints the run\n"


def test_a_mistyped_command_is_recognised(store: Path) -> None:
    done = agentdbg("rnus", "--store", store)
    assert done.returncode == 5
    assert done.stderr.endswith("; did you mean the command 'runs'?\n")
    assert done.stderr.count("\n") == 1


def test_the_bare_program_lists_the_runs_where_there_is_no_terminal(store: Path) -> None:
    done = agentdbg("--store", store)
    assert done.returncode == 0
    assert done.stdout == agentdbg("runs", "--store", store).stdout


def test_the_language_can_be_chosen(store: Path) -> None:
    assert "智能体" in agentdbg("runs", "--lang", "zh", "--store", store).stdout
    assert "智能体" in agentdbg("runs", "--store", store, env={"LANG": "zh_CN.UTF-8"}).stdout


def test_settings_that_cannot_be_used_are_told_and_do_not_stop_anything(store: Path) -> None:
    done = agentdbg("runs", "--json", "--store", store, env={"AGENTDBG_DURABILITY": "some\x1btimes"})
    assert done.returncode == 0
    assert done.stderr.count("\n") == 1
    assert "recording.durability" in done.stderr
    assert "\x1b" not in done.stderr

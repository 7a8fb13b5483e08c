"""The debugger is opened on what was asked for, or the trouble is told before the screen changes."""

from __future__ import annotations

import sys
from pathlib import Path
from types import ModuleType

import pytest

from agentdbg.cli import demo
from agentdbg.cli import open as open_command
from agentdbg.cli.main import main
from tests.support.program import agentdbg


@pytest.fixture
def opened(monkeypatch: pytest.MonkeyPatch) -> list[tuple[object, ...]]:
    calls: list[tuple[object, ...]] = []
    app = ModuleType("agentdbg.ui.app")
    app.run_app = lambda store, address, **options: calls.append((address, options))  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, "agentdbg.ui.app", app)
    for module in (open_command, demo):
        monkeypatch.setattr(module, "on_terminal", lambda: True)
    return calls


def one(opened: list[tuple[object, ...]]) -> tuple[object, dict[str, object]]:
    """The only opening, without what opens addresses."""
    ((address, options),) = opened
    assert isinstance(options, dict)
    return address, {name: value for name, value in options.items() if name != "opener"}


def test_a_run_is_opened_with_what_was_asked(opened: list[tuple[object, ...]], store: Path) -> None:
    options = ["--step", "3", "--theme", "dark", "--follow", "--store", str(store)]
    assert main(["refund-7", *options]) == 0
    assert one(opened) == ("refund-7", {"against": None, "step": 3, "theme": "dark", "follow": True})


def test_the_bare_program_opens_the_list(
    opened: list[tuple[object, ...]], store: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("AGENTDBG_THEME", "light")
    assert main(["--store", str(store)]) == 0
    assert opened == [(None, {"theme": "light"})]


def test_trouble_is_told_before_the_screen_changes(opened: list[tuple[object, ...]], store: Path) -> None:
    assert main(["nobody", "--store", str(store)]) == 5
    assert main(["refund-7", "--step", "99", "--store", str(store)]) == 2
    assert opened == []


def test_without_a_terminal_the_way_to_read_the_run_is_told(store: Path) -> None:
    done = agentdbg("open", "@", "--store", store)
    assert done.returncode == 2
    assert done.stderr == "agentdbg: the debugger needs a terminal; 'agentdbg show mail-9' prints the run\n"

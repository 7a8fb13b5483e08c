"""Pictures of the screens at three sizes. Look at a changed picture before you accept it."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import replace

import pytest
from textual.pilot import Pilot

from agentdbg.model.records import ErrorInfo, Mode, RunStatus
from agentdbg.ui.keymap import textual_key
from tests.support.memory_source import START, MemoryStore
from tests.support.refund_run import refund_run, refund_store
from tests.support.screens import INCIDENT, app_beside_twin, app_on, app_on_runs, settle

SIZES = [(80, 24), (120, 40), (200, 60)]
Compare = Callable[..., bool]


def store() -> MemoryStore:
    """Runs of every kind."""
    runs = refund_store()
    replay = refund_run("replay-1")
    replay.run = replace(replay.run, mode=Mode.EXACT, replay_of=INCIDENT, verdict="identical", started_at=START + 60)
    flagged = refund_run("2025-12-24-T1990-5ccd", status=RunStatus.FAILED)
    flagged.run = replace(flagged.run, flag="paid twice", error=ErrorInfo("TimeoutError", ""), started_at=START - 9e4)
    runs.runs |= {source.run.run_id: source for source in (replay, flagged)}
    return runs


async def quiet(pilot: Pilot[None]) -> None:
    """Wait for workers, and stop cursors from blinking."""
    for field in pilot.app.screen.query("Input"):
        field.cursor_blink = False  # type: ignore[attr-defined]
    await settle(pilot)


@pytest.mark.parametrize("size", SIZES, ids=lambda size: f"{size[0]}x{size[1]}")
def test_run_list(snap_compare: Compare, size: tuple[int, int]) -> None:
    assert snap_compare(app_on_runs(store()), terminal_size=size, run_before=quiet)


@pytest.mark.parametrize("size", SIZES, ids=lambda size: f"{size[0]}x{size[1]}")
@pytest.mark.parametrize(
    "keys",
    [(), ("0", "tab"), ("up", "up", "up", "up", "1"), ("up", "up", "up", "up"), ("up", "up", "up"), ("6",), ("7",)],
    ids=["scene", "summary", "input", "output", "state", "versions", "raw"],
)
def test_debugger(snap_compare: Compare, size: tuple[int, int], keys: tuple[str, ...]) -> None:
    assert snap_compare(app_on(), terminal_size=size, press=keys, run_before=quiet)


def test_debugger_zoomed_light(snap_compare: Compare) -> None:
    assert snap_compare(app_on(theme="light"), terminal_size=(120, 40), press=("tab", "z"), run_before=quiet)


@pytest.mark.parametrize("theme", ["high-contrast", "colour-blind-safe"])
def test_themes(snap_compare: Compare, theme: str) -> None:
    assert snap_compare(app_on(theme=theme), terminal_size=(120, 40), run_before=quiet)


def test_live_run_in_doubt(snap_compare: Compare) -> None:
    source = refund_run(status=RunStatus.RUNNING, crash=True)
    source.damage = ["1 torn record in events/a41f09c3d2e7.jsonl"]
    assert snap_compare(app_on(source, follow=True), terminal_size=(120, 40), run_before=quiet)


async def _help(pilot: Pilot[None]) -> None:
    await pilot.press("question_mark", *"step")
    await quiet(pilot)


def test_help(snap_compare: Compare) -> None:
    assert snap_compare(app_on(), terminal_size=(80, 24), run_before=_help)


@pytest.mark.parametrize("size", SIZES, ids=lambda size: f"{size[0]}x{size[1]}")
@pytest.mark.parametrize("keys", [(), ("d", "d"), ("v",)], ids=["tool", "model", "layout"])
def test_beside_twin(snap_compare: Compare, size: tuple[int, int], keys: tuple[str, ...]) -> None:
    assert snap_compare(app_beside_twin(), terminal_size=size, run_before=_after_comparing(*keys))


def test_beside_twin_light(snap_compare: Compare) -> None:
    shown = _after_comparing("d", "d")
    assert snap_compare(app_beside_twin(theme="light"), terminal_size=(200, 60), run_before=shown)


@pytest.mark.parametrize("theme", ["dark", "light"])
@pytest.mark.parametrize("size", SIZES, ids=lambda size: f"{size[0]}x{size[1]}")
def test_side_by_side(snap_compare: Compare, size: tuple[int, int], theme: str) -> None:
    assert snap_compare(app_beside_twin(theme=theme), terminal_size=size, run_before=_after_comparing("|", "d"))


def _after_comparing(*keys: str) -> Callable[[Pilot[None]], Awaitable[None]]:
    async def press(pilot: Pilot[None]) -> None:
        await quiet(pilot)
        await pilot.press(*(textual_key(key) for key in keys))
        await settle(pilot)

    return press


@pytest.mark.parametrize("size", SIZES, ids=lambda size: f"{size[0]}x{size[1]}")
def test_copy_menu(snap_compare: Compare, size: tuple[int, int]) -> None:
    assert snap_compare(app_beside_twin(), terminal_size=size, run_before=_after_comparing("tab", "y"))


def test_filtered_steps(snap_compare: Compare) -> None:
    shown = _after_comparing("f", *"tool", "enter")
    assert snap_compare(app_beside_twin(), terminal_size=(120, 40), run_before=shown)

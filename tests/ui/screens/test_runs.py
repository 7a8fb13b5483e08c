"""The run list."""

from __future__ import annotations

from dataclasses import replace

import pytest

from agentdbg.model.records import Mode, RunStatus, RunSummary
from agentdbg.ui.screens.debugger import DebuggerScreen
from tests.support.memory_source import MemoryStore, run_of
from tests.support.refund_run import refund_run, refund_store
from tests.support.screens import INCIDENT, app_on_runs, frame, settle, shown

SIZE = (120, 40)


async def test_live_runs_come_first_and_enter_opens() -> None:
    app = app_on_runs()
    async with app.run_test(size=SIZE) as pilot:
        await settle(pilot)
        lines = frame(app)
        assert "● running" in lines[2]
        assert "3 runs" in lines[0]
        await pilot.press("enter")
        assert isinstance(app.screen, DebuggerScreen)


async def test_filter_as_typed_and_esc_drops_it() -> None:
    app = app_on_runs()
    async with app.run_test(size=SIZE) as pilot:
        await settle(pilot)
        await pilot.press("f", *"lost")
        assert "1 of 3 runs" in shown(app)
        assert "T2043" in shown(app)
        assert "T2044" not in shown(app)
        await pilot.press("escape")
        assert "3 runs" in shown(app)
        await pilot.press("f", *"lost", "enter", "q")
        assert "3 runs" in shown(app)


async def test_replays_stand_under_their_source() -> None:
    store = refund_store()
    replay = refund_run("replay-1")
    replay.run = replace(replay.run, mode=Mode.EXACT, replay_of=INCIDENT, verdict="identical")
    store.runs["replay-1"] = replay
    app = app_on_runs(store)
    async with app.run_test(size=SIZE) as pilot:
        await settle(pilot)
        lines = frame(app)
        at = next(i for i, line in enumerate(lines) if "↳ replay-1" in line)
        assert INCIDENT in lines[at - 1]
        assert "EXACT" in lines[at]
        assert "identical" in lines[at]


async def test_selected_runs_are_flagged_together(monkeypatch: pytest.MonkeyPatch) -> None:
    flags: list[object] = []

    def flag(_store: object, runs: object, reason: str) -> str:
        flags.append((runs, reason))
        return "done"

    monkeypatch.setattr("agentdbg.debugging.flagging.flag_runs", flag)
    app = app_on_runs()
    async with app.run_test(size=SIZE) as pilot:
        await settle(pilot)
        await pilot.press("space", "space")
        assert "2 selected" in shown(app)
        await pilot.press("exclamation_mark", *"bad", "enter")
        await settle(pilot)
    assert flags == [(["2026-01-01-T2041-7f3a", "2026-01-01-T2044-b1d8"], "bad")]


async def test_an_empty_store_says_what_to_do() -> None:
    app = app_on_runs(MemoryStore())
    async with app.run_test(size=(80, 24)) as pilot:
        await settle(pilot)
        await pilot.press("j", "enter", "space", "exclamation_mark", "G")
        assert "no runs here yet" in shown(app)


class _Failing(MemoryStore):
    """A store that breaks off."""

    def summaries(self):
        yield RunSummary("one", RunStatus.OK)
        raise OSError("disk gone \x1b[2J")


async def test_a_store_that_breaks_off_keeps_what_it_gave() -> None:
    app = app_on_runs(_Failing())
    async with app.run_test(size=SIZE) as pilot:
        await settle(pilot)
        assert "disk gone ␛[2J" in shown(app)
        assert "1 runs" in shown(app)
        assert "one" in shown(app)


async def test_ten_thousand_runs_are_listed_and_filtered() -> None:
    store = MemoryStore()
    for number in range(10_000):
        run_id = f"run-{number:05d}"
        store.runs[run_id] = run_of([], run_id=run_id, started_at=float(number))
    app = app_on_runs(store)
    async with app.run_test(size=SIZE) as pilot:
        await settle(pilot)
        assert "10000 runs" in shown(app)
        await pilot.press("G")
        assert "run-00000" in shown(app)
        await pilot.press("f", *"run-0777")
        assert "10 of 10000 runs" in shown(app)


async def test_live_signs_beat() -> None:
    app = app_on_runs()
    async with app.run_test(size=SIZE) as pilot:
        await settle(pilot)
        before = frame(app)[2]
        app.screen._list.pulse()  # type: ignore[attr-defined]
        await pilot.pause()
        assert (before.count("●"), frame(app)[2].count("○")) == (1, 1)


async def test_reading_again_keeps_the_cursor_on_its_run() -> None:
    store = refund_store()
    app = app_on_runs(store)
    async with app.run_test(size=SIZE) as pilot:
        await settle(pilot)
        await pilot.press("j")
        store.runs["newer"] = run_of([], run_id="newer", status=RunStatus.RUNNING, started_at=9e9)
        await pilot.press("ctrl+l")
        await settle(pilot)
        assert next(line for line in frame(app) if line.startswith("›")).count(INCIDENT) == 1


@pytest.mark.parametrize("size", [(80, 24), (120, 40), (200, 60)])
async def test_columns_stand_above_their_rows_at_every_width(size: tuple[int, int]) -> None:
    app = app_on_runs(MemoryStore({INCIDENT: refund_run()}))
    async with app.run_test(size=size) as pilot:
        await settle(pilot)
        columns, runs = app.screen.query_one("#columns").region, app.screen.query_one("#runs").region
        assert (columns.x, columns.width, columns.bottom) == (runs.x, runs.width, runs.y)

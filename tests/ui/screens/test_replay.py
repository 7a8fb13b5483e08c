"""A replay by hand: the dialog with its plan, the running replay, both runs side by side; real child processes."""

from __future__ import annotations

import time
from collections.abc import Callable
from contextlib import nullcontext
from pathlib import Path

import pytest
from textual.pilot import Pilot

from agentdbg.debugging.actions import Place, actions_of
from agentdbg.replay.pdb_talk import PdbTalk
from agentdbg.replay.session import ReplaySession
from agentdbg.store.address import open_store
from agentdbg.ui.app import AgentDbg
from agentdbg.ui.screens.debugger import DebuggerScreen
from agentdbg.ui.screens.plan import PlanScreen
from agentdbg.ui.screens.replay import ReplayScreen
from agentdbg.ui.screens.side import SideScreen
from tests.support.replay_lab import ReplayLab
from tests.support.replay_sessions import DESK
from tests.support.screens import app_on, rendered, settle, shown

HOSTILE = 'print("\\x1b]52;c;aGFja2Vk\\x07[bold]not bold[/]\\x1b[2J", flush=True)'


@pytest.fixture
def lab(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> ReplayLab:
    made = ReplayLab(tmp_path)
    monkeypatch.setenv("OUTSIDE", str(made.outside))
    made.record(DESK.replace('print("begins", flush=True)', HOSTILE))
    return made


def app_of(lab: ReplayLab) -> AgentDbg:
    return AgentDbg(open_store(str(lab.store)), "run-1", animated=False)


async def until(pilot: Pilot[None], wanted: Callable[[], bool]) -> None:
    deadline = time.monotonic() + 30
    while not wanted():
        assert time.monotonic() < deadline, shown(pilot.app)  # type: ignore[arg-type]
        await pilot.pause(0.02)


async def ask(pilot: Pilot[None]) -> PlanScreen:
    await settle(pilot)
    await pilot.press("r")
    await until(pilot, lambda: isinstance(pilot.app.screen, PlanScreen) and pilot.app.screen._dialog.plan is not None)
    await settle(pilot)
    assert isinstance(pilot.app.screen, PlanScreen)
    return pilot.app.screen


async def start_paused(pilot: Pilot[None]) -> ReplayScreen:
    """Under the audit hook alone, held before the first call."""
    await ask(pilot)
    await pilot.press("down", "down", "space", "down", "l")
    await until(pilot, lambda: pilot.app.screen._dialog.plan is not None)  # type: ignore[attr-defined]
    await pilot.press("enter")
    await until(pilot, lambda: isinstance(pilot.app.screen, ReplayScreen) and bool(pilot.app.screen.live.held))
    assert isinstance(pilot.app.screen, ReplayScreen)
    await until(pilot, lambda: "paused before step 2" in shown(pilot.app))  # type: ignore[arg-type]
    return pilot.app.screen


@pytest.mark.parametrize(
    "size", [(80, 24), *(pytest.param(each, marks=pytest.mark.wide) for each in ((120, 40), (200, 60)))]
)
async def test_the_dialog_shows_what_will_happen(lab: ReplayLab, size: tuple[int, int]) -> None:
    app = app_of(lab)
    async with app.run_test(size=size) as pilot:
        await ask(pilot)
        text = shown(app)
        assert " EXACT " in text and "nothing runs yet" in text
        assert "refund" in text and "serve" in text
        await pilot.press("space")
        await until(pilot, lambda: " LIVE " in shown(app) and "live with drift check" in shown(app))
        await pilot.press("q")
        await settle(pilot)
        assert isinstance(app.screen, DebuggerScreen)


async def test_a_replay_is_stepped_looked_into_and_opened_beside_the_record(lab: ReplayLab) -> None:
    app = app_of(lab)
    async with app.run_test(size=(120, 40)) as pilot:
        screen = await start_paused(pilot)
        assert "found = look(order)" in shown(app)
        await until(pilot, lambda: "not bold" in shown(app))
        assert "\x1b]52" not in rendered(app) and "\x1b[2J" not in rendered(app)
        await pilot.press("n")
        await until(pilot, lambda: "paused before step 3" in shown(app))
        await pilot.press("exclamation_mark", *"p order", "enter")
        await until(pilot, lambda: "(pdb) p order" in shown(app) and "'o-1'" in shown(app))
        await pilot.press("enter")
        assert "not over yet" in shown(app)
        await pilot.press("c")
        await until(pilot, lambda: screen.live.state == "over")
        await until(pilot, lambda: "✓ identical" in shown(app))
        assert " EXACT " in shown(app)
        await pilot.press("enter")
        await until(pilot, lambda: isinstance(app.screen, SideScreen) and app.screen.compared is not None)
        await settle(pilot)
        assert "run-1.exact-1" in shown(app)
        await pilot.press("q", "q")
        await settle(pilot)
        assert isinstance(app.screen, DebuggerScreen)


async def test_a_changed_program_ends_at_its_first_difference(lab: ReplayLab) -> None:
    app = app_of(lab)
    lab.write(lab.program.read_text().replace('found["total"])', "99)"))
    async with app.run_test(size=(120, 40)) as pilot:
        screen = await start_paused(pilot)
        await pilot.press("D", "c")
        await until(pilot, lambda: "going on ends the replay" in shown(app))
        await pilot.press("c")
        await until(pilot, lambda: screen.live.state == "over" and "✗ diverged" in shown(app))
        assert "≠ diverged" in shown(app)
        await pilot.press("enter")
        await until(pilot, lambda: isinstance(app.screen, SideScreen) and app.screen.compared is not None)
        await settle(pilot)
        assert isinstance(app.screen, SideScreen) and app.screen.compared is not None
        step = app.screen.compared.steps_at(app.screen.lines.cursor)[0]
        assert step is not None and step.name == "refund"


async def test_leaving_takes_two_keys_and_keeps_what_there_is(lab: ReplayLab) -> None:
    app = app_of(lab)
    async with app.run_test(size=(80, 24)) as pilot:
        screen = await start_paused(pilot)
        await pilot.press("q")
        assert "still running" in shown(app)
        await pilot.press("q")
        await until(pilot, lambda: screen.live.session.state == "over")
    found = lab.run("run-1.exact-1")
    assert found.summary().verdict == "aborted"


async def test_quitting_ends_the_child(lab: ReplayLab) -> None:
    app = app_of(lab)
    async with app.run_test(size=(80, 24)) as pilot:
        screen = await start_paused(pilot)
        await pilot.press("ctrl+q")
    screen.live.session._thread.join(20)
    assert screen.live.session.state == "over"
    assert lab.run("run-1.exact-1").summary().verdict == "aborted"


async def test_a_run_of_another_tool_says_what_is_possible() -> None:
    app = app_on()
    async with app.run_test(size=(120, 40)) as pilot:
        await settle(pilot)
        await pilot.press("r")
        await settle(pilot)
        assert isinstance(app.screen, DebuggerScreen)
        assert "evidence tier only" in shown(app)


async def open_edited(pilot: Pilot[None]) -> PlanScreen:
    await settle(pilot)
    await pilot.press("R")
    await until(pilot, lambda: isinstance(pilot.app.screen, PlanScreen))
    assert isinstance(pilot.app.screen, PlanScreen)
    return pilot.app.screen


async def test_an_edit_is_typed_where_there_is_no_editor(lab: ReplayLab) -> None:
    app = app_of(lab)
    async with app.run_test(size=(120, 40)) as pilot:
        await open_edited(pilot)
        await until(pilot, lambda: "edit STEP:PATH" in shown(app))
        await settle(pilot)
        assert "no editor can be opened here" in shown(app)
        await pilot.press(*"7", "enter")
        await until(pilot, lambda: " LIVE " in shown(app))
        await settle(pilot)
        assert ":result=7" in shown(app)


async def test_a_value_is_edited_in_the_editor(lab: ReplayLab, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    editor = tmp_path / "editor"
    editor.write_text('#!/bin/sh\nsed -i s/120/7/ "$1"\n')
    editor.chmod(0o700)
    monkeypatch.setenv("VISUAL", str(editor))
    app = app_of(lab)
    monkeypatch.setattr(app, "suspend", nullcontext)
    async with app.run_test(size=(120, 40)) as pilot:
        await settle(pilot)
        await pilot.press("g", "s", "R")
        await until(pilot, lambda: "2:result.total=7" in shown(app) and " LIVE " in shown(app))
        await pilot.press("E")
        await until(pilot, lambda: isinstance(app.screen, PlanScreen) and app.screen._dialog.plan is not None)
        assert isinstance(app.screen, PlanScreen) and app.screen._dialog.wish.edits == ("2:result.total=7",)
        monkeypatch.setenv("VISUAL", "true")
        await pilot.press("E")
        await until(pilot, lambda: "nothing was changed" in shown(app))
        monkeypatch.setenv("VISUAL", "sh -c 'echo {,} > $0'")
        await pilot.press("E")
        await until(pilot, lambda: "that is no JSON" in shown(app) and "E opens what you wrote" in shown(app))
        monkeypatch.setenv("VISUAL", f"sh -c 'cp $0 {tmp_path}/draft; echo 8 > $0'")
        await pilot.press("E")
        await until(pilot, lambda: "2:result=8" in shown(app))
        assert (tmp_path / "draft").read_text() == "{,}\n"


async def start_live(pilot: Pilot[None]) -> ReplayScreen:
    """A regression replay under the audit hook alone, held before the first call."""
    await ask(pilot)
    await pilot.press("l", "down", "l", "down", "l", "down", "l")
    await until(pilot, lambda: pilot.app.screen._dialog.plan is not None)  # type: ignore[attr-defined]
    await pilot.press("enter")
    await until(pilot, lambda: isinstance(pilot.app.screen, ReplayScreen) and bool(pilot.app.screen.live.held))
    await settle(pilot)
    assert isinstance(pilot.app.screen, ReplayScreen)
    return pilot.app.screen


async def test_a_held_calls_result_and_arguments_are_edited_in_the_editor(
    lab: ReplayLab, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    editor = tmp_path / "editor"
    editor.write_text('#!/bin/sh\nsed -i "s/o-1/o-7/;s/120/7/" "$1"\n')
    editor.chmod(0o700)
    app = app_of(lab)
    monkeypatch.setattr(app, "suspend", nullcontext)
    async with app.run_test(size=(120, 40)) as pilot:
        screen = await start_live(pilot)
        for command, words in (("true", "nothing was changed"), ("false", "nothing was taken over")):
            monkeypatch.setenv("VISUAL", command)
            await pilot.press("d", *"arguments", "enter")
            await until(pilot, lambda words=words: words in shown(app))  # type: ignore[misc]
            await settle(pilot)
        monkeypatch.setenv("VISUAL", str(editor))
        await pilot.press("d", *"result", "enter")
        await until(pilot, lambda: [held.call.name for held in screen.live.held] == ["refund"])
        await settle(pilot)
        assert "'total': 7" in shown(app) and "when it goes on, the agent gets a refusal" in shown(app)
        await pilot.press("d", *"result=[", "enter")
        await until(pilot, lambda: "that is no JSON" in shown(app))
        await pilot.press("d", *"arguments", "enter")
        await until(pilot, lambda: screen.live.ended is not None)
        await settle(pilot)
        assert "EDITED" in shown(app) and "replaced by" in shown(app)
    assert screen.live.outcome is not None
    assert [each["path"] for each in screen.live.outcome.edits][:1] == ["result"]


async def test_pdb_gets_the_terminal_and_gives_it_back(lab: ReplayLab, monkeypatch: pytest.MonkeyPatch) -> None:
    app = app_of(lab)
    talked: list[str] = []

    def converse(session: object) -> None:
        assert isinstance(session, ReplaySession)
        talk = PdbTalk(session)
        talked.extend((talk.where(), talk.say("n", 30)))
        talk.close()

    async with app.run_test(size=(120, 40)) as pilot:
        screen = await start_paused(pilot)
        await pilot.press("I")
        await until(pilot, lambda: "cannot be given to pdb" in shown(app))
        monkeypatch.setattr(app, "suspend", nullcontext)
        monkeypatch.setattr("agentdbg.replay.pdb_talk.converse", converse)
        await pilot.press("I")
        await until(pilot, lambda: "paused at line program.py" in shown(app))
        assert "held before tool look" in talked[0] and "-> paid = refund" in talked[1]
        await pilot.press("d")
        await until(pilot, lambda: "it stands at a line" in shown(app))
        await pilot.press("c")
        await until(pilot, lambda: screen.live.ended is not None)
    assert screen.live.outcome is not None and "a person used pdb" in screen.live.outcome.reason


async def test_a_pause_of_a_program_that_makes_no_call_says_where_it_is(lab: ReplayLab) -> None:
    lab.write(DESK.replace("paid = refund", "while True: pass\n    paid = refund"))
    app = app_of(lab)
    async with app.run_test(size=(120, 40)) as pilot:
        screen = await start_paused(pilot)
        await pilot.press("c", "P")
        await until(pilot, lambda: "no call yet" in shown(app))
        await settle(pilot)
        assert "while True: pass" in shown(app)
        await pilot.press("x")
        await until(pilot, lambda: screen.live.ended is not None)
    assert screen.live.outcome is not None and screen.live.outcome.verdict == "aborted"


async def test_what_ended_is_replayed_again_with_the_same_choices(lab: ReplayLab) -> None:
    app = app_of(lab)
    async with app.run_test(size=(120, 40)) as pilot:
        screen = await start_paused(pilot)
        assert "again" not in shown(app)
        await pilot.press("c")
        await until(pilot, lambda: screen.live.state == "over" and "r again" in shown(app))
        text = shown(app)
        assert "paid" in text and "What changed" in text and "11 of" not in text and "pause" not in text
        place = lab.store / "runs" / "run-1"
        place.rename(lab.store / "away")
        await pilot.press("enter")
        await until(pilot, lambda: "there is no" in shown(app))
        (lab.store / "away").rename(place)
        await pilot.press("r")
        await until(pilot, lambda: isinstance(app.screen, PlanScreen) and app.screen._dialog.plan is not None)
        assert isinstance(app.screen, PlanScreen)
        assert (app.screen._dialog.wish.begin, app.screen._dialog.wish.guard) == ("paused", "audit")


async def test_every_key_of_the_dialog_can_be_pressed_anywhere_in_it(lab: ReplayLab) -> None:
    app = app_of(lab)
    async with app.run_test(size=(80, 24)) as pilot:
        screen = await ask(pilot)
        for mode in ("exact", "regression"):
            screen.do(lambda mode=mode: setattr(screen._dialog, "wish", screen._dialog.wish.having("mode", mode)))  # type: ignore[misc]
            for entry in actions_of(Place.PLAN):
                if entry.id in ("plan.start", "back", "quit", "help", "palette"):
                    continue
                screen.perform(entry.id)
                await pilot.pause()
                screen.close_prompt()
        await settle(pilot)
        assert app.screen is screen and not screen._handed_over

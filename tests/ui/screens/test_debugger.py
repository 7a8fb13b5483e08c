"""The debugger's keys, driven as a user does."""

from __future__ import annotations

from dataclasses import replace

import pytest

from agentdbg.debugging.actions import ACTIONS, Place, actions_of
from agentdbg.model.records import Kind, Mode, RunStatus, StepStatus
from agentdbg.ui.app import AgentDbg
from agentdbg.ui.keymap import textual_key
from agentdbg.ui.screens.debugger import DebuggerScreen
from agentdbg.ui.widgets.body import BodyView
from agentdbg.ui.widgets.steps import StepList
from tests.support.memory_source import EndlessSource, plain_steps, run_of
from tests.support.refund_run import refund_run
from tests.support.screens import app_beside_twin, app_on, settle, shown

SIZE = (120, 40)


def screen_of(app: AgentDbg) -> DebuggerScreen:
    assert isinstance(app.screen, DebuggerScreen)
    return app.screen


async def test_stepping_shows_what_tells_most_about_each_step() -> None:
    app = app_on(step=2)
    async with app.run_test(size=SIZE) as pilot:
        for words in ("Answer", "kb/refunds#4", "Fingerprint", '"status": "PLANNED"'):
            await pilot.press("s")
            assert words in shown(app)


async def test_a_chosen_tab_stays_until_it_is_chosen_again() -> None:
    app = app_on(step=3)
    async with app.run_test(size=SIZE) as pilot:
        await pilot.press("7")
        assert '"kind": "model"' in shown(app)
        await pilot.press("n", "n")
        assert '"kind": "tool"' in shown(app)
        await pilot.press("7")
        assert "Fingerprint" in shown(app)


async def test_every_tab_key_shows_its_tab() -> None:
    app = app_on(step=13)
    words = {"0": "Effects outside", "1": "Arguments", "2": "Result", "3": "Can resume", "4": "Idempotency"}
    async with app.run_test(size=SIZE) as pilot:
        for key, text in {**words, "6": "Versions", "7": '"started_at"'}.items():
            await pilot.press(key)
            assert text in shown(app), key


async def test_ends_errors_and_effects() -> None:
    app = app_on()
    async with app.run_test(size=SIZE) as pilot:
        for key, position in (
            ("g", 1),
            ("e", 14),
            ("G", 17),
            ("W", 15),
            ("W", 14),
            ("W", 13),
            ("up", 12),
            ("home", 1),
            ("end", 17),
        ):
            await pilot.press(key)
            assert f"step {position}/17" in shown(app), key
        await pilot.press("e")
        assert "no further error" in shown(app)


async def test_search_as_typed_then_hits_then_closed() -> None:
    app = app_on(step=1)
    async with app.run_test(size=SIZE) as pilot:
        await pilot.press("slash", *"notify")
        assert "step 14/17" in shown(app)
        await pilot.press("enter", "n")
        assert "step 15/17" in shown(app)
        assert "/notify" in shown(app)
        await pilot.press("escape", "n")
        assert "step 16/17" in shown(app)
        assert "/notify" not in shown(app)


async def test_printable_keys_go_to_the_prompt_and_esc_closes_it() -> None:
    app = app_on()
    async with app.run_test(size=SIZE) as pilot:
        await pilot.press("slash", "q", "n", "0", "escape")
        assert "step 14/17" in shown(app) or "no further hit" in shown(app)
        assert screen_of(app).query_one(StepList).has_focus


async def test_focus_zoom_and_open_close() -> None:
    app = app_on()
    async with app.run_test(size=SIZE) as pilot:
        screen = screen_of(app)
        await pilot.press("z")
        assert "Fingerprint" not in shown(app)
        await pilot.press("tab")
        assert "Fingerprint" in shown(app)
        assert "execute_refund" not in shown(app)
        await pilot.press("escape")
        assert "execute_refund" in shown(app)
        assert screen.query_one(BodyView).has_focus
        await pilot.press("end", "enter")
        assert '"customer"' not in shown(app)
        await pilot.press("enter")
        assert '"customer"' in shown(app)
        await pilot.press("tab", "enter")
        assert screen.query_one(BodyView).has_focus


async def test_closed_sections_stay_closed_from_step_to_step() -> None:
    app = app_on(step=13)
    async with app.run_test(size=SIZE) as pilot:
        await pilot.press("tab", "end", "enter")
        assert '"refund_id"' not in shown(app)
        await pilot.press("n", "n")
        assert '"sent"' not in shown(app)


async def test_the_mouse_selects_steps_tabs_keys_and_places() -> None:
    app = app_on()
    async with app.run_test(size=SIZE) as pilot:
        await pilot.click(StepList, offset=(30, 0))
        assert "step 6/17" in shown(app)
        await pilot.click("#tabs", offset=(3, 0))
        assert "Effects outside" in shown(app)
        await pilot.click("#keys", offset=(2, 0))
        assert "step 7/17" in shown(app)
        await pilot.click("#scrubber", offset=(118, 0))
        assert "step 17/17" in shown(app)
        await pilot.click("#steps", times=2, offset=(30, 3))
        assert screen_of(app).query_one(BodyView).has_focus


async def test_problems_of_the_record_are_a_banner() -> None:
    source = refund_run()
    source.damage = ["2 torn records in \x1b]0;x\x07.jsonl", "modes are looser than 0700"]
    app = app_on(source)
    async with app.run_test(size=SIZE):
        assert "2 torn records in ␛]0;x␇.jsonl  (+1 more: 0 lists them)" in shown(app)


@pytest.mark.parametrize(("mode", "word"), [(Mode.EXACT, "EXACT"), (Mode.REGRESSION, "LIVE")])
async def test_a_replay_says_which_kind_it_is(mode: Mode, word: str) -> None:
    source = refund_run()
    source.run = replace(source.run, mode=mode, replay_of="x")
    app = app_on(source)
    async with app.run_test(size=SIZE):
        assert shown(app).split("\n")[0].lstrip().startswith(word)


async def test_a_live_run_grows_and_the_reader_stays() -> None:
    source = refund_run(status=RunStatus.RUNNING, crash=True)
    app = app_on(source, step=4)
    async with app.run_test(size=SIZE) as pilot:
        assert "not following · polling" in shown(app)
        source.arrive(*plain_steps(12))
        await settle(pilot)
        assert "step 4/25" in shown(app)
        assert "12 new: F follows" in shown(app)
        await pilot.press("F")
        assert "step 25/25" in shown(app)
        assert "▼ following" in shown(app)
        source.arrive(*plain_steps(3))
        await settle(pilot)
        assert "step 28/28" in shown(app)


async def test_the_tail_ends_with_the_run() -> None:
    source = refund_run(status=RunStatus.RUNNING, crash=True)
    app = app_on(source, follow=True)
    async with app.run_test(size=SIZE) as pilot:
        assert "▸ running" in shown(app)
        source.run = replace(source.run, status=RunStatus.LOST)
        source.arrive()
        await settle(pilot)
        assert "? lost" in shown(app)
        assert "following" not in shown(app)
        assert source._wakes == []


async def test_a_big_body_loads_beside_the_keys_and_stale_ones_are_dropped() -> None:
    source = run_of([])
    big = source.put({"items": ["word " * 20] * 4_000})
    source.add(replace(plain_steps(1)[0], kind=Kind.TOOL, name="big", result=big))
    source.add(replace(plain_steps(2)[1], kind=Kind.TOOL, name="small", result=source.put({"tiny": 1})))
    app = app_on(source, step=1)
    async with app.run_test(size=SIZE) as pilot:
        body = screen_of(app).query_one(BodyView)
        await settle(pilot)
        assert '"items": [' in shown(app)
        await pilot.press("n")
        assert '{"tiny": 1}' in shown(app)
        stale = body.generation - 1
        body.take(stale, {"result": body.document.sections[0].load()})
        assert '{"tiny": 1}' in shown(app)


async def test_a_million_steps_open_and_move() -> None:
    source = EndlessSource(1_000_000)
    app = app_on(source, step=500_000)
    async with app.run_test(size=SIZE) as pilot:
        screen_of(app).workers.cancel_all()
        await pilot.press("j", "pagedown", "k")
        assert "step 500,0" not in shown(app)
        assert "/1000000" in shown(app)
        await pilot.press("g")
        assert "step 1/1000000" in shown(app)


async def test_copying_says_sent_and_never_copied() -> None:
    app = app_on()
    async with app.run_test(size=SIZE) as pilot:
        await pilot.press("y")
        assert "command that reopens this view" in shown(app)
        await pilot.press("y")
        assert app.clipboard == "a41f09c3d2e7:13"
        assert "sent to terminal" in shown(app)
        await pilot.press("y", "down", "enter")
        assert app.clipboard.endswith("--step 14")
        await pilot.press("y", "escape", "tab", "end", "Y")
        assert app.clipboard == '{"customer": "customer-8812", "text": "返金しました 💶"}'


async def test_hidden_characters_are_copied_at_the_second_press_only() -> None:
    source = run_of([])
    source.add(replace(plain_steps(1)[0], kind=Kind.TOOL, result=source.put(b"a\x1b]52;c;eA==\x07")))
    app = app_on(source)
    async with app.run_test(size=SIZE) as pilot:
        await pilot.press("Y")
        assert app.clipboard == ""
        assert "the same key again copies it raw" in shown(app)
        await pilot.press("Y")
        assert app.clipboard == "a\x1b]52;c;eA==\x07"


async def test_flagging_asks_why(monkeypatch: pytest.MonkeyPatch) -> None:
    flags: list[tuple[object, str]] = []

    def flag(_store: object, runs: object, reason: str) -> str:
        flags.append((runs, reason))
        return "flagged"

    monkeypatch.setattr("agentdbg.debugging.flagging.flag_runs", flag)
    app = app_on()
    async with app.run_test(size=SIZE) as pilot:
        await pilot.press("exclamation_mark", *"bad", "enter")
        assert flags == [(["2026-01-01-T2041-7f3a"], "bad")]
        assert "flagged" in shown(app)


async def test_every_key_of_the_table_is_bound_and_does_no_harm() -> None:
    app = app_on()
    leaving = {"back", "quit", "help", "palette", "editor", "flag", "search", "copy", "compare", "note"}
    async with app.run_test(size=SIZE) as pilot:
        bound = app.screen._bindings.key_to_bindings
        for entry in actions_of(Place.DEBUGGER):
            for key in entry.keys:
                assert textual_key(key) in bound, key
            if entry.id not in leaving:
                await pilot.press(textual_key(entry.keys[0]))
        assert isinstance(app.screen, DebuggerScreen)
    assert len(ACTIONS) > 40


async def test_an_empty_run_bears_every_key() -> None:
    app = app_on(run_of([]))
    async with app.run_test(size=(80, 24)) as pilot:
        await pilot.press(
            "n",
            "p",
            "s",
            "u",
            "e",
            "w",
            "j",
            "k",
            "g",
            "G",
            "y",
            "escape",
            "Y",
            "enter",
            "enter",
            "y",
            "escape",
            "m",
            "z",
            "7",
        )
        assert "no step yet" in shown(app)


async def test_an_open_intent_has_sign_and_word() -> None:
    app = app_on(refund_run(crash=True, status=RunStatus.LOST))
    async with app.run_test(size=SIZE):
        assert "? in doubt" in shown(app)
        assert "nothing says how it ended" in shown(app)


async def test_wrapping_can_be_switched_off_and_lines_panned() -> None:
    source = run_of([])
    source.add(
        replace(
            plain_steps(1)[0], kind=Kind.TOOL, status=StepStatus.OK, result=source.put(b"start " + b"x" * 300 + b" end")
        )
    )
    app = app_on(source)
    async with app.run_test(size=SIZE) as pilot:
        assert " end" in shown(app)
        await pilot.press("tab", "backslash")
        assert " end" not in shown(app)
        await pilot.press(*["l"] * 30)
        assert " end" in shown(app)
        await pilot.press(*["h"] * 30)
        assert "start " in shown(app)


async def test_a_goes_to_the_last_change_of_the_field_under_the_cursor() -> None:
    app = app_on(step=17)
    async with app.run_test(size=(120, 60)) as pilot:
        await settle(pilot)
        assert "Change" in shown(app) and "REFUNDED" in shown(app)
        await pilot.press("a")
        assert "choose a field" in shown(app)
        await pilot.press("tab")
        screen = screen_of(app)
        body = screen.query_one(BodyView)
        while body.field() != ("status",):
            await pilot.press("down")
        await pilot.press("a")
        await settle(pilot)
        assert "no earlier change" in shown(app) or "step 11/17" in shown(app)
        assert "status changed here" in shown(app)


async def test_a_note_is_written_shown_and_found_again() -> None:
    source = refund_run()
    for _ in range(2):
        app = app_on(source, step=5)
        async with app.run_test(size=SIZE) as pilot:
            if _ == 0:
                await pilot.press("semicolon", *"why?", "enter")
            await settle(pilot)
            assert "✎ Note" in shown(app) and "why?" in shown(app)
            assert "✎ note" in shown(app)


async def test_the_summary_suggests_a_twin_and_why() -> None:
    app = app_beside_twin(against=None)
    async with app.run_test(size=SIZE) as pilot:
        await pilot.press("0")
        await settle(pilot)
        assert "Suggested twin" in shown(app)
        assert "the last good run before a version changed" in shown(app)


async def test_filtering_shows_only_what_holds_the_words_until_esc() -> None:
    app = app_on(step=1)
    async with app.run_test(size=SIZE) as pilot:
        await pilot.press("f", *"notify")
        await settle(pilot)
        assert "filter: notify 2 shown" in shown(app)
        assert "order_lookup" not in shown(app)
        await pilot.press("enter", "n")
        assert "step 15/17" in shown(app)
        await pilot.press("up", "up")
        assert "step 14/17" in shown(app)
        await pilot.press("escape")
        assert "filter:" not in shown(app)
        assert "execute_refund" in shown(app)

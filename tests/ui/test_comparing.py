"""Comparing with another run, driven as a user does."""

from __future__ import annotations

from threading import Event

import pytest

from agentdbg.debugging.document import Block, row
from agentdbg.debugging.tabs import diff
from agentdbg.model.records import Kind, RunStatus, Segment, Step
from agentdbg.ui.app import AgentDbg
from agentdbg.ui.screens.debugger import DebuggerScreen
from agentdbg.ui.text import plain
from agentdbg.ui.widgets.body import BodyView
from tests.support.memory_source import MemoryStore, run_of
from tests.support.refund_run import TWIN, refund_run, twin_run
from tests.support.screens import INCIDENT, app_beside_twin, settle, shown

SIZE = (120, 40)


@pytest.mark.parametrize("size", [(80, 24), (120, 40), (200, 60)])
async def test_opened_beside_its_twin_it_stands_at_the_first_difference(size: tuple[int, int]) -> None:
    app = app_beside_twin()
    async with app.run_test(size=size) as pilot:
        await settle(pilot)
        assert "≠ diverged" in shown(app)
        assert "policy_lookup" in shown(app)
        assert "twin: " in shown(app)
        await pilot.press("d")
        await settle(pilot)
        assert "step 8/17" in shown(app) and "requires_manual_approval" in shown(app)


async def test_two_keys_lead_to_the_lost_field_in_the_model_input() -> None:
    app = app_beside_twin()
    async with app.run_test(size=(120, 60)) as pilot:
        await settle(pilot)
        await pilot.press("d", "d")
        await settle(pilot)
        assert isinstance(app.screen, DebuggerScreen)
        assert app.screen.session.current is not None
        assert app.screen.session.current.kind is Kind.MODEL
        assert "input.history" in shown(app)
        assert "requires_manual_approval" in shown(app)


async def test_the_step_list_says_in_sign_and_word_how_each_step_compares() -> None:
    app = app_beside_twin()
    async with app.run_test(size=SIZE) as pilot:
        await settle(pilot)
        assert "= same" in shown(app) and "~ result" in shown(app)
        assert TWIN in shown(app)


async def test_a_run_is_asked_for_and_an_empty_answer_means_the_twin() -> None:
    app = app_beside_twin(against=None)
    async with app.run_test(size=SIZE) as pilot:
        await pilot.press("equals_sign", "enter")
        await settle(pilot)
        assert f"≠ {TWIN}" in shown(app)
        await pilot.press("equals_sign", *INCIDENT, "enter")
        await settle(pilot)
        assert f"= {INCIDENT}" in shown(app)


async def test_a_run_that_is_not_there_or_cannot_be_read_costs_a_message() -> None:
    app = app_beside_twin(against="nothing-like-it")
    async with app.run_test(size=SIZE) as pilot:
        await settle(pilot)
        assert "cannot compare" in shown(app) or "nothing-like-it" in shown(app)
        await pilot.press("n")
        assert isinstance(app.screen, DebuggerScreen)


async def test_without_a_twin_it_says_why() -> None:
    app = app_beside_twin(against=None)
    app.store = MemoryStore({INCIDENT: refund_run()})
    async with app.run_test(size=SIZE) as pilot:
        await pilot.press("equals_sign", "enter")
        await settle(pilot)
        assert "has no twin" in shown(app)


async def test_an_empty_run_and_one_that_runs_can_be_compared() -> None:
    app = app_beside_twin(against=None)
    app.store = store = MemoryStore({"empty": run_of((), run_id="empty")})
    store.runs["going"] = refund_run("going", status=RunStatus.RUNNING, crash=True)
    async with app.run_test(size=SIZE) as pilot:
        for run_id in store.runs:
            app.opener = store.open
            await pilot.press("equals_sign", *run_id, "enter")
            await settle(pilot)
            assert f"≠ {run_id}" in shown(app) or f"= {run_id}" in shown(app)


async def test_the_layout_cycles_where_there_is_room() -> None:
    app = app_beside_twin()
    async with app.run_test(size=(200, 60)) as pilot:
        await settle(pilot)
        assert " │ " in shown(app)
        await pilot.press("v")
        await settle(pilot)
        assert "differences: table" in shown(app)
        await pilot.press("v")
        await settle(pilot)
        assert "differences: unified" in shown(app)
        await pilot.resize_terminal(80, 24)
        await pilot.press("v")
        await settle(pilot)
        assert "wider" in shown(app)


async def test_leaving_closes_both_runs() -> None:
    twin = twin_run()
    app = app_beside_twin()
    app.store = MemoryStore({INCIDENT: refund_run(), TWIN: twin})
    async with app.run_test(size=SIZE) as pilot:
        await settle(pilot)
        await pilot.press("q")
        await pilot.pause()
    assert twin.closed


async def test_keys_stay_alive_while_a_long_prompt_is_compared(monkeypatch: pytest.MonkeyPatch) -> None:
    """The comparison hangs until the keys have been pressed: each of them shows its step all the same."""
    entered, release = Event(), Event()

    def slow(*_args: object, **_options: object) -> Block:
        entered.set()
        release.wait(20)
        return Block([row("compared at last")])

    monkeypatch.setattr(diff, "diff_block", slow)
    app = app_beside_twin()
    async with app.run_test(size=SIZE) as pilot:
        try:
            for _ in range(500):
                await pilot.pause()
                if entered.is_set():
                    break
            assert "comparing …" in shown(app)
            for key, number in (("s", 9), ("s", 10), ("S", 9), ("g", 1), ("G", 17)):
                await pilot.press(key)
                assert f"step {number}/17" in shown(app)
        finally:
            release.set()
        await settle(pilot)
        assert "compared at last" not in shown(app)
        await pilot.press("d")
        await settle(pilot)
        assert "compared at last" in shown(app)


async def test_four_hundred_changed_lines_of_two_thousand_give_the_right_answer() -> None:
    lines = [f"line {number}: the agent reads rule {number * 7 % 100}" for number in range(2_000)]
    other = [f"{line} and heeds it" if number % 5 == 0 else line for number, line in enumerate(lines)]
    runs = MemoryStore()
    for run_id, text in (("long", lines), ("changed", other)):
        source = run_of((), run_id=run_id)
        prompt = Segment("system", "system", source.put({"role": "system", "content": "\n".join(text)}))
        source.add(Step(0, "w:0", Kind.MODEL, "model", input_hash=prompt.ref.sha256), [prompt])
        runs.runs[run_id] = source
    app = AgentDbg(runs, "long", against="changed", animated=False)
    async with app.run_test(size=(160, 60)) as pilot:
        await settle(pilot)
        body = app.screen.query_one(BodyView)
        said = [plain(line) for line in body._blocks[body.document.sections[-1].key].lines if not isinstance(line, str)]
        changed = [line for line in said if "and heeds it" in line]
        assert len(changed) == 400
        assert not any("took too long" in line for line in said)

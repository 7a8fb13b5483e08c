"""Whatever a run holds, only text and colours come out: the door alone must see to that, the guard comes after."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from agentdbg.debugging.document import row
from agentdbg.model.records import Effect, ErrorInfo, Kind, RunStatus, RunSummary, Segment, Step
from agentdbg.ui import guard
from agentdbg.ui.app import AgentDbg
from agentdbg.ui.screens.debugger import DebuggerScreen
from agentdbg.ui.widgets.bars import Bar
from tests.support.hostile import FEW, attacks, hostile_strings
from tests.support.memory_source import MemorySource, MemoryStore
from tests.support.screens import app_on, app_on_runs, settle


def unguarded(app: AgentDbg) -> str:
    """The screen as it would be written if there were no guard."""
    return "".join(guard._render(strip, app.console) for strip in app.screen._compositor.render_strips())


def hostile_run(text: str) -> MemorySource:
    """A run that has ``text`` in every place that can hold text."""
    summary = RunSummary(
        "hostile", RunStatus.FAILED, agent=text, thread_id=text, flag=text, verdict=text, started_at=0.0
    )
    summary = replace(
        summary, tags={text: text}, models=(text,), holes=(text,), replay_of=text, error=ErrorInfo(text, text)
    )
    source = MemorySource(replace(summary, meta={"versions": {text: text}, text: text, "entry": {"argv": [text]}}))
    source.damage = [text, text]
    body = source.put(text.encode("utf-8", "surrogatepass"))
    value = source.put({"key" + text: [text, {"n": text}]})
    segments = [Segment("message", text, source.put({"role": text, "content": text})), Segment(text, text, body)]
    call = {"id": text, "function": {"name": text, "arguments": text}}
    message = {"content": text, "reasoning": text, "tool_calls": [call]}
    answer = source.put({"choices": [{"finish_reason": text, "message": message}], "model": text})
    step = Step(
        n=0,
        id=text,
        kind=Kind.TOOL,
        name=text,
        effect=Effect.WRITE,
        arguments=value,
        result=body,
        idempotency_key=text,
        error=ErrorInfo(text, text),
        holes=(text,),
        attrs={text: text, "unsafe_reasons": [text]},
        fingerprint=text,
    )
    source.add(step)
    model = replace(step, id=text + "m", kind=Kind.MODEL, effect=None, result=answer, input_hash=text, error=None)
    source.add(model, segments)
    source.add(replace(step, id=text + "c", kind=Kind.CHECKPOINT, arguments=value, error=None))
    return source


@pytest.mark.parametrize("text", FEW, ids=range(len(FEW)))
async def test_no_tab_lets_it_through(text: str) -> None:
    app = app_on(hostile_run(text))
    async with app.run_test(size=(120, 60)) as pilot:
        for key in ("g", "n", "n"):
            await pilot.press(key)
            for digit in "0123467":
                await pilot.press(digit)
                assert attacks(unguarded(app)) == [], (key, digit)
            await pilot.press("7")
        assert isinstance(app.screen, DebuggerScreen)


async def test_the_whole_corpus_in_one_run() -> None:
    texts = hostile_strings()
    source = hostile_run(texts[0])
    for number, text in enumerate(texts):
        ref = source.put({"t": text})
        source.add(
            Step(
                n=0,
                id=f"w:{number}",
                kind=Kind.TOOL,
                name=text,
                arguments=ref,
                result=source.put(text.encode("utf-8", "surrogatepass")),
            )
        )
    app = app_on(source)
    async with app.run_test(size=(120, 60)) as pilot:
        await pilot.press("g", "4")
        for _ in range(len(texts) // 20 + 1):
            await pilot.press("pagedown")
            assert attacks(unguarded(app)) == []


@pytest.mark.parametrize("text", FEW, ids=range(len(FEW)))
async def test_the_run_list_lets_nothing_through(text: str) -> None:
    source = hostile_run(text)
    store = MemoryStore({"hostile": source}, broken={"hostile": ValueError(text)})
    app = app_on_runs(store)
    async with app.run_test(size=(200, 24)) as pilot:
        await settle(pilot)
        await pilot.press("enter")
        assert attacks(unguarded(app)) == []
        await pilot.press("exclamation_mark")
        assert attacks(unguarded(app)) == []


async def test_what_is_typed_and_said_is_text() -> None:
    app = app_on(hostile_run("x"))
    async with app.run_test(size=(120, 40)) as pilot:
        screen = app.screen
        assert isinstance(screen, DebuggerScreen)
        for text in FEW:
            screen.session.search(text, 0)
            screen.session.settle()
            screen.present()
            screen.say(text)
            screen.query_one("#status", Bar).show(row(text), row(text))
            await pilot.pause()
            assert attacks(unguarded(app)) == []


def hostile_pair(text: str) -> MemoryStore:
    """Two runs that hold ``text`` everywhere and differ in every body."""
    first, second = hostile_run(text), hostile_run(text)
    second.run = replace(second.run, run_id="other", meta={"versions": {text: text + "2"}})
    for number, step in enumerate(second._steps):
        changed = second.put({"role": "tool", "content": [text, "changed\n" + text], "k" + text: {text: number}})
        again = second.put((text + "\nmore\n" + text).encode("utf-8", "surrogatepass"))
        more: dict[str, Any] = {
            "arguments": changed,
            "result": again,
            "name": text + "!",
            "idempotency_key": text + "!",
        }
        second._steps[number] = replace(step, **more, input_hash=text + "?" if step.input_hash else None)
        parts = [Segment(text, text, again), Segment("message", text, changed)]
        second._segments[step.id] = parts if step.kind is Kind.MODEL else []
    return MemoryStore({"hostile": first, "other": second})


WIDE = [pytest.param(text, id=str(at), marks=pytest.mark.wide if at > 1 else ()) for at, text in enumerate(FEW)]


@pytest.mark.parametrize("text", WIDE)
async def test_no_comparison_lets_it_through(text: str) -> None:
    app = AgentDbg(hostile_pair(text), "hostile", against="other", animated=False)
    async with app.run_test(size=(160, 60)) as pilot:
        await settle(pilot)
        assert isinstance(app.screen, DebuggerScreen)
        assert app.screen.session.diffs.compared is not None
        await pilot.press("5")
        for key in ("g", "s", "s", "3", "1", "5", "v", "v", "d"):
            await pilot.press(key)
            await settle(pilot)
            assert attacks(unguarded(app)) == [], key
        await pilot.press("vertical_line")
        for key in ("g", "n", "n", "v", "v", "a", "enter"):
            await pilot.press(key)
            await settle(pilot)
            assert attacks(unguarded(app)) == [], key

"""The ask screen, driven as a user does, against a real server."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from textual.pilot import Pilot

from agentdbg.ui.app import AgentDbg
from agentdbg.ui.screens.ask import AskScreen
from agentdbg.ui.screens.debugger import DebuggerScreen
from tests.support.asking import recorded
from tests.support.memory_source import MemoryStore
from tests.support.screens import app_on, settle, shown
from tests.support.scripted_server import Reply, ScriptedServer

SIZES = [pytest.param((80, 24)), *(pytest.param(size, marks=pytest.mark.wide) for size in ((120, 40), (200, 60)))]
SAME = Reply(tool_calls=(("refund", {"order": "A-1042"}),))


@pytest.fixture
def server(monkeypatch: pytest.MonkeyPatch, isolated_user: object) -> Iterator[ScriptedServer]:
    monkeypatch.setenv("OPENAI_API_KEY", "sk-test-key-1234")
    with ScriptedServer(SAME) as running:
        yield running


def app() -> AgentDbg:
    source, _ = recorded()
    return AgentDbg(MemoryStore({"run-1": source}), "run-1", animated=False)


async def open_ask(pilot: Pilot[None], server: ScriptedServer) -> AskScreen:
    await settle(pilot)
    await pilot.press("o")
    await settle(pilot)
    screen = pilot.app.screen
    assert isinstance(screen, AskScreen)
    screen.asking.choose_address(server.openai_url)
    screen.present()
    return screen


async def answered(pilot: Pilot[None], screen: AskScreen) -> None:
    for _ in range(200):
        await pilot.pause(0.02)
        if screen.asking.state == "done":
            return
    raise AssertionError("no answers")


@pytest.mark.parametrize("size", SIZES)
async def test_price_first_then_samples_beside_the_recorded_answer(
    size: tuple[int, int], server: ScriptedServer
) -> None:
    server.script(SAME, Reply(text="I cannot decide. [bold]x[/]"), SAME)
    running = app()
    async with running.run_test(size=size) as pilot:
        screen = await open_ask(pilot, server)
        assert "price unknown" in shown(running)
        assert "nothing is sent yet" in shown(running)
        assert server.requests == []
        await pilot.press("enter")
        await answered(pilot, screen)
        text = shown(running)
        assert "flaky: the answers do not agree" in text
        assert text.count("sample ") >= 3
        await pilot.press("G", "g", "j", "j")
        assert "this sample" in shown(running) or "the recorded conclusion" in shown(running)


async def test_enter_in_the_detail_never_sends(server: ScriptedServer) -> None:
    running = app()
    async with running.run_test(size=(120, 40)) as pilot:
        await open_ask(pilot, server)
        await pilot.press("tab", "enter", "enter")
        await settle(pilot)
        assert server.requests == []


@pytest.mark.wide
async def test_choices_by_keys(server: ScriptedServer) -> None:
    running = app()
    async with running.run_test(size=(120, 40)) as pilot:
        screen = await open_ask(pilot, server)
        await pilot.press("plus", "minus", "minus", "m", *"gpt-4o", "enter")
        await pilot.press("e", "ctrl+a", "ctrl+k", *"temperature=1", "enter")
        await settle(pilot)
        assert (screen.asking.wish.samples, screen.asking.wish.model) == (2, "gpt-4o")
        assert "temperature = 1" in shown(running)
        assert "about $" in shown(running)
        await pilot.press("e", "ctrl+a", "ctrl+k", *"nothing", "enter")
        assert "no edit" in shown(running)


async def test_leaving_goes_back_to_the_step(server: ScriptedServer) -> None:
    running = app()
    async with running.run_test(size=(80, 24)) as pilot:
        await open_ask(pilot, server)
        await pilot.press("q")
        await settle(pilot)
        assert isinstance(running.screen, DebuggerScreen)


async def test_what_is_no_model_call_is_said() -> None:
    running = app_on()
    async with running.run_test(size=(120, 40)) as pilot:
        await settle(pilot)
        await pilot.press("o")
        assert "no model call" in shown(running)

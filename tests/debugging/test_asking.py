"""Asking a model call again, without a terminal."""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from agentdbg.debugging.asking import Asking, not_askable
from agentdbg.debugging.asking_pages import ask_document, price_words, status_spans
from agentdbg.debugging.document import Document, Halves, load
from agentdbg.model.records import Kind
from agentdbg.replay.ask import ASKS
from agentdbg.store.notes import read
from agentdbg.ui.text import plain
from tests.support.asking import recorded
from tests.support.memory_source import MemoryStore
from tests.support.refund_run import refund_run
from tests.support.scripted_server import Reply, ScriptedServer

SAME = Reply(tool_calls=(("refund", {"order": "A-1042"}),))


@pytest.fixture
def server() -> Iterator[ScriptedServer]:
    with ScriptedServer(SAME) as running:
        yield running


@pytest.fixture
def asking(monkeypatch: pytest.MonkeyPatch, isolated_user: Path) -> Asking:
    monkeypatch.setenv("OPENAI_API_KEY", "sk-test-key-1234")
    source, step = recorded()
    return Asking(source, MemoryStore({"run-1": source}), step)


def _text(document: Document) -> str:
    lines: list[str] = []
    for section in document.sections:
        lines += [plain(section.title)] if section.title else []
        for line in load(section).lines:
            lines.append(line if isinstance(line, str) else plain(line))
    return "\n".join(lines)


def _ask(asking: Asking, seconds: float = 10) -> None:
    woken = threading.Event()
    asking.start(woken.set)
    end = time.monotonic() + seconds
    while asking.state == "asking":
        assert woken.wait(end - time.monotonic())
        woken.clear()
        asking.take_in()


def test_the_price_is_shown_before_anything_is_sent(asking: Asking, server: ScriptedServer) -> None:
    asking.choose_address(server.openai_url)
    asking.choose_model("gpt-4o")
    asking.more()
    shown = _text(ask_document(asking, None, wide=True))
    assert "about $0.0018 (prices of " in shown
    assert "OPENAI_API_KEY" in shown
    assert "model gpt-4o instead of small-1" in shown
    assert server.requests == []
    assert "nothing is sent yet" in plain(tuple(status_spans(asking)))


def test_answers_come_in_and_are_kept(asking: Asking, server: ScriptedServer) -> None:
    server.script(SAME, Reply(text="No."), SAME)
    asking.choose_address(server.openai_url)
    _ask(asking)
    assert asking.state == "done"
    assert [row.n for row in asking.rows] == [0, 1, 2, 3]
    assert sorted(asking.letters().values()) == ["A", "B"]
    assert "flaky" in plain(tuple(status_spans(asking)))
    assert len(read("memory", "run-1", None, file=ASKS)) == 1
    other = next(row for row in asking.rows if row.conclusion is not None and not row.conclusion.can_tell)
    shown = _text(ask_document(asking, other, wide=False))
    assert "→ refund" in shown
    assert "no tool call: free text" in shown
    lines = load(ask_document(asking, other, wide=True).sections[1]).lines
    assert any(isinstance(line, Halves) for line in lines)
    asking.again()
    assert (asking.state, asking.samples) == ("ready", [])


def test_a_stop_keeps_what_came(asking: Asking, server: ScriptedServer) -> None:
    server.script(SAME)
    server.default = Reply(text="late", delay=3)
    asking.choose_address(server.openai_url)
    woken = threading.Event()
    asking.start(woken.set)
    while not any(row.conclusion for row in asking.samples):
        assert woken.wait(5)
        woken.clear()
        asking.take_in()
    asking.stop()
    while asking.state == "asking":
        assert woken.wait(5)
        woken.clear()
        asking.take_in()
    assert sorted(row.state for row in asking.samples) == ["answered", "given_up", "given_up"]


def test_nothing_is_changed_or_sent_twice_while_answers_are_on_their_way(
    asking: Asking, server: ScriptedServer
) -> None:
    server.default = Reply(text="late", delay=0.2)
    asking.choose_address(server.openai_url)
    asking.start(lambda: None)
    for action in (asking.more, lambda: asking.choose_model("x"), lambda: asking.start(lambda: None)):
        asking.message = ""
        action()
        assert asking.message
    asking.close()
    assert asking.wish.samples == 3


def test_edits_are_checked_before_they_are_taken(asking: Asking) -> None:
    asking.add_edit("messages[9].content=1")
    assert "the list has" in asking.message
    asking.add_edit("temperature=hot")
    assert "quotes" in asking.message
    asking.add_edit("temperature=1")
    assert asking.question is not None
    assert asking.question.body["temperature"] == 1
    asking.add_edit("")
    assert not asking.question.edits
    asking.take_request("[1]")
    assert "object" in asking.message
    asking.take_request("{")
    assert "no JSON" in asking.message
    body = {**asking.question.body, "temperature": 0.7}
    asking.take_request(json.dumps(body))
    assert asking.question.body["temperature"] == 0.7
    assert list(asking.question.edits) == ["the whole request"]


def test_samples_are_counted_from_one_to_a_hundred(asking: Asking) -> None:
    for _ in range(5):
        asking.fewer()
    assert asking.wish.samples == 1
    for _ in range(200):
        asking.more()
    assert asking.wish.samples == 100
    assert asking.price is not None
    assert asking.price.samples == 100
    assert price_words(asking.price) == "price unknown"


def test_why_it_cannot_be_asked_is_said(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    source, step = recorded()
    asking = Asking(source, MemoryStore(), step)
    assert "OPENAI_API_KEY is not set" in _text(ask_document(asking, None, wide=False))
    assert [row.n for row in asking.rows] == [0]
    asking.start(lambda: None)
    assert (asking.state, "OPENAI_API_KEY" in asking.message) == ("ready", True)
    stranger, step = recorded("https://evil.example/v1/chat/completions")
    assert "no provider's own address" in Asking(stranger, MemoryStore(), step).problem


def test_a_step_that_is_no_model_call_names_the_nearest() -> None:
    steps = refund_run().steps()
    at = next(place for place, step in enumerate(steps) if step.kind is Kind.TOOL)
    near = max(step.n for step in steps[:at] if step.kind is Kind.MODEL)
    assert f"step {near} is one" in not_askable(steps, at)
    assert not_askable([steps[at]], 0) == "this is no model call: o asks one again"

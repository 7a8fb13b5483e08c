"""The parent's part of a regression replay's lane: who may reach what, and who is asked."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from agentdbg.replay import cassette
from agentdbg.replay.regression_lane import Doorkeeper, Question, facts_of, routes
from agentdbg.store.reader import DirectoryRunSource
from tests.support.run_records import RunRecords

MESSAGES = [{"role": "user", "content": "call_12345678"}]


@pytest.fixture
def source(tmp_path: Path) -> Iterator[DirectoryRunSource]:
    run = RunRecords(tmp_path / "store", "run")
    urls = ("https://models.example/v1", "http://127.0.0.1:8765/v1", "http://[::1]:9/v1", "https://models.example/v2")
    for url in (*urls, "http://bad:port/", "no url"):
        run.model("m", MESSAGES, {"choices": []}, attrs={"url": url, "provider": "openai.chat"})
    run.tool("pay", {"for": "call_12345678"}, {"ok": True}, effect="external", key="k-1")
    run.end()
    found = DirectoryRunSource(tmp_path / "store" / "runs" / "run")
    found.index(None)
    yield found
    found.close()


def test_the_models_hosts_are_the_routes(source: DirectoryRunSource) -> None:
    assert routes(source) == ["models.example:443", "127.0.0.1:8765", "[::1]:9"]


def test_calls_are_known_by_key_and_with_ids_renamed(source: DirectoryRunSource) -> None:
    tape = cassette.build(source)
    facts = facts_of(source, tape)
    pay = facts[tape.calls[-1].step]
    assert pay["key"] == "k-1"
    assert str(pay["alpha"]).startswith("fp1:")
    assert pay["alpha"] != tape.calls[-1].fingerprint


def test_addresses_are_open_as_declared_and_while_a_read_runs() -> None:
    keeper = Doorkeeper(["127.0.0.1:80"], None, is_open=True)
    assert keeper.may_connect("127.0.0.1:80")
    assert not keeper.may_connect("127.0.0.1:81")
    assert keeper.reply({"event": "window", "asks": "open"}) == {}
    assert keeper.may_connect("127.0.0.1:81")
    keeper.reply({"event": "window", "asks": "close"})
    assert not keeper.may_connect("127.0.0.1:81")


def test_the_control_lane_reaches_nothing() -> None:
    keeper = Doorkeeper(["127.0.0.1:80"], None, is_open=False)
    keeper.reply({"event": "window", "asks": "open"})
    assert not keeper.may_connect("127.0.0.1:80")
    assert not keeper.may_connect("127.0.0.53:53")


def test_nobody_there_gives_no_answer_and_a_person_is_asked_by_name() -> None:
    assert Doorkeeper([], None, is_open=True).reply({"event": "question", "asks": "tool", "name": "pay"}) == {
        "answer": None
    }
    asked: list[Question] = []

    def person(question: Question) -> bool:
        asked.append(question)
        return True

    keeper = Doorkeeper([], person, is_open=True)
    assert keeper.reply({"event": "question", "asks": "tool", "name": "pay", "key": "k"}) == {"answer": True}
    assert asked == [Question("tool", "pay", "k")]

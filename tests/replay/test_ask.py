"""One recorded model call, asked again of a real server."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from agentdbg.replay.ask import ASKS, ask, estimate, recorded_answer, save
from agentdbg.store.notes import read
from tests.support.asking import CHAT, asked, question, recorded
from tests.support.memory_source import MemoryStore
from tests.support.scripted_server import Received, Reply, ScriptedServer, dropped, rate_limited

SAME = Reply(tool_calls=(("refund", {"order": "A-1042"}),))
OTHER = Reply(tool_calls=(("approve", {"order": "A-1042"}),))


@pytest.fixture
def server() -> Iterator[ScriptedServer]:
    with ScriptedServer(SAME) as running:
        yield running


def test_the_same_conclusion_in_all_samples(server: ScriptedServer) -> None:
    found = asked(recorded(), 3, base_url=server.openai_url)
    assert (found.verdict, found.agreeing, len(found.answered)) == ("same", 3, 3)
    assert [request.json for request in server.requests] == [CHAT] * 3
    assert found.samples[0].usage is not None
    assert found.samples[0].model


def test_another_conclusion_than_the_recorded_one(server: ScriptedServer) -> None:
    server.default = OTHER
    assert asked(recorded(), 2, base_url=server.openai_url).verdict == "changed"


def test_samples_that_do_not_agree(server: ScriptedServer) -> None:
    server.script(SAME, SAME, OTHER)
    found = asked(recorded(), 3, base_url=server.openai_url)
    assert (found.verdict, found.agreeing) == ("flaky", 2)
    members: dict[str, Any] = found.members()
    assert members["stability"] == {"agreeing": 2, "of": 3, "fraction": 2 / 3}


def test_free_text_cannot_tell(server: ScriptedServer) -> None:
    server.script(Reply(text="Yes."), Reply(text="Certainly."))
    answer = {"choices": [{"message": {"role": "assistant", "content": "Sure."}}]}
    found = asked(recorded(answer=answer), 2, base_url=server.openai_url)
    assert (found.verdict, found.agreeing, found.wordings) == ("cannot_tell", 2, 2)


def test_the_answers_that_came_are_kept_beside_those_that_did_not(server: ScriptedServer) -> None:
    server.script(SAME, dropped(0), Reply(status=500))
    found = asked(recorded(), 3, base_url=server.openai_url)
    assert sorted(sample.state for sample in found.samples) == ["answered", "failed", "failed"]
    assert all(sample.problem for sample in found.samples if sample.state == "failed")


def test_a_busy_server_is_waited_for(server: ScriptedServer) -> None:
    server.script(rate_limited())
    found = asked(recorded(), base_url=server.openai_url)
    assert (found.verdict, found.samples[0].attempts) == ("same", 2)


def test_the_key_is_never_in_what_is_kept(server: ScriptedServer) -> None:
    key = "sk-test-key-1234"

    def tell_the_key(request: Received) -> Reply:
        return Reply(text=f"you sent {request.headers['authorization']}")

    server.default = tell_the_key
    found = asked(recorded(), base_url=server.openai_url, environ={"OPENAI_API_KEY": key})
    assert server.requests[0].headers["authorization"] == f"Bearer {key}"
    assert found.samples[0].conclusion is not None
    assert key not in str(found.members())


def test_answers_are_redacted(server: ScriptedServer) -> None:
    server.default = Reply(text="write to anna.maier@example.org")
    assert "anna.maier" not in str(asked(recorded(), base_url=server.openai_url).members())


def test_a_stop_keeps_what_came(server: ScriptedServer) -> None:
    server.script(SAME)
    server.default = Reply(text="late", delay=2.0)
    wanted, stop = question(recorded(), base_url=server.openai_url), threading.Event()
    seen: list[int] = []

    def changed(sample: Any) -> None:
        if sample.state == "answered":
            seen.append(sample.n)
            stop.set()

    found = ask(wanted, 6, recorded=None, timeout=5, stop=stop, changed=changed)
    assert found.interrupted
    assert len(found.answered) == len(seen) == 1
    assert len(server.requests) <= 5
    assert {sample.state for sample in found.samples} == {"answered", "given_up"}


def test_ctrl_c_keeps_what_came(server: ScriptedServer) -> None:
    server.script(SAME)
    server.default = Reply(text="late", delay=2.0)
    wanted = question(recorded(), base_url=server.openai_url)

    def changed(sample: Any) -> None:
        if sample.state == "answered":
            raise KeyboardInterrupt

    found = ask(wanted, 4, recorded=None, timeout=5, stop=threading.Event(), changed=changed)
    assert found.interrupted
    assert len(found.answered) == 1


def test_the_price_is_of_all_samples() -> None:
    wanted = question(recorded(), model="gpt-4o")
    price = estimate(wanted, 10)
    assert price.dollars == pytest.approx(10 * (price.input_tokens * 2.5 + 20 * 10) / 1e6)
    assert estimate(question(recorded()), 10).dollars is None
    assert estimate(question(recorded()), 2, {"small-1": "1000/0"}).dollars == pytest.approx(0.2)


def test_answers_are_kept_with_the_runs_notes(server: ScriptedServer, isolated_user: Path) -> None:
    made = recorded()
    found = asked(made, 2, base_url=server.openai_url)
    save(made[0], MemoryStore({"run-1": made[0]}), found, estimate(found.question, 2))
    (note,) = read("memory", "run-1", None, file=ASKS)
    assert note["e"] == "ask"
    assert note["step"] == 1
    assert read("memory", "run-1", None) == []


def test_the_recorded_answer_may_be_missing() -> None:
    source, step = recorded()
    source.bodies = {k: v for k, v in source.bodies.items() if b"choices" not in v}
    assert recorded_answer(source, step, question((source, step))) is None

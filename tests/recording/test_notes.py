"""What an agent says about itself: in a run, in a process without a root, outside every run, and with recording off."""

from __future__ import annotations

import asyncio
import uuid
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import agentdbg
from agentdbg.model.records import Kind, RunStatus, StepStatus
from tests.support.recorded import only_run, recording, runs


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Path]:
    with recording(tmp_path / "store"):
        yield tmp_path / "store"


class Hostile(dict[str, object]):
    def get(self, *_: object) -> Any:
        raise RuntimeError("no")


class Document:
    id, source, page_content = "d2", "wiki", "text two"

    @property
    def text(self) -> str:
        raise RuntimeError("no")


def test_checkpoints_keep_state_and_what_the_node_declares(store: Path) -> None:
    @agentdbg.agent
    def desk() -> None:
        agentdbg.checkpoint("plan", {"status": "PLANNED", "budget": {"used": 1}}, can_resume=True)
        agentdbg.checkpoint("pay", {"status": "PAID"}, can_resume=False, unsafe_reasons=["money moved"])
        agentdbg.checkpoint("bare", ["no mapping"])

    desk()
    found = only_run(store)
    assert dict(found.named("plan").attrs) == {"can_resume": True, "status": "PLANNED"}
    assert dict(found.named("pay").attrs) == {"can_resume": False, "status": "PAID", "unsafe_reasons": ["money moved"]}
    assert dict(found.named("bare").attrs) == {}
    assert found.arguments(found.named("plan")) == {"status": "PLANNED", "budget": {"used": 1}}


def test_retrieved_documents_stand_apart_with_their_hashes(store: Path) -> None:
    @agentdbg.agent
    def desk() -> None:
        agentdbg.retrieved([{"id": "d1", "source": "faq", "text": "text one"}], query="refund")

    desk()
    found = only_run(store)
    (document,) = found.arguments(found.named("refund"))
    assert (document["id"], document["source"], document["text"], len(document["sha256"])) == (
        "d1",
        "faq",
        "text one",
        64,
    )


def test_an_iterator_of_documents_is_left_to_the_agent(store: Path) -> None:
    @agentdbg.agent
    def desk() -> list[object]:
        documents = iter([{"id": "d1"}, {"id": "d2"}])
        agentdbg.retrieved(documents)
        return list(documents)

    assert desk() == [{"id": "d1"}, {"id": "d2"}]


def test_hostile_objects_do_not_reach_the_agent(store: Path) -> None:
    @agentdbg.agent
    def desk() -> str:
        agentdbg.checkpoint("state", Hostile(status="x"))
        agentdbg.retrieved([Document()])
        agentdbg.tag(a=Rude())
        agentdbg.external_read("crm", Hostile())
        agentdbg.checkpoint("node", {"a": 1}, unsafe_reasons=7)  # type: ignore[arg-type]
        return "fine"

    assert desk() == "fine"
    assert agentdbg.stats()["errors"]
    assert only_run(store).status is RunStatus.OK


class Rude:
    def __str__(self) -> str:
        raise RuntimeError("no")


def test_reads_configuration_final_state_and_tags(store: Path) -> None:
    @agentdbg.agent(tags={"team": "a"})
    def desk() -> None:
        agentdbg.external_read("crm/o1", {"paid": True})
        agentdbg.config_content("routing", {"model": "m1"})
        agentdbg.tag(tenant="t7", attempt=2)
        agentdbg.final_state("AUTO_EXECUTE")

    desk()
    found = only_run(store)
    assert [(step.kind, step.name) for step in found.steps][1:] == [
        (Kind.READ, "crm/o1"),
        (Kind.CONFIG, "routing"),
        (Kind.CHECKPOINT, "final state"),
    ]
    assert dict(found.source.summary().tags) == {"team": "a", "tenant": "t7", "attempt": "2"}
    assert dict(found.named("final state").attrs) == {"final": True, "status": "AUTO_EXECUTE"}
    versions: Any = found.source.summary().meta["versions"]
    assert versions["config:routing"]["origin"] == "recorded"


def test_an_approval_is_a_step_with_who_and_what(store: Path) -> None:
    @agentdbg.agent
    def desk() -> str:
        return agentdbg.approval(
            "Refund 12?", decide=lambda: "yes", who="ann", state={"n": 1}, allowed=["refund"], policy="p1"
        )

    assert desk() == "yes"
    found = only_run(store)
    step = found.named("Refund 12?")
    assert (step.kind, step.attrs["who"], found.result(step)) == (Kind.APPROVAL, "ann", "yes")
    about = {"question": "Refund 12?", "state": {"n": 1}, "allowed": ["refund"], "policy": "p1"}
    assert found.arguments(step) == about
    assert found.status is RunStatus.OK


@pytest.mark.parametrize("decision", [None, "pending"])
def test_an_undecided_approval_leaves_the_run_waiting(store: Path, decision: object) -> None:
    @agentdbg.agent
    def desk() -> object:
        return agentdbg.approval("Refund?", decide=lambda: decision)

    assert desk() == decision
    assert only_run(store).status is RunStatus.WAITING


async def test_approvals_may_be_asked_for_in_a_coroutine(store: Path) -> None:
    async def decide() -> str:
        await asyncio.sleep(0)
        return "no"

    async def fail() -> str:
        raise TimeoutError("nobody there")

    @agentdbg.agent
    async def desk() -> str:
        with pytest.raises(TimeoutError, match="nobody there"):
            await agentdbg.approval("First?", decide=fail)
        return await agentdbg.approval("Second?", decide=decide)

    assert await desk() == "no"
    found = only_run(store)
    assert found.named("First?").status is StepStatus.TIMED_OUT
    assert found.result(found.named("Second?")) == "no"


async def test_a_model_without_a_seam_can_be_called(store: Path) -> None:
    def generate(prompt: str, *, model: str) -> str:
        return f"{model}: {prompt}"

    async def generate_later(prompt: str) -> str:
        return prompt

    def broken() -> None:
        raise ConnectionError("refused")

    @agentdbg.agent
    async def desk() -> list[object]:
        with pytest.raises(ConnectionError, match="refused"):
            agentdbg.model_call(broken)
        return [
            agentdbg.model_call(generate, "hi", model="m1"),
            await agentdbg.model_call(generate_later, prompt="later"),
        ]

    assert await desk() == ["m1: hi", "later"]
    found = only_run(store)
    step = found.named("m1")
    assert (step.kind, found.arguments(step)) == (Kind.MODEL, {"args": ["hi"], "model": "m1"})
    assert [step.status for step in found.steps if step.kind is Kind.MODEL] == [
        StepStatus.ERROR,
        StepStatus.OK,
        StepStatus.OK,
    ]


def test_the_run_s_id_is_known_inside_only(store: Path) -> None:
    seen: list[str | None] = []

    @agentdbg.agent
    def desk() -> None:
        seen.append(agentdbg.run_id())

    assert agentdbg.run_id() is None
    desk()
    assert agentdbg.run_id() is None
    assert seen == [only_run(store).source.summary().run_id]


def test_a_process_without_a_root_is_one_run(store: Path) -> None:
    agentdbg.checkpoint("one", {"a": 1})
    assert agentdbg.approval("Go?", decide=lambda: "yes") == "yes"
    here = agentdbg.run_id()
    agentdbg.tag(kind="script")
    (found,) = runs(store)
    assert here == found.source.summary().run_id
    assert [step.name for step in found.steps] == ["one", "Go?"]
    assert dict(found.source.summary().tags) == {"kind": "script"}


def test_after_a_root_notes_outside_go_nowhere(store: Path) -> None:
    @agentdbg.agent
    def desk() -> None: ...

    desk()
    agentdbg.checkpoint("late", {})
    assert agentdbg.approval("Go?", decide=lambda: 5) == 5
    assert agentdbg.model_call(lambda: 6) == 6
    assert len(only_run(store).steps) == 1


def test_a_bad_run_is_flagged_later(store: Path) -> None:
    @agentdbg.agent
    def desk() -> str | None:
        return agentdbg.run_id()

    run = desk()
    assert run is not None
    agentdbg.flag(run, "refunded twice")
    agentdbg.flag("no-such-run", "x")
    assert only_run(store).source.summary().flag == "refunded twice"


def test_values_asked_for_by_name() -> None:
    assert agentdbg.now().tzinfo is not None
    assert isinstance(agentdbg.uuid4(), uuid.UUID)
    assert 0 <= agentdbg.random() < 1


def test_with_recording_off_everything_is_a_plain_call(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    with recording(tmp_path / "store"):
        from agentdbg.recording import process

        process._recorder = None
        monkeypatch.setenv("AGENTDBG", "off")
        agentdbg.checkpoint("x", Hostile())
        agentdbg.retrieved(iter([1]))
        agentdbg.tag(a=1)
        agentdbg.flag("x", "y")
        assert agentdbg.approval("Go?", decide=lambda: 1) == 1
        assert agentdbg.model_call(lambda a: a, 3) == 3
        assert agentdbg.run_id() is None
        assert agentdbg.stats() == {"enabled": False}
    assert not (tmp_path / "store").exists()


def test_a_decision_that_is_there_already_needs_nobody_to_ask(store: Path) -> None:
    @agentdbg.agent
    def desk() -> object:
        return agentdbg.approval("Refund?", decision={"ok": True}, who="ann")

    assert desk() == {"ok": True}
    found = only_run(store)
    assert found.named("Refund?").attrs["who"] == "ann"
    assert agentdbg.approval("Outside?", decision=7) == 7

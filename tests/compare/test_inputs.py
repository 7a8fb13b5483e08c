from __future__ import annotations

from collections.abc import Mapping, Sequence

from agentdbg.compare.inputs import (
    NOT_RECORDED,
    InputTable,
    input_change,
    input_table,
    previous_call,
    retrieved_by_segment,
    settled_cause,
)
from agentdbg.model.records import Kind, RunStatus, RunSummary, Segment, Step
from tests.support.memory_source import MemorySource

Message = Mapping[str, object]
SYSTEM = {"role": "system", "content": "You decide about refunds."}
ASK = {"role": "user", "content": "Please refund order A-1042."}
DOCUMENT = {"id": "h-12", "source": "handbook/electronics.md", "sha256": "1" * 64}


class Run:
    """A run of model calls and retrievals; bodies of inputs can be forgotten."""

    def __init__(self) -> None:
        self.source = MemorySource(RunSummary("run", RunStatus.OK))

    def call(self, *messages: Message, tools: Sequence[str] = (), lane: str = "0", model: str = "m") -> Step:
        put = self.source.put
        parts = [Segment("parameters", "", put({"model": model}))]
        parts += [Segment("tool_schema", name, put({"name": name})) for name in tools]
        for message in messages:
            kind = "system" if message["role"] == "system" else "message"
            parts.append(Segment(kind, str(message["role"]), put(message)))
        step = Step(0, f"w:{len(self.source.steps())}", Kind.MODEL, "m", lane=lane, input_hash="h")
        return self.source.add(step, parts)

    def retrieved(self, *texts: str) -> None:
        body = self.source.put([{**DOCUMENT, "text": text} for text in texts])
        self.source.add(Step(0, f"w:{len(self.source.steps())}", Kind.RETRIEVAL, "retrieved", arguments=body))

    def forget(self) -> None:
        self.source.bodies.clear()


def signs(table: InputTable) -> list[tuple[str, str, str]]:
    return [(row.sign, row.kind, row.name) for row in table.rows]


def test_one_inserted_message_is_one_row_and_no_body_is_needed() -> None:
    a, b = Run(), Run()
    step_a = a.call(SYSTEM, ASK, {"role": "assistant", "content": "ok"})
    step_b = b.call(SYSTEM, {"role": "user", "content": "new"}, ASK, {"role": "assistant", "content": "ok"})
    a.forget()
    b.forget()
    assert signs(input_table(a.source, step_a, b.source, step_b)) == [
        ("=", "parameters", ""),
        ("=", "system", "system"),
        ("+", "message", "user"),
        ("=", "message", "user"),
        ("=", "message", "assistant"),
    ]


def test_a_changed_segment_has_both_hashes_and_the_cause_of_its_kind() -> None:
    a, b = Run(), Run()
    step_a = a.call(SYSTEM, ASK, tools=["refund", "order"], model="m-1")
    step_b = b.call({**SYSTEM, "content": "Be strict."}, ASK, tools=["refund", "approve"], model="m-2")
    table = input_table(a.source, step_a, b.source, step_b)
    assert [(row.sign, row.cause) for row in table.differing] == [
        ("~", "input.parameters"),
        ("-", "input.tool_schema"),
        ("+", "input.tool_schema"),
        ("~", "input.system"),
    ]
    changed = table.differing[-1].members()
    assert changed["hash_a"] != changed["hash_b"] and changed["size_a"] and changed["size_b"]


def test_an_input_is_compared_with_the_previous_call_of_its_lane() -> None:
    run = Run()
    first = run.call(SYSTEM, ASK)
    run.call(SYSTEM, {"role": "user", "content": "another lane"}, lane="0.1")
    second = run.call(SYSTEM, ASK, {"role": "assistant", "content": "yes"})
    assert previous_call(run.source, second) == first
    table = input_change(run.source, second)
    assert [(row.sign, row.name) for row in table.differing] == [("+", "assistant")]
    assert [row.source for row in table.rows] == ["step 1", "step 1", "step 1", "step 3"]
    opening = input_change(run.source, first)
    assert {row.sign for row in opening.rows} == {"+"}
    assert opening.note != NOT_RECORDED


def test_an_input_without_segments_says_so() -> None:
    run = Run()
    bare = run.source.add(Step(0, "w:x", Kind.MODEL, "m", input_hash="h"))
    assert input_table(run.source, bare, run.source, bare) == InputTable((), NOT_RECORDED)
    assert input_table(run.source, run.call(ASK), run.source, bare).note == NOT_RECORDED


def asking(text: str) -> Message:
    return {"role": "user", "content": f"Question: may I pay?\nHandbook: {text}\nAnswer in one word."}


def test_a_retrieved_text_that_changed_is_told_from_other_history() -> None:
    a, b = Run(), Run()
    a.retrieved("A person looks at every such refund.", "never in any message")
    b.retrieved("Pay at once, nobody needs to look.")
    step_a, step_b = (
        a.call(SYSTEM, asking("A person looks at every such refund.")),
        b.call(SYSTEM, asking("Pay at once, nobody needs to look.")),
    )
    (row,) = input_table(a.source, step_a, b.source, step_b).differing
    assert row.cause == "input.history"
    assert settled_cause(a.source, step_a, b.source, step_b, row) == "input.retrieved"
    assert [s.source for s in retrieved_by_segment(a.source, step_a)[2]] == ["handbook/electronics.md"]


def test_another_question_around_the_same_retrieved_text_is_history() -> None:
    a, b = Run(), Run()
    text = "A person looks at every such refund."
    a.retrieved(text)
    b.retrieved(text)
    step_a, step_b = a.call(asking(text)), b.call({"role": "user", "content": f"Why? {text}"})
    (row,) = input_table(a.source, step_a, b.source, step_b).differing
    assert settled_cause(a.source, step_a, b.source, step_b, row) == "input.history"


def test_another_order_of_the_same_documents_is_retrieval() -> None:
    a, b = Run(), Run()
    one, two = "A person looks at every such refund.", "The bank takes two to three days."
    a.retrieved(one, two)
    b.retrieved(two, one)
    step_a, step_b = a.call(asking(one + two)), b.call(asking(two + one))
    (row,) = input_table(a.source, step_a, b.source, step_b).differing
    assert settled_cause(a.source, step_a, b.source, step_b, row) == "input.retrieved"


def test_missing_bodies_leave_the_cause_that_hashes_tell() -> None:
    a, b = Run(), Run()
    step_a, step_b = a.call(asking("x" * 20)), b.call(asking("y" * 20))
    (row,) = input_table(a.source, step_a, b.source, step_b).differing
    a.forget()
    b.forget()
    assert settled_cause(a.source, step_a, b.source, step_b, row) == "input.history"
    assert retrieved_by_segment(a.source, step_a) == {}

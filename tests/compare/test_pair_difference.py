from __future__ import annotations

from collections.abc import Callable
from functools import partial
from pathlib import Path

import pytest

from agentdbg.compare.parting import RunDifference
from tests.support.run_records import RunRecords
from tests.support.two_runs import ASK, SYSTEM, Script, both, call, compared, note, said, tool


@pytest.fixture
def compare(tmp_path: Path) -> Callable[..., RunDifference]:
    return partial(compared, tmp_path / "s")


@pytest.mark.parametrize(
    ("first", "second", "expected"),
    [
        (
            call(SYSTEM, ASK),
            call({**SYSTEM, "content": "Refuse."}, ASK),
            ("m", "$.messages[0].content", "input.system"),
        ),
        (
            call(SYSTEM, ASK),
            call(SYSTEM, {**ASK, "content": "Where is it?"}),
            ("m", "$.messages[1].content", "input.history"),
        ),
        (call(SYSTEM, ASK), call(SYSTEM, ASK, ASK), ("m", "$.messages[2]", "input.history")),
        (call(output={"text": "ok"}), call(output={"text": "no"}), ("m", "$.text", "model_output")),
        (call(output={"model": "m-1"}), call(output={"model": "m-2"}), ("m", "$.model", "model_id")),
        (call(name="m"), call(name="n"), ("m", "name", "model_id")),
        (tool({"id": 1}), tool({"id": 2}), ("look", "$.id", "arguments")),
        (tool({"id": 1}, {"n": 1}), tool({"id": 1}, {"n": 1.0}), ("look", "$.n", "result")),
        (
            tool({"id": 1}, {"n": 1}),
            tool({"id": 1}, status="error", error={"type": "Down", "message": "no"}),
            ("look", "$", "result"),
        ),
        (
            note("retrieval", "r", [{"id": "1"}]),
            note("retrieval", "r", [{"id": "2"}]),
            ("r", "$[0].id", "input.retrieved"),
        ),
        (note("message", "user", "a"), note("message", "user", "b"), ("user", "$", "input.history")),
        (note("message", "system", "a"), note("message", "system", "b"), ("system", "$", "input.system")),
        (note("config", "c", {"a": 1}), note("config", "c", {}), ("c", "$.a", "version")),
        (note("read", "f", "x"), note("read", "f", "y"), ("f", "$", "environment")),
        (note("checkpoint", "p", {"s": 1}), note("checkpoint", "p", {"s": 2}), ("p", "$.s", "result")),
        (both(tool({"id": 1}), call()), tool({"id": 1}), ("m", "$", "order")),
        (tool({"k": "⟦R:key:4:000000000000⟧"}), tool({"k": "⟦R:key:4:111111111111⟧"}), ("look", "$.k", "redaction")),
    ],
)
def test_the_first_difference_has_a_place_and_a_cause(compare, first, second, expected) -> None:
    assert said(compare(first, second)) == expected


def test_a_body_that_is_gone_is_compared_by_its_hash(compare, tmp_path: Path) -> None:
    def pruned(run: RunRecords) -> None:
        run.tool("look", {"id": 2})
        (run.directory / "bodies" / "aaaaaaaaaaaa.jsonl").unlink()

    found = compare(tool({"id": 1}), pruned)
    name, path, cause = said(found)
    assert (name, path, cause) == ("look", "$", "arguments")
    assert any("compared by hash alone" in line for line in found.notes)


def test_everything_in_which_a_step_differs_can_be_listed(compare) -> None:
    found = compare(tool({"id": 1, "k": 2}, "x"), tool({"id": 3, "k": 4}, "y"))
    pair = found.paired.pairs[found.paired.place_of_a[1]]
    assert [(p.aspect, p.divergence.path) for p in found.differences(pair)] == [
        ("arguments", "$.id"),
        ("arguments", "$.k"),
        ("result", "$"),
    ]


def test_a_retrieved_document_that_changed_is_named_as_the_cause(compare) -> None:
    def asking(text: str) -> Script:
        document = {"id": "h-12", "source": "handbook/electronics.md", "sha256": "0" * 64, "text": text}
        message = {"role": "user", "content": f"May I pay? Handbook: {text}"}
        return both(
            lambda run: run.note("retrieval", "retrieved", [document]), lambda run: run.model("m", [message], {"ok": 1})
        )

    found = compare(asking("A person looks at every refund."), asking("Pay at once, nobody needs to look."))
    assert said(found)[2] == "input.retrieved"
    pair = found.paired.pairs[found.paired.place_of_a[2]]
    (row,) = [row for row in found.segments(pair) if row.cause]
    assert (row.cause, row.documents) == ("input.retrieved", ("handbook/electronics.md",))
    assert [p.divergence.cause for p in found.differences(pair)] == ["input.retrieved"]


def test_token_counts_are_named_last(compare) -> None:
    first = call(output={"usage": {"total": 1}, "text": "yes"})
    assert said(compare(first, call(output={"usage": {"total": 2}, "text": "no"}))) == ("m", "$.text", "model_output")

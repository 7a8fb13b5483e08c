from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path

import pytest

from agentdbg.compare.alignment import Stopped
from agentdbg.compare.parting import RunDifference, part
from agentdbg.config.resources import demo_runs_dir
from agentdbg.store.directory import DirectoryStore
from tests.support.run_records import RunRecords

Script = Callable[[RunRecords], object]
SYSTEM = {"role": "system", "content": "You decide about refunds."}
ASK = {"role": "user", "content": "Please refund order A-1042."}


@pytest.fixture
def compare(tmp_path: Path) -> Callable[..., RunDifference]:
    def run(first: Script, second: Script, **meta: str) -> RunDifference:
        store = DirectoryStore(tmp_path / "s")
        for run_id, script in (("a", first), ("b", second)):
            records = RunRecords(tmp_path / "s", run_id, **(meta if run_id == "b" else {}))
            script(records)
            records.end()
        return part(store.open("a"), store.open("b"))

    return run


def said(found: RunDifference) -> tuple[str, str, str]:
    assert found.parting is not None
    return found.parting.divergence.name, found.parting.divergence.path, found.parting.divergence.cause


def call(*messages: Mapping[str, object], output: object = None, name: str = "m") -> Script:
    return lambda run: run.model(name, messages or (SYSTEM, ASK), output or {"id": "chatcmpl-123456", "text": "ok"})


def tool(arguments: dict[str, object], result: object = None, **how: object) -> Script:
    return lambda run: run.tool("look", arguments, result, **how)  # type: ignore[arg-type]  # test brevity


def note(kind: str, name: str, value: object) -> Script:
    return lambda run: run.note(kind, name, value)


def both(*scripts: Script) -> Script:
    def run(records: RunRecords) -> None:
        for script in scripts:
            script(records)

    return run


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


def test_equal_runs_do_not_part(compare) -> None:
    found = compare(both(call(), tool({"id": 1}, 2)), both(call(), tool({"id": 1}, 2)))
    assert found.parting is None
    assert found.same and not found.a_is_b
    assert {answer.changed for answer in found.answers} <= {"no", "unknown"}


def test_a_telling_difference_is_found_behind_ids_and_times(compare) -> None:
    first = both(call(output={"id": "chatcmpl-111111", "created": 1795977920}), tool({"id": 1}, {"ok": True}))
    second = both(call(output={"id": "chatcmpl-222222", "created": 1795977999}), tool({"id": 1}, {"ok": False}))
    found = compare(first, second)
    assert said(found) == ("look", "$.ok", "result")
    assert found.parting is not None and found.parting.telling


def test_ids_and_times_alone_are_still_a_difference(compare) -> None:
    found = compare(call(output={"id": "chatcmpl-111111"}), call(output={"id": "chatcmpl-222222"}))
    assert said(found) == ("m", "$.id", "clock")
    assert found.parting is not None and not found.parting.telling
    assert found.parting.why == "only times, ids or drawn values differ"


def test_a_result_that_is_a_changed_configuration_has_the_version_as_its_cause(compare) -> None:
    first = both(tool({"id": 1}, {"a": 1, "b": 2}), note("config", "map.json", {"a": 1, "b": 2}))
    second = both(tool({"id": 1}, {"a": 1}), note("config", "map.json", {"a": 1}))
    found = compare(first, second)
    assert said(found) == ("look", "$.b", "version")
    assert found.parting is not None and "map.json" in found.parting.why


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


def test_the_input_table_shown_first_is_the_one_that_says_something(compare) -> None:
    stamp = {"role": "system", "content": "It is 2026-01-01T10:00:00Z."}
    later = {"role": "system", "content": "It is 2026-01-02T11:11:11Z."}
    found = compare(both(call(stamp), call(stamp, ASK)), both(call(later), call(later, {**ASK, "content": "Stop."})))
    pair = found.first_input()
    assert pair is not None and pair.i == 2
    assert [(row.row.sign, row.cause) for row in found.segments(pair)] == [
        ("=", ""),
        ("~", "clock"),
        ("~", "input.history"),
    ]


def test_a_running_run_is_compared_as_far_as_it_has_come(tmp_path: Path) -> None:
    store = DirectoryStore(tmp_path / "s")
    whole, live, astray = (RunRecords(tmp_path / "s", run_id) for run_id in ("whole", "live", "astray"))
    for run in (whole, live, astray):
        run.tool("look", {"id": 1})
    whole.tool("pay", {"n": 2})
    whole.end()
    live.tool("pay", {"n": 2}, status=None)
    live.leave()
    astray.tool("pay", {"n": 3}, status=None)
    astray.leave()
    found = part(store.open("live"), store.open("whole"))
    assert found.same
    assert found.notes == ("run live is still running: compared as far as it has come",)
    assert said(part(store.open("whole"), store.open("astray"))) == ("pay", "$.n", "arguments")


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


def test_a_replay_is_measured_byte_by_byte(compare) -> None:
    first, second = (call(output={"id": f"chatcmpl-{n}"}) for n in ("111111", "222222"))
    found = compare(first, second, mode="exact", replay_of="a")
    assert said(found) == ("m", "$.id", "model_output")


def test_the_incident_and_its_twin_part_at_the_lost_field() -> None:
    store = DirectoryStore(demo_runs_dir())
    found = part(store.open("refund-incident"), store.open("refund-before-policy-change"))
    assert said(found) == ("get_schema_mapping", "$.requires_manual_approval", "version")
    assert found.notes == ()


def test_the_search_ends_when_its_answer_is_no_longer_wanted() -> None:
    store = DirectoryStore(demo_runs_dir())
    with pytest.raises(Stopped):
        part(store.open("refund-incident"), store.open("refund-before-policy-change"), should_stop=lambda: True)

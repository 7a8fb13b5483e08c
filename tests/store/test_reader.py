"""A run directory as a user sees it: whole, damaged, growing, replaced, hostile."""

from __future__ import annotations

import json
import os
import shutil
import threading
import time
from pathlib import Path
from typing import Any

import pytest

from agentdbg.model.records import BodyRef, Effect, Kind, Mode, Origin, RunStatus, StepStatus
from agentdbg.store import liveness
from agentdbg.store.files import StoreError
from agentdbg.store.protocols import BodyMissing, RunSource
from agentdbg.store.reader import DirectoryRunSource
from tests.support.records import (
    START,
    WRITER,
    body_record,
    event,
    input_hash,
    intent,
    outcome,
    record,
    ref,
    run_json,
    simple_events,
    write_private,
    write_run,
    writer,
)

OTHER = "ba9876543210"
MEMBERS = (
    *("run_id", "agent", "status", "mode", "started_at", "ended_at", "replay_of", "thread_id", "tags", "flag"),
    *("error", "owner", "models", "failing_step", "verdict", "holes"),
)


def opened(root: Path, **options: Any) -> DirectoryRunSource:
    return DirectoryRunSource(root, **options)


def add(root: Path, *members: dict[str, Any], name: str = WRITER) -> None:
    with open(root / "events" / f"{name}.jsonl", "ab") as file:
        file.write(b"".join(map(record, members)))


def test_a_run_is_read_as_it_was_recorded(tmp_path: Path) -> None:
    source: RunSource = opened(write_run(tmp_path))
    summary, steps = source.summary(), source.steps()
    assert (summary.run_id, summary.status, summary.agent, summary.mode) == (
        "run-1",
        RunStatus.OK,
        "desk",
        Mode.RECORDED,
    )
    assert [(step.n, step.id, step.kind, step.name, step.depth, step.status) for step in steps] == [
        (1, f"{WRITER}:1", Kind.AGENT, "desk", 0, StepStatus.OK),
        (2, f"{WRITER}:2", Kind.TOOL, "look_up", 1, StepStatus.OK),
        (3, f"{WRITER}:4", Kind.TOOL, "look_up", 1, StepStatus.OK),
        (4, f"{WRITER}:6", Kind.TOOL, "look_up", 1, StepStatus.OK),
    ]
    assert steps[1].parent == f"{WRITER}:1"
    assert (steps[1].started_at, steps[1].latency_ms) == (START + 2, 5.0)
    assert source.problems() == []
    assert source.step_by_id(f"{WRITER}:4") == steps[2]
    assert source.step_by_id(f"{WRITER}:3") is None, "an outcome is no step"
    source.close()


def test_steps_behave_as_a_sequence(tmp_path: Path) -> None:
    steps = opened(write_run(tmp_path)).steps()
    assert [step.n for step in steps] == [1, 2, 3, 4]
    assert [step.n for step in steps[1:3]] == [2, 3]
    assert steps[-1].n == 4
    for index in (4, -5):
        with pytest.raises(IndexError):
            steps[index]


def test_an_intent_without_outcome_is_an_open_step(tmp_path: Path) -> None:
    events = [writer(), intent(1, "agent", "desk"), intent(2, effect="write", parent=1, args=ref(b"{}"), key="k-1")]
    step = opened(write_run(tmp_path, events=events)).steps()[1]
    assert (step.status, step.effect, step.idempotency_key, step.latency_ms) == (
        StepStatus.OPEN,
        Effect.WRITE,
        "k-1",
        None,
    )
    assert step.arguments is not None


def test_everything_a_step_records_is_shown(tmp_path: Path) -> None:
    events = [
        writer(),
        intent(
            1,
            "model",
            "m-1",
            fp="fp1:aa",
            afp="fp1:bb",
            attrs={"model": "m"},
            holes=["a"],
            input={"hash": "h", "n": 0, "base": None, "keep": 0, "add": []},
            novel=[1],
        ),
        event("hole", 2, of=f"{WRITER}:1", what="b"),
        outcome(
            3,
            1,
            "error",
            error={"type": "E", "message": "m"},
            usage={"input": 3, "output": True},
            attrs={"stop": "length"},
            extra=2**70,
        ),
        event(
            "step",
            4,
            kind="checkpoint",
            name="plan",
            parent=None,
            lane="0",
            status="ok",
            args=ref(b"1"),
            attrs={"can_resume": "yes"},
        ),
    ]
    first, note = opened(write_run(tmp_path, events=events)).steps()
    assert first.status is StepStatus.ERROR
    assert first.error is not None and (first.error.type, first.error.message) == ("E", "m")
    assert first.usage is not None and (first.usage.input, first.usage.output, first.usage.cached) == (3, None, None)
    assert (first.fingerprint, first.alpha_fingerprint, first.input_hash, first.holes) == (
        "fp1:aa",
        "fp1:bb",
        "h",
        ("a", "b"),
    )
    assert first.attrs == {"model": "m", "stop": "length", "novel": [1], "extra": 2**70}
    assert (note.kind, note.status, note.latency_ms, note.attrs) == (
        Kind.CHECKPOINT,
        StepStatus.OK,
        None,
        {"can_resume": "yes"},
    )


def test_members_of_the_wrong_type_are_holes_and_no_crash(tmp_path: Path) -> None:
    wrong: dict[str, Any] = {
        "kind": ["x"],
        "name": 7,
        "parent": {"a": 1},
        "lane": "9" * 5000,
        "effect": 3,
        "args": {"sha256": "../../etc"},
        "attrs": 1,
        "holes": 5,
        "fp": 2,
        "key": [],
        "input": "x",
    }
    events = [writer(), intent(1, **{"kind": "tool", **wrong}), outcome(2, 1, "odd", error=[], usage=7, result=3)]
    (step,) = opened(write_run(tmp_path, events=events)).steps()
    assert step.name == "7"
    assert step.lane == "0"
    assert (step.fingerprint, step.arguments, step.parent, step.status) == (None, None, None, StepStatus.ERROR)
    assert len(step.holes) >= 4


@pytest.mark.parametrize("value", [None, 7, "x", [], {}, True, 1e400, -1, "\ud800"])
def test_run_json_members_of_any_type_are_survived(tmp_path: Path, value: object) -> None:
    members = dict.fromkeys(
        (*MEMBERS, *("steps",) * (value != 7)),
        value,
    )
    summary = opened(write_run(tmp_path, meta={"format": "0.1", **members})).summary()
    assert (summary.run_id, summary.steps) == ("run-1", 4)


def test_a_run_without_run_json_opens_from_its_events(tmp_path: Path) -> None:
    source = opened(write_run(tmp_path, meta={}))
    summary = source.summary()
    assert (summary.status, summary.agent, summary.steps) == (RunStatus.OK, "desk", 4)
    assert (summary.started_at, summary.ended_at) == (START, START + 9)
    assert source.problems() == ["there is no run.json; what is shown comes from the events"]


def test_an_unreadable_run_json_hides_nothing(tmp_path: Path) -> None:
    root = write_run(tmp_path, events=[writer(), intent(1, "model", "m-9"), outcome(2, 1, "error")])
    write_private(root / "run.json", b"{broken")
    source = opened(root)
    summary = source.summary()
    assert (summary.status, summary.models, summary.failing_step) == (RunStatus.LOST, ("m-9",), f"{WRITER}:1")
    assert any("run.json is not readable JSON" in problem for problem in source.problems())


def test_a_newer_major_format_is_refused_in_one_line(tmp_path: Path) -> None:
    root = write_run(tmp_path, meta=run_json("run-1", format="1.0"))
    with pytest.raises(StoreError, match=r"format 1\.0") as refused:
        opened(root)
    assert "\n" not in str(refused.value)


def test_a_newer_minor_format_is_read_with_what_it_adds(tmp_path: Path) -> None:
    meta = run_json("run-1", format="0.9", novelty={"a": 1})
    source = opened(write_run(tmp_path, meta=meta, events=[*simple_events(), event("novel", 99, what=7)]))
    assert source.summary().meta["novelty"] == {"a": 1}
    assert [extra.members["what"] for extra in source.extra_events("novel")] == [7]


def test_a_directory_that_is_no_run_is_refused(tmp_path: Path) -> None:
    with pytest.raises(StoreError, match="no run directory"):
        opened(tmp_path)
    with pytest.raises(StoreError, match="no run directory"):
        opened(tmp_path / "nowhere")


def test_damaged_lines_are_counted_and_the_rest_is_shown(tmp_path: Path) -> None:
    root = write_run(tmp_path)
    path = root / "events" / f"{WRITER}.jsonl"
    path.write_bytes(path.read_bytes().replace(b'"seq":4', b'"seq":5', 1) + b'\n{"e":"int')
    source = opened(root)
    assert [step.id for step in source.steps()] == [f"{WRITER}:{seq}" for seq in (1, 2, 6)]
    problems = "\n".join(source.problems())
    assert "1 unreadable: line 10" in problems
    assert "the last record is torn (9 bytes)" in problems
    assert f"1 steps have an outcome but no intent: {WRITER}:4" in problems
    assert [extra.type for extra in source.extra_events("outcome")] == ["outcome"], "the orphan is kept"


def test_a_run_cut_at_any_byte_opens_and_keeps_every_whole_record(tmp_path: Path) -> None:
    root = write_run(tmp_path, events=simple_events(1))
    path = root / "events" / f"{WRITER}.jsonl"
    whole = path.read_bytes()
    ends = [i for i in range(len(whole)) if whole[i : i + 2] == b"}\n"]
    for cut in range(len(whole) + 1):
        write_private(path, whole[:cut])
        source = opened(root)
        records = sum(1 for _ in source.extra_events()) + sum(len(source.events(step)) for step in source.steps())
        assert records == sum(end < cut for end in ends), cut
        source.close()


def test_a_record_removed_from_the_middle_is_noticed(tmp_path: Path) -> None:
    events = simple_events()
    source = opened(write_run(tmp_path, events=events[:4] + events[6:]))
    source.steps()
    assert any("2 records are missing" in problem for problem in source.problems())


def test_a_twelve_megabyte_record_and_deep_json_are_steps_like_others(tmp_path: Path) -> None:
    deep: Any = "bottom"
    for _ in range(200):
        deep = {"d": deep}
    events = [writer(), intent(1, attrs={"big": "x" * 12_000_000}), outcome(2, 1, attrs={"deep": deep}), intent(3)]
    source = opened(write_run(tmp_path, events=events))
    first, second = source.steps()
    assert (len(str(first.attrs["big"])), first.attrs["deep"], second.status) == (12_000_000, deep, StepStatus.OPEN)
    assert source.problems() == []


def test_many_orphans_cost_little_and_are_claimed_when_their_step_comes(tmp_path: Path) -> None:
    late = [writer(0, OTHER), *(intent(i, parent=f"{OTHER}:0{i + 1}", at=5) for i in range(1, 3000))]
    early = [writer(), *(outcome(i, f"{OTHER}:{i}") for i in range(1, 3000))]
    source = opened(write_run(tmp_path, writers={WRITER: early, OTHER: late}))
    assert {step.status for step in source.steps()} == {StepStatus.OK}
    assert source.steps()[0].parent == f"{OTHER}:2"
    assert source.steps()[2998].parent == f"{OTHER}:03000", "a parent that never came is kept as recorded"


def test_forks_without_events_do_not_count_as_lanes(tmp_path: Path) -> None:
    lanes = ["0", "0.3", "0.7", "0.3.5"]
    events = [writer(), *(intent(i + 1, lane=lane) for i, lane in enumerate(lanes))]
    assert [step.lane for step in opened(write_run(tmp_path, events=events)).steps()] == ["0", "0.0", "0.1", "0.0.0"]


def test_several_writers_are_merged_parents_first_then_by_the_clock(tmp_path: Path) -> None:
    parent = [writer(), intent(1, name="p1", at=1), intent(2, name="spawn", at=3), intent(3, name="p2", at=10)]
    child = [
        writer(0, OTHER, parent=f"{WRITER}:2") | {"mono": int(1e12)},
        intent(1, name="c1", at=2),
        intent(2, name="c2", at=11),
    ]
    root = write_run(tmp_path, writers={WRITER: parent, OTHER: child})
    source = opened(root)
    assert [step.name for step in source.steps()] == ["p1", "spawn", "c1", "p2", "c2"]
    assert [step.depth for step in source.steps()] == [0, 0, 1, 0, 1]
    assert source.steps()[2].parent == f"{WRITER}:2"
    assert [source.step_by_id(step.id) for step in source.steps()] == list(source.steps())
    assert source.problems() == []


def test_writers_of_different_boots_are_ordered_by_wall_time(tmp_path: Path) -> None:
    first = [writer(at=0), intent(1, name="a", at=1), intent(2, name="c", at=3)]
    second = [
        {**item, "mono": item["mono"] - int(9e11)}
        for item in (writer(0, OTHER, boot="boot-2", at=0), intent(1, name="b", at=2), intent(2, name="d", at=4))
    ]
    source = opened(write_run(tmp_path, writers={WRITER: first, OTHER: second}))
    assert [step.name for step in source.steps()] == ["a", "b", "c", "d"]


def test_an_outcome_in_another_writers_file_is_paired(tmp_path: Path) -> None:
    writers = {
        "aaaaaaaaaaaa": [writer(0, "aaaaaaaaaaaa"), outcome(1, f"{WRITER}:1", "timed_out")],
        WRITER: [writer(), intent(1)],
    }
    source = opened(write_run(tmp_path, writers=writers))
    (step,) = source.steps()
    assert step.status is StepStatus.TIMED_OUT
    assert len(source.events(step)) == 2


def test_a_second_outcome_is_kept_but_does_not_win(tmp_path: Path) -> None:
    source = opened(write_run(tmp_path, events=[writer(), intent(1), outcome(2, 1, "ok"), outcome(3, 1, "error")]))
    (step,) = source.steps()
    assert step.status is StepStatus.OK
    assert len(source.events(step)) == 3
    assert any("had one already" in problem for problem in source.problems())


def test_parents_that_go_in_circles_end(tmp_path: Path) -> None:
    events = [writer(parent=f"{WRITER}:1"), intent(1, parent=2), intent(2, parent=1), intent(3, parent=3)]
    steps = list(opened(write_run(tmp_path, events=events)).steps())
    assert len(steps) == 3


def test_repeated_sequence_numbers_lose_nothing(tmp_path: Path) -> None:
    events = [writer(), intent(5, name="a"), intent(5, name="b"), intent(3, name="c"), outcome(6, 3, "error")]
    source = opened(write_run(tmp_path, events=events))
    assert [(step.name, step.id, step.status.value) for step in source.steps()] == [
        ("a", f"{WRITER}:5", "open"),
        ("b", f"{WRITER}:5", "open"),
        ("c", f"{WRITER}:3", "error"),
    ]
    assert any("out of order" in problem for problem in source.problems())


def test_the_raw_records_of_a_step_include_what_is_unknown(tmp_path: Path) -> None:
    events = [
        writer(),
        intent(1, "model", "m"),
        intent(2),
        event("chunk", 3, of=f"{WRITER}:1", body=ref(b"[[1,2]]")),
        event("sparkle", 4, of=f"{WRITER}:1", x=1),
        outcome(5, 2),
        event("chunk", 6, of=f"{WRITER}:1", body=ref(b"[[1,2],[3,4]]")),
    ]
    source = opened(write_run(tmp_path, events=events))
    step = source.steps()[0]
    assert [json.loads(raw)["e"] for raw in source.events(step)] == ["intent", "chunk", "sparkle", "chunk"]
    assert [chunk.size for chunk in source.chunks(step)] == [7, 13]
    assert [json.loads(raw)["seq"] for raw in source.events(source.steps()[1])] == [2, 5]
    assert [extra.type for extra in source.extra_events()] == ["writer"]


def test_steps_are_selected_by_column(tmp_path: Path) -> None:
    events = [
        writer(),
        intent(1, "agent"),
        intent(2, effect="write"),
        outcome(3, 2, "error"),
        intent(4, effect="read"),
        outcome(5, 4),
    ]
    source = opened(write_run(tmp_path, events=events))
    source.index()
    assert list(source.positions(statuses=[StepStatus.ERROR])) == [1]
    assert list(source.positions(kinds=[Kind.TOOL])) == [1, 2]
    assert list(source.positions(effects=[Effect.WRITE, Effect.EXTERNAL])) == [1]
    assert list(source.positions()) == [0, 1, 2]


def test_a_hint_in_the_wrong_place_does_not_lose_a_body(tmp_path: Path) -> None:
    bodies = [b"one", b"two\xff", b"three"]
    root = write_run(tmp_path, bodies=bodies)
    source = opened(root)
    right = len(body_record(b"one")) + 1
    for offset, file in (
        (right, f"bodies/{WRITER}.jsonl"),
        (0, f"bodies/{WRITER}.jsonl"),
        (9, "bodies/gone.jsonl"),
        (3, "../../x"),
        (-1, ""),
    ):
        assert source.body(BodyRef(ref(b"two\xff")["sha256"], 4, file, offset)) == b"two\xff"
    source.close()


def test_a_body_that_is_not_what_its_hash_says_is_missing(tmp_path: Path) -> None:
    root = write_run(tmp_path, bodies=[b"one"])
    path = root / "bodies" / f"{WRITER}.jsonl"
    path.write_bytes(record({"h": ref(b"one")["sha256"], "n": 3, "b": "two"}))
    (root / "large").mkdir()
    (root / "large" / ref(b"big")["sha256"]).write_bytes(b"not big")
    source = opened(root)
    for lost in (b"one", b"big", b"never written"):
        with pytest.raises(BodyMissing) as missing:
            source.body(BodyRef(ref(lost)["sha256"], len(lost), f"bodies/{WRITER}.jsonl", 1))
        assert "\n" not in str(missing.value)
    with pytest.raises(BodyMissing):
        source.body(BodyRef("../../etc/passwd", 1, "/etc/passwd", 0))


def test_the_segments_of_an_input_follow_their_bases(tmp_path: Path) -> None:
    def added(*items: tuple[str, bytes]) -> list[dict[str, Any]]:
        return [{"kind": kind, "name": "", "ref": ref(data)} for kind, data in items]

    a, b, c = ("system", b"s"), ("message", b"1"), ("message", b"2")
    events = [
        writer(),
        intent(
            1,
            "model",
            input={
                "hash": input_hash([a, b]),
                "n": 2,
                "base": None,
                "keep": 0,
                "add": added(a, b),
                "shape": ref(b"{}"),
            },
        ),
        intent(
            2, "model", input={"hash": input_hash([a, c]), "n": 2, "base": f"{WRITER}:1", "keep": 1, "add": added(c)}
        ),
        intent(3, "model", input={"hash": "x", "n": 5, "base": f"{WRITER}:9", "keep": 4, "add": added(b)}),
        intent(4, "model", input={"hash": "y", "n": 1, "base": f"{WRITER}:4", "keep": 1, "add": []}),
        intent(5),
    ]
    source = opened(write_run(tmp_path, events=events))
    first, second, lost, circle, tool = source.steps()
    assert [(segment.kind, segment.ref.sha256) for segment in source.segments(second)] == [
        (kind, ref(data)["sha256"]) for kind, data in (a, c)
    ]
    assert source.problems() == []
    assert source.segments(tool) == ()
    assert len(source.segments(lost)) == 1
    assert source.segments(circle) == ()
    assert len([problem for problem in source.problems() if "model input of" in problem]) == 2
    shape = source.input_shape(first)
    assert shape is not None and shape.size == 2
    assert source.input_shape(tool) is None


def test_origin_tells_evidence_from_what_was_derived(tmp_path: Path) -> None:
    events = [
        writer(),
        intent(1, "model", input={"hash": "h", "n": 0, "base": None, "keep": 0, "add": []}, attrs={"rebuilt": True}),
        intent(2),
    ]
    source = opened(write_run(tmp_path, events=events))
    model, tool = source.steps()
    assert source.origin(model, "n") is Origin.DERIVED
    assert source.origin(model, "input") is Origin.REBUILT
    assert source.origin(tool, "input") is Origin.ABSENT
    assert source.origin(model, "name") is Origin.RECORDED
    assert source.origin(model, "result") is Origin.ABSENT
    assert source.origin(model, "attrs.rebuilt") is Origin.RECORDED
    assert source.origin(model, "attrs.model") is Origin.ABSENT


def test_looser_modes_are_a_problem_unless_the_store_is_public(tmp_path: Path) -> None:
    root = write_run(tmp_path)
    (root / "events" / f"{WRITER}.jsonl").chmod(0o644)
    root.chmod(0o755)
    source = opened(root)
    source.index()
    assert len(source.problems()) == 2
    assert all("looser" in problem for problem in source.problems())
    assert opened(root, check_modes=False).problems() == []


def test_links_fifos_and_strangers_among_the_events_are_named_and_not_read(tmp_path: Path) -> None:
    root = write_run(tmp_path)
    outside = tmp_path / "outside.jsonl"
    outside.write_bytes(b"".join(map(record, [writer(), intent(1, name="forged")])))
    (root / "events" / "bbbbbbbbbbbb.jsonl").symlink_to(outside)
    os.mkfifo(root / "events" / "cccccccccccc.jsonl")
    (root / "events" / "notes.txt").write_text("x")
    source = opened(root)
    assert "forged" not in [step.name for step in source.steps()]
    assert len(source.problems()) == 3


def test_hostile_names_and_ids_stay_in_one_harmless_line(tmp_path: Path) -> None:
    events = [
        writer(0, "\x1b[2J\n"),
        outcome(1, "\x1b]52;c;x\x07\n:7"),
        intent(2, "model", input={"base": "\n\x1b[31m"}),
    ]
    root = write_run(tmp_path, events=events)
    (root / "events" / "a\x1b[2J\nb").write_text("x")
    source = opened(root)
    source.segments(source.steps()[0])
    assert len(source.problems()) == 4
    assert all(problem.isprintable() for problem in source.problems())


def test_a_linked_events_directory_is_not_followed(tmp_path: Path) -> None:
    root, other = write_run(tmp_path), write_run(tmp_path, "run-2")
    shutil.rmtree(root / "events")
    (root / "events").symlink_to(other / "events")
    source = opened(root)
    assert len(source.steps()) == 0
    assert any("not followed" in problem for problem in source.problems())


def test_a_linked_run_json_is_not_read(tmp_path: Path) -> None:
    root = write_run(tmp_path)
    (root / "run.json").rename(tmp_path / "elsewhere.json")
    (root / "run.json").symlink_to(tmp_path / "elsewhere.json")
    source = opened(root)
    assert source.summary().meta == {}
    assert any("symbolic link" in problem for problem in source.problems())


def test_a_growing_run_is_followed(tmp_path: Path) -> None:
    root = write_run(
        tmp_path, events=[writer(), intent(1)], meta=run_json("run-1", status="running", owner=liveness.here())
    )
    source = opened(root)
    assert source.poll()
    assert not source.poll()
    steps = source.steps()
    assert (len(steps), steps[0].status) == (1, StepStatus.OPEN)
    assert source.summary().status is RunStatus.RUNNING
    add(root, outcome(2, 1, "ok"), intent(3))
    assert source.poll()
    assert [step.status for step in steps] == [StepStatus.OK, StepStatus.OPEN]
    write_private(
        root / "events" / f"{OTHER}.jsonl", b"".join(map(record, [writer(0, OTHER), intent(1, name="child", at=2)]))
    )
    assert source.poll()
    assert [step.name for step in steps] == ["look_up", "child", "look_up"]
    add(root, event("end", 4, status="failed", error={"type": "E", "message": "m"}, steps=2))
    assert source.poll()
    assert source.summary().status is RunStatus.FAILED, "the end event counts, whatever run.json says"
    write_private(root / "run.json.tmp", json.dumps(run_json("run-1", status="ok")).encode())
    (root / "run.json.tmp").rename(root / "run.json")
    assert source.poll()
    assert source.summary().status is RunStatus.OK
    assert source.generation == 0


def test_a_run_whose_process_is_gone_is_lost(tmp_path: Path) -> None:
    owner = {**liveness.here(), "start": 1}
    source = opened(
        write_run(tmp_path, events=[writer(), intent(1)], meta=run_json("run-1", status="running", owner=owner))
    )
    assert source.summary().status is RunStatus.LOST


@pytest.mark.parametrize("how", ["truncate", "rewrite in place", "replace", "same size in place"])
def test_a_file_that_is_not_what_was_read_is_read_again_without_duplicates(tmp_path: Path, how: str) -> None:
    root = write_run(tmp_path)
    path = root / "events" / f"{WRITER}.jsonl"
    source = opened(root)
    source.poll()
    before = path.read_bytes()
    fresh = b"".join(map(record, [writer(), intent(1, name="fresh"), intent(2, name="fresh")]))
    if how == "truncate":
        fresh = before[: before.index(b"outcome")]
        os.truncate(path, len(fresh))
    elif how == "rewrite in place":
        path.write_bytes(fresh + before)
    elif how == "replace":
        write_private(root / "new", fresh)
        (root / "new").rename(path)
    else:
        path.write_bytes(before.replace(b"look_up", b"look_at"))
        os.utime(path, ns=(1, 1))
    assert source.poll()
    source.index()
    assert source.generation == 1
    reference = opened(root)
    assert list(source.steps()) == list(reference.steps())
    assert source.problems() == reference.problems()


def test_a_touched_file_is_not_read_again(tmp_path: Path) -> None:
    root = write_run(tmp_path)
    source = opened(root)
    source.poll()
    os.utime(root / "events" / f"{WRITER}.jsonl", ns=(5, 5))
    source.poll()
    assert (source.generation, len(source.steps())) == (0, 4)


def test_a_run_deleted_while_it_is_shown_stays_on_screen(tmp_path: Path) -> None:
    root = write_run(tmp_path)
    source = opened(root)
    source.index()
    shutil.rmtree(root)
    source.poll()
    assert source.steps()[0].name == "desk"
    assert any("gone" in problem or "no run.json" in problem for problem in source.problems())


def test_a_large_skeleton_is_read_in_pieces(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("agentdbg.store.event_files.PIECE", 2000)
    monkeypatch.setattr("agentdbg.store.reader.POLL_BUDGET_S", 0.0)
    source = opened(write_run(tmp_path, events=simple_events(200)))
    seen = []
    while not source.complete:
        assert source.poll()
        seen.append(len(source.steps()))
    assert seen == sorted(seen) and len(seen) > 10 and seen[-1] == 201
    assert list(source.steps()) == list(opened(tmp_path / "runs" / "run-1").steps())


def test_pieces_of_several_writers_come_out_in_the_same_order(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    names = ["aaaaaaaaaaaa", "bbbbbbbbbbbb", "cccccccccccc"]
    writers = {
        name: [writer(0, name), *(intent(i, name=f"{name[0]}{i}", at=i * (k + 1) % 97 + i) for i in range(1, 60))]
        for k, name in enumerate(names)
    }
    root = write_run(tmp_path, writers=writers)
    whole = [step.name for step in opened(root).steps()]
    monkeypatch.setattr("agentdbg.store.event_files.PIECE", 700)
    pieces = opened(root)
    assert [step.name for step in pieces.steps()] == whole
    assert [pieces.steps()[i].n for i in range(len(whole))] == list(range(1, len(whole) + 1))
    assert all(pieces.step_by_id(step.id) == step for step in pieces.steps())


def test_reading_and_polling_from_several_threads_agree(tmp_path: Path) -> None:
    root = write_run(tmp_path, events=[writer(), intent(1)])
    source = opened(root)
    source.poll()
    failures: list[BaseException] = []

    def read() -> None:
        try:
            while len(source.steps()) < 200:
                assert all(step.n == i + 1 for i, step in enumerate(source.steps()))
                source.summary()
        except BaseException as problem:
            failures.append(problem)

    readers = [threading.Thread(target=read) for _ in range(3)]
    for thread in readers:
        thread.start()
    for seq in range(2, 201):
        add(root, intent(seq))
        source.poll()
    for thread in readers:
        thread.join(20)
    assert failures == []


def test_a_watcher_wakes_the_reader(tmp_path: Path) -> None:
    root = write_run(tmp_path, events=[writer(), intent(1)])
    source = opened(root)
    woken = threading.Event()
    stop = source.watch(woken.set)
    try:
        time.sleep(0.1)
        add(root, intent(2))
        assert woken.wait(10)
        assert source.watch_kind in ("events", "polling")
    finally:
        stop()
        source.close()

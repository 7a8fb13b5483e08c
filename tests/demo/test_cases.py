"""The shipped runs: every one opens, shows what it promises, replays exactly, and says nothing about a machine."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from agentdbg.config.resources import demo_runs_dir
from agentdbg.demo.cases import CASES, ORDER, REAL_MODEL, Case
from agentdbg.demo.desk import ACCESS_KEY, AFTER_CHANGE, BEFORE_CHANGE, PHONE
from agentdbg.model.records import Effect, Kind, Mode, RunStatus, Step, StepStatus
from agentdbg.replay.run import ReplayOptions, exact
from agentdbg.store.address import open_store, resolve
from agentdbg.store.reader import DirectoryRunSource
from tests.support.program import agentdbg
from tests.support.recorded import Recorded

SHIPPED = (*CASES, REAL_MODEL)
MAX_BYTES = 3_000_000
MACHINE = ("/home/", "/root/", "/tmp/", "/Users/", "/work/", "/var/", "C:\\\\")


def opened(name: str) -> Recorded:
    """A shipped run by its case name, read to its end."""
    (case,) = [case for case in SHIPPED if case.name == name]
    source = resolve(open_store(str(demo_runs_dir())), case.run_id)
    assert isinstance(source, DirectoryRunSource)
    source.index(None)
    return Recorded(source)


@pytest.fixture
def run() -> Iterator[Callable[[str], Recorded]]:
    """Opens shipped runs, and closes them."""
    found: list[Recorded] = []

    def open_run(name: str) -> Recorded:
        found.append(opened(name))
        return found[-1]

    yield open_run
    for each in found:
        each.source.close()


def texts(recorded: Recorded, step: Step) -> str:
    """Everything that a step holds, as text."""
    refs = [ref for ref in (step.arguments, step.result) if ref is not None]
    refs += [segment.ref for segment in recorded.source.segments(step)]
    return "\n".join(recorded.source.body(ref).decode() for ref in refs)


def of_kind(recorded: Recorded, kind: Kind) -> list[Step]:
    return [step for step in recorded.steps if step.kind is kind]


@pytest.mark.parametrize("case", SHIPPED, ids=lambda case: case.name)
def test_every_case_opens_whole_and_says_what_it_is(case: Case, run: Callable[[str], Recorded]) -> None:
    recorded = run(case.name)
    summary = recorded.source.summary()

    assert list(recorded.source.problems()) == []
    assert (summary.tags["case"], summary.tags["about"]) == (case.name, case.about)
    assert all(texts(recorded, step) is not None for step in recorded.steps)
    assert "\n" not in case.about


@pytest.mark.parametrize("case", SHIPPED, ids=lambda case: case.name)
def test_every_case_replays_exactly(case: Case, run: Callable[[str], Recorded], tmp_path: Path) -> None:
    source = run(case.name).source
    assert isinstance(source, DirectoryRunSource)
    target = open_store(str(tmp_path / "store"))

    outcome = exact(source, ReplayOptions("audit", 60, False, (), target))

    assert outcome.verdict == ("recording_ended" if case.name == "crash" else "identical"), outcome.reason
    assert outcome.notes == ()


def test_no_shipped_run_is_missing_and_none_is_unknown() -> None:
    assert {place.name for place in (demo_runs_dir() / "runs").iterdir()} == {case.run_id for case in SHIPPED}


def test_together_they_are_small() -> None:
    assert sum(path.stat().st_size for path in demo_runs_dir().rglob("*") if path.is_file()) < MAX_BYTES


def test_nothing_tells_where_they_were_recorded() -> None:
    for path in demo_runs_dir().rglob("*"):
        if path.is_file():
            written = path.read_text(encoding="utf-8")
            assert [tell for tell in (*MACHINE, PHONE, ACCESS_KEY) if tell in written] == [], path
            assert set(re.findall(r'"(?:host|boot)":"([^"]*)"', written)) <= {"demo"}, path


def test_the_list_has_a_line_for_each_that_says_what_to_find() -> None:
    done = agentdbg("demo", "--list")

    assert done.returncode == 0, done.stderr
    lines = done.stdout.splitlines()[1:]
    assert [line.split()[0] for line in lines] == list(ORDER)
    assert all(line.endswith(case.about) for line, case in zip(lines, SHIPPED, strict=True))


@pytest.mark.parametrize("case", SHIPPED, ids=lambda case: case.name)
def test_a_case_is_opened_by_its_name(case: Case) -> None:
    from agentdbg.cli.demo import find_case

    runs = list(open_store(str(demo_runs_dir())).summaries())

    assert find_case(runs, case.name).run_id == case.run_id
    assert find_case(runs, None).run_id == CASES[0].run_id


# -- what each has to show ----------------------------------------------------------------------------


def test_incident_paid_and_twin_waits(run: Callable[[str], Recorded]) -> None:
    incident, twin = run("incident"), run("twin")

    versions: list[Any] = [each.source.summary().meta["versions"] for each in (incident, twin)]

    assert [each["policy"]["value"] for each in versions] == [AFTER_CHANGE, BEFORE_CHANGE]
    assert incident.named("execute_refund").effect is Effect.EXTERNAL
    assert twin.status is RunStatus.WAITING
    assert (twin.source.summary().started_at or 0) < (incident.source.summary().started_at or 0)


def test_crash_is_lost_with_the_refund_in_doubt(run: Callable[[str], Recorded]) -> None:
    recorded = run("crash")
    refund = recorded.steps[-1]

    assert recorded.status is RunStatus.LOST
    assert (refund.name, refund.effect, refund.status) == ("execute_refund", Effect.EXTERNAL, StepStatus.OPEN)
    assert refund.idempotency_key == "refund-T-2042-A-1077"
    assert recorded.arguments(refund)["amount"] == 14.5


def test_parallel_has_lanes_and_a_cancelled_loser(run: Callable[[str], Recorded]) -> None:
    recorded = run("parallel")
    asked = [step for step in recorded.steps if step.name == "ask_warehouse"]

    assert len({step.lane for step in of_kind(recorded, Kind.TOOL)}) >= 4
    assert sorted(step.status for step in asked) == [StepStatus.CANCELLED, StepStatus.OK]


def test_sub_agent_is_nested_with_its_own_model_calls_and_tools(run: Callable[[str], Recorded]) -> None:
    recorded = run("sub-agent")
    desk, fraud = of_kind(recorded, Kind.AGENT)
    below = [step.kind for step in recorded.steps if step.parent == fraud.id]

    assert fraud.parent == desk.id
    assert [below.count(kind) for kind in (Kind.MODEL, Kind.TOOL, Kind.CHECKPOINT)] == [2, 2, 1]
    assert recorded.status is RunStatus.WAITING


def test_chinese_goes_through_prompt_arguments_and_answer(run: Callable[[str], Recorded]) -> None:
    recorded = run("chinese")
    first = of_kind(recorded, Kind.MODEL)[0]

    assert "《三体》📚" in texts(recorded, first)
    assert "👨‍👩‍👧" in recorded.arguments(recorded.named("search_handbook"))["query"]
    assert "好消息 🎉" in recorded.arguments(recorded.named("notify_customer"))["text"]
    assert recorded.source.summary().thread_id == "顾客-3307"


def test_abandoned_stream_is_partial_and_holds_what_was_read(run: Callable[[str], Recorded]) -> None:
    recorded = run("abandoned")
    (model,) = of_kind(recorded, Kind.MODEL)
    said = str(recorded.result(model))

    assert model.status is StepStatus.PARTIAL
    assert "1. Read the order" in said
    assert "4. Tell the customer" not in said


def test_long_has_300_steps_and_a_history_that_grows(run: Callable[[str], Recorded]) -> None:
    recorded = run("long")
    calls = of_kind(recorded, Kind.MODEL)
    sizes = [len(list(recorded.source.segments(call))) for call in calls]
    states: list[Any] = [recorded.arguments(step) for step in of_kind(recorded, Kind.CHECKPOINT)]
    largest = [state["variables"]["largest_eur"] for state in states]

    assert len(recorded.steps) == 300
    assert sizes == sorted(sizes)
    assert sizes[-1] > 250
    assert largest[0] < 500 < 4000 < largest[-1]


def test_replay_names_the_incident_and_is_identical(run: Callable[[str], Recorded]) -> None:
    summary = run("replay").source.summary()

    assert (summary.mode, summary.replay_of, summary.verdict) == (Mode.EXACT, "refund-incident", "identical")
    assert all("served_from" in step.attrs for step in run("replay").steps if step.kind in (Kind.MODEL, Kind.TOOL))


def test_retry_has_a_failed_tool_and_a_refused_model_call(run: Callable[[str], Recorded]) -> None:
    recorded = run("retry")
    failed = [step for step in recorded.steps if step.status is StepStatus.ERROR]

    assert [step.kind for step in failed] == [Kind.TOOL, Kind.MODEL]
    assert failed[0].error is not None
    assert failed[0].error.type == "ConnectionError"
    assert "429" in json.dumps(dict(failed[1].attrs)) + str(failed[1].error)
    assert recorded.status is RunStatus.OK


def test_real_model_is_labelled_and_contradicts_its_tools(run: Callable[[str], Recorded]) -> None:
    recorded = run("real-model")
    answer = str(recorded.result(recorded.named("real-model-tool-loop")))

    assert recorded.source.summary().tags["model"] == "real"
    assert recorded.result(of_kind(recorded, Kind.TOOL)[-1]) == {"days_left": 18}
    assert "18" not in answer

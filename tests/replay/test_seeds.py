"""Runs restored from LangGraph's own checkpoints: however a graph is called, what is refused, what a saver held."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest

from agentdbg.model.canonical import Opaque, dumps, loads
from agentdbg.model.records import Kind, RunStatus
from agentdbg.replay.edits import parse_edit
from agentdbg.replay.outcome import Outcome
from agentdbg.replay.regression import RegressionOptions, regression
from agentdbg.replay.restore import RESTORE
from agentdbg.replay.run import ReplayOptions, ReplayRefused, exact
from agentdbg.replay.seeds import edited_values, unknown
from agentdbg.store.address import open_store
from tests.matrix.versions import LANGGRAPH_SQLITE_NEW, LANGGRAPH_SQLITE_OLD, Versions
from tests.support.environments import environment
from tests.support.framework_lab import FrameworkLab
from tests.support.graph_programs import DESK, ODD

BOTH = [pytest.param(LANGGRAPH_SQLITE_NEW, id="new"), pytest.param(LANGGRAPH_SQLITE_OLD, id="old")]
Labs = Callable[[Versions], FrameworkLab]


@pytest.fixture
def labs(tmp_path: Path) -> Iterator[Labs]:
    made: list[FrameworkLab] = []

    def make(versions: Versions) -> FrameworkLab:
        made.append(FrameworkLab(tmp_path, environment(*versions.requirements, python=versions.python)))
        return made[-1]

    yield make
    for lab in made:
        lab.provider.stop()


def launch(lab: FrameworkLab, text: str, *arguments: str) -> None:
    """Record a program by ``agentdbg record``."""
    ours, lab.python = lab.python, sys.executable
    words = ["-m", "agentdbg.cli.main", "record", "--run-id", "run-1", "--", ours, str(lab.write(text))]
    lab.record(None, *arguments, command=words)
    lab.python = ours


def checkpoints(lab: FrameworkLab, address: str = "run-1") -> dict[str, int]:
    """Numbers of the outermost graph's checkpoints that declare that a run may go on, by name."""
    steps = lab.steps(address=address)
    depth = min(step.depth for step in steps if step.kind is Kind.CHECKPOINT)
    found = [step for step in steps if step.kind is Kind.CHECKPOINT and step.depth == depth]
    return {step.name: step.n for step in found if step.attrs.get("can_resume") is True}


def common(lab: FrameworkLab, number: int) -> ReplayOptions:
    return ReplayOptions("audit", 120, False, (), open_store(str(lab.store)), from_step=number, prefix=RESTORE)


def restore(lab: FrameworkLab, number: int, address: str = "run-1", edits: tuple[str, ...] | None = None) -> Outcome:
    """Replay from a checkpoint on, as a regression where there are edits; nothing outside changes."""
    source = lab.run(address)
    with lab.untouched(Path(source.root)), pytest.MonkeyPatch.context() as patch:
        for name in ("OUTSIDE", "PORT", "AGENTDBG_DEBUG", "OPENAI_BASE_URL", "OPENAI_API_KEY"):
            patch.setenv(name, lab.environment()[name])
        try:
            if edits is None:
                return exact(source, common(lab, number))
            made = tuple(map(parse_edit, edits))
            return regression(source, RegressionOptions(common(lab, number), start=number, edits=made))
        finally:
            source.close()


# -- every way that a graph is called ------------------------------------------------------------------


@pytest.mark.wide
@pytest.mark.parametrize("versions", BOTH)
@pytest.mark.parametrize(
    "arguments",
    [
        "invoke memory root",
        "invoke sqlite recorded ask",
        "ainvoke none recorded",
        "ainvoke memory agent before",
        "invoke memory root after leave",
        "stream memory agent ask alone",
        "astream sqlite agent ask",
    ],
)
def test_every_checkpoint_that_declares_it_is_gone_on_from(labs: Labs, versions: Versions, arguments: str) -> None:
    lab = labs(versions)
    if "recorded" in arguments:
        launch(lab, DESK, *arguments.split())
    else:
        lab.record(DESK, *arguments.split())
    assert lab.replay_without_server().verdict == "identical"
    found = checkpoints(lab)
    assert {"plan", "check", "below"} <= found.keys()
    left = [restore(lab, number) for number in found.values()]
    for number, outcome in zip(found.values(), left, strict=True):
        assert outcome.verdict == "identical", (number, outcome.reason, outcome.log)
        assert outcome.reason.startswith(f"identical from step {number}, restored: ")
        assert outcome.served == outcome.total
    assert left[-1].total < left[0].total


@pytest.mark.wide
@pytest.mark.parametrize("versions", BOTH)
def test_a_regression_goes_live_at_once_from_the_state_as_it_is_edited(labs: Labs, versions: Versions) -> None:
    lab = labs(versions)
    lab.record(DESK, "invoke", "memory", "agent", "quiet")
    number = checkpoints(lab)["left, right"]
    outcome = restore(lab, number, edits=())
    assert outcome.verdict == "same", (outcome.reason, outcome.log)
    assert (outcome.live, outcome.served) == (5, 2)  # the read ahead of the graph, and the write
    outcome = restore(lab, number, edits=(f'{number}:state.place="Rome"',))
    assert outcome.verdict == "changed", (outcome.reason, outcome.log)
    assert [(each["name"], each["deed"]) for each in outcome.findings] == [("put", "refuse")]
    assert "got Rome" in outcome.reason


@pytest.mark.wide
@pytest.mark.parametrize("versions", BOTH)
def test_a_graph_that_changed_is_not_gone_on_with_unnoticed(labs: Labs, versions: Versions) -> None:
    lab = labs(versions)
    lab.record(DESK, "invoke", "memory", "agent")
    number = checkpoints(lab)["plan"]
    lab.write(DESK.replace('look("left", state["steps"])', 'look("less", state["steps"])'))
    assert "expected left, got less" in restore(lab, number).reason
    lab.write(DESK.replace("return whole() + look", "return look"))
    outcome = restore(lab, number)
    assert outcome.verdict in ("not_replayable", "diverged"), outcome.reason
    renamed = DESK.replace("place: str", "town: str").replace('"place": at', '"town": at')
    lab.write(renamed.replace('["place"]', '["town"]'))
    outcome = restore(lab, number)
    assert outcome.verdict == "not_replayable", outcome.reason
    assert "has no channel place any more" in outcome.reason


# -- refusals -------------------------------------------------------------------------------------------


@pytest.mark.wide
@pytest.mark.parametrize("versions", BOTH)
def test_every_refusal_names_its_reasons(labs: Labs, versions: Versions) -> None:
    lab = labs(versions)
    lab.record(ODD)
    numbers = {step.name: step.n for step in lab.steps(Kind.CHECKPOINT)}
    wanted = {
        "plain": "does not declare that a run may go on from there: add_node(",
        "unsafe": "declares that nothing may go on from there (the bank has it)",
        "locked": "its state cannot be made again: ",
        "keep": "channel kept is a UntrackedValue, which LangGraph does not save either",
        "leave": "was open, and goes on at step",
    }
    for name, words in wanted.items():
        with pytest.raises(ReplayRefused) as refusal:
            restore(lab, numbers[name])
        assert words in str(refusal.value), name
    assert restore(lab, numbers["freed"]).verdict == "identical"


@pytest.mark.wide
@pytest.mark.parametrize("versions", BOTH)
def test_a_subgraphs_checkpoint_and_one_without_its_body_are_refused(labs: Labs, versions: Versions) -> None:
    lab = labs(versions)
    lab.record(DESK, "invoke", "memory", "root")
    inner = next(step.n for step in lab.steps(Kind.CHECKPOINT) if step.name == "first")
    with pytest.raises(ReplayRefused, match=r"does not declare.*; it was made in a subgraph, inside step \d+"):
        restore(lab, inner)
    number = checkpoints(lab)["plan"]
    for file in (lab.store / "runs" / "run-1" / "bodies").iterdir():
        file.unlink()
    with pytest.raises(ReplayRefused, match="what LangGraph would have saved there cannot be read"):
        restore(lab, number)


# -- what the saver held before ---------------------------------------------------------------------------


@pytest.mark.wide
@pytest.mark.parametrize("versions", BOTH)
@pytest.mark.parametrize("form", ["invoke", "ainvoke"])
def test_an_interrupted_thread_is_found_by_who_resumes_it(labs: Labs, versions: Versions, form: str) -> None:
    lab = labs(versions)
    lab.record(DESK, form, "sqlite", "root" if form == "invoke" else "agent", "ask", "leave")
    lab.record(None, form, "sqlite", "root" if form == "invoke" else "again", "ask", "resume")
    assert [lab.run(f"run-{n}").summary().status for n in (1, 2)] == [RunStatus.WAITING, RunStatus.OK]
    for address in ("run-2", "run-1", "run-2"):
        outcome = lab.replay_without_server(address)  # the lab compares every byte of the database
        assert outcome.verdict == "identical", (outcome.reason, outcome.log)
    outcome = restore(lab, checkpoints(lab, "run-2")["ask"], "run-2")
    assert outcome.verdict == "identical", (outcome.reason, outcome.log)


@pytest.mark.wide
@pytest.mark.parametrize("versions", BOTH)
def test_two_root_calls_on_one_saver_in_memory(labs: Labs, versions: Versions) -> None:
    lab = labs(versions)
    lab.record(DESK, "invoke", "memory", "root", "twice")
    runs = sorted(path.name for path in (lab.store / "runs").iterdir())
    assert len(runs) == 2, runs
    for address in runs:
        outcome = lab.replay_without_server(address)
        assert outcome.verdict == "identical", (address, outcome.reason, outcome.log)
        outcome = restore(lab, checkpoints(lab, address)["left, right"], address)
        assert outcome.verdict == "identical", (address, outcome.reason, outcome.log)


# -- without LangGraph ------------------------------------------------------------------------------------


def test_what_could_not_be_recorded_of_a_state_is_named() -> None:
    state = {"a": [1, Opaque("x.Lock")], "b": Opaque("x.State", {"c": Opaque("x.Pipe"), "d": 1})}
    assert list(unknown(state, "$")) == ["$.a[1] is a x.Lock", "$.b.c is a x.Pipe"]


@pytest.mark.parametrize(
    ("before", "after", "found"),
    [
        ({"a": 1, "b": 2}, {"a": 1, "b": 3}, {"b": 3}),
        ({"a": [1]}, {"a": [1, 2], "c": None}, {"a": [1, 2], "c": None}),
        ([1], [2], {"__root__": [2]}),
    ],
)
def test_an_edit_changes_the_channels_that_it_names(before: object, after: object, found: Mapping[str, Any]) -> None:
    made = edited_values(dumps(before), dumps(after))
    assert made is not None
    assert loads(made) == found
    assert edited_values(dumps(before), dumps(before)) is None

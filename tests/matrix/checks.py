"""What has to stand in the record of a cell: each check yields what is wrong, in words."""

from __future__ import annotations

import ast
import json
from collections.abc import Iterator, Sequence
from typing import Any

from agentdbg.model.json_text import json_bytes
from agentdbg.model.records import Effect, Kind, Origin, RunStatus, Step
from agentdbg.model.segments import Part, join_request
from tests.matrix.cells import Cell
from tests.matrix.scenario import ARGUMENTS, CLOSING, RESULTS
from tests.support.recorded import Recorded
from tests.support.scripted_server import FORMATS, Received

TOKENS = (11, 7)
_PAST_SEAMS = {"get_order": ["socket.connect"], "execute_refund": ["socket.connect", "ledger.txt"]}


def problems(cell: Cell, runs: Sequence[Recorded], received: Sequence[Received]) -> list[str]:
    """Everything that is wrong with the record of a program.

    Args:
        cell: What was run.
        runs: Its runs, in order.
        received: What the server got meanwhile.
    """
    asked = [request for request in received if request.path.partition("?")[0] in FORMATS]
    found = [*_model_calls(cell, runs, asked), *_tools(cell, runs)]
    for run in runs:
        found += [*_run(run), *_places(cell, run), *_effects(cell, run)]
    return found


def _run(run: Recorded) -> Iterator[str]:
    summary = run.source.summary()
    for line in run.source.problems():
        yield f"damaged: {line}"
    if run.status is not RunStatus.OK:
        yield f"the run is {run.status}: {summary.error}"
    for hole in summary.holes:
        yield f"the run has a hole: {hole}"
    for step in run.steps:
        for hole in step.holes:
            yield f"{step.kind} {step.name} has a hole: {hole}"
        if step.kind in (Kind.MODEL, Kind.TOOL, Kind.AGENT) and step.status != "ok":
            yield f"{step.kind} {step.name} is {step.status}: {step.error}"


def _model_calls(cell: Cell, runs: Sequence[Recorded], asked: Sequence[Received]) -> Iterator[str]:
    """Every request once, as the server got it, and its answer."""
    steps = [(run, step) for run in runs for step in of_kind(run, Kind.MODEL)]
    if not len(steps) == len(asked) == cell.model_calls:
        yield f"{len(steps)} model calls recorded, {len(asked)} received, {cell.model_calls} expected"
        return
    for number, ((run, step), request) in enumerate(zip(steps, asked, strict=True), 1):
        sent = request_of(run, step)
        if sent != request.json:
            yield f"model call {number}: {json.dumps(sent)} recorded, {request.body!r} received"
        elif run.source.origin(step, "input") is Origin.RECORDED and json_bytes(sent) != request.body:
            yield f"model call {number} is said to be as sent, and is not: {json_bytes(sent)!r}, {request.body!r}"
        if step.usage is not None and (step.usage.input, step.usage.output) not in (TOKENS, (None, None)):
            yield f"model call {number} used {step.usage}"
        answer = json.dumps(run.result(step), default=str) if step.result is not None else ""
        expected = _answer(number, cell)
        if expected not in answer:
            yield f"model call {number} answered {answer or 'nothing'}, without {expected!r}"


def _answer(number: int, cell: Cell) -> str:
    """What stands in the answer to a model call: the scene has a text for each run at its end."""
    if number > cell.model_calls - cell.runs:
        return CLOSING
    return "execute_refund" if number == cell.model_calls - cell.runs else "get_policy"


def _tools(cell: Cell, runs: Sequence[Recorded]) -> Iterator[str]:
    """Every tool call once, with its arguments, result and effect."""
    steps = [(run, step) for run in runs for step in of_kind(run, Kind.TOOL)]
    names = sorted(step.name for _, step in steps)
    if names != sorted(RESULTS):
        yield f"tools recorded: {', '.join(names) or 'none'}"
    for run, step in steps:
        if step.name not in RESULTS:
            continue
        if (arguments := run.arguments(step)) != ARGUMENTS[step.name]:
            yield f"{step.name} was called with {arguments}"
        if step.result is None or not holds(run.result(step), RESULTS[step.name]):
            yield f"{step.name} gave {run.result(step) if step.result is not None else 'nothing'}"
        expected = cell.effect(step.name)
        if step.effect != Effect(expected):
            yield f"{step.name} has effect {step.effect}, not {expected}"
        if (step.attrs.get("effect_declared") is False) != (step.name not in cell.declared):
            yield f"{step.name}: declared is {step.attrs.get('effect_declared')}"


def _places(cell: Cell, run: Recorded) -> Iterator[str]:
    """Parents and lanes; nothing that belongs to a call stands beside it as a second step."""
    agents = of_kind(run, Kind.AGENT)
    if cell.agent and not agents:
        yield "no agent recorded"
    for step in of_kind(run, Kind.MODEL, Kind.TOOL):
        above = list(ancestors(run, step))
        kinds = [parent.kind for parent in above]
        if cell.agent and Kind.AGENT not in kinds:
            yield f"{step.kind} {step.name} is below no agent"
        if cell.nodes and kinds[:1] != [Kind.NODE]:
            yield f"{step.kind} {step.name} is in no node of the graph"
        if Kind.TOOL in kinds or Kind.MODEL in kinds:
            yield f"{step.kind} {step.name} is below {', '.join(parent.name for parent in above)}"
    tools = {step.name: step for step in of_kind(run, Kind.TOOL)}
    if not tools:
        return
    inside = [getattr(next(ancestors(run, step), None), "name", None) for step in of_kind(run, Kind.HTTP)]
    if cell.in_process and inside != ["get_policy"]:
        yield f"beside the model calls there are requests in {inside}, not one in get_policy"
    lanes = {name: step.lane for name, step in tools.items()}
    if (lanes.get("get_order") != lanes.get("get_policy")) != cell.parallel:
        yield f"the reads are in lanes {lanes.get('get_order')} and {lanes.get('get_policy')}"


def _effects(cell: Cell, run: Recorded) -> Iterator[str]:
    """What a tool did past every seam is noted below it; what the recorder itself did is not."""
    effects = of_kind(run, Kind.EFFECT)
    for step in effects:
        if "agentdbg-launch" in step.name or "/.agentdbg" in step.name:
            yield f"the recorder's own doing stands in the record: {step.name}"
    if not cell.in_process:
        return
    for tool in of_kind(run, Kind.TOOL):
        inside = [step.name for step in effects if step.parent == tool.id]
        for what in _PAST_SEAMS.get(tool.name, ()):
            if not any(what in name for name in inside):
                yield f"{tool.name} did {what}, noted below it: {', '.join(inside) or 'nothing'}"


def of_kind(run: Recorded, *kinds: Kind) -> list[Step]:
    """The steps of these kinds, in order."""
    return [step for step in run.steps if step.kind in kinds]


def ancestors(run: Recorded, step: Step) -> Iterator[Step]:
    """The steps around a step, from the inside out."""
    parent = step.parent
    while parent is not None and (around := run.source.step_by_id(parent)) is not None:
        yield around
        parent = around.parent


def request_of(run: Recorded, step: Step) -> Any:
    """The request of a model call, its segments put together again."""
    segments = run.source.segments(step)
    return join_request([Part(part.kind, part.name, json.loads(run.source.body(part.ref))) for part in segments])


def holds(value: Any, expected: object) -> bool:
    """Whether a value, or something in it, is what is expected, be it written as JSON or as Python."""
    if value == expected:
        return True
    if isinstance(value, str):
        for parse in (json.loads, ast.literal_eval):
            try:
                if parse(value) == expected:
                    return True
            except (ValueError, SyntaxError):
                continue
        return False
    if isinstance(value, dict):
        return any(holds(member, expected) for member in value.values())
    if isinstance(value, list | tuple):
        return any(holds(member, expected) for member in value)
    members = getattr(value, "members", None) or getattr(value, "value", None)
    return members is not None and holds(members, expected)

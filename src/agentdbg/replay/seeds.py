"""A checkpoint of LangGraph's that a run can be restored from: the call of a graph that it was made in, and its seed.

The program runs from its beginning, everything served, up to that call; there the graph goes on from the checkpoint.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from agentdbg.model.canonical import Opaque, dumps, loads
from agentdbg.model.records import BodyRef, Json, Kind, Step
from agentdbg.replay.prefix import moments
from agentdbg.replay.spec import mapping
from agentdbg.store.journal import ref_from
from agentdbg.store.protocols import BodyMissing
from agentdbg.store.reader import DirectoryRunSource

SUPER_STEP = "super_step"
HOW = (
    "it does not declare that a run may go on from there: add_node(…, metadata={'agentdbg': {'can_resume': True}}) "
    "for each node that ran, or the setting langgraph.can_resume"
)
"""How a graph declares it."""


@dataclass(frozen=True, slots=True)
class Seed:
    """Attributes:
    graph: The step of the graph's call.
    body: The checkpoint as a saver keeps it.
    items: What the graph's stream had given; ``None`` where it gives none.
    """

    graph: Step
    body: bytes
    items: bytes | None

    def spec(self, source: DirectoryRunSource, scratch: Path, edited: bytes | None) -> dict[str, object]:
        """What the child is told of it; files are written for it."""
        told = {"seed": self.body, "items": self.items, "values": edited}
        found: dict[str, object] = {}
        for name, data in told.items():
            place = scratch / f"langgraph-{name}"
            if data is not None:
                place.write_bytes(data)
            found[name] = str(place) if data is not None else None
        return {**found, "graph": self.graph.name, "call": _number(source, self.graph)}


def is_graphs(checkpoint: Step) -> bool:
    """Whether LangGraph made it."""
    return SUPER_STEP in checkpoint.attrs


def seed_of(source: DirectoryRunSource, checkpoint: Step) -> Seed:
    """The seed of a checkpoint that nothing speaks against: see `refusals`."""
    graph, ref = source.step_by_id(checkpoint.parent or ""), _ref(source, checkpoint)
    assert graph is not None
    assert ref is not None
    body = source.body(ref)
    return Seed(graph, body, _items(source, graph, _given(loads(body))))


def refusals(source: DirectoryRunSource, checkpoint: Step) -> Iterator[str]:
    """Why a graph cannot be seeded with a checkpoint, each reason."""
    yield from _place(source, checkpoint)
    ref = _ref(source, checkpoint)
    if ref is None:
        if checkpoint.attrs.get("can_resume") is True and _in_a_node(source, checkpoint) is None:
            yield "what LangGraph would have saved there was not recorded"
        return
    try:
        told: Any = loads(source.body(ref))
    except BodyMissing as problem:
        yield f"what LangGraph would have saved there cannot be read: {problem}"
        return
    except ValueError as problem:
        yield f"what LangGraph would have saved there cannot be decoded: {problem}"
        return
    yield from map(str, told.get("lost") or ())
    holes = _record(source, checkpoint).get("seed_holes")
    lost = [str(each) for each in holes] if isinstance(holes, list) else []
    for part in ("values", "sends"):
        lost = lost or list(unknown(told.get(part), f"$.{part}"))
    if lost:
        yield f"its state cannot be made again: {'; '.join(lost)}"
    yield from _stream(source, checkpoint, _given(told))


def edited_values(before: bytes, after: bytes) -> bytes | None:
    """The channels in which two states differ, with the second one's values; ``None`` when they are the same."""
    if before == after:
        return None
    old, new = loads(before), loads(after)
    if not isinstance(old, dict) or not isinstance(new, dict):
        return dumps({"__root__": new})
    missing = object()
    kept = {name: value for name, value in new.items() if old.get(name, missing) != value}
    return dumps(kept)


def unknown(value: object, place: str) -> Iterator[str]:
    """Objects whose members are not known."""
    if isinstance(value, Opaque) and value.members is None:
        yield f"{place} is a {value.type_name}"
    members = value.members if isinstance(value, Opaque) else value
    if isinstance(members, dict):
        for key, item in members.items():
            yield from unknown(item, f"{place}.{key}")
    elif isinstance(members, list | tuple | set | frozenset):
        for number, item in enumerate(members):
            yield from unknown(item, f"{place}[{number}]")


def _place(source: DirectoryRunSource, checkpoint: Step) -> Iterator[str]:
    """What lies around the graph's call: agents are called again, and lead there."""
    if (node := _in_a_node(source, checkpoint)) is not None:
        yield f"it was made in a subgraph, inside step {node.n} (node {node.name}): seeded is the outermost graph"
        return
    around = _above(source, checkpoint)
    if not around or around[0].kind is not Kind.AGENT:
        yield "it was made outside of every recorded call of a graph"
    for step in around:
        if step.kind is not Kind.AGENT:
            yield f"it was made inside step {step.n} ({step.kind.value} {step.name})"


def _in_a_node(source: DirectoryRunSource, checkpoint: Step) -> Step | None:
    return next((step for step in _above(source, checkpoint) if step.kind is Kind.NODE), None)


def around(source: DirectoryRunSource, step: Step) -> frozenset[str]:
    """Ids of the steps around one."""
    return frozenset(each.id for each in _above(source, step))


def _above(source: DirectoryRunSource, step: Step) -> list[Step]:
    """The steps around one, inmost first."""
    found: list[Step] = []
    above = source.step_by_id(step.parent or "")
    while above is not None:
        found.append(above)
        above = source.step_by_id(above.parent or "")
    return found


def _stream(source: DirectoryRunSource, checkpoint: Step, given: int | None) -> Iterator[str]:
    """Why what the graph's stream had given cannot be given again, or what was made between its items."""
    graph = source.step_by_id(checkpoint.parent or "")
    if graph is None:
        return
    asked = _arguments(source, graph)
    mode = asked.get("stream_mode")
    if given is None and mode not in (None, "values"):
        yield f"{graph.name} was called by invoke with stream_mode {mode!r}, and returns what came before too"
    if given is None:
        return
    try:
        items = _items(source, graph, given)
    except BodyMissing as problem:
        yield f"what its stream had given cannot be read: {problem}"
        return
    if given < 0 or items is None or asked.get("print_mode"):
        yield "it cannot be told what its stream had given before it"
    elif found := list(unknown(loads(items), "items")):
        yield f"what its stream had given cannot be made again: {'; '.join(found)}"
    began, at = moments(source, graph)[0], moments(source, checkpoint)[0]
    for step in source.steps():
        if (
            step.kind is not Kind.EFFECT
            and step.n > graph.n
            and began < moments(source, step)[0] < at
            and graph not in _above(source, step)
        ):
            yield f"step {step.n} ({step.name}) was made between two items of its stream"


def _arguments(source: DirectoryRunSource, graph: Step) -> Mapping[str, Any]:
    if graph.arguments is None:
        return {}
    try:
        found = loads(source.body(graph.arguments))
    except (BodyMissing, ValueError):
        return {}
    return found if isinstance(found, dict) else {}


def _items(source: DirectoryRunSource, graph: Step, given: int | None) -> bytes | None:
    """The first ``given`` items of a graph's stream.

    Raises:
        BodyMissing: They are not in the record.
    """
    if given is None or given < 0 or graph.result is None:
        return dumps([]) if given == 0 else None
    found = loads(source.body(graph.result))
    items = found.get("items") if isinstance(found, dict) else None
    return dumps(items[:given]) if isinstance(items, list) and len(items) >= given else None


def _given(told: Any) -> int | None:
    found = told.get("given") if isinstance(told, dict) else None
    return found if isinstance(found, int) else None


def has_seed(source: DirectoryRunSource, checkpoint: Step) -> bool:
    """Whether what a saver would keep was recorded."""
    return _ref(source, checkpoint) is not None


def _ref(source: DirectoryRunSource, checkpoint: Step) -> BodyRef | None:
    return ref_from(_record(source, checkpoint).get("seed"))


def _record(source: DirectoryRunSource, step: Step) -> Mapping[str, Json]:
    """The first record of a step, as it is written."""
    lines = source.events(step)
    return mapping(json.loads(lines[0])) if lines else {}


def _number(source: DirectoryRunSource, graph: Step) -> int:
    """Which of the calls of graphs of that name this one is, from 1, in its lane."""
    lane = _lane_of(source, graph)
    graphs = {
        str(step.parent)
        for step in source.steps()
        if step.kind is Kind.NODE or is_graphs(step) or step.name.startswith("checkpointer.")
    }
    same = [
        step
        for step in source.steps()
        if step.kind is Kind.AGENT and step.name == graph.name and step.n <= graph.n and step.id in graphs
    ]
    return sum(_lane_of(source, step) == lane for step in same)


def _lane_of(source: DirectoryRunSource, step: Step) -> str:
    return str(_record(source, step).get("lane", "0"))

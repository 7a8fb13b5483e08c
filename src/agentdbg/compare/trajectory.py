"""Two runs as partial orders: lane by lane, byte for byte, and where they first part."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from typing import TypeAlias

from agentdbg.compare.first_difference import Difference, first_difference
from agentdbg.model.canonical import loads_json
from agentdbg.model.lanes import parse
from agentdbg.model.records import BodyRef, Json, Kind, Segment, Step, StepStatus
from agentdbg.model.segments import Part, join_request
from agentdbg.store.protocols import BodyMissing, RunSource

CALL_KINDS = frozenset((Kind.MODEL, Kind.TOOL, Kind.HTTP, Kind.APPROVAL))
_ENCLOSING = frozenset((Kind.AGENT, Kind.NODE))
SameBodies: TypeAlias = Callable[[BodyRef | None, BodyRef | None], bool]


@dataclass(frozen=True, slots=True)
class Divergence:
    """Where a run first parts from another.

    Attributes:
        step: Ordinal of the step in the first run, or in the second when the first has no such step.
        id: That step's permanent id.
        path: JSON path, or the name of the fact that differs.
        cause: Cause class as in the command line contract.
    """

    step: int
    id: str
    kind: str
    name: str
    path: str
    expected: str
    got: str
    cause: str


@dataclass(frozen=True, slots=True)
class Comparison:
    """Attributes:
    identical: Bijection of lanes, order within lanes, spawn edges and all bytes agree.
    agreed: Number of steps that agree before the first divergence.
    divergence: Where they first part.
    missing: Steps of the first run that the second does not have.
    """

    identical: bool
    agreed: int
    divergence: Divergence | None
    missing: tuple[Step, ...] = ()


@dataclass(slots=True)
class _Lane:
    name: str
    steps: list[Step] = field(default_factory=list)
    children: list[_Lane] = field(default_factory=list)


def met_steps(steps: Iterable[Step]) -> Iterator[Step]:
    """The steps that a replay meets: none inside a call whose outcome is served as a whole."""
    inside: set[str] = set()
    for step in steps:
        if step.parent is not None and step.parent in inside:
            inside.add(step.id)
            continue
        if step.kind in CALL_KINDS:
            inside.add(step.id)
        yield step


def compare(recorded: RunSource, other: RunSource, *, same: SameBodies | None = None) -> Comparison:
    """Compare a replay with its record (or any two runs) as partial orders.

    Args:
        recorded: The run that is the measure.
        other: The run that is judged.
        same: Whether two bodies are the same; by hash when not given.
    """
    judge = _Judge(recorded, other, same or _same_hash)
    left, right = _tree(met_steps(recorded.steps())), _tree(met_steps(other.steps()))
    found: list[Divergence] = []
    missing: list[Step] = []
    agreed = judge.lanes(left, right, found, missing)
    if not found:
        found.extend(judge.endings(left, right))
    if found and judge.bijective(left, right):
        return Comparison(True, sum(len(lane.steps) for lane in _all(left)), None)
    first = min(found, key=lambda item: item.step, default=None)
    return Comparison(first is None, agreed, first, tuple(missing))


class _Judge:
    def __init__(self, recorded: RunSource, other: RunSource, same: SameBodies) -> None:
        self._recorded, self._other, self._same = recorded, other, same

    def lanes(self, left: _Lane, right: _Lane, found: list[Divergence], missing: list[Step]) -> int:
        """Compare two lanes and, by rank, the lanes forked below them; returns the number of steps that agree."""
        agreed = 0
        for a, b in zip(left.steps, right.steps, strict=False):
            difference = self.step(a, b)
            if difference is not None:
                found.append(difference)
                break
            agreed += 1
        else:
            agreed_all = min(len(left.steps), len(right.steps))
            if len(left.steps) > agreed_all:
                gone = left.steps[agreed_all]
                missing.extend(left.steps[agreed_all:])
                found.append(_divergence(gone, "$", gone.name, "(the run ended)", "order"))
            elif len(right.steps) > agreed_all:
                extra = right.steps[agreed_all]
                found.append(_divergence(extra, "$", "(the record has no further step here)", extra.name, "order"))
        if not found:
            for a_lane, b_lane in zip(left.children, right.children, strict=False):
                agreed += self.lanes(a_lane, b_lane, found, missing)
            for lane in left.children[len(right.children) :]:
                missing.extend(lane.steps)
                found.append(_divergence(lane.steps[0], "$", f"lane {lane.name}", "(never started)", "order"))
            for lane in right.children[len(left.children) :]:
                found.append(_divergence(lane.steps[0], "$", "(no such lane)", f"lane {lane.name}", "order"))
        return agreed

    def endings(self, left: _Lane, right: _Lane) -> Iterator[Divergence]:
        """Outcomes of agents and nodes: they come after everything below them, so they are compared last."""
        for a_lane, b_lane in zip(_all(left), _all(right), strict=False):
            for a, b in zip(a_lane.steps, b_lane.steps, strict=False):
                if a.kind in _ENCLOSING and (found := self._outcome(a, b)) is not None:
                    yield found

    def bijective(self, left: _Lane, right: _Lane) -> bool:
        """Whether the lanes agree under another pairing of siblings than by rank."""
        return self._signature(left, self._recorded) == self._signature(right, self._other)

    def _signature(self, lane: _Lane, source: RunSource) -> tuple[object, ...]:
        children = Counter(self._signature(child, source) for child in lane.children)
        return (tuple(_facts(step) for step in lane.steps), frozenset(children.items()))

    def step(self, a: Step, b: Step) -> Divergence | None:
        """Compare one pair of steps."""
        for path, left, right, cause in (
            ("kind", a.kind.value, b.kind.value, "order"),
            ("name", a.name, b.name, "order"),
            ("effect", a.effect, b.effect, "version"),
            ("spawned", _fork(a), _fork(b), "order"),
        ):
            if left != right:
                return _divergence(a, path, str(left), str(right), cause)
        if a.input_hash != b.input_hash and (difference := self._input(a, b)) is not None:
            return difference
        if not self._same(a.arguments, b.arguments):
            return self._bodies(a, b, a.arguments, b.arguments, "arguments")
        return None if a.kind in _ENCLOSING else self._outcome(a, b)

    def _outcome(self, a: Step, b: Step) -> Divergence | None:
        if a.status is not b.status and StepStatus.OPEN not in (a.status, b.status):
            return _divergence(a, "status", a.status.value, b.status.value, "result")
        if a.status is StepStatus.OPEN and b.status is not StepStatus.OPEN:
            return None
        if b.status is StepStatus.OPEN and a.status is not StepStatus.OPEN:
            return _divergence(a, "status", a.status.value, "no outcome", "order")
        if a.error != b.error:
            return _divergence(a, "error", str(a.error), str(b.error), "result")
        if not self._same(a.result, b.result):
            return self._bodies(a, b, a.result, b.result, "model_output" if a.kind is Kind.MODEL else "result")
        return None

    def _bodies(self, a: Step, b: Step, left: BodyRef | None, right: BodyRef | None, cause: str) -> Divergence:
        try:
            expected, got = _json(self._recorded, left), _json(self._other, right)
        except (BodyMissing, ValueError) as problem:
            return _divergence(a, "$", _short(left), f"{_short(right)} ({problem})", cause)
        found = first_difference(expected, got) or Difference("$", _short(left), _short(right))
        return _divergence(a, found.path, found.expected, found.got, cause)

    def _input(self, a: Step, b: Step) -> Divergence | None:
        left, right = list(self._recorded.segments(a)), list(self._other.segments(b))
        place = next(
            (i for i, (x, y) in enumerate(zip(left, right, strict=False)) if not self._same(x.ref, y.ref)),
            min(len(left), len(right)),
        )
        if place == len(left) == len(right):
            return None
        kind = (left if place < len(left) else right)[place].kind
        cause = {"system": "input.system", "tool_schema": "input.tool_schema", "parameters": "input.parameters"}.get(kind)
        try:
            expected, got = _request(self._recorded, left), _request(self._other, right)
        except (BodyMissing, ValueError) as problem:
            return _divergence(a, f"segment {place}", _short_segment(left, place), str(problem), cause or "input.history")
        found = first_difference(expected, got) or Difference("$", "", "")
        return _divergence(a, found.path, found.expected, found.got, cause or "input.history")


def _tree(steps: Iterable[Step]) -> _Lane:
    lanes: dict[tuple[int, ...], _Lane] = {}
    grouped: dict[tuple[int, ...], list[Step]] = defaultdict(list)
    names: dict[tuple[int, ...], str] = {}
    for step in steps:
        path = parse(step.lane)
        grouped[path].append(step)
        names[path] = step.lane
    root = lanes[(0,)] = _Lane("0", grouped.pop((0,), []))
    for path in sorted(grouped):
        lane = lanes[path] = _Lane(names[path], grouped[path])
        above = next((path[:k] for k in range(len(path) - 1, 0, -1) if path[:k] in lanes), (0,))
        lanes[above].children.append(lane)
    return root


def _all(lane: _Lane) -> Iterator[_Lane]:
    yield lane
    for child in lane.children:
        yield from _all(child)


def _facts(step: Step) -> tuple[object, ...]:
    return (
        step.kind,
        step.name,
        step.effect,
        step.input_hash,
        step.arguments.sha256 if step.arguments else None,
        step.status,
        step.error,
        step.result.sha256 if step.result else None,
        _fork(step),
    )


def _fork(step: Step) -> object:
    return step.attrs.get("fork")


def _same_hash(a: BodyRef | None, b: BodyRef | None) -> bool:
    return (a.sha256 if a else None) == (b.sha256 if b else None)


def _json(source: RunSource, ref: BodyRef | None) -> Json:
    return None if ref is None else loads_json(source.body(ref))


def _request(source: RunSource, segments: list[Segment]) -> Json:
    return join_request([Part(part.kind, part.name, loads_json(source.body(part.ref))) for part in segments])


def _short(ref: BodyRef | None) -> str:
    return "nothing" if ref is None else ref.sha256[:12]


def _short_segment(segments: list[Segment], place: int) -> str:
    return _short(segments[place].ref) if place < len(segments) else "nothing"


def _divergence(step: Step, path: str, expected: str, got: str, cause: str) -> Divergence:
    return Divergence(step.n, step.id, step.kind.value, step.name, path, expected, got, cause)

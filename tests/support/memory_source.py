"""Runs and stores held in memory, for tests of what reads them."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field, replace

from agentdbg.model.records import (
    BodyRef,
    Effect,
    Kind,
    Origin,
    RunStatus,
    RunSummary,
    Segment,
    Step,
    StepStatus,
)
from agentdbg.store.protocols import BodyMissing, RunSource

START = 1_767_225_600.0


class MemorySource:
    """A run in memory that can be added to while it is being read."""

    def __init__(self, summary: RunSummary) -> None:
        self.run = summary
        self.bodies: dict[str, bytes] = {}
        self.damage: list[str] = []
        self.closed = False
        self._steps: list[Step] = []
        self._arrived: list[Step] = []
        self._segments: dict[str, list[Segment]] = {}
        self._wakes: list[Callable[[], None]] = []

    # What a test does

    def put(self, value: object) -> BodyRef:
        """Store a body and name it."""
        data = (
            value
            if isinstance(value, bytes)
            else json.dumps(value, ensure_ascii=False).encode("utf-8", "surrogatepass")
        )
        digest = hashlib.sha256(data).hexdigest()
        self.bodies[digest] = data
        return BodyRef(digest, len(data), "bodies/test.jsonl", 0)

    def add(self, step: Step, segments: Sequence[Segment] = ()) -> Step:
        """Append a step that is there from the start."""
        step = replace(step, n=len(self._steps) + 1)
        self._steps.append(step)
        self._segments[step.id] = list(segments)
        self.run = replace(self.run, steps=len(self._steps))
        return step

    def arrive(self, *steps: Step) -> None:
        """Let steps arrive: seen after the next poll."""
        self._arrived.extend(steps)
        for wake in list(self._wakes):
            wake()

    # RunSource

    def summary(self) -> RunSummary:
        return self.run

    def steps(self) -> Sequence[Step]:
        return self._steps

    def step_by_id(self, step_id: str) -> Step | None:
        return next((step for step in self._steps if step.id == step_id), None)

    def body(self, ref: BodyRef) -> bytes:
        try:
            return self.bodies[ref.sha256]
        except KeyError:
            raise BodyMissing("pruned") from None

    def segments(self, step: Step) -> Sequence[Segment]:
        return self._segments.get(step.id, [])

    def origin(self, step: Step, field: str) -> Origin:
        return Origin.RECORDED

    def problems(self) -> Sequence[str]:
        return self.damage

    def poll(self) -> bool:
        arrived, self._arrived = self._arrived, []
        for step in arrived:
            self.add(step)
        return bool(arrived)

    def watch(self, wake: Callable[[], None]) -> Callable[[], None]:
        self._wakes.append(wake)
        return lambda: self._wakes.remove(wake)

    def close(self) -> None:
        self.closed = True


@dataclass
class MemoryStore:
    """A store in memory; ``broken`` runs are listed and cannot be opened."""

    runs: dict[str, RunSource] = field(default_factory=dict)
    broken: dict[str, Exception] = field(default_factory=dict)
    flags: dict[str, str] = field(default_factory=dict)

    def location(self) -> str:
        return "memory"

    def summaries(self) -> Iterable[RunSummary]:
        return [source.summary() for source in self.runs.values()]

    def open(self, run_id: str) -> RunSource:
        if run_id in self.broken:
            raise self.broken[run_id]
        return self.runs[run_id]


class EndlessSource(MemorySource):
    """A run of very many steps that exist only while they are looked at."""

    def __init__(self, count: int) -> None:
        super().__init__(RunSummary("endless", RunStatus.OK, steps=count, started_at=START))
        self.count = count
        self.built = 0

    def steps(self) -> Sequence[Step]:
        return _Endless(self)

    def step_by_id(self, step_id: str) -> Step | None:
        step: Step = _Endless(self)[int(step_id.split(":")[1])]
        return step

    def poll(self) -> bool:
        return False


class _Endless(Sequence[Step]):
    def __init__(self, source: EndlessSource) -> None:
        self._source = source

    def __len__(self) -> int:
        return self._source.count

    def __getitem__(self, index):
        if not 0 <= index < self._source.count:
            raise IndexError(index)
        self._source.built += 1
        kind = (Kind.MODEL, Kind.TOOL, Kind.CHECKPOINT)[index % 3]
        failed = index % 250_000 == 249_999
        return Step(
            n=index + 1,
            id=f"w:{index}",
            kind=kind,
            name=f"step-{index}",
            effect=Effect.READ if kind is Kind.TOOL else None,
            status=StepStatus.ERROR if failed else StepStatus.OK,
            parent="w:0" if index else None,
            depth=1 if index else 0,
            latency_ms=index % 900,
        )


def plain_steps(count: int, **changes: object) -> list[Step]:
    """Steps without bodies, numbered from 1."""
    kinds = (Kind.MODEL, Kind.TOOL)
    return [
        replace(Step(n=i + 1, id=f"w:{i}", kind=kinds[i % 2], name=f"step-{i}", latency_ms=float(i)), **changes)  # type: ignore[arg-type]
        for i in range(count)
    ]


def run_of(steps: Iterable[Step], **summary: object) -> MemorySource:
    """A run with these steps."""
    source = MemorySource(replace(RunSummary("run-1", RunStatus.OK, started_at=START), **summary))  # type: ignore[arg-type]
    for step in steps:
        source.add(step)
    return source

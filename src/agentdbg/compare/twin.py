"""The nearest good run of a bad one: same agent, ended well, not flagged, and the same way for as long as possible.

Of several that are about equally near, the last one before a version changed says most. The work is bounded, however
many runs the store holds: rows of the run list first, then the skeletons of a few.
"""

from __future__ import annotations

import time
from collections.abc import Iterable, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass
from typing import Final, NamedTuple, Protocol, runtime_checkable

from agentdbg.compare.alignment import Stop, Stopped, never
from agentdbg.model.records import Kind, Mode, RunStatus, RunSummary, Step
from agentdbg.store.files import StoreError
from agentdbg.store.protocols import RunSource, RunStore

GOOD: Final = frozenset((RunStatus.OK, RunStatus.WAITING))
OPENED: Final = 24
VERSIONS_READ: Final = 1_000
STEPS_READ: Final = 300
CALLS_READ: Final = 6
SECONDS: Final = 2.0
COMPARABLE: Final = 0.8
"""How near, against the nearest, a run with other versions must be to be preferred."""


class Twin(NamedTuple):
    """The suggested run, and why it is suggested, in one sentence."""

    run_id: str
    why: str


@dataclass(frozen=True, slots=True)
class _Candidate:
    summary: RunSummary
    steps: int
    segments: int
    known: int
    changed: tuple[str, ...]
    earlier: bool

    @property
    def nearness(self) -> int:
        return self.steps + self.segments


@dataclass(frozen=True, slots=True)
class _Way:
    """How a run went: kind and name of its first steps, and the segments of its first model inputs."""

    path: tuple[tuple[Kind, str], ...]
    segments: frozenset[str]


def find(store: RunStore, source: RunSource, *, should_stop: Stop = never, seconds: float = SECONDS) -> Twin | None:
    """Find the nearest good run of ``source`` in a store; ``None`` when there is none.

    Raises:
        Stopped: ``should_stop`` said so.
    """
    run = source.summary()
    rows = [row for row in store.summaries() if _is_good(row, run)]
    if not rows:
        return None
    way = _way(source)
    deadline = time.monotonic() + seconds
    candidates: list[_Candidate] = []
    for row in _promising(rows, run):
        if should_stop():
            raise Stopped
        if candidates and time.monotonic() > deadline:
            break
        found = _candidate(store, row, run, way)
        if found is not None and found.steps:
            candidates.append(found)
    if not candidates:
        return None
    chosen = _choose(candidates)
    return Twin(chosen.summary.run_id, _why(chosen, len(way.path)))


def missing(source: RunSource, store: RunStore) -> str:
    """The line for a run that has no twin."""
    run = source.summary()
    agent = f"agent {run.agent!r}" if run.agent else "no named agent"
    return f"run {run.run_id} has no twin in {store.location()}: no other run of {agent} ended well and began alike"


def _is_good(row: RunSummary, run: RunSummary) -> bool:
    return (
        row.agent == run.agent
        and row.status in GOOD
        and row.flag is None
        and row.mode is Mode.RECORDED
        and row.run_id not in (run.run_id, run.replay_of)
    )


def _promising(rows: Sequence[RunSummary], run: RunSummary) -> list[RunSummary]:
    """The rows worth opening: the nearest in time, and those at the last change of a version before the run."""
    started = run.started_at or 0.0
    before = sorted((row for row in rows if (row.started_at or 0.0) <= started), key=_started, reverse=True)
    after = sorted((row for row in rows if (row.started_at or 0.0) > started), key=_started)
    own = _versions(run)
    turn = next((n for n, row in enumerate(before[:VERSIONS_READ]) if _changed(_versions(row), own)), 0)
    third = OPENED // 3
    chosen = [*before[turn : turn + third], *before[:third], *after[:third], *before, *after]
    return list({row.run_id: row for row in chosen}.values())[:OPENED]


def _started(row: RunSummary) -> float:
    return row.started_at or 0.0


def _candidate(store: RunStore, row: RunSummary, run: RunSummary, way: _Way) -> _Candidate | None:
    try:
        with closing(store.open(row.run_id)) as opened:
            other = _way(opened)
    except (KeyError, StoreError, OSError):
        return None
    steps = 0
    for mine, theirs in zip(way.path, other.path, strict=False):
        if mine != theirs:
            break
        steps += 1
    shared = len(way.segments & other.segments)
    earlier = (row.started_at or 0.0) <= (run.started_at or 0.0)
    changed = _changed(_versions(row), _versions(run))
    return _Candidate(row, steps, shared, len(way.segments), changed, earlier)


@runtime_checkable
class _Indexes(Protocol):
    """A source that need not be read to its end."""

    def index(self, seconds: float | None = None) -> bool:
        """Read on for that long."""


def _way(source: RunSource) -> _Way:
    if isinstance(source, _Indexes):
        source.index(0.1)
    steps = source.steps()
    path: list[tuple[Kind, str]] = []
    segments: set[str] = set()
    calls = 0
    for place in range(min(len(steps), STEPS_READ)):
        step: Step = steps[place]
        path.append((step.kind, "" if step.kind is Kind.APPROVAL else step.name))
        if step.kind is Kind.MODEL and calls < CALLS_READ:
            calls += 1
            segments.update(part.ref.sha256 for part in source.segments(step))
    return _Way(tuple(path), frozenset(segments))


def _choose(candidates: Sequence[_Candidate]) -> _Candidate:
    """The last good run before a version changed, when one is about as near as the nearest; else the nearest."""
    best = max(candidate.nearness for candidate in candidates)
    near = [candidate for candidate in candidates if candidate.nearness >= COMPARABLE * best]
    changed = [candidate for candidate in near if candidate.changed]
    return max(changed or near, key=lambda one: (one.earlier, *_rank(one, bool(changed))))


def _rank(one: _Candidate, by_time: bool) -> tuple[float, float]:
    when = _started(one.summary) if one.earlier else -_started(one.summary)
    return (when, one.nearness) if by_time else (one.nearness, when)


def _why(chosen: _Candidate, length: int) -> str:
    alike = f"{chosen.steps} of the first {length} steps the same way"
    if chosen.known:
        alike += f", {chosen.segments} of {chosen.known} input segments equal"
    if chosen.changed:
        names = ", ".join(chosen.changed[:3]) + (", …" if len(chosen.changed) > 3 else "")
        which = "the last good run before a version changed" if chosen.earlier else "a good run with other versions"
        return f"{which} ({names}); {alike}"
    return f"the nearest good run of {chosen.summary.agent or 'the same agent'}; {alike}"


def _versions(row: RunSummary) -> dict[str, str]:
    given = row.meta.get("versions")
    if not isinstance(given, Mapping):
        return {}
    return {name: str(about.get("value") if isinstance(about, Mapping) else about) for name, about in given.items()}


def _changed(before: Mapping[str, str], after: Mapping[str, str]) -> tuple[str, ...]:
    names: Iterable[str] = {**before, **after}
    return tuple(name for name in names if before.get(name) != after.get(name)) if before and after else ()

"""``verify``: exact replays of past successful runs, drawn by a seed; proof that the records are usable."""

from __future__ import annotations

import random
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from datetime import UTC, datetime
from typing import Final, Protocol, runtime_checkable

from agentdbg.model.records import Json, Mode, RunStatus, RunSummary
from agentdbg.replay import verify_history
from agentdbg.replay.outcome import Outcome
from agentdbg.replay.run import NotReplayable, ReplayOptions, ReplayRefused, exact, obstacles_to
from agentdbg.replay.trust import is_trusted
from agentdbg.store.files import StoreError
from agentdbg.store.protocols import RunStore
from agentdbg.store.reader import DirectoryRunSource

TAGS: Final = {"verify": "exact"}
SAME: Final = "identical"
LEFT_OUT: Final = ("not_replayable",)
_AS_BEFORE: Final = 1e-9


@runtime_checkable
class Deletes(Protocol):
    """A store that runs can be deleted from."""

    def delete(self, run_id: str) -> None:
        """Delete a run."""


@dataclass(frozen=True, slots=True)
class Verified:
    """One run, replayed.

    Attributes:
        replay_run: The replay, which a failure keeps.
    """

    run_id: str
    verdict: str
    reason: str
    served: int
    total: int
    seconds: float
    replay_run: str | None
    first_divergence: Mapping[str, object] | None

    @property
    def passed(self) -> bool:
        """Whether it went the recorded way."""
        return self.verdict == SAME

    def members(self) -> dict[str, object]:
        """As in the JSON document."""
        hit_rate = round(self.served / self.total, 4) if self.total else None
        return {**asdict(self), "seconds": round(self.seconds, 3), "hit_rate": hit_rate}


@dataclass(frozen=True, slots=True)
class Verification:
    """All of them.

    Attributes:
        skipped: Runs that were drawn and cannot be replayed, each with its reason.
        previous: The hit rate of the last time; ``None`` when this is the first one.
    """

    store: str
    date: str
    seed: str
    sample: int
    runs: tuple[Verified, ...]
    skipped: tuple[tuple[str, str], ...]
    previous: float | None

    @property
    def hit_rate(self) -> float | None:
        """Served calls among the recorded ones; ``None`` when no run had any."""
        total = sum(run.total for run in self.runs)
        return sum(run.served for run in self.runs) / total if total else None

    @property
    def failed(self) -> tuple[Verified, ...]:
        """Runs that did not go the recorded way."""
        return tuple(run for run in self.runs if not run.passed)

    @property
    def verdict(self) -> str:
        """``passed``, ``failed``, ``dropped`` (the hit rate has) or ``nothing``."""
        if not self.runs:
            return "nothing"
        if self.failed:
            return "failed"
        rate = self.hit_rate
        if self.previous is not None and rate is not None and rate < self.previous - _AS_BEFORE:
            return "dropped"
        return "passed"

    def members(self) -> dict[str, object]:
        """The JSON document of ``agentdbg verify``, without its schema."""
        rate = self.hit_rate
        return {
            "store": self.store,
            "date": self.date,
            "seed": self.seed,
            "sample": self.sample,
            "verdict": self.verdict,
            "passed": len(self.runs) - len(self.failed),
            "failed": len(self.failed),
            "hit_rate": round(rate, 4) if rate is not None else None,
            "previous_hit_rate": self.previous,
            "runs": [run.members() for run in self.runs],
            "skipped": [{"run_id": run_id, "reason": reason} for run_id, reason in self.skipped],
        }


def default_seed() -> str:
    """Another one every day, so that a scheduler gets round all runs."""
    return datetime.now(UTC).date().isoformat()


def verify(
    store: RunStore,
    options: ReplayOptions,
    *,
    sample: int,
    seed: str,
    keep: bool = False,
    began: Callable[[int, str], None] = lambda _number, _run_id: None,
    ended: Callable[[Verified], None] = lambda _: None,
) -> Verification:
    """Replay past successful runs and note what came out.

    Args:
        store: Where the runs are.
        options: How to replay them; its store takes the replays.
        sample: How many.
        seed: Which: the same ones for the same seed and the same runs.
        keep: Keep the replays that were identical too; failures are kept anyway.
        began: Told of each run before it is replayed.
        ended: Told of each run that was.

    Raises:
        ReplayRefused: Nothing can be replayed here safely.
        OSError: The history cannot be written.
        StoreError: Something else has the name of the history.
    """
    now = datetime.now(UTC).isoformat(timespec="seconds")
    previous = _previous_rate(verify_history.history(store))
    tagged = replace(options, tags={**options.tags, **TAGS})
    runs: list[Verified] = []
    skipped: list[tuple[str, str]] = []
    for summary in drawn(store.summaries(), seed):
        if len(runs) == sample:
            break
        found = _replayed(store, summary.run_id, tagged, lambda run_id: began(len(runs) + 1, run_id))
        if isinstance(found, str):
            skipped.append((summary.run_id, found))
            continue
        runs.append(found if keep else _cleaned_up(found, options.store))
        ended(runs[-1])
    result = Verification(store.location(), now, seed, sample, tuple(runs), tuple(skipped), previous)
    if runs:
        verify_history.keep(store, result.members())
    return result


def drawn(summaries: Iterable[RunSummary], seed: str) -> Sequence[RunSummary]:
    """Successful recorded runs in the order of a seed, whatever order the store gives them in."""
    candidates = [each for each in summaries if each.mode is Mode.RECORDED and each.status is RunStatus.OK]
    candidates.sort(key=lambda each: each.run_id)
    random.Random(f"agentdbg verify {seed}").shuffle(candidates)
    return candidates


def _replayed(store: RunStore, run_id: str, options: ReplayOptions, began: Callable[[str], None]) -> Verified | str:
    """Replay one run; why not, in words, where it cannot be."""
    try:
        source = store.open(run_id)
    except (KeyError, OSError, StoreError) as problem:
        return f"cannot be opened: {problem}"
    try:
        if not isinstance(source, DirectoryRunSource):
            return "it is in a format that cannot be replayed"
        source.index(None)
        if obstacles := obstacles_to(source):
            return obstacles[0]
        if not options.trust and not is_trusted(source):
            return "it was recorded by somebody else: --trust replays it too"
        began(run_id)
        start = time.monotonic()
        try:
            outcome = exact(source, options)
        except NotReplayable as problem:
            return str(problem)
        if outcome.verdict in LEFT_OUT and outcome.replay_run is None and "body missing" in outcome.reason:
            return outcome.reason
        return _verified(outcome, time.monotonic() - start)
    finally:
        source.close()


def _verified(outcome: Outcome, seconds: float) -> Verified:
    first = asdict(outcome.first_divergence) if outcome.first_divergence is not None else None
    return Verified(
        run_id=outcome.source_run,
        verdict=outcome.verdict,
        reason=outcome.reason,
        served=outcome.served,
        total=outcome.total,
        seconds=seconds,
        replay_run=outcome.replay_run,
        first_divergence=first,
    )


def _cleaned_up(found: Verified, store: RunStore) -> Verified:
    """Delete an identical replay: it says nothing that its source does not."""
    if not found.passed or found.replay_run is None or not isinstance(store, Deletes):
        return found
    try:
        store.delete(found.replay_run)
    except (KeyError, OSError, StoreError):
        return found  # it stays, as a run like any other
    return replace(found, replay_run=None)


def _previous_rate(found: Sequence[Mapping[str, Json]]) -> float | None:
    return next(_rates(reversed(found)), None)


def _rates(found: Iterator[Mapping[str, Json]]) -> Iterator[float]:
    for each in found:
        rate = each.get("hit_rate")
        if isinstance(rate, int | float) and not isinstance(rate, bool):
            yield float(rate)


__all__ = ["ReplayRefused", "Verification", "Verified", "default_seed", "drawn", "verify"]

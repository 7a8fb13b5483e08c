"""The verdict of an exact replay, from what the child said and from the two records."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, cast

from agentdbg.compare.trajectory import Comparison, compare
from agentdbg.model.canonical import dumps, loads
from agentdbg.model.fingerprint import drop_volatile
from agentdbg.model.records import BodyRef, Json, StepStatus
from agentdbg.redaction.bijection import PlaceholderBijection
from agentdbg.replay.cassette import Cassette, volatile_rules
from agentdbg.replay.outcome import Outcome
from agentdbg.store.protocols import BodyMissing, RunSource
from agentdbg.store.reader import DirectoryRunSource

Messages = Sequence[Mapping[str, Any]]


def judge(recorded: DirectoryRunSource, made: Path, tape: Cassette, messages: Messages, timed_out: bool) -> Outcome:
    """Decide how a replay ended.

    Args:
        recorded: The source run.
        made: Directory of the replay's own record.
        tape: What was served.
        messages: What the child said.
        timed_out: It had to be ended.
    """
    replayed = DirectoryRunSource(made)
    replayed.index(None)
    try:
        rules = _Rules(recorded, replayed)
        found = compare(recorded, replayed, same=rules.same)
        verdict, reason = _verdict(found, tape, messages, timed_out, rules.used)
        done = _first(messages, "done") or _first(messages, "stopped") or {}
        served = sum(1 for step in replayed.steps() if "served_from" in step.attrs)
        return Outcome(
            source_run=recorded.summary().run_id,
            verdict=verdict,
            reason=reason,
            first_divergence=found.divergence if verdict in ("diverged", "refused") else None,
            served=served,
            unconsumed=len(tape.calls) - served,
            total=len(tape.calls),
            refused=tuple(dict(message) for message in messages if message.get("event") == "refused"),
            tolerated=tuple(dict(message) for message in messages if message.get("event") == "tolerated"),
            rules_used=tuple(rules.used),
            guard=("audit",),
            notes=("completion order was not kept: outcomes were released after a wait",) if done.get("order_lost") else (),
        )
    finally:
        replayed.close()


def _verdict(
    found: Comparison, tape: Cassette, messages: Messages, timed_out: bool, rules: Sequence[str]
) -> tuple[str, str]:
    refused = _first(messages, "refused")
    if refused is not None:
        where = f"under step {refused.get('step')}" if refused.get("step") else "outside every step"
        return "refused", f"{refused.get('effect')} {refused.get('detail')} at {refused.get('frame')}, {where}"
    diverged = _first(messages, "diverged")
    if diverged is not None:
        at = found.divergence
        place = f" at step {at.step} ({at.kind} {at.name}) {at.path}" if at is not None else ""
        return "diverged", f"{diverged.get('name')}: {diverged.get('reason')}{place}"
    ended = _first(messages, "record_ends")
    if ended is not None or tape.ends_early:
        return _ended_early(found, ended is not None)
    if timed_out:
        return "timed_out", "the program did not end in time"
    if _first(messages, "done") is None:
        return "crashed", "the child ended before the agent returned"
    if found.identical:
        used = f" under {len(rules)} rules" if rules else ""
        return "identical", f"identical{used}: every step, lane, input, argument, result and state agrees"
    at = found.divergence
    return "diverged", f"step {at.step} ({at.kind} {at.name}) {at.path}" if at is not None else "the runs differ"


def _ended_early(found: Comparison, at_the_end: bool) -> tuple[str, str]:
    first = found.divergence
    if first is None or all(step.status is StepStatus.OPEN for step in found.missing) or (at_the_end and first.got == "no outcome"):
        return "recording_ended", "agrees as far as the record goes"
    return "diverged", f"step {first.step} ({first.kind} {first.name}) {first.path}"


def _first(messages: Messages, event: str) -> Mapping[str, Any] | None:
    return next((message for message in messages if message.get("event") == event), None)


class _Rules:
    """Bodies are the same when their bytes are, or when only volatile fields or another key's placeholders differ."""

    def __init__(self, recorded: RunSource, replayed: RunSource) -> None:
        self._recorded, self._replayed = recorded, replayed
        self._volatile = [path for paths in volatile_rules(recorded.summary().meta).paths.values() for path in paths]
        kids = [_kid(source.summary().meta) for source in (recorded, replayed)]
        self._bijection = PlaceholderBijection(*kids) if kids[0] != kids[1] else None
        self.used: list[str] = []

    def same(self, a: BodyRef | None, b: BodyRef | None) -> bool:
        """Whether two bodies count as the same."""
        if a is None or b is None:
            return a is b
        if a.sha256 == b.sha256:
            return True
        try:
            left, right = self._recorded.body(a), self._replayed.body(b)
        except BodyMissing:
            return False
        if self._alike(left, right):
            return True
        return self._without_volatile(left, right)

    def _alike(self, left: bytes, right: bytes) -> bool:
        if left == right:
            return True
        if self._bijection is None:
            return False
        return bool(self._bijection.same(left.decode("utf-8", "replace"), right.decode("utf-8", "replace")))

    def _without_volatile(self, left: bytes, right: bytes) -> bool:
        try:
            kept_left, dropped = drop_volatile(loads(left), self._volatile)
            kept_right, dropped_right = drop_volatile(loads(right), self._volatile)
        except ValueError:
            return False
        if not dropped or dropped != dropped_right or not self._alike(dumps(kept_left), dumps(kept_right)):
            return False
        self.used.extend(path for path in dropped if path not in self.used)
        return True


def _kid(meta: Mapping[str, Json]) -> str:
    rules = meta.get("rules")
    redaction = rules.get("redaction") if isinstance(rules, dict) else None
    return str(cast("dict[str, Json]", redaction).get("kid", "")) if isinstance(redaction, dict) else ""



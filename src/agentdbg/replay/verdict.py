"""The verdict of an exact replay, from what the child said and from the two records."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from agentdbg.compare.answers import six_answers
from agentdbg.compare.step_difference import divergence, has_ended
from agentdbg.compare.trajectory import Divergence, called, compare, end_of
from agentdbg.model.records import Kind, Step
from agentdbg.replay.cassette import Cassette
from agentdbg.replay.child_process import ChildReport
from agentdbg.replay.contained import unrecorded_changes
from agentdbg.replay.narrowed import note_of_narrowed
from agentdbg.replay.nearest import nearest_call
from agentdbg.replay.outcome import Outcome
from agentdbg.replay.present import files_differ
from agentdbg.replay.sameness import ReplaySameness, without_addresses
from agentdbg.replay.spec import mapping, recorded_environment
from agentdbg.store.reader import DirectoryRunSource

SHOWN, BEFORE = 120, 30
BY_HAND = "; a person used pdb in it"
_NUMBER = re.compile(r"(?=[a-fA-F:.-]*[0-9])[0-9a-fA-F.:-]+")
INSPECTED = "a person had code evaluated in the program ({count} times): it may have done what it did because of that"
HANDOFFS_LOST = "the order in which threads handed things to each other was not kept"
ORDER_LOST = "completion order was not kept: an outcome was released after a wait"
LEFT_BEHIND = (
    "{count} of the processes that the program started were still there when it had ended and did nothing any more: "
    "they were ended with it, so what they would have done later is not known"
)
UNSTARTED = "the recorded program started a process that the replay did not: {what}"
STRANGE = "the program wrote to the replay's own channel ({count} lines), which was not believed"
HASH_SEED = (
    "the recorded process chose its hash seed at random, so the order of sets cannot be repeated: "
    "sort them, or set PYTHONHASHSEED where the agent runs (coroutines, and objects without a __hash__ of their own, "
    "have to be sorted all the same)"
)
SET_ORDER = (
    "the same came in another order, and the program is as it was: if it goes through a set of coroutines, or of "
    "objects without a __hash__ of their own, the order follows from addresses in memory, others in every process: "
    "sort it"
)
ADDRESS = "an address in memory stands in the text: it is another one in every process, so leave it out"
AT_IMPORT = (
    "{file} calls its agent while it is imported, and not with this run's arguments (it is not the first call, or the "
    "call has changed, or it reads what differs now): put the calls below if __name__ == '__main__'"
)


def judge(recorded: DirectoryRunSource, made: Path, tape: Cassette, report: ChildReport) -> Outcome:
    """Decide how a replay ended.

    Args:
        recorded: The source run.
        made: Directory of the replay's own record.
        tape: What was served.
        report: What the child said, and how it ended.
    """
    replayed = DirectoryRunSource(made)
    replayed.index(None)
    try:
        return _Case(recorded, replayed, tape, report).outcome()
    finally:
        replayed.close()


@dataclass(frozen=True, slots=True)
class _Ruling:
    verdict: str
    reason: str
    divergence: Divergence | None = None


class _Case:
    def __init__(
        self, recorded: DirectoryRunSource, replayed: DirectoryRunSource, tape: Cassette, report: ChildReport
    ) -> None:
        self._recorded, self._replayed, self._tape, self._report = recorded, replayed, tape, report
        self._same = ReplaySameness(recorded, replayed)
        self._done = report.first("done")
        self._found = compare(recorded, replayed, same=self._same, key=self._same.key, stopped=self._done is None)
        self._notes: list[str] = []

    def outcome(self) -> Outcome:
        """Everything there is to say."""
        report, found = self._report, self._found
        ruling = self._explained(self._ruling())
        served = sum(1 for step in self._replayed.steps() if "served_from" in step.attrs)
        said = self._done or report.first("stopped") or {}
        if said.get("order_lost"):
            self._notes.append(ORDER_LOST)
        if reason := said.get("handoffs_lost"):
            self._notes.append(f"{HANDOFFS_LOST}: {reason}")
        if report.strange:
            self._notes.append(STRANGE.format(count=report.strange))
        if ruling.verdict == "diverged" and (lost := note_of_narrowed(self._recorded)):
            self._notes.append(lost)
        if new := unrecorded_changes(self._recorded, report):
            self._notes.append(new)
        if leaky := said.get("leaky"):
            self._notes.append(f"loaded, and able to get past an audit hook: {', '.join(map(str, leaky))}")
        if leaky := said.get("leaky_others"):
            self._notes.append(f"loaded in a child process, and able to get past an audit hook: {', '.join(leaky)}")
        if count := said.get("left_behind"):
            self._notes.append(LEFT_BEHIND.format(count=count))
        inspected = inspected_in(report)
        if inspected:
            self._notes.append(INSPECTED.format(count=inspected))
        complete = ruling.verdict in ("identical", "diverged") and self._done is not None
        summaries = (self._recorded.summary(), self._replayed.summary())
        return Outcome(
            source_run=self._recorded.summary().run_id,
            verdict=ruling.verdict,
            reason=f"{ruling.reason}{BY_HAND if inspected else ''}",
            first_divergence=ruling.divergence,
            answers=six_answers(*summaries, found.pairs, self._same, complete=complete),
            served=served,
            unconsumed=len(self._tape.calls) - served,
            total=len(self._tape.calls),
            refused=tuple(map(dict, report.all("refused"))),
            tolerated=tuple(map(dict, report.all("tolerated"))),
            rules_used=tuple(self._same.used),
            contained=tuple(dict(each) for each in report.all("contained")),
            guard=report.layers(),
            notes=tuple(self._notes),
            log=report.log,
            inspected=inspected,
        )

    # -- the verdict ------------------------------------------------------------------------------

    def _ruling(self) -> _Ruling:
        report = self._report
        if refused := report.first("refused"):
            return _Ruling("refused", self._refusal(refused), self._found.divergence)
        if (imported := report.first("at_import")) and (at := self._found.divergence) and self._is_other_run(at):
            return _Ruling("not_replayable", AT_IMPORT.format(file=imported.get("file")))
        if failed := report.first("cannot_restore"):
            return _Ruling("not_replayable", str(failed.get("reason")))
        if diverged := report.first("diverged"):
            return self._diverged(diverged)
        if report.first("aborted"):
            return _Ruling("aborted", f"stopped by a person{self._place_of_rest()}")
        if self._tape.ends_early and not report.timed_out and (ended := self._ended_early()):
            return ended
        if self._done is None and self._found.divergence is not None:
            self._notes.append(self._way_out())
            return _Ruling("diverged", in_words(self._found.divergence), self._found.divergence)
        if self._done is None:
            return _Ruling("timed_out" if report.timed_out else "crashed", self._way_out())
        return self._finished()

    @staticmethod
    def _is_other_run(at: Divergence) -> bool:
        return at.step == 1 and at.cause == "arguments"

    def _finished(self) -> _Ruling:
        at = self._found.divergence
        if (at is None or self._found.identical) and (missing := (self._done or {}).get("unstarted")):
            return _Ruling("diverged", UNSTARTED.format(what=", ".join(map(str, missing[:3]))), at)
        if self._found.identical:
            rules = len(self._same.used)
            under = f" under {rules} rule{'s' if rules > 1 else ''}" if rules else ""
            return _Ruling("identical", f"identical{under}: every step, lane, input, argument, result and state agrees")
        if at is None:
            return _Ruling("diverged", "the runs differ")
        return _Ruling("diverged", in_words(at), at)

    def _diverged(self, message: Mapping[str, Any]) -> _Ruling:
        asked = self._replayed.step_by_id(str(message.get("step")))
        at = self._found.divergence
        if at is None:
            if asked is None:
                return _Ruling("diverged", f"{message.get('name')}: {message.get('reason')}")
            place = self._mate(asked) or asked
            at = divergence(place, "$", "the call as recorded", str(message.get("reason")), "order")
        reason = in_words(at)
        if asked is not None and not self._explains(at, asked):
            nearest = nearest_call(self._recorded, self._replayed, asked, self._same)
            reason += f"; {called(asked)}: {message.get('reason')}" + (f"; {nearest}" if nearest else "")
        return _Ruling("diverged", reason, at)

    def _explains(self, at: Divergence, asked: Step) -> bool:
        """Whether the first difference is that call's own, against a recorded call of the same kind and name."""
        mate = self._mate(asked)
        return mate is not None and mate.id == at.id and (mate.kind, mate.name) == (asked.kind, asked.name)

    def _mate(self, asked: Step) -> Step | None:
        """The recorded step at a replayed one's place."""
        return next((a for a, b in self._found.pairs if b is not None and b.id == asked.id), None)

    def _ended_early(self) -> _Ruling | None:
        """How far a replay of a record that breaks off agrees; ``None`` when it broke off even earlier itself."""
        at = self._found.divergence
        if at is None and (left_out := self._left_out()):
            if self._done is None and self._report.first("record_ends") is None:
                return None
            at = divergence(left_out, "$", called(left_out), end_of(self._recorded, self._replayed), "order")
        if at is not None:
            return _Ruling("diverged", in_words(at), at)
        return _Ruling("recording_ended", self._agreed())

    def _way_out(self) -> str:
        if self._report.timed_out:
            return f"the program did not end in time{self._place_of_rest()}"
        return f"the child {self._report.ending()} before the agent returned{self._place_of_rest()}"

    def _left_out(self) -> Step | None:
        """A recorded call with an outcome that the replay never made."""
        return next((step for step in self._found.missing if has_ended(step) and step.fingerprint), None)

    def _agreed(self) -> str:
        last = next((step for step in reversed(self._recorded.steps()) if step.kind is not Kind.AGENT), None)
        place = f", to step {last.n}, {called(last)}" if last is not None else ""
        return f"agrees as far as the record goes{place}"

    def _refusal(self, refused: Mapping[str, Any]) -> str:
        step = self._replayed.step_by_id(str(refused.get("step")))
        where = f"under step {step.n}, {called(step)}" if step is not None else "outside every step"
        return f"{refused.get('effect')} {refused.get('detail')} at {refused.get('frame')}, {where}"

    def _place_of_rest(self) -> str:
        """Where a replay that did not end stands."""
        inner = [step for step in self._replayed.steps() if not has_ended(step) and step.kind is not Kind.AGENT]
        if inner:
            return f", in step {inner[-1].n}, {called(inner[-1])}"
        steps = self._replayed.steps()
        return f", after step {steps[-1].n}, {called(steps[-1])}" if len(steps) else ""

    # -- its cause --------------------------------------------------------------------------------

    def _explained(self, ruling: _Ruling) -> _Ruling:
        """Name causes that lie outside the compared content."""
        at = ruling.divergence
        if at is None or at.cause == "redaction":
            return ruling
        cause = at.cause
        if at.reordered and not self._has_hash_seed():
            self._notes.append(HASH_SEED)
            cause = cause if files_differ(self._recorded) else "environment"
        elif without_addresses(at.expected) == without_addresses(at.got):
            cause = "environment"
            self._notes.append(ADDRESS)
        elif (at.reordered or "(recorded as step " in at.got) and not files_differ(self._recorded):
            self._notes.append(SET_ORDER)
        elif _only_numbers(at.expected, at.got) and (self._done or self._report.first("stopped") or {}).get("unpinned"):
            cause = "clock"
        return replace(ruling, divergence=replace(at, cause=cause))

    def _has_hash_seed(self) -> bool:
        found = recorded_environment(self._recorded)
        value = mapping(mapping(found.get("env")).get("PYTHONHASHSEED")).get("value")
        return isinstance(value, str) and value != "random"


def inspected_in(report: ChildReport) -> int:
    """How many lines of pdb a person had evaluated in the program."""
    return len(report.all("looked_into"))


def in_words(at: Divergence) -> str:
    """A divergence as one line."""
    place = f"step {at.step}, {at.kind} {at.name}"
    where = "" if at.path == "$" else f" {at.path}"
    expected, got = _cut(at.expected), _cut(at.got)
    if _looks(expected) == _looks(got):  # white space, or what reads alike
        expected, got = _spelled(at.expected, at.got), _spelled(at.got, at.expected)
    return f"{place}:{where} expected {expected}, got {got}"


def _cut(text: str) -> str:
    line = " ".join(text.split())
    return line if len(line) <= SHOWN else line[:SHOWN] + "…"


def _looks(text: str) -> str:
    return unicodedata.normalize("NFKC", text)


def _spelled(text: str, other: str) -> str:
    """What a text holds where it parts from another, every character to be seen."""
    start = max(0, _alike(text, other) - BEFORE)
    piece = text[start : start + SHOWN]
    return f"{'…' if start else ''}{piece!a}{'…' if start + SHOWN < len(text) else ''}"


def _alike(text: str, other: str) -> int:
    """How many characters two texts begin with together."""
    return next((at for at, (a, b) in enumerate(zip(text, other, strict=False)) if a != b), min(len(text), len(other)))


def _only_numbers(expected: str, got: str) -> bool:
    """Whether two texts differ in numbers, dates or ids only: in words that have a digit."""
    return expected != got and _NUMBER.sub("#", expected) == _NUMBER.sub("#", got)

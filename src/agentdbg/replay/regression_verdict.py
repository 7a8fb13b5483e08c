"""What one sample of a regression replay came to, from what its child said and from the two records."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from agentdbg.compare.answers import six_answers
from agentdbg.compare.trajectory import Divergence, called, compare
from agentdbg.model.fingerprint import alpha_rename
from agentdbg.model.records import BodyRef, Effect, Kind, Step, StepStatus
from agentdbg.replay.belied import belied, redeclared, spoken
from agentdbg.replay.child_report import ChildReport
from agentdbg.replay.drift import drift_between
from agentdbg.replay.intents import Intent, changes_between, judged
from agentdbg.replay.outcome import Outcome
from agentdbg.replay.policy import RUNS, Deed
from agentdbg.replay.prefix import earlier_checkpoint
from agentdbg.replay.sameness import ReplaySameness
from agentdbg.replay.stability import Conclusion, conclusion_of
from agentdbg.replay.unanswered import failure_in_words, unanswered_call
from agentdbg.replay.verdict import BY_HAND, INSPECTED, in_words, inspected_in
from agentdbg.store.protocols import BodyMissing
from agentdbg.store.reader import DirectoryRunSource

REFUSAL = "CallRefused"
_FOUND = (Deed.DRY_RUN.value, Deed.REFUSE.value, Deed.ASK.value)
_HARMLESS = (Effect.NONE.value, Effect.READ.value)
OFTEN = 20
OPEN_NAMED = 3


@dataclass(frozen=True, slots=True)
class Sample:
    """Attributes:
    outcome: Of this sample alone.
    conclusion: What it came to; ``None`` when it did not come to its end.
    final: Further samples would say the same: no model was asked, or something else ended it.
    """

    outcome: Outcome
    conclusion: Conclusion | None
    final: bool


class RenamedSameness(ReplaySameness):
    """Ids that a server makes up anew at every call are the same by their order of appearance."""

    def __init__(self, recorded: DirectoryRunSource, replayed: DirectoryRunSource) -> None:
        super().__init__(recorded, replayed)
        self._sources = recorded, replayed

    def bodies(self, a: BodyRef | None, b: BodyRef | None) -> bool:
        """Whether two bodies are the same but for such ids."""
        if super().bodies(a, b):
            return True
        if a is None or b is None:
            return False
        try:
            left, right = (
                each.body(ref).decode("utf-8", "replace") for each, ref in zip(self._sources, (a, b), strict=True)
            )
        except BodyMissing:
            return False
        return alpha_rename(left) == alpha_rename(right)


def judge_sample(
    recorded: DirectoryRunSource,
    made: Path,
    report: ChildReport,
    wanted: Conclusion,
    *,
    from_step: int | None,
    total: int,
    intents: Sequence[Intent],
) -> Sample:
    """Decide what a sample came to.

    Args:
        recorded: The source run.
        made: Directory of the sample's record.
        report: What the child said.
        wanted: What the recorded run came to.
        from_step: Where it was to go live; ``None``: at the first model input that differs.
        total: Number of recorded calls.
        intents: The changes that were meant.
    """
    replayed = DirectoryRunSource(made)
    replayed.index(None)
    try:
        return _Case(recorded, replayed, report, wanted, from_step).sample(total, intents)
    finally:
        replayed.close()


class _Case:
    def __init__(
        self,
        recorded: DirectoryRunSource,
        replayed: DirectoryRunSource,
        report: ChildReport,
        wanted: Conclusion,
        from_step: int | None,
    ) -> None:
        self._recorded, self._replayed, self._report, self._wanted = recorded, replayed, report, wanted
        self._from = from_step
        self._done = report.first("done")
        self._said: Mapping[str, Any] = self._done or report.first("stopped") or {}
        self._same = RenamedSameness(recorded, replayed)
        self._compared = compare(recorded, replayed, same=self._same, key=self._same.key, stopped=self._done is None)
        self._conclusion = conclusion_of(replayed)
        self._notes = list(dict.fromkeys([*spoken(replayed, report.all("spoke")), *redeclared(recorded, replayed)]))

    def sample(self, total: int, intents: Sequence[Intent]) -> Sample:
        verdict, reason = self._ruling()
        report = self._report
        served = sum(1 for step in self._replayed.steps() if "served_from" in step.attrs)
        complete = self._done is not None
        answers = six_answers(
            self._recorded.summary(), self._replayed.summary(), self._compared.pairs, self._same, complete=complete
        )
        changes = changes_between(self._recorded, self._replayed, self._compared.pairs, self._same)
        drift = drift_between(self._recorded, self._replayed, self._same)
        if drift:
            names = ", ".join(dict.fromkeys(each.name for each in drift))
            self._notes.append(f"outside data has drifted ({names}): what comes of that is not the doing of a fix")
        edits = self._edits()
        for unused in self._said.get("unused_edits") or ():
            if step := self._recorded.step_by_id(str(unused)):
                self._notes.append(
                    f"not used: the edit of step {step.n}, {called(step)}: the program did not come to it"
                )
        inspected = inspected_in(report)
        if inspected:
            self._notes.append(INSPECTED.format(count=inspected))
        outcome = Outcome(
            source_run=self._recorded.summary().run_id,
            verdict=verdict,
            reason=f"{reason}{BY_HAND if inspected else ''}{_edited_words(edits)}",
            first_divergence=self._divergence(verdict),
            answers=judged(answers, changes, intents),
            served=served,
            unconsumed=self._count("unconsumed", max(total - served, 0)),
            total=total,
            refused=tuple(map(dict, report.all("refused"))),
            tolerated=tuple(map(dict, report.all("tolerated"))),
            rules_used=tuple(self._same.used),
            contained=tuple(dict(each) for each in report.all("contained")),
            guard=report.layers(),
            log=report.log,
            mode="regression",
            from_step=self._began_at(),
            live=self._count("live_calls", self._ruled(Deed.LIVE, Deed.CHECKED)),
            dry_run=self._count("dry_run", self._ruled(Deed.DRY_RUN)),
            denied=self._count("refused", self._ruled(Deed.REFUSE)),
            drift=tuple(each.members() for each in drift),
            findings=tuple(shortened([*self._findings(), *belied(self._replayed, report.all("sent"))])),
            notes=tuple(self._notes),
            edits=edits,
            inspected=inspected,
        )
        final = verdict not in ("same", "changed") or not self._asked_models()
        return Sample(outcome, self._conclusion if complete else None, final)

    # -- the verdict ------------------------------------------------------------------------------

    def _ruling(self) -> tuple[str, str]:
        report = self._report
        if refused := report.first("refused"):
            return "refused", self._refusal(refused)
        if failed := report.first("cannot_restore"):
            return "not_replayable", str(failed.get("reason"))
        if changed := report.first("prefix_changed"):
            return "prefix_changed", self._prefix(changed)
        if report.first("aborted"):
            return "aborted", "stopped by a person"
        if unsettled := report.first("unsettled"):
            return "refused", f"{unsettled.get('name')} is {unsettled.get('reason')}"
        if self._done is None:
            if report.timed_out:
                return "timed_out", f"the program did not end in time{self._refused_often()}{self._still_open()}"
            return "crashed", f"the child {report.ending()} before the agent returned"
        return self._finished()

    def _finished(self) -> tuple[str, str]:
        mine, wanted = self._conclusion, self._wanted
        if missing := (*wanted.missing, *mine.missing):
            return "needs_data", f"bodies are missing that say what the run came to: {', '.join(missing)}"
        if (step := unanswered_call(self._recorded, self._replayed)) is not None:
            return (
                "needs_data",
                f"the model could not be asked ({failure_in_words(step)}): nothing is known of the change",
            )
        if mine.error == REFUSAL and wanted.error != REFUSAL and mine.begins(wanted):
            return "refused", f"the agent ended on a call that was not made: {self._last_refused()}"
        if mine.error == REFUSAL:
            self._notes.append(f"the agent ended on a call that was not made: {self._last_refused()}")
        if mine.says_nothing() and wanted.says_nothing() and mine.text != wanted.text:
            return "needs_data", "only free text to compare: cannot tell; declare a final state or return structure"
        if not mine.same_as(wanted):
            return "changed", f"{wanted.unlike(mine)}{self._because()}"
        if self._is_untouched():
            return "unaffected", "the present code makes the same model inputs and calls; no model was asked"
        what = "path, final state and answer" if mine.final is not None else "path and answer"
        return "same", f"{what} agree with the record"

    def _is_untouched(self) -> bool:
        """Whether everything was served up to the end, on the way to the first model input that differs."""
        ruled = self._report.all("ruled")
        return self._from is None and not ruled and not self._report.first("touched") and not self._said.get("live")

    def _because(self) -> str:
        at = self._compared.divergence
        return f"; first difference: {in_words(at)}" if at is not None else ""

    def _refusal(self, refused: Mapping[str, Any]) -> str:
        step = self._replayed.step_by_id(str(refused.get("step")))
        where = f"under step {step.n}, {called(step)}" if step is not None else "outside every step"
        return f"{refused.get('effect')} {refused.get('detail')} at {refused.get('frame')}, {where}"

    def _prefix(self, message: Mapping[str, Any]) -> str:
        expected = self._recorded.step_by_id(str(message.get("recorded")))
        what = f"{message.get('kind')} {message.get('name')}: {message.get('reason')}"
        if expected is None:
            return what
        earlier = earlier_checkpoint(self._recorded, expected.id)
        proposed = f"; start earlier, --from {earlier}" if earlier else "; start from the beginning, --from 1"
        return f"{what}, where the record has step {expected.n}, {called(expected)}{proposed}"

    def _last_refused(self) -> str:
        refused = [each for each in self._report.all("ruled") if each.get("deed") == Deed.REFUSE.value]
        return f"{refused[-1].get('name')} ({refused[-1].get('reason')})" if refused else "see the findings"

    def _divergence(self, verdict: str) -> Divergence | None:
        return None if verdict == "unaffected" else self._compared.divergence

    # -- what else there is to say ----------------------------------------------------------------

    def _began_at(self) -> int:
        """Number of the recorded step from which on it was live; 0 when it never was."""
        if self._from is not None:
            return self._from
        live = self._report.first("live")
        step = None if live is None else self._recorded.step_by_id(str(live.get("recorded")))
        return step.n if step is not None else 0

    def _asked_models(self) -> bool:
        return any(each.get("kind") == Kind.MODEL.value for each in self._report.all("ruled"))

    def _count(self, what: str, otherwise: int) -> int:
        """A number that the child gave at its end, which one that was ended could not give."""
        said = self._said.get(what)
        return said if isinstance(said, int) and not isinstance(said, bool) else otherwise

    def _ruled(self, *deeds: Deed) -> int:
        """How many calls were decided so; what a live tool does inside is part of that one call."""
        return sum(
            each.get("deed") in deeds and not (each.get("inside") and each.get("deed") in RUNS)
            for each in self._report.all("ruled")
        )

    def _refused_often(self) -> str:
        names = Counter(str(each.get("name")) for each in self._report.all("ruled") if each.get("deed") == Deed.REFUSE)
        often = [f"{name} {count:,} times" for name, count in names.most_common(3) if count > OFTEN]
        return f"; it went on to make calls that are refused: {', '.join(often)}" if often else ""

    def _still_open(self) -> str:
        """What a program that had to be ended was waiting for, as far as the record of it says."""
        kinds = (Kind.MODEL, Kind.TOOL, Kind.HTTP, Kind.APPROVAL)
        found = [step for step in self._replayed.steps() if step.kind in kinds and step.status is StepStatus.OPEN]
        return f"; it was in {', '.join(map(called, found[-OPEN_NAMED:]))}" if found else ""

    def _edits(self) -> tuple[Mapping[str, object], ...]:
        """What a person who held a call put in its place."""
        mates = {b.id: a.n for a, b in self._compared.pairs if a is not None and b is not None}
        found: list[Mapping[str, object]] = []
        for each in self._report.all("edited"):
            if not each.get("by_edit"):
                about = {"path": each.get("path"), "value": each.get("value"), "name": each.get("name")}
                found.append({"step": mates.get(str(each.get("step"))), **about, "held": True})
        return tuple(found)

    def _findings(self) -> list[dict[str, object]]:
        """Writes that were made, and writes and questions that did not happen as the agent wanted."""
        found: list[dict[str, object]] = []
        for each in self._report.messages:
            event = each.get("event")
            if event == "unsettled":
                step = self._replayed.step_by_id(str(each.get("step")))
                found.append({**_about(step, each), "deed": Deed.REFUSE.value, "reason": each.get("reason")})
            elif event == "ruled" and _is_told(each):
                step = self._replayed.step_by_id(str(each.get("step")))
                found.append({**_about(step, each), "deed": each.get("deed"), "reason": each.get("reason")})
            elif event == "edited":
                step = self._replayed.step_by_id(str(each.get("step")))
                whose = "an edit" if each.get("by_edit") else "a person"
                reason = f"its {each.get('path')} was put in by {whose}"
                found.append({**_about(step, each), "deed": "edit", "reason": reason})
            elif event == "not_edited":
                step = self._replayed.step_by_id(str(each.get("step")))
                found.append({**_about(step, each), "deed": "not edited", "reason": each.get("reason")})
            elif event == "settled":
                step = self._replayed.step_by_id(str(each.get("step")))
                done = "done" if each.get("done") else "not done"
                found.append({**_about(step, each), "deed": "settle", "reason": f"in doubt, settled: it was {done}"})
        return found


def _is_told(ruled: Mapping[str, Any]) -> bool:
    """Whether a decision about a call is more than that it was served, or read: what was really done above all."""
    writes = ruled.get("kind") == Kind.TOOL.value and ruled.get("effect") not in _HARMLESS
    return ruled.get("deed") in _FOUND or (ruled.get("deed") == Deed.LIVE.value and writes)


def shortened(findings: Sequence[dict[str, object]]) -> list[dict[str, object]]:
    """Findings that say the same of one tool over and over, as of a loop around a refused call, counted."""
    kept: list[dict[str, object]] = []
    seen: Counter[tuple[object, ...]] = Counter()
    for each in findings:
        about = (each["name"], each["deed"], each["reason"])
        seen[about] += 1
        if seen[about] <= OFTEN:
            kept.append(each)
    for (name, deed, reason), count in seen.items():
        if more := count - min(count, OFTEN):
            words = f"{more:,} more like these: {reason}"
            kept.append({"step": None, "name": name, "key": None, "deed": deed, "reason": words})
    return kept


def _edited_words(edits: Sequence[Mapping[str, object]]) -> str:
    if not edits:
        return ""
    words = [f"{each['path']} of step {each['step'] or '?'} {each['name']}" for each in edits]
    return f"; replaced by a person: {', '.join(words)}"


def _about(step: Step | None, message: Mapping[str, Any]) -> dict[str, object]:
    key = step.idempotency_key if step is not None else None
    return {"step": step.n if step is not None else None, "name": message.get("name"), "key": key}


def with_lineage(sample: Sample, **members: Any) -> Sample:
    """The sample with more said about it."""
    return replace(sample, outcome=replace(sample.outcome, **members))

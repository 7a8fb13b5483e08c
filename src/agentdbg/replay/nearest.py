"""The recorded call that is most like one that the record does not have."""

from __future__ import annotations

from collections.abc import Iterable
from difflib import SequenceMatcher

from agentdbg.compare.step_difference import StepJudge
from agentdbg.compare.trajectory import called, met_steps
from agentdbg.model.records import BodyRef, Step
from agentdbg.replay.sameness import ReplaySameness
from agentdbg.store.protocols import BodyMissing, RunSource

CANDIDATES = 50
_COMPARED = 2000


def nearest_call(recorded: RunSource, replayed: RunSource, asked: Step, same: ReplaySameness) -> str:
    """Name it, and say where it differs; empty when nothing recorded is of that kind and name."""
    found = _closest(recorded, replayed, asked)
    if found is None:
        return ""
    difference = StepJudge(recorded, replayed, same).intent(found, asked)
    if difference is None or difference.path == "spawned":
        return f"step {found.n}, {called(found)}, is the same call"
    what = f"{difference.path}: {difference.expected} there, {difference.got} here"
    return f"nearest recorded call: step {found.n}, {called(found)}, {what}"


def _closest(recorded: RunSource, replayed: RunSource, asked: Step) -> Step | None:
    alike = [step for step in met_steps(recorded.steps()) if (step.kind, step.name) == (asked.kind, asked.name)]
    if len(alike) < 2:
        return alike[0] if alike else None
    same_print = next((step for step in alike if step.fingerprint == asked.fingerprint), None)
    if same_print is not None:
        return same_print
    wanted = _text(replayed, asked)
    return max(alike[:CANDIDATES], key=lambda step: _likeness(wanted, _text(recorded, step)))


def _likeness(a: str, b: str) -> float:
    return SequenceMatcher(None, a, b, autojunk=False).ratio()


def _text(source: RunSource, step: Step) -> str:
    refs: Iterable[BodyRef | None] = (step.arguments, *(part.ref for part in list(source.segments(step))[-2:]))
    found = []
    for ref in refs:
        try:
            found.append("" if ref is None else source.body(ref)[:_COMPARED].decode("utf-8", "replace"))
        except BodyMissing:
            continue
    return "".join(found)[:_COMPARED]

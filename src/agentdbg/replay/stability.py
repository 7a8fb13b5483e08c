"""What a run comes to, apart from its wording, and how far several samples of it agree.

*Conclusion* = tool calls with their arguments, declared final state, structured answer. Free text alone says nothing:
*cannot tell*.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass

from agentdbg.model.canonical import canonical
from agentdbg.model.fingerprint import VolatileRules, alpha_rename, drop_volatile, strip_placeholders
from agentdbg.model.json_text import loads_json
from agentdbg.model.records import BodyRef, Json, Kind, Step
from agentdbg.replay.cassette import served_steps, volatile_rules
from agentdbg.store.protocols import BodyMissing, RunSource

_ACTS = (Kind.TOOL, Kind.HTTP, Kind.APPROVAL)
_WORDING = "‹text›"
_LONGEST_WORD = 64


@dataclass(frozen=True, slots=True)
class Conclusion:
    """Attributes:
    acts: Name and arguments of every tool call, approval and HTTP call, by line of execution.
    path: Their names in the order in which they began, for people.
    final: Declared final state, else the status of the last checkpoint; ``None`` when there is neither.
    answer: The structured part of what the agent returned; ``None`` when there is none.
    text: The whole of what the agent returned.
    error: Class of the exception that the agent ended with.
    missing: What could not be read.
    """

    acts: tuple[tuple[tuple[str, str], ...], ...]
    path: tuple[str, ...]
    final: str | None
    answer: str | None
    text: str | None = None
    error: str | None = None
    missing: tuple[str, ...] = ()

    def same_as(self, other: Conclusion) -> bool:
        """Whether two runs come to the same, whatever their words."""
        return self._compared() == other._compared()

    def begins(self, other: Conclusion) -> bool:
        """Whether everything that was done is what the other run did too, as far as it goes."""
        return all(any(theirs[: len(mine)] == mine for theirs in other.acts) for mine in self.acts)

    def says_nothing(self) -> bool:
        """Whether there is nothing but free text."""
        return not self.acts and self.final is None and self.answer is None and self.error is None

    def unlike(self, other: Conclusion) -> str:
        """What differs first, in words; empty when nothing does."""
        if self.final != other.final:
            return f"final state {_shown(self.final)} → {_shown(other.final)}"
        if self.path != other.path:
            return f"path {_joined(self.path)} → {_joined(other.path)}"
        if self.acts != other.acts:
            return f"arguments of {self._act_unlike(other)}"
        if self.error != other.error:
            return f"error {_shown(self.error)} → {_shown(other.error)}"
        return "structured answer" if self.answer != other.answer else ""

    def members(self) -> dict[str, object]:
        """As in ``samples[]``."""
        return {"path": list(self.path), "final_state": self.final, "answer": self.answer, "error": self.error}

    def _compared(self) -> tuple[object, ...]:
        return (self.acts, self.final, self.answer, self.error)

    def _act_unlike(self, other: Conclusion) -> str:
        theirs = [act for lane in other.acts for act in lane]
        return next((name for lane in self.acts for name, about in lane if (name, about) not in theirs), "a call")


@dataclass(frozen=True, slots=True)
class Stability:
    """How many of the samples that were taken come to what most of them come to."""

    agree: int
    of: int

    def __str__(self) -> str:
        return f"{self.agree}/{self.of}"


def conclusion_of(source: RunSource) -> Conclusion:
    """Read what a run comes to."""
    return _Reading(source).conclusion()


def stability_of(found: Sequence[Conclusion]) -> Stability:
    """How far the samples agree."""
    most = max((sum(1 for other in found if other.same_as(one)) for one in found), default=0)
    return Stability(most, len(found))


def is_decided(found: Sequence[Conclusion], wanted: int) -> bool:
    """Whether further samples change nothing: all that were asked for are there, or two disagree already."""
    return len(found) >= wanted or any(not found[0].same_as(other) for other in found[1:])


class _Reading:
    def __init__(self, source: RunSource) -> None:
        self._source = source
        self._rules: VolatileRules = volatile_rules(source.summary().meta)
        self._missing: list[str] = []

    def conclusion(self) -> Conclusion:
        lanes: dict[str, list[tuple[str, str]]] = defaultdict(list)
        path: list[str] = []
        final = status = None
        root: Step | None = None
        for step in served_steps(self._source.steps()):
            root = step if root is None and step.kind is Kind.AGENT and step.parent is None else root
            if step.kind in _ACTS:
                name = "approval" if step.kind is Kind.APPROVAL else step.name
                lanes[step.lane].append((name, self._about(step)))
                path.append(name)
            elif step.kind is Kind.CHECKPOINT and step.attrs.get("final") is True:
                final = self._state(step)
            elif step.kind is Kind.CHECKPOINT and isinstance(step.attrs.get("status"), str):
                status = str(step.attrs["status"])
        value = None if root is None else self._value(root, root.result)
        answer = _structured(value)
        summary = self._source.summary()
        return Conclusion(
            acts=tuple(sorted(map(tuple, lanes.values()))),
            path=tuple(path),
            final=final if final is not None else status,
            answer=None if answer is None else _plain(answer),
            text=None if value is None else _plain(value),
            error=summary.error.type if summary.error is not None else None,
            missing=tuple(self._missing),
        )

    def _about(self, step: Step) -> str:
        value = self._value(step, step.arguments)
        if step.kind is Kind.APPROVAL and isinstance(value, dict):  # its question and state are wording
            value = {name: value.get(name) for name in ("allowed", "policy")}
        kept, _ = drop_volatile(value, self._rules.for_call(step.name))
        return _plain(kept)

    def _state(self, step: Step) -> str:
        if isinstance(step.attrs.get("status"), str):
            return str(step.attrs["status"])
        return _plain(self._value(step, step.arguments))

    def _value(self, step: Step, ref: BodyRef | None) -> Json:
        try:
            return None if ref is None else loads_json(self._source.body(ref))
        except (BodyMissing, ValueError):
            self._missing.append(f"step {step.n} ({step.name})")
            return None


def _plain(value: object) -> str:
    return alpha_rename(strip_placeholders(canonical(value)).decode("utf-8", "replace"))


def _structured(value: Json) -> Json:
    """A mapping or list with its free text blotted out; ``None`` when nothing else is left."""
    if not isinstance(value, dict | list):
        return None
    blotted = _blotted(value)
    return blotted if _says(blotted) else None


def _blotted(value: Json) -> Json:
    if isinstance(value, dict):
        return {key: _blotted(item) for key, item in value.items()}
    if isinstance(value, list):
        return [_blotted(item) for item in value]
    if isinstance(value, str) and (len(value) > _LONGEST_WORD or any(map(str.isspace, value))):
        return _WORDING
    return value


def _says(value: Json) -> bool:
    if isinstance(value, dict):
        return any(map(_says, value.values()))
    if isinstance(value, list):
        return any(map(_says, value))
    return value not in (None, "", _WORDING)


def _shown(value: str | None) -> str:
    return "none" if value is None else value


def _joined(path: Sequence[str]) -> str:
    return " ".join(path) or "nothing"

"""The full segment list of a model input, put together from ``{base, keep, add}``."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Sequence

from agentdbg.model.hashing import chain
from agentdbg.model.records import BodyRef, Json, Segment
from agentdbg.store.steps import body_ref

MAX_CHAIN = 4096
_CACHED = 32
_NO_BODY = "0" * 64


class InputLists:
    """Resolves the inputs of one run's model calls.

    Attributes:
        problems: One line for each input whose chain is damaged, by step id.
    """

    def __init__(self, input_of: Callable[[str], Json]) -> None:
        """Prepare for a run.

        Args:
            input_of: The ``input`` member of a step's intent, ``None`` when there is no such step.
        """
        self.problems: dict[str, str] = {}
        self._input_of = input_of
        self._cache: OrderedDict[str, tuple[Segment, ...]] = OrderedDict()

    def segments(self, step_id: str) -> Sequence[Segment]:
        """The segments of a step's input in the order sent; as many as can be read when the chain is damaged."""
        links: list[tuple[str, dict[str, Json]]] = []
        known: tuple[Segment, ...] = ()
        at: str | None = step_id
        seen: set[str] = set()
        while at is not None:
            if at in self._cache:
                known = self._cache[at]
                break
            value = self._input_of(at)
            if not isinstance(value, dict):
                if links:
                    self._note(step_id, f"its base {at} is not in the record")
                break
            if at in seen or len(links) >= MAX_CHAIN:
                self._note(step_id, "its bases go round in a circle or never end")
                break
            seen.add(at)
            links.append((at, value))
            base = value.get("base")
            at = base if isinstance(base, str) else None
        for link_id, value in reversed(links):
            known = self._extend(link_id, known, value)
        return known

    def forget(self) -> None:
        """Drop what was resolved, after the record was reloaded."""
        self._cache.clear()
        self.problems.clear()

    def _extend(self, step_id: str, base: tuple[Segment, ...], value: dict[str, Json]) -> tuple[Segment, ...]:
        keep, add = value.get("keep"), value.get("add")
        count = keep if type(keep) is int and keep >= 0 else 0
        if not isinstance(value.get("base"), str):
            count = 0
        if count > len(base):
            self._note(step_id, f"{count - len(base)} of the segments it shares with an earlier call are missing")
        added = [_segment(item) for item in add] if isinstance(add, list) else []
        if any(segment.ref.sha256 == _NO_BODY for segment in added):
            self._note(step_id, "a segment has no readable reference")
        segments = (*base[:count], *added)
        self._check(step_id, segments, value)
        self._cache[step_id] = segments
        if len(self._cache) > _CACHED:
            self._cache.popitem(last=False)
        return segments

    def _check(self, step_id: str, segments: Sequence[Segment], value: dict[str, Json]) -> None:
        stated, count = value.get("hash"), value.get("n")
        if type(count) is int and count != len(segments):
            self._note(step_id, f"{count} segments were sent, {len(segments)} can be read")
            return
        if isinstance(stated, str):
            digest = ""
            for segment in segments:
                digest = chain(digest, segment.kind, segment.ref.sha256)
            if digest != stated:
                self._note(step_id, "its segments do not give the recorded input hash")

    def _note(self, step_id: str, what: str) -> None:
        if len(self.problems) < 100:
            self.problems.setdefault(step_id, f"model input of {step_id}: {what}")


def _segment(value: Json) -> Segment:
    members = value if isinstance(value, dict) else {}
    kind, name = members.get("kind"), members.get("name")
    return Segment(
        kind if isinstance(kind, str) else "",
        name if isinstance(name, str) else "",
        body_ref(members.get("ref")) or BodyRef(_NO_BODY, 0),
    )

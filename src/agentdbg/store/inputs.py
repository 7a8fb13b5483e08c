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
        self._cache: OrderedDict[str, tuple[tuple[Segment, ...], tuple[str, ...]]] = OrderedDict()

    def segments(self, step_id: str) -> Sequence[Segment]:
        """The segments of a step's input in the order sent; as many as can be read when the chain is damaged."""
        links: list[tuple[str, dict[str, Json]]] = []
        known: tuple[tuple[Segment, ...], tuple[str, ...]] = ((), ())
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
        if not links:
            return known[0]
        segments, hashes = list(known[0]), list(known[1])
        for link_id, value in reversed(links):
            self._extend(link_id, segments, hashes, value)
        found = tuple(segments)
        self._cache[step_id] = found, tuple(hashes)
        if len(self._cache) > _CACHED:
            self._cache.popitem(last=False)
        return found

    def forget(self) -> None:
        """Drop what was resolved, after the record was reloaded."""
        self._cache.clear()
        self.problems.clear()

    def _extend(self, step_id: str, segments: list[Segment], hashes: list[str], value: dict[str, Json]) -> None:
        """Turn the list of a step's base, and its chained hashes, into the step's own."""
        keep, add = value.get("keep"), value.get("add")
        count = keep if type(keep) is int and keep >= 0 else 0
        if not isinstance(value.get("base"), str):
            count = 0
        if count > len(segments):
            self._note(step_id, f"{count - len(segments)} of the segments it shares with an earlier call are missing")
        del segments[count:], hashes[count:]
        for item in add if isinstance(add, list) else []:
            segment = _segment(item)
            if segment.ref.sha256 == _NO_BODY:
                self._note(step_id, "a segment has no readable reference")
            segments.append(segment)
            hashes.append(chain(hashes[-1] if hashes else "", segment.kind, segment.ref.sha256))
        stated, number = value.get("hash"), value.get("n")
        if type(number) is int and number != len(segments):
            self._note(step_id, f"{number} segments were sent, {len(segments)} can be read")
        elif isinstance(stated, str) and stated != (hashes[-1] if hashes else ""):
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

"""Writes effects that no seam saw into a run: as steps, each with its place, repeated ones as a count."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from agentdbg.model.records import Effect, Kind
from agentdbg.recording import coverage
from agentdbg.recording.paths import printable

if TYPE_CHECKING:
    from agentdbg.recording.run import RunRecording
    from agentdbg.recording.scope import Scope
    from agentdbg.recording.sightings import Sighting

MAX_LISTED = 1000
MAX_DETAIL = 1000
_DEPTH = 100
_CALLS = frozenset((Kind.MODEL, Kind.TOOL, Kind.HTTP, Kind.APPROVAL, Kind.RETRIEVAL, Kind.READ))
_LINE = re.compile(r":\d+ [^/]*$")
Key = tuple[str, str, str, "str | None"]


class RunEffects:
    """What one run has of them so far.

    Attributes:
        known: Step and count of each.
        open: Kind, declared level and parent of the steps that have begun.
        stopped: How many an exact replay would have to stop, since they are not inside a call that it serves.
        files: How many ``file`` events were written.
        seen_files: What was written about which file, so that nothing is said twice.
    """

    __slots__ = ("files", "further", "known", "open", "seen_files", "stopped")

    def __init__(self) -> None:
        self.known: dict[Key, list[int | str]] = {}
        self.open: dict[str, tuple[Kind, str | None, str | None]] = {}
        self.stopped = 0
        self.further = 0
        self.files = 0
        self.seen_files: set[object] = set()

    def uncovered(self, run: RunRecording) -> int | None:
        """How many an exact replay would have to stop; ``None`` where nobody looks."""
        return self.stopped if coverage.state.recorder is run.recorder else None

    def began(self, run: RunRecording, scope: Scope, step: str, kind: Kind, level: Effect | None) -> None:
        """A step has begun: effects may run under it. What was seen before the run's first belongs to the run too."""
        self.open[step] = (kind, None if level is None else str.__str__(level), scope.parent)
        if coverage.state.pending:
            coverage.flush_ambient(run)

    def ended(self, step: str) -> None:
        """A step has ended."""
        self.open.pop(step, None)

    def finish(self, run: RunRecording) -> None:
        """The run ends: what is left to say, and how often the repeated ones were seen."""
        coverage.flush_ambient(run)
        for step, count in list(self.known.values()):
            if step and isinstance(count, int) and count > 1:
                run.event(run.scope(), "count", {"of": step, "count": count})


def write(run: RunRecording, scope: Scope, sighting: Sighting, ambient: bool) -> None:
    """Write one effect as a step below the one it ran under."""
    effects = run.effects
    key = (*sighting.key, scope.parent)
    known = effects.known.get(key)
    if known is not None:
        known[1] = int(known[1]) + sighting.count
        return
    under, level, covered = _enclosing(run, scope)
    if not covered and not sighting.weight:
        effects.stopped += 1
    if len(effects.known) >= MAX_LISTED:
        effects.further += 1
        if effects.further == 1:
            run.event(scope, "hole", {"of": None, "what": f"further effects than {MAX_LISTED:,} are not listed"})
        return
    entry = effects.known.setdefault(key, ["", 0])
    if entry[1]:
        entry[1] = int(entry[1]) + 1  # another thread was faster
        return
    entry[1] = sighting.count
    attrs = _attrs(run, sighting)
    attrs.update(under=under, covered=covered, count=sighting.count)
    if ambient:
        attrs["ambient"] = True
    if (level == "none" or (level == "read" and sighting.group == "file")) and not sighting.weight:
        attrs["contradicts"] = level
    event: dict[str, object] = {
        "kind": "effect",
        "name": f"{sighting.event} {attrs['detail']}".rstrip(),
        "parent": scope.parent,
    }
    event |= {"lane": scope.lane.path, "status": "ok", "attrs": attrs}
    entry[0] = run.event(scope._replace(inside_tool=True), "step", event)  # a replay does not count it in any lane


def _attrs(run: RunRecording, sighting: Sighting) -> dict[str, object]:
    recorder, gate = run.recorder, run.gate
    detail = sighting.detail
    if sighting.group in ("file", "database"):
        detail = " -> ".join(map(recorder.neutral, detail.split(" -> ")))
    file, place = _split(sighting.frame)
    attrs: dict[str, object] = {
        "event": sighting.event,
        "detail": gate.text(printable(detail))[:MAX_DETAIL],
        "frame": gate.text(f"{recorder.neutral(file)}{place}"),
        "group": sighting.group,
    }
    if sighting.weight:
        attrs["weight"] = sighting.weight
    return attrs


def _split(frame: str) -> tuple[str, str]:
    """``file:line function`` as the file and the rest."""
    found = _LINE.search(frame)
    return (frame, "") if found is None else (frame[: found.start()], found.group())


def _enclosing(run: RunRecording, scope: Scope) -> tuple[str | None, str | None, bool]:
    """Kind of the nearest enclosing call or agent, declared level of the call, and whether a replay serves it."""
    under, step = None, scope.parent
    for _ in range(_DEPTH):
        found = run.effects.open.get(step) if step is not None else None
        if found is None:
            break
        kind, level, step = found
        under = under or str(kind)
        if kind in _CALLS:
            return str(kind), level, True
    return ("tool", None, True) if scope.inside_tool else (under, None, False)

"""What a replay's copy-on-write views took in, held against what the recorded run changed."""

from __future__ import annotations

import os

from agentdbg.compare.unseen import unseen_in
from agentdbg.replay.child_report import ChildReport
from agentdbg.replay.spec import expand
from agentdbg.replay.trust import roots_of
from agentdbg.store.reader import DirectoryRunSource

SHOWN = 5
NEW_CHANGES = "it changed, in its own view alone, what the recorded run was not seen to change: {places}"
_BESIDE_DATABASES = ("-journal", "-wal", "-shm")


def unrecorded_changes(recorded: DirectoryRunSource, report: ChildReport) -> str:
    """A note on changed places that the record knows no change of; empty when there is none.

    A record knows what Python code did: a library's own writes count as unrecorded.
    """
    contained = [str(each.get("detail")) for each in report.all("contained")]
    if not contained:
        return ""
    known = _changed(recorded)
    found = [path for path in dict.fromkeys(contained) if not {path, _owner(path)} & known]
    places = ", ".join(found[:SHOWN]) + (f" and {len(found) - SHOWN} more" if len(found) > SHOWN else "")
    return NEW_CHANGES.format(places=places) if found else ""


def _changed(recorded: DirectoryRunSource) -> set[str]:
    """Every place that the record tells of."""
    roots = roots_of(recorded.summary())
    events = [each.members for each in recorded.extra_events("file")]
    told = [str(each.get("path", "")) for each in events if each.get("mode") == "write"]
    told += [place for each in unseen_in(recorded) for place in each.detail.split(" -> ")]
    places = [expand(place, roots) for place in told]
    return {os.path.realpath(place) for place in places} | set(places)  # of a link that was made: the link itself


def _owner(path: str) -> str:
    """The database that a file lies beside."""
    return next((path.removesuffix(end) for end in _BESIDE_DATABASES if path.endswith(end)), path)

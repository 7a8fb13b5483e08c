"""A quick look at a run without reading it: the first and the last records of its event files."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from pathlib import Path

from agentdbg.model.records import Json, RunStatus
from agentdbg.store.files import StoreError, list_below, open_below, read_at
from agentdbg.store.liveness import is_presumed_alive
from agentdbg.store.metadata import Facts, end_status, number, owner_of
from agentdbg.store.records import is_intact, parse_record
from agentdbg.store.steps import error_info

_PIECE = 64 * 1024
_FILES = 16
_COUNTED = 4 << 20
_STEP = re.compile(rb'\s*\{\s*"e"\s*:\s*"(?:intent|step)"')


def glimpse(root: Path, meta: Mapping[str, Json]) -> Facts:
    """What the ends of the event files say: whether the run ended, whether its owner lives, and who it was."""
    heads: list[dict[str, Json]] = []
    ends: list[dict[str, Json]] = []
    changed = 0.0
    steps, counted = 0, True
    for name in _event_files(root):
        try:
            fd = open_below(root, "events", name)
        except (OSError, StoreError):
            continue
        try:
            status = os.fstat(fd)
            changed = max(changed, status.st_mtime)
            heads += _records(read_at(fd, _PIECE, 0))[:3]
            steps += _count_steps(read_at(fd, _COUNTED, 0))
            counted = counted and status.st_size <= _COUNTED
            last = _records(read_at(fd, _PIECE, max(0, status.st_size - _PIECE)))
            ends += [record for record in last if record.get("e") == "end"]
        finally:
            os.close(fd)
    writers = [record for record in heads if record.get("e") == "writer"]
    agents = [record for record in heads if record.get("e") == "intent" and record.get("kind") == "agent"]
    owners = [owner_of(meta)] if owner_of(meta) else writers
    name_value = agents[0].get("name") if agents else None
    return Facts(
        ended=end_status(ends[-1].get("status")) if ends else None,
        alive=any(is_presumed_alive(owner, changed) for owner in owners),
        steps=steps if counted else 0,
        agent=name_value if isinstance(name_value, str) else "",
        started_at=min((wall for record in heads if (wall := number(record.get("wall")))), default=None),
        ended_at=number(ends[-1].get("wall")) if ends else None,
        error=error_info(ends[-1].get("error")) if ends else None,
        holes=() if heads else ("no readable event",),
    )


def says_running(meta: Mapping[str, Json]) -> bool:
    """Whether ``run.json`` leaves open how the run ended."""
    return meta.get("status") not in (RunStatus.OK, RunStatus.FAILED, RunStatus.WAITING)


def _event_files(root: Path) -> list[str]:
    try:
        entries = list_below(root, "events")
    except (OSError, StoreError):
        return []
    return [name for name, kind in entries if kind == "file" and name.endswith(".jsonl")][:_FILES]


def _count_steps(data: bytes) -> int:
    return sum(_STEP.match(line) is not None and is_intact(line) for line in data.split(b"\n"))


def _records(data: bytes) -> list[dict[str, Json]]:
    return [record for line in data.split(b"\n") if line and is_intact(line) and (record := parse_record(line))]

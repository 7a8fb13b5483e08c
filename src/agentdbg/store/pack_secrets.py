"""Looks for secrets in what is about to leave this machine: a run recorded without redaction, or under older rules."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path

from agentdbg.model.canonical import dumps_json
from agentdbg.model.records import Json
from agentdbg.redaction.gate import Gate
from agentdbg.store.body_files import MAX_BODY
from agentdbg.store.files import open_below, read_below
from agentdbg.store.records import iter_records, parse_record

_WRITTEN_BY_PEOPLE = ("agent", "error", "flag", "tags", "thread_id", "entry", "verdict")
_OF_EVENTS = ("name", "error", "attrs", "key", "holes", "what", "reason")


def places_with_secrets(root: Path, paths: Sequence[str], meta: dict[str, Json], gate: Gate) -> list[str]:
    """The places in a run at which the gate would still redact something.

    Args:
        root: The run's directory.
        paths: Files below it that are to leave.
        meta: Members of ``run.json``.
        gate: A fresh gate.
    """
    found = [f"run.json {name}" for name in _WRITTEN_BY_PEOPLE if name in meta and _is_touched(meta[name], gate)]
    for path in paths:
        folder, _, name = path.partition("/")
        if folder == "large":
            found += _in_bytes(path, read_below(root, folder, name, limit=MAX_BODY), gate)
        elif folder == "bodies":
            found += _in_bodies(root, name, gate)
        elif folder in ("events", "work") and name.endswith(".jsonl"):
            found += _in_events(root, folder, name, gate)
        elif folder == "work":
            found += _in_bytes(path, read_below(root, folder, name, limit=MAX_BODY), gate)
    return found


def _in_bodies(root: Path, name: str, gate: Gate) -> list[str]:
    found: list[str] = []
    fd = open_below(root, "bodies", name)
    try:
        for _, line in iter_records(fd):
            record = parse_record(line) or {}
            text = record.get("b")
            if isinstance(text, str):
                found += _in_bytes(f"body {str(record.get('h'))[:12]}", text.encode("utf-8", "surrogatepass"), gate)
    finally:
        os.close(fd)
    return found


def _in_events(root: Path, folder: str, name: str, gate: Gate) -> list[str]:
    found: list[str] = []
    fd = open_below(root, folder, name)
    try:
        for _, line in iter_records(fd):
            record = parse_record(line) or {}
            texts = [record[member] for member in _OF_EVENTS if record.get(member)]
            if texts and _is_touched(texts, gate):
                found.append(f"event {name.removesuffix('.jsonl')}:{record.get('seq', '')}")
    finally:
        os.close(fd)
    return found


def _in_bytes(place: str, raw: bytes, gate: Gate) -> list[str]:
    return [place] if gate.body(raw) != raw else []


def _is_touched(value: Json, gate: Gate) -> bool:
    return dumps_json(gate.value(value)) != dumps_json(value)

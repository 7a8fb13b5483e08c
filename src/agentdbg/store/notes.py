"""What people add to a run later, a flag first of all. The record itself is never touched.

Notes are records in ``work/notes.jsonl`` below the run; of a run that cannot be written to, in the user's data
directory, by the hash of where the run lies. What a person types goes through the redaction gate before it comes here.
"""

from __future__ import annotations

import hashlib
import os
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Protocol, runtime_checkable

from agentdbg.config.paths import data_dir
from agentdbg.model.records import Json
from agentdbg.store.files import StoreError, create_private_file, make_private_dir, open_below
from agentdbg.store.journal import encode_record
from agentdbg.store.protocols import RunSource, RunStore
from agentdbg.store.records import iter_records, parse_record

FOLDER = "work"
FILE = "notes.jsonl"


@runtime_checkable
class HoldsDirectories(Protocol):
    """A store whose runs are directories that may take notes."""

    def run_directory(self, run_id: str) -> Path:
        """Where a run lies."""


def set_flag(store: RunStore, run_id: str, reason: str) -> None:
    """Mark a run as bad; an empty reason takes the mark away.

    Raises:
        KeyError: There is no such run.
        StoreError: The notes cannot be written, because something else has their name.
        OSError: The notes cannot be written.
    """
    directory = _directory(store, run_id)
    if directory is None:
        store.open(run_id).close()
    append(store.location(), run_id, directory, {"e": "flag", "reason": reason})


def set_flag_of(source: RunSource, store: RunStore, reason: str) -> None:
    """Mark an open run as bad: one of the store, or one that lies elsewhere and has its own place for notes.

    Raises:
        KeyError: It is no run of the store, and has no place for notes.
        StoreError: The notes cannot be written, because something else has their name.
        OSError: The notes cannot be written.
    """
    run_id, location = source.summary().run_id, getattr(source, "notes_location", None)
    if location is None:
        set_flag(store, run_id, reason)
    else:
        append(str(location), run_id, None, {"e": "flag", "reason": reason})


def flag_of(store: RunStore, run_id: str) -> str | None:
    """The reason that the newest flag note gives.

    ``""`` when the mark was taken away, ``None`` when there is no such note.
    """
    return noted_flag(store.location(), run_id, _directory(store, run_id))


def noted_flag(location: str, run_id: str, directory: Path | None) -> str | None:
    """As ``flag_of``, by the place of the run."""
    for note in reversed(read(location, run_id, directory)):
        if note.get("e") == "flag" and isinstance(reason := note.get("reason"), str):
            return reason
    return None


def append(location: str, run_id: str, directory: Path | None, note: Mapping[str, object], *, file: str = FILE) -> None:
    """Add one note; its time is put in.

    Args:
        location: The store's address.
        run_id: The run.
        directory: The run's directory, where it has one.
        note: Members, ``e`` (the type of note) first.
        file: Name of the file that it goes to, for what is too long to be read with every list of runs.

    Raises:
        StoreError: Something else has the name of the notes.
        OSError: They cannot be written.
    """
    path = elsewhere(location, run_id, file)
    group = False
    if directory is not None and os.access(directory, os.W_OK | os.X_OK):
        path = directory / FOLDER / file
        group = bool(directory.stat().st_mode & 0o050)
    make_private_dir(path.parent, group=group)
    fd = create_private_file(path, group=group, append=True)
    try:
        record = memoryview(encode_record({**note, "wall": time.time()}))
        while record:
            record = record[os.write(fd, record) :]
    finally:
        os.close(fd)


def read(location: str, run_id: str, directory: Path | None, *, file: str = FILE) -> list[dict[str, Json]]:
    """All readable notes on a run, oldest first, from both places."""
    found: list[dict[str, Json]] = []
    if directory is not None:
        found += _read_file(directory, FOLDER, file)
    place = elsewhere(location, run_id, file)
    found += _read_file(place.parent, place.name)
    return sorted(found, key=_wall)


def elsewhere(location: str, run_id: str, file: str = FILE) -> Path:
    """The notes' file in the user's data directory."""
    digest = hashlib.sha256(f"{location}\0{run_id}".encode("utf-8", "surrogateescape")).hexdigest()
    kind = "" if file == FILE else f".{file.removesuffix('.jsonl')}"
    return data_dir() / "notes" / f"{digest}{kind}.jsonl"


def all_elsewhere() -> frozenset[str]:
    """Names of the notes' files in the user's data directory."""
    try:
        return frozenset(os.listdir(data_dir() / "notes"))
    except OSError:
        return frozenset()


def _directory(store: RunStore, run_id: str) -> Path | None:
    return store.run_directory(run_id) if isinstance(store, HoldsDirectories) else None


def _read_file(root: Path, *names: str) -> list[dict[str, Json]]:
    try:
        fd = open_below(root, *names)
    except (OSError, StoreError):
        return []
    try:
        return [note for _, line in iter_records(fd) if (note := parse_record(line)) is not None]
    finally:
        os.close(fd)


def _wall(note: Mapping[str, Json]) -> float:
    wall = note.get("wall")
    return wall if isinstance(wall, float) else 0.0

"""What ``verify`` found and when: one line a time, beside the runs, for the next time and for the self-check."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Final

from agentdbg.config.paths import data_dir
from agentdbg.config.resources import demo_runs_dir
from agentdbg.model.records import Json
from agentdbg.store.files import StoreError, create_private_file, make_private_dir, open_below
from agentdbg.store.journal import encode_record
from agentdbg.store.protocols import RunStore
from agentdbg.store.records import iter_records, parse_record

FILE: Final = "verify.jsonl"


def keep(store: RunStore, found: Mapping[str, object]) -> None:
    """Add what was found; to the user's data directory where the store takes nothing.

    Raises:
        OSError: It cannot be written.
        StoreError: Something else has the file's name.
    """
    path = _own(store)
    if path is None:
        path = _elsewhere(store)
        make_private_dir(path.parent)
    fd = create_private_file(path, append=True)
    try:
        record = memoryview(encode_record({"e": "verify", **found}))
        while record:
            record = record[os.write(fd, record) :]
    finally:
        os.close(fd)


def history(store: RunStore) -> list[dict[str, Json]]:
    """All that was found, oldest first; what cannot be read is as if it were not there."""
    found = [*_read(Path(store.location()), FILE), *_read(_elsewhere(store).parent, _elsewhere(store).name)]
    return sorted(found, key=lambda each: str(each.get("date")))


def _own(store: RunStore) -> Path | None:
    place = Path(store.location())
    shipped = place.resolve().is_relative_to(demo_runs_dir().resolve())
    return place / FILE if not shipped and place.is_dir() and os.access(place, os.W_OK | os.X_OK) else None


def _elsewhere(store: RunStore) -> Path:
    digest = hashlib.sha256(store.location().encode("utf-8", "surrogateescape")).hexdigest()
    return data_dir() / "verify" / f"{digest}.jsonl"


def _read(root: Path, name: str) -> list[dict[str, Json]]:
    try:
        fd = open_below(root, name)
    except (OSError, StoreError):
        return []
    try:
        return [each for _, line in iter_records(fd) if (each := parse_record(line)) is not None]
    finally:
        os.close(fd)

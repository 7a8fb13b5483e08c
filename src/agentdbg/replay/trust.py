"""Which runs may be started without asking: those that this user recorded, and the demo runs of the program."""

from __future__ import annotations

import hmac
from collections.abc import Mapping
from pathlib import Path

from agentdbg.config.resources import demo_runs_dir
from agentdbg.model.records import Json, RunSummary
from agentdbg.recording.process import seal
from agentdbg.redaction.keys import load_key
from agentdbg.store.reader import DirectoryRunSource


def is_trusted(source: DirectoryRunSource) -> bool:
    """Whether this user recorded the run, or it is one of the demo runs that come with the program."""
    vouched = getattr(source, "vouched", None)  # its places were mapped after its seal was looked at
    if isinstance(vouched, bool):
        return vouched
    if is_shipped(source):
        return True
    meta = source.summary().meta
    found, entry = meta.get("seal"), meta.get("entry")
    sealed_roots = isinstance(entry, Mapping) and isinstance(entry.get("roots"), Mapping)
    if not isinstance(found, str) or not found.isascii() or not sealed_roots:
        return False
    return hmac.compare_digest(found, seal(load_key().secret, source.summary().run_id, entry))


def is_shipped(source: DirectoryRunSource) -> bool:
    """Whether it is one of the demo runs that come with the program."""
    return Path(source.root).resolve().is_relative_to(Path(demo_runs_dir()).resolve())


def sealed(run_id: str, entry: Json) -> str:
    """The seal of a run that this user made."""
    return seal(load_key().secret, run_id, entry)


def roots_of(summary: RunSummary) -> dict[str, str]:
    """Where the run's ``{root}``, ``{venv}`` and ``{home}`` are: as sealed with its entry point, where that says so."""
    entry = summary.meta.get("entry")
    within = entry.get("roots") if isinstance(entry, Mapping) else None
    found = within if isinstance(within, Mapping) else summary.meta.get("roots")
    return {key: str(value) for key, value in found.items()} if isinstance(found, Mapping) else {}

"""A replay's record becomes a run like any other: its verdict in ``run.json``, moved into a store as one piece."""

from __future__ import annotations

import json
import os
import secrets
import shutil
from collections.abc import Mapping
from pathlib import Path
from typing import cast

from agentdbg.config.paths import data_dir
from agentdbg.config.resources import demo_runs_dir
from agentdbg.model.records import Json
from agentdbg.replay.outcome import Outcome
from agentdbg.replay.spec import mapping
from agentdbg.replay.trust import sealed
from agentdbg.store.address import open_store
from agentdbg.store.protocols import RunStore

_STORE_JSON = '{"format":"0.1"}\n'
_MAX_STEM = 100


def publish(
    made: Path, store: RunStore, outcome: Outcome, entry: Mapping[str, Json], tags: Mapping[str, str] | None = None
) -> tuple[str, Path]:
    """Move a replay's record into a store, under the next free id; into the user's own where that cannot be.

    Args:
        made: Directory of the record.
        store: Where it should go.
        outcome: Written into ``run.json``.
        entry: How the source run is started: so is the replay.
        tags: Tags that it gets beside those of the program.

    Returns:
        The replay's run id, and the store it is in.
    """
    members = _members(made, outcome, entry)
    if tags:
        members["tags"] = {**mapping(members.get("tags")), **tags}
    wanted = Path(os.path.expanduser(store.location()))
    own = data_dir() / "store"
    for target in (wanted, own):
        try:
            return _move(made, target, members, outcome), target
        except OSError:
            if target == own:
                raise
    raise AssertionError("unreachable: the user's own store either takes the run or says why not")


def _members(made: Path, outcome: Outcome, entry: Mapping[str, Json]) -> dict[str, Json]:
    try:
        meta = mapping(json.loads((made / "run.json").read_bytes()))
    except (OSError, ValueError):
        meta = {"format": "0.1"}
    arguments = mapping(meta.get("entry")).get("args")
    meta["entry"] = {**entry, **({"args": arguments} if arguments else {})}
    meta |= {"mode": outcome.mode, "replay_of": outcome.source_run, "verdict": outcome.verdict}
    meta |= {"from_step": outcome.from_step, **({"edits": _edits(outcome)} if outcome.edits else {})}
    if meta.get("status") in (None, "running"):
        meta |= {"status": "failed", "error": {"type": outcome.verdict, "message": outcome.reason}}
    meta["outcome"] = cast(Json, outcome.members())
    return meta


def _edits(outcome: Outcome) -> Json:
    return cast(Json, [dict(each) for each in outcome.edits])


def _move(made: Path, target: Path, members: dict[str, Json], outcome: Outcome) -> str:
    runs = target / "runs"
    runs.mkdir(parents=True, exist_ok=True, mode=0o700)
    if not (target / "store.json").exists():
        (target / "store.json").write_text(_STORE_JSON, encoding="ascii")
    incoming = target / f".incoming-{secrets.token_hex(8)}"
    try:
        shutil.copytree(made, incoming)
        stem, number = outcome.source_run[:_MAX_STEM], 1
        while True:
            run_id = f"{stem}.{outcome.mode}-{number}"
            if not (runs / run_id).exists():
                _write(incoming / "run.json", run_id, members)
                if _rename(incoming, runs / run_id):
                    return run_id
            number += 1
    finally:
        shutil.rmtree(incoming, ignore_errors=True)


def _write(path: Path, run_id: str, members: dict[str, Json]) -> None:
    outcome = {**mapping(members["outcome"]), "replay_run": run_id}
    found = {**members, "run_id": run_id, "outcome": outcome, "seal": sealed(run_id, members["entry"])}
    path.unlink(missing_ok=True)
    with open(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "wb") as file:
        file.write(json.dumps(found).encode())


def _rename(place: Path, target: Path) -> bool:
    """Give a directory its name, unless another replay was faster."""
    try:
        os.rename(place, target)
    except OSError:
        if target.exists():
            return False
        raise
    return True


def target_of(store: RunStore) -> RunStore:
    """Where the replay of a store's run goes: the same store, or the user's where that is shipped or read-only."""
    location = store.location()
    demo = demo_runs_dir()
    shipped = demo is not None and os.path.realpath(location) == os.path.realpath(demo)
    if shipped or (os.path.exists(location) and not os.access(location, os.W_OK)):
        return open_store(str(data_dir() / "store"))
    return store

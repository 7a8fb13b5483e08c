"""A derived index of a store's runs in the user's cache directory.

It may be deleted at any time, and nothing depends on it.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import sqlite3
from collections.abc import Iterable, Mapping
from typing import cast

from agentdbg.config.paths import cache_dir
from agentdbg.model.records import ErrorInfo, Mode, RunStatus, RunSummary
from agentdbg.store.files import StoreError, create_private_file, make_private_dir
from agentdbg.store.metadata import LazyMeta

_VERSION = 1
_BUSY_S = 0.2


class ListingCache:
    """Rows of the run list by run id, each with the stamp of the ``run.json`` it was made from."""

    def __init__(self, location: str) -> None:
        digest = hashlib.sha256(location.encode("utf-8", "surrogateescape")).hexdigest()[:32]
        self.path = cache_dir() / f"runs-{digest}.sqlite"

    def load(self) -> dict[str, tuple[str, str]]:
        """``(stamp, row)`` by run id; empty when there is no index or it cannot be used."""
        if not self.path.is_file():
            return {}
        try:
            with contextlib.closing(self._connect()) as db:
                if db.execute("PRAGMA user_version").fetchone() != (_VERSION,):
                    return {}
                rows = db.execute("SELECT run_id, stamp, row FROM runs").fetchall()
                return {run_id: (stamp, row) for run_id, stamp, row in rows if isinstance(row, str)}
        except sqlite3.Error:
            return {}

    def save(self, changed: Mapping[str, tuple[str, str]], gone: Iterable[str]) -> None:
        """Bring the index up to date; when that is not possible, leave it."""
        try:
            self._write(changed, gone)
        except sqlite3.OperationalError:
            return  # locked by another reader, or a read-only directory
        except sqlite3.DatabaseError:
            with contextlib.suppress(OSError):
                self.path.unlink()
        except (OSError, StoreError):
            return

    def _write(self, changed: Mapping[str, tuple[str, str]], gone: Iterable[str]) -> None:
        make_private_dir(self.path.parent)
        with contextlib.suppress(FileExistsError):
            os.close(create_private_file(self.path))
        with contextlib.closing(self._connect()) as db, db:
            db.execute("PRAGMA synchronous=OFF")
            if db.execute("PRAGMA user_version").fetchone() != (_VERSION,):
                db.execute("DROP TABLE IF EXISTS runs")
                db.execute("CREATE TABLE runs (run_id TEXT PRIMARY KEY, stamp TEXT, row TEXT) WITHOUT ROWID")
                db.execute(f"PRAGMA user_version={_VERSION}")
            db.executemany("DELETE FROM runs WHERE run_id = ?", ((run_id,) for run_id in gone))
            db.executemany(
                "INSERT OR REPLACE INTO runs VALUES (?, ?, ?)",
                ((run_id, stamp, row) for run_id, (stamp, row) in changed.items()),
            )

    def _connect(self) -> sqlite3.Connection:
        return sqlite3.connect(self.path, timeout=_BUSY_S)


def pack_summary(summary: RunSummary) -> str:
    """A summary as a row of the index, without ``run.json`` itself."""
    error = summary.error
    return json.dumps(
        [
            summary.status,
            summary.agent,
            summary.mode,
            summary.replay_of,
            summary.thread_id,
            dict(summary.tags),
            summary.flag,
            summary.steps,
            summary.started_at,
            summary.ended_at,
            summary.models,
            summary.failing_step,
            [error.type, error.message] if error else None,
            summary.verdict,
            summary.holes,
        ]
    )


def unpack_summary(run_id: str, row: str, root: str) -> RunSummary | None:
    """The inverse of ``pack_summary``; ``None`` when the row is not one."""
    try:
        values = cast("list[object]", json.loads(row))
        status, agent, mode, replay_of, thread_id, tags, flag, steps, start, end, models, *rest = values
        step, error, verdict, holes = rest
        summary = RunSummary(
            run_id=run_id,
            status=RunStatus(cast(str, status)),
            agent=cast(str, agent),
            mode=Mode(cast(str, mode)),
            replay_of=cast("str | None", replay_of),
            thread_id=cast("str | None", thread_id),
            tags=cast("dict[str, str]", tags),
            flag=cast("str | None", flag),
            steps=cast(int, steps),
            started_at=cast("float | None", start),
            ended_at=cast("float | None", end),
            models=tuple(cast("list[str]", models)),
            failing_step=cast("str | None", step),
            error=ErrorInfo(*cast("list[str]", error)) if error else None,
            verdict=cast("str | None", verdict),
            holes=tuple(cast("list[str]", holes)),
            meta=LazyMeta(root),
        )
    except (ValueError, TypeError):
        return None
    return summary

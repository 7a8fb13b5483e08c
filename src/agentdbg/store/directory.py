"""A store in a directory: its runs listed quickly, opened, deleted."""

from __future__ import annotations

import os
import secrets
import shutil
import stat
import threading
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

from agentdbg.model.canonical import loads_json
from agentdbg.model.records import Json, RunStatus, RunSummary
from agentdbg.store import notes
from agentdbg.store.files import StoreError, is_run_id, read_below
from agentdbg.store.glimpses import glimpse, says_running
from agentdbg.store.listing import ListingCache, pack_summary, unpack_summary
from agentdbg.store.liveness import is_local
from agentdbg.store.metadata import Facts, LazyMeta, check_format, owner_of, read_run_json, summarise
from agentdbg.store.reader import DirectoryRunSource

_STORE_JSON_LIMIT = 1 << 20
_FLAG_FILE = f"{notes.FOLDER}/{notes.FILE}"


class DirectoryStore:
    """A ``RunStore`` over a directory as ``FORMAT.md`` describes it.

    A directory that is not there yet is an empty store.

    ``store.json`` may say ``"public": true``: the store is meant for everyone (demo runs, fixtures in a work tree),
    and modes that are looser than usual are no problem in it.
    """

    def __init__(self, path: str | os.PathLike[str]) -> None:
        """Open a store.

        Raises:
            StoreError: It has a newer major format, or is not a directory.
        """
        self.path = Path(os.path.realpath(os.path.expanduser(path)))
        self._runs = self.path / "runs"
        self._lock = threading.Lock()
        self._known: dict[str, tuple[str, RunSummary]] = {}
        self._cache = ListingCache(str(self.path))
        self._cache_loaded = False
        if self.path.exists() and not self.path.is_dir():
            raise StoreError(f"{self.path} is not a directory, so it is no store")
        settings = self._settings()
        check_format(settings.get("format"), f"store {self.path}")
        self.public = settings.get("public") is True

    def location(self) -> str:
        """The store's path."""
        return str(self.path)

    def run_ids(self) -> list[str]:
        """Ids of all runs, sorted. Reads nothing but the directory."""
        return sorted(self._names())

    def run_directory(self, run_id: str) -> Path:
        """Where a run lies.

        Raises:
            KeyError: There is no such run.
        """
        path = self._runs / run_id
        try:
            found = is_run_id(run_id) and stat.S_ISDIR(os.lstat(path).st_mode) and self._runs_are_here()
        except OSError:
            found = False
        if not found:
            raise KeyError(run_id)
        return path

    def summaries(self) -> list[RunSummary]:
        """All runs, newest first; one that cannot be read is a summary with a hole."""
        with self._lock:
            rows = self._refresh()
        rows.sort(key=lambda row: (row[0], row[1].run_id), reverse=True)
        return [summary for _, summary in rows]

    def open(self, run_id: str) -> DirectoryRunSource:
        """Open a run.

        Raises:
            KeyError: There is no such run.
            StoreError: It has a newer major format, or nothing in it can be read.
        """
        root = self.run_directory(run_id)

        def flag() -> str | None:
            return notes.noted_flag(self.location(), run_id, root)

        return DirectoryRunSource(root, check_modes=not self.public, flag=flag)

    def delete(self, run_id: str) -> None:
        """Delete a run with all that was added to it.

        Raises:
            KeyError: There is no such run.
            StoreError: It is still being recorded.
            OSError: It cannot be deleted.
        """
        root = self.run_directory(run_id)
        if self._read(run_id, root)[0].status is RunStatus.RUNNING:
            raise StoreError(f"run {run_id} is still being recorded: end its process first")
        # A reader that lists meanwhile sees the run whole or not at all: a name with a leading dot is no run.
        doomed = self._runs / f".deleted-{secrets.token_hex(6)}"
        os.rename(root, doomed)
        shutil.rmtree(doomed)

    def _names(self) -> Iterator[str]:
        if not self._runs_are_here():
            return
        with os.scandir(self._runs) as entries:
            for entry in entries:
                if is_run_id(entry.name) and entry.is_dir(follow_symlinks=False):
                    yield entry.name

    def _runs_are_here(self) -> bool:
        try:
            mode = os.lstat(self._runs).st_mode
        except FileNotFoundError:
            return False
        if not stat.S_ISDIR(mode):
            raise StoreError(f"{self._runs} is a link or no directory; it is not followed")
        return True

    def _refresh(self) -> list[tuple[float, RunSummary]]:
        """The rows with the time they are sorted by; what changed since the last call is read again."""
        if not self._cache_loaded:
            self._load_cache()
        rows: list[tuple[float, RunSummary]] = []
        changed: dict[str, tuple[str, str]] = {}
        names = list(self._names())
        elsewhere = notes.all_elsewhere()
        for run_id in names:
            stamp, mtime = self._stamp(run_id)
            known = self._known.get(run_id)
            if known is not None and known[0] == stamp:
                summary = known[1]
            else:
                summary, settled = self._read(run_id, self._runs / run_id)
                self._known.pop(run_id, None)
                if stamp and settled:
                    self._known[run_id] = (stamp, summary)
                    changed[run_id] = (stamp, pack_summary(summary))
            rows.append((summary.started_at or mtime, self._with_flag(run_id, summary, elsewhere)))
        gone = self._known.keys() - set(names)
        for run_id in gone:
            del self._known[run_id]
        if changed or gone:
            self._cache.save(changed, gone)
        return rows

    def _load_cache(self) -> None:
        self._cache_loaded = True
        for run_id, (stamp, row) in self._cache.load().items():
            if is_run_id(run_id) and (summary := unpack_summary(run_id, row, f"{self._runs}/{run_id}")) is not None:
                self._known[run_id] = (stamp, summary)

    def _stamp(self, run_id: str) -> tuple[str, float]:
        """What tells that a ``run.json`` has changed (empty when there is none), and the time of the newest change."""
        try:
            status = os.lstat(f"{self._runs}/{run_id}/run.json")
        except OSError:
            try:
                return "", os.lstat(f"{self._runs}/{run_id}").st_mtime
            except OSError:
                return "", 0.0
        return f"{status.st_mtime_ns}:{status.st_size}:{status.st_ino}", status.st_mtime

    def _read(self, run_id: str, root: Path) -> tuple[RunSummary, bool]:
        """A run's row, and whether it stays as it is until ``run.json`` changes."""
        meta: dict[str, Json] = {}
        settled = False
        try:
            meta = read_run_json(root)
        except FileNotFoundError:
            facts = glimpse(root, {})
            facts = replace(facts, holes=(*facts.holes, "there is no run.json"))
        except (OSError, StoreError) as problem:
            reason = problem.strerror if isinstance(problem, OSError) else str(problem)
            facts = replace(glimpse(root, {}), holes=(f"run.json cannot be used: {reason}",))
        else:
            settled = not says_running(meta)
            facts = Facts() if settled and "steps" in meta else glimpse(root, meta)
            # A dead process of this machine does not come back; of another machine's nothing is known.
            settled = settled or (not facts.alive and is_local(owner_of(meta)))
        return summarise(run_id, meta, facts, shown=LazyMeta(root)), settled

    def _with_flag(self, run_id: str, summary: RunSummary, elsewhere: frozenset[str]) -> RunSummary:
        """The summary with the flag that was set later, if one was."""
        noted = bool(elsewhere) and notes.elsewhere(self.location(), run_id).name in elsewhere
        if not noted and not os.path.lexists(f"{self._runs}/{run_id}/{_FLAG_FILE}"):
            return summary
        flag = notes.noted_flag(self.location(), run_id, self._runs / run_id)
        return summary if flag is None else replace(summary, flag=flag or None)

    def _settings(self) -> dict[str, Json]:
        try:
            value = loads_json(read_below(self.path, "store.json", limit=_STORE_JSON_LIMIT))
        except (OSError, ValueError):
            return {}
        return value if isinstance(value, dict) else {}

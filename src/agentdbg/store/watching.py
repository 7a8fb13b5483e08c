"""Wakes a reader when a run directory has grown: file events where the system sends them, ``stat`` everywhere."""

from __future__ import annotations

import contextlib
import os
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Literal

from agentdbg.store.files import StoreError, list_below, stat_below

WatchKind = Literal["events", "polling"]

POLL_S = 1.0
_DEBOUNCE_MS = 150
_STEP_MS = 20


class Watcher:
    """Calls ``wake`` from a thread of its own whenever a run may have changed.

    File events are a hint. Every second the files are looked at as well; changes that no event announced (network and
    shared file systems send none) turn ``kind`` to ``"polling"``.
    """

    def __init__(self, root: Path, wake: Callable[[], None]) -> None:
        self.kind: WatchKind = "polling"
        self._root = root
        self._wake = wake
        self._stop = threading.Event()
        self._seen = fingerprint(root)
        self._thread = threading.Thread(target=self._run, name="agentdbg-watch", daemon=True)
        self._thread.start()

    def stop(self) -> None:
        """End the thread; no ``wake`` comes after this returns, unless it is the one that called."""
        self._stop.set()
        if self._thread is not threading.current_thread():
            self._thread.join()

    def _run(self) -> None:
        unannounced = 0
        for hinted in self._signals():
            now = fingerprint(self._root)
            if now != self._seen:
                self._seen = now
                unannounced = 0 if hinted else unannounced + 1
                if hinted or unannounced > 1:
                    self.kind = "events" if hinted else "polling"
                self._wake()

    def _signals(self) -> Iterator[bool]:
        """One item whenever it is worth looking: true when a file event said so."""
        try:
            from watchfiles import watch

            polled = bool(os.environ.get("WATCHFILES_FORCE_POLLING"))
            self.kind = "polling" if polled else "events"
            for changes in watch(
                self._root,
                stop_event=self._stop,
                rust_timeout=int(POLL_S * 1000),
                yield_on_timeout=True,
                debounce=_DEBOUNCE_MS,
                step=_STEP_MS,
                raise_interrupt=False,
                watch_filter=None,
            ):
                yield bool(changes) and not polled
        except (ImportError, OSError, RuntimeError):
            self.kind = "polling"
        while not self._stop.wait(POLL_S):
            yield False


def fingerprint(root: Path) -> tuple[tuple[str, int, int, int], ...]:
    """Name, inode, size and time of everything a reader would look at."""
    names: list[tuple[str, ...]] = [("run.json",)]
    with contextlib.suppress(OSError, StoreError):  # an unreadable directory does not change
        names += [("events", name) for name, _ in list_below(root, "events")]
    found: list[tuple[str, int, int, int]] = []
    for parts in names:
        try:
            status = stat_below(root, *parts)
        except (OSError, StoreError):
            continue
        found.append((parts[-1], status.st_ino, status.st_size, status.st_mtime_ns))
    return tuple(found)

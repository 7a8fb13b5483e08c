"""A change wakes the reader, by file events or without."""

from __future__ import annotations

import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from agentdbg.store import watching
from agentdbg.store.watching import Watcher, fingerprint
from tests.support.records import WRITER, intent, record, write_run


def grow(root: Path) -> None:
    with open(root / "events" / f"{WRITER}.jsonl", "ab") as file:
        file.write(record(intent(99)))


@pytest.mark.parametrize("way", ["watcher missing", "watcher fails", "watcher silent"])
def test_without_file_events_a_change_is_still_noticed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, way: str
) -> None:
    monkeypatch.setattr(watching, "POLL_S", 0.01)
    root = write_run(tmp_path)

    def silent(*_: object, stop_event: threading.Event, **__: object) -> Iterator[set[Any]]:
        if way == "watcher fails":
            raise RuntimeError("inotify limit reached")
        while not stop_event.wait(0.01):
            yield set()

    if way == "watcher missing":
        monkeypatch.setitem(sys.modules, "watchfiles", None)
    else:
        monkeypatch.setattr("watchfiles.watch", silent)
    woken = threading.Event()
    watcher = Watcher(root, woken.set)
    try:
        for _ in range(2):
            woken.clear()
            grow(root)
            assert woken.wait(10)
        assert watcher.kind == "polling"
    finally:
        watcher.stop()


def test_after_stopping_nothing_wakes(tmp_path: Path) -> None:
    root = write_run(tmp_path)
    woken = threading.Event()
    watcher = Watcher(root, woken.set)
    watcher.stop()
    grow(root)
    assert not woken.wait(0.05)


def test_a_watcher_may_be_stopped_from_its_own_thread(tmp_path: Path) -> None:
    root = write_run(tmp_path)
    done = threading.Event()
    holder: list[Watcher] = []

    def wake() -> None:
        holder[0].stop()
        done.set()

    holder.append(Watcher(root, wake))
    time.sleep(0.05)
    grow(root)
    assert done.wait(10)


def test_the_fingerprint_changes_with_what_a_reader_would_see(tmp_path: Path) -> None:
    root = write_run(tmp_path)
    before = fingerprint(root)
    assert fingerprint(root) == before
    grow(root)
    assert fingerprint(root) != before
    assert fingerprint(tmp_path / "nowhere") == ()

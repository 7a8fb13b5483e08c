"""Event files are followed by what ``stat`` says, with few handles, and each record can be read again."""

from __future__ import annotations

from pathlib import Path

import pytest

from agentdbg.store import event_files
from agentdbg.store.event_files import EventFiles
from agentdbg.store.skeleton import Skeleton
from tests.support.records import WRITER, intent, record, simple_events, write_private, write_run, writer


def followed(root: Path) -> EventFiles:
    files = EventFiles(root, Skeleton())
    assert files.look()
    while files.read_piece():
        files.skeleton.settle()
    return files


def test_every_line_can_be_read_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(event_files, "_BLOCK", 200)
    monkeypatch.setattr(event_files, "PIECE", 300)
    events = simple_events(40)
    files = followed(write_run(tmp_path, events=events))
    found = [
        files.line(writer_index, offset)
        for position in range(len(files.skeleton.order))
        for writer_index, offset in files.skeleton.records_of(files.skeleton.order.at(position))
    ]
    found += [files.line(writer_index, offset) for writer_index, offset, _ in files.skeleton.others()]
    assert sorted(found) == sorted(record(event).strip(b"\n") for event in events)
    assert files.unread() == 0
    files.close()


def test_many_writers_need_few_handles(tmp_path: Path) -> None:
    names = [f"{i:012x}" for i in range(100)]
    root = write_run(tmp_path, writers={name: [writer(0, name), intent(1, name=name)] for name in names})
    files = followed(root)
    assert len(files.skeleton.order) == 100
    assert all(files.line(rows.index, rows.offsets[0]) for rows in files.skeleton.writers)
    assert len(files._fds) <= 32
    files.close()
    assert not files._fds


def test_more_writers_than_is_sensible_are_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(event_files, "MAX_WRITERS", 2)
    names = [f"{i:012x}" for i in range(5)]
    files = followed(write_run(tmp_path, writers={name: [writer(0, name)] for name in names}))
    assert len(files.skeleton.writers) == 2
    assert any("more than 2 files" in problem for problem in files.problems(True))


def test_a_file_replaced_while_it_is_read_is_noticed(tmp_path: Path) -> None:
    root = write_run(tmp_path)
    files = EventFiles(root, Skeleton())
    files.look()
    write_private(root / "new", b"".join(map(record, simple_events(1))))
    (root / "new").rename(root / "events" / f"{WRITER}.jsonl")
    while files.read_piece():
        pass
    assert any("replaced" in problem for problem in files.problems(True))
    assert not files.look()


def test_a_record_that_names_another_writer_is_told(tmp_path: Path) -> None:
    files = followed(write_run(tmp_path, writers={"cccccccccccc": [writer(0, "dddddddddddd")]}))
    assert files.problems(True) == ["events/cccccccccccc.jsonl: its first record names another writer"]


def test_many_bad_lines_are_one_short_line(tmp_path: Path) -> None:
    root = write_run(tmp_path)
    write_private(root / "events" / f"{WRITER}.jsonl", b"bad\n" * 5000)
    (problem,) = followed(root).problems(True)
    assert problem == f"events/{WRITER}.jsonl: 5000 unreadable: lines 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, …"

"""What people add lies beside the record, is private, and never changes it."""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator
from pathlib import Path

import pytest

from agentdbg.store.directory import DirectoryStore
from agentdbg.store.files import StoreError
from agentdbg.store.notes import append, elsewhere, flag_of, read, set_flag
from tests.support.records import write_run


@pytest.fixture(autouse=True)
def loose_umask() -> Iterator[None]:
    before = os.umask(0)
    yield
    os.umask(before)


def snapshot(root: Path) -> dict[str, bytes]:
    return {str(path): path.read_bytes() for path in root.rglob("*") if path.is_file() and "work" not in path.parts}


def test_a_flag_is_set_changed_and_taken_away(tmp_path: Path) -> None:
    root = write_run(tmp_path)
    record, store = snapshot(root), DirectoryStore(tmp_path)
    assert flag_of(store, "run-1") is None
    for reason in ("wrong refund", "wrong — \u2028 \x1b[31m", ""):
        set_flag(store, "run-1", reason)
        assert flag_of(store, "run-1") == reason
    assert snapshot(root) == record
    assert stat.S_IMODE((root / "work").stat().st_mode) == 0o700
    assert stat.S_IMODE((root / "work" / "notes.jsonl").stat().st_mode) == 0o600


def test_an_unknown_run_cannot_be_flagged(tmp_path: Path) -> None:
    with pytest.raises(KeyError):
        set_flag(DirectoryStore(tmp_path), "nope", "x")


def test_a_store_for_a_group_has_notes_for_the_group(tmp_path: Path) -> None:
    root = write_run(tmp_path)
    root.chmod(0o750)
    set_flag(DirectoryStore(tmp_path), "run-1", "x")
    assert stat.S_IMODE((root / "work" / "notes.jsonl").stat().st_mode) == 0o640


def test_notes_on_a_run_that_cannot_be_written_to_go_to_the_user(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    root = write_run(tmp_path)
    store = DirectoryStore(tmp_path)
    with monkeypatch.context() as patched:
        patched.setattr("agentdbg.store.notes.os.access", lambda *_: False)
        set_flag(store, "run-1", "from afar")
    assert not (root / "work").exists()
    assert flag_of(store, "run-1") == "from afar"
    assert [summary.flag for summary in store.summaries()] == ["from afar"]
    place = elsewhere(store.location(), "run-1")
    assert stat.S_IMODE(place.stat().st_mode) == 0o600
    set_flag(store, "run-1", "from here")
    assert flag_of(store, "run-1") == "from here", "the newest wins, wherever it lies"


def test_a_torn_note_hides_no_other(tmp_path: Path) -> None:
    root = write_run(tmp_path)
    store = DirectoryStore(tmp_path)
    set_flag(store, "run-1", "first")
    path = root / "work" / "notes.jsonl"
    path.write_bytes(path.read_bytes() + b'\n{"e":"flag","reason":"to')
    set_flag(store, "run-1", "second")
    assert [note["reason"] for note in read(store.location(), "run-1", root)] == ["first", "second"]


def test_a_linked_work_directory_is_not_written_through(tmp_path: Path) -> None:
    root = write_run(tmp_path / "store")
    outside = tmp_path / "outside"
    outside.mkdir()
    (root / "work").symlink_to(outside)
    with pytest.raises(StoreError):
        set_flag(DirectoryStore(tmp_path / "store"), "run-1", "x")
    assert os.listdir(outside) == []
    (root / "work").unlink()
    (root / "work").mkdir()
    (root / "work" / "notes.jsonl").symlink_to(outside / "made")
    with pytest.raises(StoreError):
        set_flag(DirectoryStore(tmp_path / "store"), "run-1", "x")
    assert os.listdir(outside) == []


def test_notes_of_other_kinds_are_kept_in_order(tmp_path: Path) -> None:
    root = write_run(tmp_path)
    for i in range(3):
        append("store", "run-1", root, {"e": "mark", "i": i})
    assert [note["i"] for note in read("store", "run-1", root)] == [0, 1, 2]

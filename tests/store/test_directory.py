"""The run list: newest first, honest about what is damaged, quick, and never outside the store."""

from __future__ import annotations

import json
import os
import shutil
import stat
from pathlib import Path

import pytest

from agentdbg.model.records import RunStatus
from agentdbg.store import listing, liveness
from agentdbg.store.directory import DirectoryStore
from agentdbg.store.files import StoreError
from agentdbg.store.notes import set_flag
from agentdbg.store.protocols import RunStore
from tests.support.records import START, event, intent, run_json, simple_events, write_private, write_run, writer


def rows(store: RunStore) -> dict[str, str]:
    return {summary.run_id: summary.status.value for summary in store.summaries()}


def test_runs_are_listed_newest_first(tmp_path: Path) -> None:
    for i, name in enumerate(("old", "new", "middle")):
        write_run(tmp_path, name, meta=run_json(name, started_at=START + (0, 100, 50)[i]))
    store = DirectoryStore(tmp_path)
    assert [summary.run_id for summary in store.summaries()] == ["new", "middle", "old"]
    assert store.run_ids() == ["middle", "new", "old"]
    assert store.location() == str(tmp_path)


def test_a_store_that_is_not_there_is_empty(tmp_path: Path) -> None:
    store = DirectoryStore(tmp_path / "nowhere")
    assert store.summaries() == []
    with pytest.raises(KeyError):
        store.open("x")
    assert not (tmp_path / "nowhere").exists()


def test_a_run_is_opened_by_its_id(tmp_path: Path) -> None:
    write_run(tmp_path)
    source = DirectoryStore(tmp_path).open("run-1")
    assert len(source.steps()) == 4
    source.close()


@pytest.mark.parametrize("run_id", ["", ".", "..", "../run-1", "run-1/", "run-1\n", "/etc", "nope"])
def test_an_id_that_is_none_is_a_key_error(tmp_path: Path, run_id: str) -> None:
    write_run(tmp_path)
    with pytest.raises(KeyError):
        DirectoryStore(tmp_path).open(run_id)


def test_status_is_lost_when_the_recorder_is_gone_and_the_end_event_counts(tmp_path: Path) -> None:
    running = {"status": "running"}
    dead = {**liveness.here(), "start": 1}
    open_events = [writer(), intent(1, "agent")]
    write_run(tmp_path, "living", open_events, meta=run_json("living", **running, owner=liveness.here()))
    write_run(tmp_path, "killed", open_events, meta=run_json("killed", **running, owner=dead))
    write_run(
        tmp_path,
        "ended",
        [*open_events, event("end", 2, status="failed")],
        meta=run_json("ended", **running, owner=dead),
    )
    write_run(tmp_path, "waiting", open_events, meta=run_json("waiting", status="waiting", owner=dead))
    expected = {"living": "running", "killed": "lost", "ended": "failed", "waiting": "waiting"}
    store = DirectoryStore(tmp_path)
    assert rows(store) == rows(store) == expected
    assert {name: store.open(name).summary().status.value for name in expected} == expected


def test_damaged_runs_are_listed_with_a_hole_and_hide_nothing(tmp_path: Path) -> None:
    write_run(tmp_path, "good")
    write_run(tmp_path, "no-run-json", meta={})
    for name, content in (
        ("broken", b"{"),
        ("a-list", b"[]"),
        ("newer", b'{"format":"1.2"}'),
        ("surrogate", b'"\\ud800"'),
    ):
        write_private(write_run(tmp_path, name) / "run.json", content)
    (tmp_path / "runs" / "empty").mkdir()
    os.mkfifo(write_run(tmp_path, "fifo", meta={}) / "run.json")
    by_id = {summary.run_id: summary for summary in DirectoryStore(tmp_path).summaries()}
    assert len(by_id) == 8
    assert by_id.pop("good").holes == ()
    assert all(summary.holes for summary in by_id.values())
    assert by_id["no-run-json"].status is RunStatus.OK
    assert by_id["no-run-json"].agent == "desk"
    assert "format 1.2" in by_id["newer"].holes[0]
    assert "FIFO" in by_id["fifo"].holes[0]


def test_strangers_among_the_runs_are_no_runs(tmp_path: Path) -> None:
    root = write_run(tmp_path)
    (tmp_path / "runs" / "linked").symlink_to(root)
    (tmp_path / "runs" / ".hidden").mkdir()
    (tmp_path / "runs" / "file").write_text("x")
    os.mkfifo(tmp_path / "runs" / "pipe")
    store = DirectoryStore(tmp_path)
    assert rows(store) == {"run-1": "ok"}
    for name in ("linked", "file", "pipe"):
        with pytest.raises(KeyError):
            store.open(name)


def test_linked_runs_directory_is_refused(tmp_path: Path) -> None:
    write_run(tmp_path / "real")
    (tmp_path / "store").mkdir()
    (tmp_path / "store" / "runs").symlink_to(tmp_path / "real" / "runs")
    with pytest.raises(StoreError, match="not followed"):
        DirectoryStore(tmp_path / "store").summaries()


def test_a_newer_store_is_refused_in_one_line(tmp_path: Path) -> None:
    (tmp_path / "store.json").write_text('{"format": "2.0"}')
    with pytest.raises(StoreError, match=r"format 2\.0"):
        DirectoryStore(tmp_path)
    (tmp_path / "file").write_text("")
    with pytest.raises(StoreError, match="not a directory"):
        DirectoryStore(tmp_path / "file")


def test_run_json_is_all_there_when_asked_for(tmp_path: Path) -> None:
    write_run(tmp_path, meta=run_json("run-1", trace_id="t-1", novelty=[1]))
    (summary,) = DirectoryStore(tmp_path).summaries()
    assert (summary.meta["trace_id"], summary.meta["novelty"]) == ("t-1", [1])
    assert len(summary.meta) == len(dict(summary.meta))


def test_a_second_look_reads_only_what_changed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    root = write_run(tmp_path, "a")
    write_run(tmp_path, "b")
    first = DirectoryStore(tmp_path).summaries()
    read: list[str] = []
    original = DirectoryStore._read

    def counted(self: DirectoryStore, run_id: str, at: Path) -> object:
        read.append(run_id)
        return original(self, run_id, at)

    monkeypatch.setattr(DirectoryStore, "_read", counted)
    store = DirectoryStore(tmp_path)
    again = store.summaries()
    assert [(row.run_id, row.tags, row.error, row.holes) for row in again] == [
        (row.run_id, row.tags, row.error, row.holes) for row in first
    ]
    assert read == []
    write_private(
        root / "new", json.dumps(run_json("a", status="failed", error={"type": "E", "message": "m"})).encode()
    )
    (root / "new").rename(root / "run.json")
    assert rows(store)["a"] == "failed"
    assert read == ["a"]
    assert rows(DirectoryStore(tmp_path)) == {"a": "failed", "b": "ok"}
    assert read == ["a"]


def test_lost_runs_are_not_looked_at_again_and_living_ones_are(tmp_path: Path) -> None:
    open_events = [writer(), intent(1, "agent")]
    for name, owner in (
        ("dead", {**liveness.here(), "start": 1}),
        ("living", liveness.here()),
        ("far", {"host": "another"}),
    ):
        write_run(tmp_path, name, open_events, meta=run_json(name, status="running", owner=owner))
    assert rows(DirectoryStore(tmp_path)) == {"dead": "lost", "living": "running", "far": "running"}
    assert listing.ListingCache(str(tmp_path)).load().keys() == {"dead"}


@pytest.mark.parametrize("damage", [b"", b"not a database at all, not at all", b"SQLite format 3\0" + b"\xff" * 5000])
def test_a_corrupt_index_is_ignored_and_made_anew(tmp_path: Path, damage: bytes) -> None:
    write_run(tmp_path)
    store = DirectoryStore(tmp_path)
    before = rows(store)
    index = listing.ListingCache(store.location()).path
    assert index.exists()
    index.write_bytes(damage)
    assert rows(DirectoryStore(tmp_path)) == before
    assert rows(DirectoryStore(tmp_path)) == before
    assert rows(DirectoryStore(tmp_path)) == before
    assert listing.ListingCache(store.location()).load().keys() == {"run-1"}


def test_a_cache_that_cannot_be_written_costs_nothing_but_time(tmp_path: Path, isolated_user: Path) -> None:
    write_run(tmp_path / "store")
    (isolated_user / ".cache").write_text("in the way")
    assert rows(DirectoryStore(tmp_path / "store")) == {"run-1": "ok"}


def test_deleted_runs_are_gone_and_nothing_else(tmp_path: Path) -> None:
    outside = tmp_path / "outside"
    outside.mkdir()
    (outside / "keep").write_text("x")
    root = write_run(tmp_path / "store", "doomed")
    (root / "work").symlink_to(outside)
    write_run(tmp_path / "store", "other")
    store = DirectoryStore(tmp_path / "store")
    assert set(rows(store)) == {"doomed", "other"}
    store.delete("doomed")
    assert set(rows(store)) == {"other"}
    assert os.listdir(tmp_path / "store" / "runs") == ["other"]
    assert (outside / "keep").exists()
    with pytest.raises(KeyError):
        store.delete("doomed")


def test_a_run_that_is_being_recorded_is_not_deleted(tmp_path: Path) -> None:
    write_run(tmp_path, events=[writer(), intent(1)], meta=run_json("run-1", status="running", owner=liveness.here()))
    with pytest.raises(StoreError, match="still being recorded"):
        DirectoryStore(tmp_path).delete("run-1")
    assert rows(DirectoryStore(tmp_path)) == {"run-1": "running"}


def test_flags_set_later_are_listed(tmp_path: Path) -> None:
    write_run(tmp_path, "a", meta=run_json("a", flag="recorded"))
    write_run(tmp_path, "b")
    store = DirectoryStore(tmp_path)
    set_flag(store, "b", "wrong refund")
    flags = {summary.run_id: summary.flag for summary in store.summaries()}
    assert flags == {"a": "recorded", "b": "wrong refund"}
    set_flag(store, "a", "")
    assert {summary.run_id: summary.flag for summary in store.summaries()} == {"a": None, "b": "wrong refund"}
    assert store.open("b").summary().flag == "wrong refund"


def test_a_public_store_may_have_open_modes(tmp_path: Path) -> None:
    root = write_run(tmp_path)
    root.chmod(0o755)
    assert DirectoryStore(tmp_path).open("run-1").problems() != []
    (tmp_path / "store.json").write_text('{"format": "0.1", "public": true}')
    assert DirectoryStore(tmp_path).open("run-1").problems() == []


def test_a_read_only_store_can_be_read(tmp_path: Path) -> None:
    root = write_run(tmp_path, events=simple_events())
    for folder in (root, root / "events", tmp_path / "runs", tmp_path):
        folder.chmod(stat.S_IRUSR | stat.S_IXUSR)
    try:
        assert len(DirectoryStore(tmp_path).open("run-1").steps()) == 4
    finally:
        for folder in (tmp_path, tmp_path / "runs", root, root / "events"):
            folder.chmod(0o700)


def test_a_run_deleted_behind_its_back_leaves_the_list(tmp_path: Path) -> None:
    root = write_run(tmp_path, "a")
    write_run(tmp_path, "b")
    store = DirectoryStore(tmp_path)
    store.summaries()
    shutil.rmtree(root)
    assert set(rows(store)) == {"b"}
    assert listing.ListingCache(store.location()).load().keys() == {"b"}


def test_steps_are_counted_where_run_json_does_not_say(tmp_path: Path) -> None:
    write_run(tmp_path, "x", events=simple_events(3), meta={"format": "0.1", "status": "ok"})
    assert DirectoryStore(tmp_path).summaries()[0].steps == 4

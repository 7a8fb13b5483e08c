"""A glimpse at the ends of a run's files tells how it stands."""

from __future__ import annotations

import os
import zlib
from pathlib import Path
from typing import Any

from agentdbg.model.records import RunStatus
from agentdbg.store import liveness
from agentdbg.store.glimpses import glimpse, says_running
from tests.support.records import START, WRITER, event, intent, record, simple_events, write_run, writer


def owned_writer() -> dict[str, Any]:
    return {**writer(), **liveness.here()}


def test_a_finished_run_without_run_json_is_recognised(tmp_path: Path) -> None:
    facts = glimpse(write_run(tmp_path, events=simple_events(500), meta={}), {})
    assert (facts.ended, facts.agent, facts.started_at, facts.alive) == (RunStatus.OK, "desk", START, False)
    assert facts.ended_at == START + 1003


def test_the_writer_record_says_who_records(tmp_path: Path) -> None:
    facts = glimpse(write_run(tmp_path, events=[owned_writer(), intent(1, "agent", "a")], meta={}), {})
    assert (facts.ended, facts.alive, facts.agent) == (None, True, "a")


def test_the_owner_in_run_json_wins(tmp_path: Path) -> None:
    root = write_run(tmp_path, events=[owned_writer()], meta={})
    assert not glimpse(root, {"owner": {"pid": 2**30}}).alive


def test_an_error_in_the_end_event_is_kept(tmp_path: Path) -> None:
    events = [writer(), event("end", 1, status="failed", error={"type": "E", "message": "m"})]
    facts = glimpse(write_run(tmp_path, events=events, meta={}), {})
    assert facts.ended is RunStatus.FAILED
    assert facts.error is not None and facts.error.type == "E"


def test_the_steps_of_a_run_are_counted_and_those_of_a_huge_one_left_open(tmp_path: Path) -> None:
    events = [owned_writer(), intent(1, "agent", "a"), intent(2, "tool", "t"), event("outcome", 3, of=f"{WRITER}:2")]
    assert glimpse(write_run(tmp_path / "short", events=events, meta={}), {}).steps == 2
    assert glimpse(write_run(tmp_path / "long", events=simple_events(2_000), meta={}), {}).steps == 2_001
    assert glimpse(write_run(tmp_path / "huge", events=simple_events(14_000), meta={}), {}).steps == 0


def test_damage_and_strangers_are_survived(tmp_path: Path) -> None:
    root = write_run(tmp_path, events=[], meta={})
    os.mkfifo(root / "events" / "cccccccccccc.jsonl")
    (root / "events" / f"{WRITER}.jsonl").write_bytes(record({"e": "end"})[:-5] + b"\xff\n")
    assert glimpse(root, {}).holes == ("no readable event",)
    assert glimpse(tmp_path / "nowhere", {}).ended is None


def test_only_a_stated_end_is_settled() -> None:
    assert [says_running({"status": status}) for status in ("ok", "failed", "waiting", "running", None, 7)] == [
        False
    ] * 3 + [True] * 3


def test_steps_in_another_spelling_count_and_damaged_ones_do_not(tmp_path: Path) -> None:
    root = write_run(tmp_path, events=[intent(1)], meta={})
    spelled = record({"e": "step", "seq": 2}).replace(b'{"e":"step"', b'{ "e" : "step"')[1:-20]
    spelled += b',"_c":"%08x"}\n' % zlib.crc32(spelled)
    with open(root / "events" / f"{WRITER}.jsonl", "ab") as file:
        file.write(spelled + record({"e": "step", "seq": 3}).replace(b"3", b"4", 1))
    assert glimpse(root, {}).steps == 2

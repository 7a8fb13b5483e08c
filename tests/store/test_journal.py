"""What was acknowledged is on disk: kill -9 at any moment costs the record in flight and nothing else."""

from __future__ import annotations

import json
import os
import random
import signal
import subprocess
import sys
import time
import zlib
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agentdbg.model.records import RunStatus, StepStatus
from agentdbg.store.disk import Disk
from agentdbg.store.journal import LARGE_BODY, RunWriter, encode_record
from tests.support.recorded import Recorded, environment, program, runs

AGENT = """
import sys, time
import agentdbg

@agentdbg.tool(effect="write", idempotency_key="key")
def refund(n, note, key):
    sys.stdout.write(f"in {n}\\n")
    sys.stdout.flush()
    time.sleep(0.0005)
    return {"n": n, "note": note}

@agentdbg.agent
def desk():
    for n in range(1_000_000):
        done = refund(n, f"refund {n} " * 20, key=f"k{n}")
        sys.stdout.write(f"ack {n}\\n")
        sys.stdout.flush()

desk()
"""


def start(path: Path, folder: Path) -> subprocess.Popen[bytes]:
    return subprocess.Popen(
        [sys.executable, path], stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=environment(folder)
    )


def kill_at(process: subprocess.Popen[bytes], seconds: float) -> tuple[int, int]:
    """Kill at some moment after the first call; returns the last call entered and the last acknowledged."""
    assert process.stdout is not None and process.stderr is not None
    first = process.stdout.readline()
    time.sleep(seconds)
    process.send_signal(signal.SIGKILL)
    lines = (first + process.stdout.read()).decode().split("\n")[:-1]
    assert process.stderr.read() == b""
    process.stdout.close()
    process.stderr.close()
    process.wait()
    entered = [int(line.split()[1]) for line in lines if line.startswith("in ")]
    acknowledged = [int(line.split()[1]) for line in lines if line.startswith("ack ")]
    return entered[-1], acknowledged[-1] if acknowledged else -1


def check(found: Recorded, entered: int, acknowledged: int) -> None:
    """The run is lost, not running; every acknowledged call is whole, the one in flight has its arguments."""
    assert found.status is RunStatus.LOST
    problems = list(found.source.problems())
    assert all("torn" in problem or "unreadable" in problem or "cut" in problem for problem in problems), problems
    assert len(problems) <= 1
    steps = [step for step in found.steps if step.name == "refund"]
    assert len(steps) - 1 in (entered, entered + 1)
    for n, step in enumerate(steps):
        expected = {"n": n, "note": f"refund {n} " * 20, "key": f"k{n}"}
        assert found.arguments(step) == expected
        assert step.idempotency_key == f"k{n}"
        if n <= acknowledged:
            assert step.status is StepStatus.OK
            assert found.result(step) == {"n": n, "note": f"refund {n} " * 20}
        else:
            assert step.status in (StepStatus.OPEN, StepStatus.OK)


def kill_loop(folder: Path, times: int, writers: int) -> None:
    path = program(folder, AGENT)
    dice = random.Random(writers * 1000 + times)
    for attempt in range(0, times, writers):
        place = folder / str(attempt)
        place.mkdir()
        processes = [start(path, place) for _ in range(writers)]
        seen = sorted(kill_at(process, dice.random() * 0.05) for process in processes)
        found = runs(place / "store")
        assert len(found) == writers
        ordered = sorted(found, key=lambda one: len(one.steps))
        if writers == 1:
            check(ordered[0], *seen[0])
            continue
        for one in ordered:
            matching = [pair for pair in seen if len(one.steps) - 2 in (pair[0], pair[0] + 1)]
            check(one, *min(matching, key=lambda pair: pair[1]))


def test_kill_9_inside_a_write_tool(tmp_path: Path) -> None:
    kill_loop(tmp_path, 4, 1)


def test_kill_9_with_four_writers(tmp_path: Path) -> None:
    kill_loop(tmp_path, 4, 4)


@pytest.mark.wide
def test_kill_9_inside_a_write_tool_fifty_times(tmp_path: Path) -> None:
    kill_loop(tmp_path, 50, 1)


@pytest.mark.wide
def test_kill_9_with_four_writers_again_and_again(tmp_path: Path) -> None:
    kill_loop(tmp_path, 48, 4)


def test_a_run_appears_with_its_run_json_or_not_at_all(tmp_path: Path) -> None:
    disk = Disk(print)
    (tmp_path / "runs").mkdir()
    directory = str(tmp_path / "runs" / "r1")
    RunWriter.create(disk, directory, "0" * 12, {}, {"run_id": "r1"})
    assert json.loads((tmp_path / "runs" / "r1" / "run.json").read_text()) == {"run_id": "r1"}
    with pytest.raises(FileExistsError):
        RunWriter.create(disk, directory, "1" * 12, {}, {"run_id": "other"})
    assert json.loads((tmp_path / "runs" / "r1" / "run.json").read_text()) == {"run_id": "r1"}
    assert os.listdir(tmp_path / "runs") == ["r1"]


def test_a_body_is_stored_once_and_found_at_its_place(tmp_path: Path) -> None:
    writer = RunWriter.create(Disk(print), str(tmp_path / "r1"), "0" * 12)
    first, again, other = writer.body(b'"one"'), writer.body(b'"one"'), writer.body(b"\xff\x00")
    assert first == again
    data = (tmp_path / "r1" / first.file).read_bytes()
    for ref, key, value in ((first, "b", '"one"'), (other, "x", "/wA=")):
        record = json.loads(data[ref.offset :].split(b"\n")[0])
        assert (record["h"], record["n"], record[key]) == (ref.sha256, ref.size, value)
    large = writer.body(b"x" * (LARGE_BODY + 1))
    assert (tmp_path / "r1" / large.file).read_bytes() == b"x" * (LARGE_BODY + 1)


def test_a_writer_that_writes_nothing_leaves_no_file_and_greets_before_its_first_event(tmp_path: Path) -> None:
    writer = RunWriter.create(Disk(print), str(tmp_path / "r1"), "0" * 12, {"pid": 7})
    assert os.listdir(tmp_path / "r1" / "events") == []
    assert writer.event("step", {"name": "a"}) == 1
    lines = (tmp_path / "r1" / "events" / f"{'0' * 12}.jsonl").read_bytes().split(b"\n\n")
    assert [json.loads(line)["e"] for line in lines] == ["writer", "step"]
    assert writer.step_id(1) == f"{'0' * 12}:1"


names = st.text().map(lambda s: s.encode("utf-8", "replace").decode())
values = st.recursive(st.none() | st.booleans() | st.integers() | names, lambda inner: st.lists(inner), max_leaves=8)


@given(st.dictionaries(names.filter(lambda key: key != "_c"), values, min_size=1))
def test_every_record_is_one_line_with_its_checksum(members: dict[str, object]) -> None:
    record = encode_record(members)
    assert record[:1] == b"\n" == record[-1:]
    assert record.count(b"\n") == 2
    head, _, tail = record[1:-1].rpartition(b',"_c":"')
    assert tail == b'%08x"}' % zlib.crc32(head)
    assert json.loads(record) == {**members, "_c": tail[:8].decode()}

"""Disks that are full, read-only, gone, slow or hung: the agent's output and exit status stay; losses are counted."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from agentdbg.model.records import RunStatus
from agentdbg.store import disk as disks
from agentdbg.store.disk import LOST, QUEUED, Disk
from tests.support.recorded import environment, only_run, program, run, runs

AGENT = """
import json, os, shutil, sys, threading, time
import agentdbg

@agentdbg.tool(effect="write")
def save(n):
    return f"{n} " * 300

@agentdbg.agent
def desk():
    total = 0
    for n in range(400):
        total += len(save(n))
        MIDWAY
    return total

BEFORE
print(desk())
sys.stderr.write(json.dumps(agentdbg.stats()) + "\\n")
sys.exit(5)
"""


def check(
    folder: Path, *, midway: str = "pass", before: str = "", warnings: int = 1, **options: object
) -> dict[str, object]:
    """The agent ends as it does without a recorder; returns its statistics."""
    source = AGENT.replace("MIDWAY", midway).replace("BEFORE", before)
    plain = run(folder, source, env={"AGENTDBG": "off"})
    done = run(folder, source, **options)  # type: ignore[arg-type]
    assert (done.returncode, done.stdout) == (plain.returncode, plain.stdout) == (5, plain.stdout)
    *lines, stats = done.stderr.splitlines()
    assert len(lines) == warnings, done.stderr
    assert all(line.startswith("agentdbg: ") for line in lines)
    found: dict[str, object] = json.loads(stats)
    return {**found, "said": " ".join(lines)}


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    """A file system of one megabyte."""
    place = tmp_path / "store"
    place.mkdir()
    command = ["mount", "-t", "tmpfs", "-o", "size=1m", "tmpfs", str(place)]
    if shutil.which("mount") is None or subprocess.run(command, capture_output=True, check=False).returncode:
        pytest.skip("no right to mount a small file system here")
    yield tmp_path
    subprocess.run(["umount", "-l", str(place)], check=True)


def test_a_full_disk(small_disk: Path) -> None:
    (small_disk / "store" / "ballast").write_bytes(b"x" * 900_000)
    stats = check(small_disk)
    assert stats["dropped"] and stats["errors"] and "No space left" in str(stats["last_error"])
    (found,) = runs(small_disk / "store")
    assert 0 < len(found.steps) < 401


def test_a_disk_that_is_full_for_a_while_leaves_a_hole_and_goes_on(small_disk: Path) -> None:
    ballast = small_disk / "store" / "ballast"
    ballast.write_bytes(b"x" * 900_000)
    check(small_disk, midway=f"if n == 200 and agentdbg.run_id(): os.unlink({str(ballast)!r}); time.sleep(1.1)")
    (found,) = runs(small_disk / "store")
    assert found.status is RunStatus.OK
    assert any("records could not be written" in str(event["what"]) for event in found.events("hole"))
    last = [step for step in found.steps if step.name == "save"][-1]
    assert found.result(last) == "399 " * 300


def test_a_limit_on_file_sizes(tmp_path: Path) -> None:
    stats = check(tmp_path, before="import resource; resource.setrlimit(resource.RLIMIT_FSIZE, (100_000, 100_000))")
    assert stats["dropped"] and "File too large" in str(stats["last_error"])
    (found,) = runs(tmp_path / "store")
    assert found.steps


def test_a_store_that_cannot_be_written(small_disk: Path) -> None:
    store = small_disk / "store"
    (store / "runs").mkdir()
    subprocess.run(["mount", "-o", "remount,ro", str(store)], check=True)
    stats = check(small_disk)
    assert "Read-only file system" in str(stats["said"]) and stats["records"] == 0
    assert os.listdir(store / "runs") == []


def test_a_store_that_is_deleted_while_the_agent_runs(tmp_path: Path) -> None:
    store = str(tmp_path / "store")
    stats = check(tmp_path, midway=f"if n == 100: shutil.rmtree({store!r}, True)")
    assert stats["dropped"]
    assert any(words in str(stats["last_error"]) for words in ("files were deleted", "No such file"))


SLOW = """
real, slow = os.write, []
def write(fd, data):
    if bytes(data[:2]) == b'\\n{' and CONDITION:
        slow.append(1)
        time.sleep(SECONDS)
    return real(fd, data)
os.write = write
"""


def slowly(condition: str, seconds: float) -> str:
    return SLOW.replace("CONDITION", condition).replace("SECONDS", str(seconds))


def test_one_slow_write_and_everything_is_still_there(tmp_path: Path) -> None:
    stats = check(tmp_path, before=slowly("len(slow) < 1", 0.3))
    assert stats["queued"] and not stats["dropped"]
    found = only_run(tmp_path / "store")
    assert [found.result(step) for step in found.steps if step.name == "save"] == [f"{n} " * 300 for n in range(400)]
    assert found.status is RunStatus.OK


@pytest.mark.wide
def test_after_a_while_writes_are_direct_again(tmp_path: Path) -> None:
    midway = "if n == 200: time.sleep(1.6)"
    stats = check(tmp_path, before=slowly("len(slow) < 1", 0.3), midway=midway)
    assert not stats["dropped"]
    assert 0 < int(str(stats["queued"])) < 1_000


def test_a_disk_that_hangs_for_ever_after_a_slow_write_does_not_hold_the_agent(tmp_path: Path) -> None:
    began = time.monotonic()
    stats = check(
        tmp_path, before=slowly("True", 0.3).replace("time.sleep(0.3)", "time.sleep(0.3 if len(slow) == 1 else 1e6)")
    )
    assert stats["queued"]
    assert time.monotonic() - began < 30  # not a measurement: it would be a million


def test_a_thread_that_hangs_in_a_write_does_not_hold_the_others(tmp_path: Path) -> None:
    before = (
        slowly("threading.current_thread().name == 'stuck'", 1e6)
        + """
@agentdbg.agent
def stuck():
    return 1

threading.Thread(target=stuck, name="stuck", daemon=True).start()
time.sleep(0.05)
"""
    )
    stats = check(tmp_path, before=before)
    assert stats["queued"]


@pytest.mark.wide
def test_a_very_slow_disk_loses_what_it_cannot_take_in_time_and_counts_it(tmp_path: Path) -> None:
    path = program(tmp_path, AGENT.replace("MIDWAY", "pass").replace("BEFORE", slowly("True", 0.3)))
    done = subprocess.run(
        [sys.executable, path], env=environment(tmp_path), capture_output=True, text=True, check=False, timeout=60
    )
    assert done.returncode == 5
    (found,) = runs(tmp_path / "store")
    assert len(found.steps) < 100  # the rest was still in the queue


def quiet(_: str) -> None:
    """Warnings go nowhere."""


def test_open_files_are_bounded_and_come_back(tmp_path: Path) -> None:
    disk = Disk(quiet)
    for _ in range(3):
        for n in range(200):
            assert disk.append(str(tmp_path / f"{n}.jsonl"), b"\n{}\n") > 0
    assert len(disk._files) == disks.MAX_OPEN_FILES
    assert all((tmp_path / f"{n}.jsonl").read_bytes() == b"\n{}\n" * 3 for n in range(200))


def test_a_file_that_the_agent_closed_is_opened_again_and_the_agent_s_own_file_is_spared(tmp_path: Path) -> None:
    disk = Disk(quiet)
    path = str(tmp_path / "a.jsonl")
    disk.append(path, b"\n{1}\n")
    fd = disk._files[path].fd
    os.close(fd)  # as a program that becomes a daemon does
    other = os.open(tmp_path / "agents own", os.O_CREAT | os.O_RDWR)
    assert other == fd
    try:
        assert disk.append(path, b"\n{2}\n") == 10
        disk.close(path)
        assert os.fstat(other).st_size == 0
    finally:
        os.close(other)
    assert Path(path).read_bytes() == b"\n{1}\n\n{2}\n"


def test_a_file_that_stands_where_ours_stood_is_told_from_it_by_a_closer_look(tmp_path: Path) -> None:
    disk = Disk(quiet)
    path = str(tmp_path / "a.jsonl")
    disk.append(path, b"\n{1}\n")
    assert disk.append(path, b"\n{2}\n") == 10
    ours = disk._files[path]
    os.close(ours.fd)
    other = os.open(tmp_path / "agents own", os.O_CREAT | os.O_RDWR)
    assert other == ours.fd
    os.write(other, b"0123456789")
    ours.checked -= disks.TRUSTED_S
    try:
        assert disk.append(path, b"\n{3}\n") == 15
        disk.close(path)
        assert os.fstat(other).st_size == 10
    finally:
        os.close(other)


def test_files_never_take_the_numbers_of_the_standard_streams(tmp_path: Path) -> None:
    program_text = f"""
import os
from agentdbg.store.disk import Disk
os.close(0)
os.close(2)
disk = Disk(print)
disk.append({str(tmp_path / "a.jsonl")!r}, b"\\n{{}}\\n")
print(sorted(file.fd > 2 for file in disk._files.values()), os.path.exists("/proc/self/fd/2"))
"""
    done = subprocess.run(
        [sys.executable, "-c", program_text], env=environment(tmp_path), capture_output=True, text=True, check=False
    )
    assert done.stdout == "[True] False\n"


def test_a_link_in_a_file_s_place_is_not_followed(tmp_path: Path) -> None:
    disk = Disk(quiet)
    (tmp_path / "a.jsonl").symlink_to(tmp_path / "victim")
    os.mkfifo(tmp_path / "b.jsonl")
    assert disk.append(str(tmp_path / "a.jsonl"), b"x") == LOST
    disk._failed_at = 0.0
    assert disk.append(str(tmp_path / "b.jsonl"), b"x") == LOST
    assert not (tmp_path / "victim").exists()


def test_after_a_failure_the_disk_is_left_in_peace_for_a_second(tmp_path: Path) -> None:
    said: list[str] = []
    disk = Disk(said.append)
    path = str(tmp_path / "no" / "a.jsonl")
    for _ in range(50):
        assert disk.append(path, b"x") == LOST
    assert (disk.stats.errors, disk.stats.dropped) == (1, 50)
    assert len(said) == 1 and "No such file" in said[0]
    (tmp_path / "no").mkdir()
    disk._failed_at -= disks.RETRY_S
    assert disk.append(path, b"x") == 1
    assert disk.failing is False


def test_the_queue_keeps_the_order_of_all_that_is_done(tmp_path: Path) -> None:
    disk = Disk(quiet)
    disk._start_queue()
    disk.make_dir(str(tmp_path / "d"))
    assert disk.append(str(tmp_path / "d" / "a"), b"1") == QUEUED
    disk.replace(str(tmp_path / "d" / "b"), b"old")
    disk.append(str(tmp_path / "d" / "a"), b"2")
    disk.replace(str(tmp_path / "d" / "b"), b"new")
    disk.close(str(tmp_path / "d" / "a"))
    disk.drain(5)
    assert ((tmp_path / "d" / "a").read_bytes(), (tmp_path / "d" / "b").read_bytes()) == (b"12", b"new")
    assert disk._files == {}


def test_a_full_queue_drops_bodies_before_events(tmp_path: Path) -> None:
    disk = Disk(quiet)
    with disk._lock:  # the disk hangs
        disk._start_queue()
        half = b"x" * (disks.QUEUE_BYTES - 1000)
        assert disk.append(str(tmp_path / "a"), half, droppable=True) == QUEUED
        assert disk.append(str(tmp_path / "a"), b"y" * 2000, droppable=True) == LOST
        assert disk.append(str(tmp_path / "a"), b"z" * 2000) == QUEUED
        threading.Thread(target=disk.drain, args=(0.01,)).start()
    disk.drain(10)


@pytest.mark.parametrize("durability", ["none", "batch", "always"])
def test_durability_is_a_choice(tmp_path: Path, durability: str, monkeypatch: pytest.MonkeyPatch) -> None:
    synced: list[int] = []
    monkeypatch.setattr(os, "fdatasync", synced.append)
    disk = Disk(quiet, durability=durability)
    disk._last_sync -= 2
    for _ in range(3):
        disk.append(str(tmp_path / "a"), b"x")
    disk.replace(str(tmp_path / "b"), b"y")
    assert len(synced) == {"none": 0, "batch": 2, "always": 4}[durability]
    disk.close(str(tmp_path / "a"))

"""A killed recorder is told from a living one, and from another process that got its number."""

from __future__ import annotations

import os
import subprocess
import sys
import time

import pytest

from agentdbg.store import liveness
from agentdbg.store.liveness import boot_id, here, is_alive, is_local, is_presumed_alive, process_start


def test_this_process_is_alive() -> None:
    assert is_alive(here())
    assert set(here()) == {"host", "pid", "boot", "start"}


def test_a_process_that_ended_is_not() -> None:
    child = subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE)
    owner = {**here(), "pid": child.pid, "start": process_start(child.pid)}
    assert is_alive(owner)
    child.kill()
    deadline = time.monotonic() + 10
    while is_alive(owner) and time.monotonic() < deadline:
        time.sleep(0.01)
    assert not is_alive(owner), "a killed process that nobody has waited for is dead"
    child.communicate()
    assert not is_alive(owner)


@pytest.mark.parametrize(
    "change",
    [
        {"boot": "another-boot"},
        {"host": "another-machine"},
        {"pid": 2**40},
        {"pid": True},
        {"pid": "7"},
        {"pid": -1},
        {"pid": None},
    ],
)
def test_an_owner_of_another_boot_or_machine_or_form_is_not(change: dict[str, object]) -> None:
    assert not is_alive({**here(), **change})


@pytest.mark.skipif(not process_start(os.getpid()), reason="the platform tells no start time")
def test_a_reused_process_number_is_told_apart() -> None:
    assert not is_alive({**here(), "start": process_start(os.getpid()) + 1})


def test_an_owner_without_start_or_boot_is_judged_by_its_number() -> None:
    assert is_alive({"pid": os.getpid()})
    assert is_alive({"pid": os.getpid(), "boot": "", "start": 0})


def test_a_run_of_another_machine_counts_as_running_while_it_grows() -> None:
    foreign = {**here(), "host": "another-machine"}
    assert not is_local(foreign)
    assert is_presumed_alive(foreign, time.time() - 60)
    assert not is_presumed_alive(foreign, time.time() - 3600)
    assert is_presumed_alive(here(), 0.0)


def test_a_platform_without_proc_is_no_error(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(liveness, "_BOOT_FILE", "/nowhere/boot_id")
    assert boot_id() == "" or sys.platform == "darwin"
    assert process_start(2**30) == 0

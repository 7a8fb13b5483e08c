"""The seccomp filter, run by an interpreter of its own on every kind of call: what goes through and what does not."""

from __future__ import annotations

import os
from collections.abc import Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agentdbg.replay.kernel import calls
from agentdbg.replay.kernel.call_filter import ALLOW, DEVICE_COMMANDS, ERRNO, NOTIFY, program

MACHINES = {name: calls._MACHINES[name] for name in ("x86_64", "aarch64")}
OWN = 4711


def _decide(machine: calls.Machine, number: int, args: Sequence[int] = (), arch: int | None = None) -> int:
    """What the filter answers, as the kernel would find out."""
    padded = [*args, *[0] * (6 - len(args))]
    halves = [half for each in padded for half in (each & 0xFFFFFFFF, each >> 32)]
    data = {0: number, 4: machine.audit if arch is None else arch, 8: 0, 12: 0}
    data |= {16 + 4 * place: half for place, half in enumerate(halves)}
    code, at, held = program(machine, OWN, NOTIFY), 0, 0
    while True:
        operation, when, unless, k = code[at]
        at += 1
        if operation == 0x54:
            held &= k
            continue
        if operation == 0x20:
            held = data[k]
        elif operation == 0x06:
            return k
        else:
            found = {0x15: held == k, 0x35: held >= k, 0x45: bool(held & k)}[operation]
            at += when if found else unless


@pytest.mark.parametrize("name", MACHINES)
def test_every_listed_call_is_asked_about_and_no_other(name: str) -> None:
    machine = MACHINES[name]
    conditional = {"open", "openat", "sendto", "socket", "ioctl", "fcntl", "clone", "clone3", "setsid", "setpgid"}
    conditional |= {"io_uring_setup"}
    conditional |= {"kill", "tkill", "tgkill", "rt_sigqueueinfo", "rt_tgsigqueueinfo", "setpriority", "prlimit64"}
    conditional |= {"migrate_pages", "move_pages"} | {name for name in machine.numbers if name.startswith("sched_set")}
    for call, number in machine.numbers.items():
        assert call in conditional or _decide(machine, number) == NOTIFY, call
    listed = set(machine.numbers.values())
    assert all(_decide(machine, number) == ALLOW for number in range(470) if number not in listed)
    later = [_decide(machine, number) & 0xFFFF0000 for number in (470, 471, 512, 4096)]
    assert set(later) == {ERRNO}, "what nobody has looked through is not there"


@pytest.mark.parametrize("name", MACHINES)
@given(flags=st.integers(0, 2**31 - 1), high=st.integers(0, 2**32 - 1))
def test_files_may_be_opened_for_reading_alone(name: str, flags: int, high: int) -> None:
    machine = MACHINES[name]
    writes = flags & (os.O_WRONLY | os.O_RDWR | os.O_CREAT | os.O_TRUNC | os.O_APPEND)
    wanted = NOTIFY if writes else ALLOW
    assert _decide(machine, machine.numbers["openat"], (3, 99, (high << 32) | flags)) == wanted


@pytest.mark.parametrize("name", MACHINES)
@given(address=st.integers(0, 2**64 - 1), target=st.integers(0, 2**22))
def test_messages_without_an_address_and_signals_to_itself_go_through(name: str, address: int, target: int) -> None:
    machine = MACHINES[name]
    sent = _decide(machine, machine.numbers["sendto"], (3, 1, 1, 0, address))
    assert sent == (NOTIFY if address else ALLOW)
    signalled = _decide(machine, machine.numbers["kill"], (target, 9))
    assert signalled == (ALLOW if target == OWN else NOTIFY)


def test_only_plain_sockets_are_made() -> None:
    machine = MACHINES["x86_64"]
    made = {family for family in range(50) if _decide(machine, machine.numbers["socket"], (family, 1)) == ALLOW}
    assert made == {1, 2, 10, 16}
    assert _decide(machine, machine.numbers["socket"], (17, 3)) == NOTIFY
    assert _decide(machine, machine.numbers["socket"], (16, 3, 9)) == NOTIFY, "of netlink, routes alone"


@pytest.mark.parametrize("name", MACHINES)
def test_a_thread_is_no_other_process(name: str) -> None:
    machine = MACHINES[name]
    thread, spawn, fork = 0x003D0F00, 0x00004111, 0x01200011
    found = [_decide(machine, machine.numbers["clone"], (flags,)) for flags in (thread, spawn, fork, 0x100, 0x4000)]
    assert found == [ALLOW, ALLOW, NOTIFY, NOTIFY, NOTIFY]
    assert _decide(machine, machine.numbers["clone3"]) == ERRNO | 38, "its flags cannot be seen"


@pytest.mark.parametrize("name", MACHINES)
def test_what_event_loops_try_first_is_not_there(name: str) -> None:
    machine = MACHINES[name]
    assert _decide(machine, machine.numbers["io_uring_setup"], (64, 99)) == ERRNO | 38, "they go on with plain calls"


@pytest.mark.parametrize("name", MACHINES)
def test_a_process_changes_itself_unasked(name: str) -> None:
    machine = MACHINES[name]
    for call in ("prlimit64", "sched_setaffinity", "sched_setattr"):
        assert _decide(machine, machine.numbers[call], (0, 7)) == ALLOW
        assert _decide(machine, machine.numbers[call], (1, 7)) == NOTIFY
    asked = [_decide(machine, machine.numbers["setpriority"], args) for args in ((0, 0), (0, 9), (1, 0), (2, 0))]
    assert asked == [ALLOW, NOTIFY, NOTIFY, NOTIFY]


@pytest.mark.parametrize("name", MACHINES)
@given(command=st.integers(0, 2**32 - 1))
def test_device_commands_go_through_but_for_the_listed(name: str, command: int) -> None:
    machine = MACHINES[name]
    btrfs = command >> 8 & 0xFF == 0x94
    wanted = NOTIFY if btrfs or command in DEVICE_COMMANDS else ALLOW
    assert _decide(machine, machine.numbers["ioctl"], (0, command)) == wanted


@pytest.mark.parametrize("command", [0x5412, 0x40086602, 0x50009401])
def test_input_for_a_terminal_and_the_flags_of_a_file_are_asked_about(command: int) -> None:
    machine = MACHINES["x86_64"]
    assert _decide(machine, machine.numbers["ioctl"], (0, command)) == NOTIFY
    assert _decide(machine, machine.numbers["ioctl"], (0, 0x5401)) == ALLOW, "asks whether it is a terminal"


def test_calls_of_another_machine_go_nowhere() -> None:
    machine = MACHINES["x86_64"]
    assert _decide(machine, 0, arch=0x40000003) & 0xFFFF0000 == ERRNO, "32-bit calls have other numbers"
    assert _decide(machine, 0x40000000 | 2) & 0xFFFF0000 == ERRNO, "so has x32"

"""The seccomp filter, run by an interpreter of its own on every kind of call: what goes through and what does not."""

from __future__ import annotations

import os
from collections.abc import Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agentdbg.replay.kernel import calls
from agentdbg.replay.kernel.call_filter import ALLOW, ERRNO, NOTIFY, program

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
    conditional = {
        "open",
        "openat",
        "sendto",
        "socket",
        "kill",
        "tkill",
        "tgkill",
        "rt_sigqueueinfo",
        "rt_tgsigqueueinfo",
    }
    for call, number in machine.numbers.items():
        assert call in conditional or _decide(machine, number) == NOTIFY, call
    listed = set(machine.numbers.values())
    assert all(_decide(machine, number) == ALLOW for number in range(470) if number not in listed)


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
    assert _decide(machine, machine.numbers["socket"], (17, 3)) & 0xFFFF0000 == ERRNO


def test_calls_of_another_machine_go_nowhere() -> None:
    machine = MACHINES["x86_64"]
    assert _decide(machine, 0, arch=0x40000003) & 0xFFFF0000 == ERRNO, "32-bit calls have other numbers"
    assert _decide(machine, 0x40000000 | 2) & 0xFFFF0000 == ERRNO, "so has x32"

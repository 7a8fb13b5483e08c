"""The stack of a held program, as text: bounded, without running any of its code."""

from __future__ import annotations

import sys
from types import FrameType

import pytest

from agentdbg.replay.where import LONGEST, MOST_LOCALS, shown, stack_of


class Loud:
    """An object whose every method says so."""

    def __repr__(self) -> str:
        raise AssertionError("shown")

    def __len__(self) -> int:
        raise AssertionError("counted")

    def __getattribute__(self, name: str) -> object:
        raise AssertionError(name)


class Text(str):
    def __repr__(self) -> str:
        raise AssertionError("shown")


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        (None, "None"),
        (True, "True"),
        (1.5, "1.5"),
        ("a\x1b[2J", "'a\\x1b[2J'"),
        (b"\x00", "b'\\x00'"),
        ([1, [2, [3]]], "[1, [2, [… 1]]]"),
        ((), "()"),
        ({"a": {"b": {"c": 1}}}, "{'a': {'b': {… 1}}}"),
        (frozenset([1]), "frozenset(1)"),
        (list(range(100)), "[0, 1, 2, 3, 4, 5, 6, 7, … 92 more]"),
        (object(), "<object>"),
    ],
)
def test_values(value: object, expected: str) -> None:
    assert shown(value) == expected


def test_a_number_too_long_to_print() -> None:
    assert shown(10**5000) == "<int of 16610 bits>"


def test_no_code_of_an_object_runs() -> None:
    assert shown(Loud()).endswith(".Loud>")
    assert shown([Loud()]).endswith(".Loud>]")
    assert shown(Text("a")).endswith(".Text>")
    assert shown("x" * 1000) == f"{'x' * LONGEST!r}… (1,000 in all)"


def frames() -> list[FrameType]:
    secret = "pw-1"  # noqa: F841
    found: list[FrameType] = []
    frame: FrameType | None = sys._getframe()
    while frame is not None:
        found.append(frame)
        frame = frame.f_back
    return found


def test_a_stack_is_of_the_program_with_its_variables_and_without_secrets() -> None:
    stack = stack_of(frames(), lambda text: text.replace("pw-1", "***"))
    assert stack[0].function == "frames"
    assert ("secret", "'***'") in stack[0].locals
    assert stack[1].function == "test_a_stack_is_of_the_program_with_its_variables_and_without_secrets"
    assert all(not frame.locals for frame in stack if not frame.own)
    assert all(len(frame.locals) <= MOST_LOCALS for frame in stack)
    assert stack[0].members()["line"] == stack[0].line

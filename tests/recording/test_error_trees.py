"""What an error was made of is made again, errors inside of it too."""

from __future__ import annotations

import json
import os
from typing import Any

import pytest

from agentdbg.model.canonical import loads
from agentdbg.recording.encoding import encode, error_arguments, error_members
from agentdbg.recording.error_trees import frozen
from agentdbg.recording.served import rebuild_error
from agentdbg.redaction.gate import Gate
from agentdbg.redaction.keys import RedactionKey


class Outer(OSError):
    """Like ``requests.ConnectionError``."""


class Reasoned(Exception):
    """Like ``urllib3``'s ``MaxRetryError``."""

    def __init__(self, pool: object, reason: BaseException) -> None:
        super().__init__(f"gave up (Caused by {reason!r})")
        self.pool, self.reason = pool, reason


def through_the_record(error: BaseException) -> Any:
    gate = Gate(RedactionKey(b"k" * 32, "k"), enabled=False)
    arguments, state = encode(error_arguments(error), gate), encode(error_members(error, gate), gate)
    assert not arguments.holes and not state.holes
    kind = type(error)
    return rebuild_error(
        {
            "type": kind.__qualname__,
            "module": kind.__module__,
            "args": loads(arguments.data),
            "state": loads(state.data),
        }
    )


def test_errors_inside_of_errors_are_made_again() -> None:
    error = Outer(Reasoned(object(), ConnectionRefusedError(111, "Connection refused")))
    made = through_the_record(error)
    assert (type(made), str(made)) == (Outer, str(error))
    assert type(made.args[0]) is Reasoned and type(made.args[0].reason) is ConnectionRefusedError
    assert made.args[0].reason.errno == 111
    assert not hasattr(made.args[0], "pool"), "what cannot be written down is left out"


def raised(act: Any) -> Any:
    try:
        act()
    except BaseException as error:
        return error
    raise AssertionError("nothing was raised")


def from_another() -> None:
    try:
        os.environ["AGENTDBG_MISSING"]
    except KeyError as problem:
        raise Outer("gone") from problem


def while_another_was_handled() -> None:
    try:
        os.environ["AGENTDBG_MISSING"]
    except KeyError:
        raise ValueError("gone")  # noqa: B904  # that is what is tested


def hiding_another() -> None:
    try:
        os.environ["AGENTDBG_MISSING"]
    except KeyError:
        raise ValueError("gone") from None


@pytest.mark.parametrize("act", [from_another, while_another_was_handled, hiding_another])
def test_what_an_error_was_raised_from_is_made_again(act: Any) -> None:
    error = raised(act)
    made = through_the_record(error)
    for end in ("__cause__", "__context__"):
        assert repr(getattr(made, end)) == repr(getattr(error, end))
    assert made.__suppress_context__ == error.__suppress_context__


class OwnGroup(ExceptionGroup[Exception]):
    """A group of the agent's own."""


@pytest.mark.parametrize("kind", [ExceptionGroup, OwnGroup])
def test_groups_of_errors_are_made_again(kind: Any) -> None:
    error = kind("several", [ValueError("a"), ExceptionGroup("inner", [KeyError("b"), OSError(2, "No such file")])])
    made = through_the_record(error)
    assert (type(made), repr(made)) == (kind, repr(error))
    assert made.exceptions[1].exceptions[1].errno == 2


class InSlots(Exception):
    """Keeps a member in a slot."""

    __slots__ = ("code",)

    def __init__(self, code: int) -> None:
        self.code = code


def test_members_in_slots_are_given_back() -> None:
    assert through_the_record(InSlots(4)).code == 4
    assert through_the_record(ImportError("no", name="module")).name == "module"
    assert through_the_record(Outer(5, "no", "file")).filename == "file"


@pytest.mark.parametrize(
    "error",
    [
        ValueError("plain"),
        OSError(2, "No such file"),
        UnicodeDecodeError("utf-8", b"\xff", 0, 1, "invalid start byte"),
        ExceptionGroup("several", [ValueError("a"), KeyError("b")]).exceptions[1],
        Outer("without a number"),
    ],
    ids=lambda error: type(error).__name__,
)
def test_what_was_made_again_before_still_is(error: BaseException) -> None:
    made = through_the_record(error)
    assert (type(made), str(made), repr(made)) == (type(error), str(error), repr(error))


def test_errors_that_hold_themselves_come_to_an_end() -> None:
    error = ValueError()
    error.args = (error,)
    assert "ValueError" in json.dumps(frozen(error))

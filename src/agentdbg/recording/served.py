"""A recorded outcome, turned back into what the agent's code gets: a value, an exception, the items of a generator."""

from __future__ import annotations

import builtins
import sys
from collections.abc import Callable, Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NoReturn, cast

from agentdbg.model.canonical import loads
from agentdbg.model.records import StepStatus
from agentdbg.recording import validation_errors
from agentdbg.recording.calls import Made, ReplayStop, Served
from agentdbg.recording.error_trees import CAUSE, CONTEXT, SUPPRESSES, is_slot, thawed
from agentdbg.recording.revive import thaw
from agentdbg.recording.validation_errors import is_validation_error

if TYPE_CHECKING:
    from agentdbg.recording.framework_calls import Codec

_OBJECT = b'"$"'
_ROOM = 50_000


@dataclass(frozen=True, slots=True)
class ServedOutcome:
    """What a replay's answer means for a wrapped function."""

    served: Served
    codec: Codec | None = None
    stop: Callable[[str], BaseException] = ReplayStop
    """Makes what is raised when the result cannot be made again here."""

    def deliver(self) -> Any:
        """Return the recorded result, or raise the recorded error."""
        if self.served.error is not None:
            raise_again(self.served.error)
        return None if self.served.result is None else self._thawed(loads(self.served.result))

    def _thawed(self, value: Any) -> Any:
        make: Callable[[Any], Any] = thaw if self.codec is None else self.codec.thaw
        if self.codec is None and _OBJECT not in (self.served.result or b""):
            return value
        try:
            try:
                return make(value)
            except RecursionError:  # nested more deeply than the program's own calls may be
                return _with_room(make, value)
        except Exception as problem:  # classes that have changed since
            raise self.stop(f"the recorded result cannot be made again: {problem}") from problem

    def pieces(self) -> list[Any]:
        """What the recorded generator yielded, as it is in the record."""
        found: list[Any] = self._generated().get("items", [])
        return found

    def piece(self, value: Any) -> Any:
        """One of them as the program gets it."""
        return self._thawed(value)

    def given_up(self, taken: int) -> None:
        """The program takes no more than so many; who gives up earlier than recorded is not as recorded."""
        total, partial = len(self.pieces()), self.served.status is StepStatus.PARTIAL
        if not partial or taken != total:
            whole = "" if partial else ", and its end"
            raise self.stop(f"{taken} items are taken of it, {total} in the record{whole}")

    def asked_on(self) -> None:
        """The program asks for more than all; where the record was given up it is not as recorded."""
        if self.served.error is None and self.served.status is StepStatus.PARTIAL:
            total = len(self.pieces())
            raise self.stop(f"more items are taken of it than the {total} in the record, where it was given up")

    def end(self) -> Any:
        """Return what the recorded generator returned, or raise its error."""
        if self.served.error is not None:
            raise_again(self.served.error)
        returned = self._generated().get("return")
        return None if returned is None else self._thawed(returned)

    def _generated(self) -> dict[str, Any]:
        found = None if self.served.result is None else loads(self.served.result)
        return found if isinstance(found, dict) else {}


def _with_room(make: Callable[[Any], Any], value: Any) -> Any:
    limit = sys.getrecursionlimit()
    sys.setrecursionlimit(max(limit, _ROOM))
    try:
        return make(value)
    finally:
        sys.setrecursionlimit(limit)


class RecordedError(Exception):
    """Stands for a recorded exception whose class this process does not have."""


class MadeOutcome(ServedOutcome):
    """What was made in the call's place, given to the agent as it is."""

    __slots__ = ()

    def deliver(self) -> Any:
        """The value that was made."""
        return self.served.value if isinstance(self.served, Made) else None

    def pieces(self) -> list[Any]:
        """What was made in place of a generator."""
        return list(cast("Iterable[Any]", self.deliver() or ()))

    def piece(self, value: Any) -> Any:
        """One of them, as it is."""
        return value

    def given_up(self, taken: int) -> None:
        """Nothing is recorded of it."""

    def asked_on(self) -> None:
        """Nothing is recorded of it."""

    def end(self) -> None:
        """It ends."""


def raise_again(error: Mapping[str, Any]) -> NoReturn:
    """Raise the recorded exception, from what it was raised from; what is handled here meanwhile is not that."""
    handled = sys.exception()
    made = rebuild_error(error)
    context = made.__context__
    if context is None or handled is None:
        raise made
    suppresses = made.__suppress_context__
    try:
        raise made
    except BaseException:
        made.__context__ = _ending_in(handled, context)
        made.__suppress_context__ = suppresses
        raise


def _ending_in(handled: BaseException, context: BaseException) -> BaseException:
    """What the tool handled; where that came about while the agent handled an error, with the agent's own object."""
    found: BaseException | None = context
    before: BaseException | None = None
    while found is not None and not (type(found) is type(handled) and found.args == handled.args):
        before, found = found, found.__context__
    if found is None:
        return context
    if before is None:
        return handled
    before.__context__ = handled
    return context


def rebuild_error(error: Mapping[str, Any]) -> BaseException:
    """Make the recorded exception again, without importing anything and without running code of the agent's.

    The class is looked up among the built-in exceptions and the modules that are loaded already.
    """
    kind = _exception_class(str(error.get("module", "")), str(error.get("type", "")))
    arguments = error.get("args")
    given = arguments if isinstance(arguments, list) else [error.get("message")]
    values = tuple(thawed(each, rebuild_error) for each in given)
    made = _constructed(kind, values) or _filled(kind, values)
    state = error.get("state")
    if isinstance(state, dict):
        _restore(made, {name: thawed(value, rebuild_error) for name, value in state.items()})
    return made


def _restore(made: BaseException, members: dict[str, object]) -> None:
    """Give an exception the members that it had beside its arguments."""
    cause, context = members.pop(CAUSE, None), members.pop(CONTEXT, None)
    suppresses = members.pop(SUPPRESSES, False)
    for name in ("errno", "strerror") if isinstance(made, OSError) else ():
        if members.get(name) is not None:  # no members of the object, and not set by every constructor
            setattr(made, name, members.pop(name))
    for name in [name for name in members if is_slot(type(made), name)]:
        with suppress(Exception):  # another class now
            setattr(made, name, members.pop(name))
    with suppress(Exception):  # a class that keeps no members, or other ones now
        vars(made).update(members)
    if isinstance(cause, BaseException):
        made.__cause__ = made.__context__ = cause
    if isinstance(context, BaseException):
        made.__context__ = context
    if suppresses is True:
        made.__suppress_context__ = True


def _constructed(kind: type[BaseException], arguments: tuple[object, ...]) -> BaseException | None:
    """A built-in exception by its own constructor, which alone sets what is beside ``args`` (``errno``, ``code``)."""
    if is_validation_error(kind):
        return validation_errors.made(kind, arguments) or RecordedError(*arguments)
    if kind.__module__ != "builtins":
        return None
    try:
        return kind(*arguments)
    except (TypeError, ValueError):
        return None


def _filled(kind: type[BaseException], arguments: tuple[object, ...]) -> BaseException:
    if issubclass(kind, BaseExceptionGroup):
        with suppress(TypeError, ValueError):  # what it was made of is no group any more
            return cast(BaseException, kind.__new__(kind, *cast(tuple[Any, ...], arguments)))
        kind = RecordedError
    made = kind.__new__(kind)
    made.args = arguments
    return made


def _exception_class(module: str, qualname: str) -> type[BaseException]:
    holder: object = builtins if module == "builtins" else sys.modules.get(module)
    for part in qualname.split("."):
        holder = getattr(holder, part, None)
    if isinstance(holder, type) and issubclass(holder, BaseException):
        return holder
    return RecordedError

"""Where the current code stands: its run, its enclosing step, its lane. Context-local, immutable, cheap to copy."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar, Token
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, NamedTuple, ParamSpec, TypeVar

from agentdbg.recording.model_inputs import NO_INPUT, InputState

if TYPE_CHECKING:
    from agentdbg.recording.run import RunRecording

P = ParamSpec("P")
T = TypeVar("T")
FIRST_INSIDE = 1_000_000
"""Number of the first lane forked inside a call: a replay does not fork those, and numbers the others all the same."""


@dataclass(slots=True)
class Lane:
    """One line of execution: the root, or a task or thread forked below it.

    Attributes:
        path: Dotted fork path in creation order.
        forked_at: Number of events the parent lane had written when this one was forked; ``None`` for the root.
        events: Number of events written in this lane.
        input_step: Step of the lane's latest model input.
        input_state: What is known of that, for ``{base, keep, add}``.
    """

    path: str = "0"
    forked_at: int | None = None
    events: int = 0
    input_step: str | None = None
    input_state: InputState = NO_INPUT
    draws: list[tuple[str, str, object]] = field(default_factory=list)
    _children: Iterator[int] = field(default_factory=itertools.count)
    _inside: Iterator[int] = field(default_factory=lambda: itertools.count(FIRST_INSIDE))

    def fork(self, *, inside: bool = False) -> Lane:
        """A new lane below this one; ``inside`` a call whose outcome a replay serves without running its body."""
        return Lane(f"{self.path}.{next(self._inside if inside else self._children)}", self.events)


class Scope(NamedTuple):
    """Attributes:
    run: The run being recorded.
    parent: Id of the enclosing step, or ``None`` at the top.
    lane: The current lane.
    inside_tool: A tool's body is running: calls below it are its children and are not replayed by themselves.
    inside_http: An HTTP seam is already recording this call.
    tool_name: The framework's tool whose body is running, whose own function is not recorded a second time.
    """

    run: RunRecording
    parent: str | None
    lane: Lane
    inside_tool: bool = False
    inside_http: bool = False
    tool_name: str = ""

    def below(self, step: str, *, tool: bool = False) -> Scope:
        """The scope inside a step."""
        return Scope(self.run, step, self.lane, self.inside_tool or tool, self.inside_http)

    def within_http(self, step: str) -> Scope:
        """The scope in which an HTTP exchange that is being recorded takes place."""
        return Scope(self.run, step, self.lane, self.inside_tool, True, self.tool_name)

    def forked(self) -> Scope:
        """The scope of a task or thread started here."""
        lane = self.lane.fork(inside=self.inside_tool or self.inside_http)
        return Scope(self.run, self.parent, lane, self.inside_tool, self.inside_http, self.tool_name)


_current: ContextVar[Scope | None] = ContextVar("agentdbg_scope", default=None)


def current() -> Scope | None:
    """The scope of the running code, or ``None`` outside every run."""
    return _current.get()


def enter(scope: Scope | None) -> Token[Scope | None]:
    """Make ``scope`` current; undo with ``leave``."""
    return _current.set(scope)


def leave(token: Token[Scope | None]) -> None:
    """Undo ``enter``; in another context (a generator closed elsewhere) there is nothing to undo."""
    try:
        _current.reset(token)
    except ValueError:
        return


@contextmanager
def inside(scope: Scope | None) -> Iterator[None]:
    """Run a block in ``scope``."""
    token = _current.set(scope)
    try:
        yield
    finally:
        leave(token)


def carried(scope: Scope, function: Callable[P, T]) -> Callable[P, T]:
    """``function``, run in ``scope`` and nothing else of this context."""

    def run_in_scope(*args: P.args, **kwargs: P.kwargs) -> T:
        token = _current.set(scope)
        try:
            return function(*args, **kwargs)
        finally:
            leave(token)

    return run_in_scope

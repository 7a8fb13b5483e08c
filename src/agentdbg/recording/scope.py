"""Where the current code stands: its run, its enclosing step, its lane. Context-local, immutable, cheap to copy.

Light: loaded before the program that is recorded, and so nothing that a file of the user's could stand in for.
"""

from __future__ import annotations

from _contextvars import ContextVar
from itertools import count

from agentdbg.recording.input_state import NO_INPUT

TYPE_CHECKING = False  # as typing has it: importing typing takes longer than all of this
if TYPE_CHECKING:
    from collections.abc import Callable
    from contextvars import Token
    from typing import Any, ParamSpec, Protocol, Self, TypeVar

    from agentdbg.recording.handoffs import Notes
    from agentdbg.recording.input_state import InputState
    from agentdbg.recording.run import RunRecording

    P = ParamSpec("P")
    T = TypeVar("T")

    class UnbegunRoot(Protocol):
        """What stands in a scope in place of its run as long as that has not begun."""

        def place(self, lane: Lane) -> Scope | None:
            """The scope of that lane in the run; ``None`` as long as there is none."""

        def begin(self) -> None:
            """Begin the run, once."""

        def took(self, run: RunRecording) -> None:
            """Another root call began a run here."""


FIRST_INSIDE = 1_000_000
"""Number of the first lane forked inside a call: a replay does not fork those, and numbers the others all the same."""


class Lane:
    """One line of execution: the root, or a task or thread forked below it.

    Attributes:
        path: Dotted fork path in creation order.
        parent: The lane that this one was forked from; what was drawn there is written ahead of what came of it here.
        forked_at: Number of events the parent lane had written when this one was forked; ``None`` for the root.
        events: Number of events written in this lane.
        input_step: Step of the lane's latest model input.
        input_state: What is known of that, for ``{base, keep, add}``.
        draws: Source, site and value of each clock, uuid and random value that was read since the last event.
    """

    __slots__ = ("_children", "_inside", "draws", "events", "forked_at", "input_state", "input_step", "parent", "path")

    def __init__(self, path: str = "0", forked_at: int | None = None, parent: Lane | None = None) -> None:
        self.path = path
        self.parent = parent
        self.forked_at = forked_at
        self.events = 0
        self.input_step: str | None = None
        self.input_state: InputState = NO_INPUT
        self.draws: list[tuple[str, str, object]] = []
        self._children = count()
        self._inside = count(FIRST_INSIDE)

    def number_from(self, first: int) -> None:
        """Number the lanes forked from here on as if so many had been forked before: a restored run goes on."""
        self._children = count(first)

    def fork(self, *, inside: bool = False) -> Lane:
        """A new lane below this one; ``inside`` a call whose outcome a replay serves without running its body."""
        return Lane(f"{self.path}.{next(self._inside if inside else self._children)}", self.events, self)


class Scope:
    """A place in a run. Not to be changed: ``_replace``, as that of a named tuple, makes another one.

    Attributes:
        run: The run being recorded.
        parent: Id of the enclosing step, or ``None`` at the top.
        lane: The current lane.
        inside_tool: A tool's body is running: calls below it are its children and are not replayed by themselves.
        inside_http: An HTTP seam is already recording this call.
        tool_name: The framework's tool whose body is running, whose own function is not recorded a second time.
    """

    __slots__ = ("inside_http", "inside_tool", "lane", "parent", "run", "tool_name")

    def __init__(
        self,
        run: RunRecording,
        parent: str | None,
        lane: Lane,
        inside_tool: bool = False,
        inside_http: bool = False,
        tool_name: str = "",
    ) -> None:
        self.run = run
        self.parent = parent
        self.lane = lane
        self.inside_tool = inside_tool
        self.inside_http = inside_http
        self.tool_name = tool_name

    def _members(self) -> dict[str, Any]:
        return {name: getattr(self, name) for name in Scope.__slots__}

    def _replace(self, **changes: object) -> Self:
        return type(self)(**{**self._members(), **changes})

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Scope) and self._members() == other._members()

    def __hash__(self) -> int:
        return hash((self.parent, self.lane.path))

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


class Unbegun(Scope):
    """Where code stands that is in no run yet, but whose first call begins one: a request, a task of a queue.

    It travels as any scope does, with a lane of its own. The run is begun by the first that asks ``begin``, and all who
    have come from the same request are in it from then on.
    """

    __slots__ = ()

    def forked(self) -> Unbegun:
        """The place of a task or thread started here."""
        return Unbegun(self.run, None, self.lane.fork())

    @property
    def root(self) -> UnbegunRoot:
        """What may become the run."""
        return self.run  # type: ignore[return-value]  # it stands in the run's place

    def begun(self) -> Scope | None:
        """Where this is in the run, once it has begun."""
        return self.root.place(self.lane)

    def begin(self) -> Scope | None:
        """Begin the run, unless that was done; ``None`` where it is another one's run already."""
        self.root.begin()
        return self.root.place(self.lane)


class ProgramRun:
    """A launched program's own run, as long as no call has begun it. ``begun`` is that run then.

    ``parent`` is the step that started this process, ``inside`` whether that was in a call that a replay serves.
    """

    MOST_DRAWS = 5_000

    def __init__(self) -> None:
        self.draws_cut = False
        self.drawing: set[Lane] = set()
        self.begun: RunRecording | None = None
        self.handoffs: Notes | None = None
        self.recorder = self
        self.parent: str | None = None
        self.inside = False

    def place(self, lane: Lane) -> Scope | None:
        """The scope of that lane in the run; ``None`` as long as there is none."""
        return None if self.begun is None else Scope(self.begun, self.parent, lane, self.inside)

    def begin(self) -> None:
        """Begin the run, unless the program's root calls are its runs."""
        from agentdbg.recording.process import recorder

        found = recorder()
        if self.begun is None and found is not None:
            self.begun = found.program_run()
            if self.begun is not None and not self.begun.is_child:
                self.begun.handoffs = self.handoffs

    def took(self, run: RunRecording) -> None:
        """A root call began a run here: it has what was drawn before it."""
        place = _current.get()
        if place is not None and run.recorder.seen_root:
            run.root.draws, place.lane.draws = place.lane.draws, run.root.draws

    def guard(self, function: Callable[[], object], fallback: object) -> object:
        """Run recorder code that must never raise into the agent."""
        try:
            return function()
        except Exception:
            return fallback

    def flush_draws(self, lane: Lane) -> None:
        """Many values were drawn without an event: write them, or stop keeping them where there is no run yet."""
        if self.begun is not None:
            self.begun.flush_draws(lane)
        elif len(lane.draws) >= self.MOST_DRAWS:
            self.draws_cut = True


program_run = ProgramRun()


def enter_program(lane: Lane | None = None) -> None:
    """From here on the running code stands in its program's own run, begun or not."""
    _current.set(Unbegun(program_run, None, lane or Lane()))  # type: ignore[arg-type]  # in the run's place


_current: ContextVar[Scope | None] = ContextVar("agentdbg_scope", default=None)


def current() -> Scope | None:
    """The scope of the running code, or ``None`` outside every run."""
    found = _current.get()
    return found.begun() if type(found) is Unbegun else found


def here() -> Scope | None:
    """The same, of code too that is in no run yet: what tasks and threads that are started here are to be given."""
    return _current.get()


def variable() -> ContextVar[Scope | None]:
    """What holds it, for who looks into contexts."""
    return _current


def unbegun() -> Unbegun | None:
    """The place of the running code, where a call would begin a run or has begun it."""
    found = _current.get()
    return found if type(found) is Unbegun else None


def enter(scope: Scope | None) -> Token[Scope | None]:
    """Make ``scope`` current; undo with ``leave``."""
    return _current.set(scope)


def waiting_inside() -> Token[Scope | None]:
    """Wait for a call's outcome as from inside it: what then goes on is not the program. Undo with ``leave``."""
    here = _current.get()
    return _current.set(None if here is None else here._replace(inside_http=True))


def leave(token: Token[Scope | None]) -> None:
    """Undo ``enter``; in another context (a generator closed elsewhere) there is nothing to undo."""
    try:
        _current.reset(token)
    except ValueError:
        return


class inside:  # used as a function
    """Run a block in ``scope``."""

    __slots__ = ("_scope", "_token")

    def __init__(self, scope: Scope | None) -> None:
        self._scope = scope

    def __enter__(self) -> None:
        self._token = _current.set(self._scope)

    def __exit__(self, *_: object) -> None:
        leave(self._token)


def carried(scope: Scope, function: Callable[P, T]) -> Callable[P, T]:
    """``function``, run in ``scope`` and nothing else of this context."""

    def run_in_scope(*args: P.args, **kwargs: P.kwargs) -> T:
        token = _current.set(scope)
        try:
            return function(*args, **kwargs)
        finally:
            leave(token)

    return run_in_scope

"""The life of one recorded call of a wrapped function; shared by agents and tools."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any

from agentdbg.model.canonical import loads, narrowed_paths
from agentdbg.model.records import StepStatus
from agentdbg.recording import scope as scopes
from agentdbg.recording import unfinished
from agentdbg.recording.calls import CallRefused, Given, Made, Rearranged, ReplayStop
from agentdbg.recording.interrupts import let_through
from agentdbg.recording.revive import BASE_TYPE, freeze, thaw
from agentdbg.recording.served import MadeOutcome, ServedOutcome

if TYPE_CHECKING:
    from contextvars import Token

    from agentdbg.recording.calls import Call, Served
    from agentdbg.recording.encoding import Encoded
    from agentdbg.recording.framework_calls import Codec
    from agentdbg.recording.process import Recorder
    from agentdbg.recording.run import OpenStep, RunRecording
    from agentdbg.recording.scope import Scope


class ActiveCall:
    """One call between intent and outcome. ``inside`` is the scope of the function's body.

    Attributes:
        instead: Arguments that the function is called with in place of its own: a replay's answer.
        rebind: Makes them of other arguments by parameter name.
    """

    instead: tuple[tuple[Any, ...], dict[str, Any]] | None = None
    rebind: Callable[[Mapping[str, object]], tuple[tuple[Any, ...], dict[str, Any]]] | None = None
    _more: Mapping[str, object] | None = None

    def __init__(
        self, recorder: Recorder, outside: Scope, step: OpenStep, inside: Scope, codec: Codec | None = None
    ) -> None:
        self.scope = inside
        self.step = step
        self._recorder = recorder
        self._outside = outside
        self._codec = codec
        self._items: list[object] = []
        self._item_holes: list[str] = []
        self._refused = False
        self._over = False

    def enter(self) -> Token[Scope | None]:
        """Go into the scope of the function's body."""
        return scopes.enter(self.scope)

    def leave(self, token: Token[Scope | None]) -> None:
        """Undo ``enter``."""
        scopes.leave(token)

    @property
    def run(self) -> RunRecording:
        """The run that the call belongs to."""
        return self._outside.run

    def served(self, *, pieces: bool = False) -> ServedOutcome | None:
        """Ask the replay; of what comes in ``pieces`` the outcome is written by ``served_to_the_end``."""
        call = self._asking(pieces=pieces)
        answerer = self._recorder.answerer
        try:
            found = answerer.answer(call) if answerer is not None and call is not None else None
        except CallRefused as refusal:
            self.fail(refusal)
            raise
        return self._take(found, pieces=pieces)

    async def served_async(self, *, pieces: bool = False) -> ServedOutcome | None:
        """The same, from a coroutine."""
        call = self._asking(pieces=pieces)
        answerer = self._recorder.answerer
        try:
            found = await answerer.answer_async(call) if answerer is not None and call is not None else None
        except CallRefused as refusal:
            self.fail(refusal)
            raise
        return self._take(found, pieces=pieces)

    def succeed(self, result: object, attrs: Mapping[str, object] | None = None) -> None:
        """The call returned."""
        attrs = attrs or self._more
        members = {"attrs": attrs} if attrs else None
        try:
            self.run.end(self._outside, self.step, StepStatus.OK, self._returned(result), members=members)
        except Exception as error:
            let_through(error)
            self._end_without(StepStatus.OK, error)
        self.ended("ok", None)

    def fail(self, error: BaseException) -> None:
        """The call raised, or was cancelled."""
        if self._refused or self._is_over():
            return
        self._refused = isinstance(error, CallRefused) and self._asked() is not None
        self._end(status_of(error), self._partial, error)
        self.ended("failed", error)

    def item(self, value: object) -> None:
        """A generator yielded."""
        if not self._items:
            unfinished.begun(self.run, self.step.id, partial(self.exhaust, None, complete=False))

        def keep() -> None:
            encoded, _ = self._encoded(value)
            self._items.append(loads(encoded.data))  # a copy: the agent may change what it got
            self._item_holes.extend(hole.replace("$", f"$.items[{len(self._items) - 1}]", 1) for hole in encoded.holes)

        self._guarded(keep)

    @property
    def given(self) -> int:
        """How many items a generator has yielded."""
        return len(self._items)

    def exhaust(self, returned: object, *, complete: bool) -> None:
        """A generator ended or was abandoned."""
        if self._is_over():
            return
        status = StepStatus.OK if complete else StepStatus.PARTIAL
        self._end(status, lambda: self._yielded(self._frozen(returned)))
        self.ended("ok", None)

    def ended(self, status: str, error: BaseException | None) -> None:
        """For a root: the run is over. Nothing to do otherwise."""

    def _asked(self) -> Call | None:
        return self.step.call

    def _encoded(self, value: object) -> tuple[Encoded, object]:
        """A result in encoded form, and what was encoded: the value, or what its objects can be made of again."""
        if self._codec is None:
            encoded = self.run.encode(value)
            if encoded.plain:
                return encoded, value
        frozen = self._frozen(value)
        if self._codec is None and frozen is value:
            return encoded, value
        return self.run.encode(frozen), frozen

    def _frozen(self, value: object) -> object:
        try:
            return freeze(value) if self._codec is None else self._codec.freeze(value)
        except Exception as problem:
            self._recorder.fault(problem)
            return value

    def _returned(self, value: object) -> Encoded:
        encoded, result = self._encoded(value)
        if encoded.plain or encoded.holes:
            return encoded
        lost = tuple(f"{BASE_TYPE}: {place}" for place in narrowed_paths(result))
        return encoded._replace(holes=tuple(map(self.run.gate.text, lost))) if lost else encoded

    def _partial(self) -> Encoded | None:
        return self._yielded(None) if self._items else None

    def _yielded(self, returned: object) -> Encoded:
        encoded = self.run.encode({"items": self._items, "return": returned})
        return encoded._replace(holes=(*self._item_holes, *encoded.holes))

    def _asking(self, *, pieces: bool) -> Call | None:
        call = self._asked()
        return call if call is None or not pieces else replace(call, pieces=True)

    def _take(self, found: Served | None, *, pieces: bool) -> ServedOutcome | None:
        if found is None:
            return None
        if isinstance(found, Rearranged):
            if self.rebind is not None:
                self.instead, self._more = self.rebind(found.arguments), found.attrs
            return None
        if isinstance(found, Given):
            found = replace(found, value=self._thawed(found.value))
        if isinstance(found, Made):
            self.succeed(found.value, found.attrs)
            return MadeOutcome(found)
        outcome = ServedOutcome(found, self._codec, self._cannot_deliver)
        if pieces:
            unfinished.begun(self.run, self.step.id, partial(self.served_to_the_end, outcome))
        else:
            self.served_to_the_end(outcome)
        return outcome

    def _is_over(self) -> bool:
        """Whether the outcome is written already: what the run's end gave up may end once more."""
        over, self._over = self._over, True
        if not over and self._items:
            unfinished.ended(self.run, self.step.id)
        return over

    def served_to_the_end(self, outcome: ServedOutcome) -> None:
        """All that is served of a call has been, or was given up: write its outcome."""
        if not isinstance(outcome, MadeOutcome) and not self._is_over():
            unfinished.ended(self.run, self.step.id)
            self._guarded(lambda: record_served(self.run, self._outside, self.step, outcome.served))

    def turn(self, outcome: ServedOutcome) -> None:
        """Hold back the end of what is served in pieces until its turn."""
        if self._recorder.answerer is not None and not isinstance(outcome, MadeOutcome):
            self._recorder.answerer.turn(outcome.served)

    async def turn_async(self, outcome: ServedOutcome) -> None:
        """The same, from a coroutine."""
        if self._recorder.answerer is not None and not isinstance(outcome, MadeOutcome):
            await self._recorder.answerer.turn_async(outcome.served)

    def _thawed(self, value: object) -> object:
        """What a person gave, with its objects made."""
        try:
            return thaw(value) if self._codec is None else self._codec.thaw(value)
        except Exception as problem:
            refusal = CallRefused(f"agentdbg: the result that was given cannot be made here: {problem}")
            self.fail(refusal)
            raise refusal from problem

    def _cannot_deliver(self, problem: str) -> BaseException:
        """The replay's answer cannot be made again here: what to raise."""
        call, answerer = self._asked(), self._recorder.answerer
        return ReplayStop(problem) if call is None or answerer is None else answerer.diverge(call, problem)

    def _end(
        self, status: StepStatus, result: Callable[[], Encoded | None], error: BaseException | None = None
    ) -> None:
        """Write the outcome; when something in it fails, at least that there was one."""
        try:
            members = {"attrs": self._more} if self._more else None
            self.run.end(self._outside, self.step, status, result(), error=error, members=members)
        except Exception as problem:
            let_through(problem)
            self._end_without(status, problem)

    def _end_without(self, status: StepStatus, problem: Exception) -> None:
        self._recorder.fault(problem)
        holes = {"holes": ["not replayable from here: the outcome could not be written down"]}
        self._guarded(lambda: self.run.end(self._outside, self.step, status, members=holes))

    def _guarded(self, function: Callable[[], object]) -> bool:
        try:
            function()
        except ReplayStop:
            raise
        except Exception as error:
            self._recorder.fault(error)
            return False
        return True


def record_served(run: RunRecording, scope: Scope, step: OpenStep, found: Served) -> None:
    """Write a served outcome into the replay's own record, byte for byte as it was recorded."""
    if found.result is not None:
        run.gate.adopt(found.result.decode("utf-8", "replace"))
        if b'"bytes"' in found.result:
            run.gate.adopt(loads(found.result))  # placeholders behind base64
    members: dict[str, object] = {"served_from": found.step}
    if found.error is not None:
        members["error"] = {key: value for key, value in found.error.items() if key != "args"}
    if found.attrs:
        members["attrs"] = dict(found.attrs)
    if found.turn:
        members["turn"] = list(found.turn)
    run.end(scope, step, found.status, found.result, members=members)


def status_of(error: BaseException) -> StepStatus:
    """How a step ended that raised ``error``. By name, so that asyncio is not imported for it."""
    names = {kind.__name__ for kind in type(error).__mro__}
    if names & {"CancelledError", "GeneratorExit"}:
        return StepStatus.CANCELLED
    if "GraphBubbleUp" in names:  # LangGraph's way out of a graph that waits for a person, or hands over
        return StepStatus.PARTIAL
    return StepStatus.TIMED_OUT if names & {"TimeoutError", "TimeoutException", "Timeout"} else StepStatus.ERROR

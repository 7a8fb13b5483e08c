"""The life of one recorded call of a wrapped function; shared by agents and tools."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from agentdbg.model.records import StepStatus
from agentdbg.recording.calls import ReplayStop
from agentdbg.recording.scope import Scope
from agentdbg.recording.served import ServedOutcome

if TYPE_CHECKING:
    from agentdbg.recording.calls import Call, Served
    from agentdbg.recording.process import Recorder
    from agentdbg.recording.run import OpenStep, RunRecording


class ActiveCall:
    """One call between intent and outcome. ``inside`` is the scope of the function's body."""

    def __init__(self, recorder: Recorder, outside: Scope, step: OpenStep, inside: Scope) -> None:
        self.scope = inside
        self.step = step
        self._recorder = recorder
        self._outside = outside
        self._items: list[object] = []
        self._item_holes: list[str] = []

    @property
    def run(self) -> RunRecording:
        """The run that the call belongs to."""
        return self._outside.run

    def served(self) -> ServedOutcome | None:
        """Ask the replay."""
        call = self._asked()
        answerer = self._recorder.answerer
        found = answerer.answer(call) if answerer is not None and call is not None else None
        return self._take(found)

    async def served_async(self) -> ServedOutcome | None:
        """Ask the replay from a coroutine."""
        call = self._asked()
        answerer = self._recorder.answerer
        found = await answerer.answer_async(call) if answerer is not None and call is not None else None
        return self._take(found)

    def succeed(self, result: object) -> None:
        """The call returned."""
        self._guarded(lambda: self.run.end(self._outside, self.step, StepStatus.OK, self.run.encode(result)))
        self.ended("ok", None)

    def fail(self, error: BaseException) -> None:
        """The call raised, or was cancelled."""
        status = status_of(error)
        self._guarded(lambda: self.run.end(self._outside, self.step, status, self._partial(), error=error))
        self.ended("failed", error)

    def item(self, value: object) -> None:
        """A generator yielded."""

        def keep() -> None:
            encoded = self.run.encode(value)
            self._items.append(encoded.value)
            self._item_holes.extend(encoded.holes)

        self._guarded(keep)

    def exhaust(self, returned: object, *, complete: bool) -> None:
        """A generator ended or was abandoned."""
        status = StepStatus.OK if complete else StepStatus.PARTIAL
        result = {"items": self._items, "return": returned}
        self._guarded(lambda: self.run.end(self._outside, self.step, status, self.run.encode(result)))
        self.ended("ok", None)

    def ended(self, status: str, error: BaseException | None) -> None:
        """For a root: the run is over. Nothing to do otherwise."""

    def _asked(self) -> Call | None:
        return self.step.call

    def _partial(self) -> Any:
        return self.run.encode({"items": self._items, "return": None}) if self._items else None

    def _take(self, found: Served | None) -> ServedOutcome | None:
        if found is None:
            return None
        self._guarded(lambda: record_served(self.run, self._outside, self.step, found))
        return ServedOutcome(found)

    def _guarded(self, function: Callable[[], object]) -> None:
        try:
            function()
        except ReplayStop:
            raise
        except Exception as error:
            self._recorder.fault(error)


def record_served(run: RunRecording, scope: Scope, step: OpenStep, found: Served) -> None:
    """Write a served outcome into the replay's own record, byte for byte as it was recorded."""
    if found.result is not None:
        run.gate.adopt(found.result.decode("utf-8", "replace"))
    members: dict[str, object] = {"served_from": found.step}
    if found.error is not None:
        members["error"] = {key: value for key, value in found.error.items() if key != "args"}
    if found.attrs:
        members["attrs"] = dict(found.attrs)
    run.end(scope, step, found.status, found.result, members=members)


def status_of(error: BaseException) -> StepStatus:
    """How a step ended that raised ``error``. By name, so that asyncio is not imported for it."""
    names = {kind.__name__ for kind in type(error).__mro__}
    if names & {"CancelledError", "GeneratorExit"}:
        return StepStatus.CANCELLED
    return StepStatus.TIMED_OUT if names & {"TimeoutError", "TimeoutException"} else StepStatus.ERROR

"""Where a person holds the replay, in the child: calls, and lines that pdb has stepped to.

A call that is held blocks its own thread or task alone. A task is suspended and its event loop goes on, unless that
loop stood still while recording: then nobody else of the loop ran during the call, and nobody does now. A line that is
held blocks its thread, and the loop that runs there.
"""

from __future__ import annotations

import _thread
import json
import sys
import threading
from collections import deque
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from itertools import count
from types import FrameType
from typing import TYPE_CHECKING, Any, cast

from agentdbg.recording import pins, scope
from agentdbg.recording.calls import Call
from agentdbg.replay.control import GO, Decision, Expected
from agentdbg.replay.where import frames_of, innermost_own, stack_of

if TYPE_CHECKING:
    from agentdbg.model.records import Json
    from agentdbg.replay.stepping import Stepper

MOST_SHOWN = 256 * 1024
QUIET_S = 0.5
"""After that long it is told where a program is that was asked to pause and makes no call."""
_STAYS = Decision("stay")
_lines = count(1)


@dataclass(slots=True, eq=False)
class _Held:
    """A call that waits for a person, or a line that does."""

    id: str
    expected: Expected
    frames: list[FrameType]
    told: Mapping[str, object] = field(default_factory=dict)
    wake: Callable[[], None] = field(default=lambda: None)
    asked: deque[Mapping[str, Any]] = field(default_factory=deque)
    decision: Decision | None = None
    stepper: Stepper | None = None


class Pauses:
    """Holds calls as commands say. Thread-safe; once one call is held, later ones are too until told to go on."""

    def __init__(
        self, tell: Callable[[Mapping[str, object]], None], settings: Mapping[str, Any], hold: Callable[[int], None]
    ) -> None:
        """Take the first settings.

        Args:
            tell: Sends a message to the parent.
            settings: ``pause``, ``target`` and ``stops``, as in the commands.
            hold: Told how many more calls are held, or fewer: the clocks of a completion order stand still meanwhile.
        """
        self._tell = tell
        self._hold = hold
        self._lock = threading.RLock()
        self._held: list[_Held] = []
        self._again: set[str] = set()
        self._steppers: dict[int, Stepper] = {}
        self._over = self._watching = False
        self._pausing = bool(settings.get("pause"))
        self._target = settings.get("target")
        self._stops: list[Mapping[str, Any]] = list(settings.get("stops") or ())

    @property
    def holding(self) -> bool:
        """Whether any call is held."""
        return bool(self._held)

    # -- for answerers ----------------------------------------------------------------------------

    def before(self, call: Call, expected: Expected) -> Decision:
        """Hold the thread if it is to be held."""
        held = self._arrive(call, expected)
        return GO if held is None else _for_call(self._wait(held))

    async def before_async(self, call: Call, expected: Expected) -> Decision:
        """Hold the task if it is to be held."""
        if expected.blocks:
            return self.before(call, expected)
        held = self._arrive(call, expected)
        if held is None:
            return GO
        import asyncio

        loop, woken = asyncio.get_running_loop(), asyncio.Event()

        def wake() -> None:
            with suppress(RuntimeError):  # the loop is closed: nobody waits any more
                loop.call_soon_threadsafe(woken.set)

        held.wake = wake
        self._tell(held.told)
        try:
            while (decision := self._serve(held)) is None:
                await woken.wait()
                woken.clear()
        finally:
            self._leave(held)
        return _for_call(decision)

    def release_all(self) -> None:
        """Nobody is held from now on."""
        with self._lock:
            self._over = True
            self._let_go(list(self._held))

    # -- for the parent ---------------------------------------------------------------------------

    def take(self, command: Mapping[str, Any]) -> None:
        """Carry a command out."""
        method = {
            "pause": self._pause,
            "step": self._step,
            "continue": self._continue,
            "run_to": self._continue,
            "stops": self._set_stops,
            "decide": self._decide,
            "inspect": self._inspect,
        }.get(str(command.get("do")))
        if method is not None:
            with self._lock:
                method(command)

    def _pause(self, _command: Mapping[str, Any]) -> None:
        self._pausing = True
        self._watch_for_quiet()

    def _step(self, _command: Mapping[str, Any]) -> None:
        self._pausing = True
        waiting = [held for held in self._held if held.decision is None]
        if waiting:
            self._let_go([min(waiting, key=lambda held: held.expected.order)])
        self._watch_for_quiet()

    def _continue(self, command: Mapping[str, Any]) -> None:
        self._pausing = False
        self._target = command.get("target")
        self._let_go(list(self._held))

    def _set_stops(self, command: Mapping[str, Any]) -> None:
        self._stops = list(command.get("stops") or ())

    def _decide(self, command: Mapping[str, Any]) -> None:
        for held in self._held:
            if held.id == command.get("call") and command.get("action") in ("go", *held.expected.choices):
                self._again.add(held.id)  # it is held again when that cannot be done
                self._let_go([held], Decision(str(command["action"]), cast("Json", command.get("value"))))

    def _inspect(self, command: Mapping[str, Any]) -> None:
        for held in self._held:
            if held.id == command.get("call"):
                held.asked.append(command)
                held.wake()

    # -- a program that makes no call -------------------------------------------------------------

    def _watch_for_quiet(self) -> None:
        """Tell where the program is, when it was asked to pause and makes no call."""
        if not self._watching:
            self._watching = True
            _thread.start_new_thread(self._look_for_quiet, ())

    def _look_for_quiet(self) -> None:
        told: list[dict[str, object]] | None = None
        while True:
            pins.real_sleep(QUIET_S)
            with self._lock:
                if self._over or not self._pausing or self._held:
                    self._watching = False
                    return
            where = [frame.members() for frame in innermost_own(lambda text: text)]
            if where != told:
                told = where
                try:
                    self._tell({"event": "no_call", "where": where})
                except OSError:
                    return  # nobody listens any more

    # -- inside -----------------------------------------------------------------------------------

    def _arrive(self, call: Call, expected: Expected) -> _Held | None:
        """Tell of a call; hold it when it is time."""
        about = {"step": call.step, "recorded": expected.recorded, "kind": call.kind.value, "name": call.name}
        with self._lock:
            if self._over:
                return None
            if call.step not in self._again:
                self._tell({"event": "step", **about, "lane": call.lane})
            self._again.discard(call.step)
            why = self._why(call, expected)
            if not why:
                return None
            self._pausing, self._target = True, None
            held = _Held(call.step, expected, frames_of(sys._getframe(2)))
            self._held.append(held)
        self._hold(1)
        where = [frame.members() for frame in stack_of(held.frames, _cleaned)]
        told = {**about, "why": why, "problem": expected.problem, "where": where, "choices": list(expected.choices)}
        held.told = {"event": "paused", **told, "arguments": _short(expected.arguments)}
        return held

    def _why(self, call: Call, expected: Expected) -> str:
        """Why a call is held; empty when it is not."""
        if self._target is not None and expected.recorded == self._target:
            return "run to"
        for stop in self._stops:
            if _hits(stop, call, expected):
                return "breakpoint"
        return "pause" if self._pausing else ""

    def _wait(self, held: _Held) -> Decision:
        """Hold this thread."""
        woken = threading.Event()
        held.wake = woken.set
        self._tell(held.told)
        try:
            while (decision := self._serve(held)) is None:
                woken.wait()
                woken.clear()
        finally:
            self._leave(held)
        return decision

    def _stand(self, stepper: Stepper) -> None:
        """Pdb has come to a line: hold it there."""
        with self._lock:
            if self._over:
                return stepper.leave()
            held = _Held(f"line {next(_lines)}", Expected(), frames_of(stepper.curframe), stepper=stepper)
            self._held.append(held)
        self._hold(1)
        where = [frame.members() for frame in stack_of(held.frames, _cleaned)]
        place = f"{where[0]['file']}:{where[0]['line']}" if where else "?"
        about = {"step": held.id, "recorded": None, "kind": "line", "name": place.rpartition("/")[2]}
        told = {"why": "pdb", "where": where, "said": _cleaned(stepper.said())}
        held.told = {"event": "paused", **about, **told}
        decision = self._wait(held)
        if decision is not _STAYS:
            stepper.leave()

    def _serve(self, held: _Held) -> Decision | None:
        """Look what is wanted of a held call, in its own thread."""
        while True:
            with self._lock:
                if held.decision is not None:
                    return held.decision
                if self._over:
                    return GO
                command = held.asked.popleft() if held.asked else None
            if command is None:
                return None
            self._tell({"event": "looked_into"})
            line = str(command.get("line"))
            text, moves = self._said(held, line)
            self._tell({"event": "inspected", "step": held.id, "line": line, "text": text, "moves": moves})
            if moves:
                with self._lock:
                    self._pausing = False
                return _STAYS

    def _said(self, held: _Held, line: str) -> tuple[str, bool]:
        """What pdb says to a line, and whether that moves the program on."""
        try:
            stepper = held.stepper or self._stepper(held)
            text, moves = stepper.do(line)
        except BaseException as problem:  # whatever it is, it was the person's doing and not the program's
            return f"{type(problem).__name__}\n", False
        return _cleaned(text), moves

    def _stepper(self, held: _Held) -> Stepper:
        from agentdbg.replay.stepping import Stepper

        thread = _thread.get_ident()
        found = self._steppers.get(thread)
        if found is None:
            found = self._steppers[thread] = Stepper(held.frames, self._stand)
        else:
            found.at(held.frames)
        held.stepper = found
        return found

    def _let_go(self, several: list[_Held], decision: Decision = GO) -> None:
        for held in several:
            if held.decision is None:
                held.decision = decision
            held.wake()

    def _leave(self, held: _Held) -> None:
        held.frames.clear()
        with self._lock:
            self._held.remove(held)
        self._hold(-1)
        action = (held.decision or GO).action
        self._tell({"event": "released", "step": held.id, "action": action})


def _for_call(decision: Decision) -> Decision:
    """What an answerer is told when pdb moved a call on."""
    return GO if decision is _STAYS else decision


def _short(arguments: Json) -> Json:
    """Arguments to be looked at, unless they are too much for that."""
    return arguments if arguments is not None and len(json.dumps(arguments)) <= MOST_SHOWN else None


def _hits(stop: Mapping[str, Any], call: Call, expected: Expected) -> bool:
    """Whether a breakpoint means a call: all that it names has to hold."""
    facts = {
        "kind": call.kind.value,
        "name": call.name,
        "error": expected.failed,
        "divergence": bool(expected.problem),
        "step": expected.recorded,
    }
    found = [facts[name] == wanted for name, wanted in stop.items() if name in facts]
    return bool(found) and all(found)


def _cleaned(text: str) -> str:
    """A text without the secrets that the run knows."""
    here = scope.current()
    return text if here is None else here.run.gate.text(text)

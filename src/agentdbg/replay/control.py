"""The child's end of the control channel: what the parent is told, and where a person holds the replay.

A call that is held blocks its own thread or task alone. A task is suspended and its event loop goes on, unless that
loop stood still while recording: then nobody else of the loop ran during the call, and nobody does now.
"""

from __future__ import annotations

import _thread
import json
import os
import sys
import threading
from collections import deque
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from math import inf
from types import FrameType
from typing import TYPE_CHECKING, Any, Protocol, cast

from agentdbg.recording import scope
from agentdbg.recording.calls import Call, ReplayStop
from agentdbg.replay.where import Inspector, stack_of

if TYPE_CHECKING:
    from agentdbg.model.records import Json

MAX_LINE = 4 * 1024 * 1024
MOST_SHOWN = 256 * 1024
MARK = 32
"""Bytes in front of each message of the child's, so that what the program writes to a descriptor is none."""
_exit = os._exit  # as it was before anything was put in its place


@dataclass(frozen=True, slots=True)
class Decision:
    """What becomes of a call.

    Attributes:
        action: ``go``: as without a person. ``live``, ``serve``, ``refuse``: that. ``result``: ``value`` in the place
            of the outcome. ``arguments``: it goes on with ``value`` in the place of its arguments.
        value: Edited arguments or result.
    """

    action: str = "go"
    value: Json = None


GO = Decision()


@dataclass(frozen=True, slots=True)
class Expected:
    """What an answerer knows of a call before it answers.

    Attributes:
        recorded: Id of the recorded step that it is taken for; ``None`` when the record has none.
        order: Place of the recorded outcome: of several held calls the one with the lowest is let go first.
        failed: The recorded outcome is an error.
        problem: Why the answerer is about to end the replay; empty when it is not.
        blocks: The event loop stood still during the recorded call.
        choices: Decisions beside ``go`` that the answerer can carry out for this call.
        arguments: The call's arguments as they are recorded, where they can be replaced.
    """

    recorded: str | None = None
    order: float = inf
    failed: bool = False
    problem: str = ""
    blocks: bool = False
    choices: tuple[str, ...] = ()
    arguments: Json = None


class Gatekeeper(Protocol):
    """Asked by every answerer ahead of its answer, once it knows what the record says and before anything happens."""

    def before(self, call: Call, expected: Expected) -> Decision:
        """Let a call through, at once or when a person has decided; blocks the thread until then."""

    async def before_async(self, call: Call, expected: Expected) -> Decision:
        """The same, suspending the task."""

    def release_all(self) -> None:
        """The replay is over: nobody is held any longer."""


class Aborted(ReplayStop):
    """A person has stopped the replay."""


class Control:
    """The control channel in the child."""

    def __init__(self, fd: int) -> None:
        """Take the channel over; the parent has sent ahead what it knows this process's messages by."""
        self._fd = fd
        self._lock = threading.Lock()
        os.set_inheritable(fd, False)
        self._channel = os.fstat(fd)
        self._mark = b""
        while len(self._mark) < MARK and (more := os.read(fd, MARK - len(self._mark))):
            self._mark += more

    def tell(self, message: Mapping[str, object], descriptor: int | None = None) -> None:
        """Send one message, with a descriptor or without; a parent that is gone is no reason to fail."""
        line = self._mark + json.dumps(message, default=str).encode() + b"\n"
        with self._lock, suppress(OSError):  # the parent ended first, or the program has closed what is not its own
            if not os.path.samestat(os.fstat(self._fd), self._channel):
                return  # another file under this number
            if descriptor is not None:
                import socket

                with socket.socket(fileno=os.dup(self._fd)) as channel:
                    line = line[socket.send_fds(channel, [line], [descriptor]) :]
            while line:
                line = line[os.write(self._fd, line) :]

    def wait(self) -> None:
        """Wait until the parent says to go on."""
        os.read(self._fd, 1)

    def listen(self, take: Callable[[Mapping[str, Any]], None]) -> None:
        """Take commands from now on, and end this process with its parent.

        On a bare thread: the program that counts its threads shall find its own alone.
        """
        _thread.start_new_thread(self._listen, (take,))

    def _listen(self, take: Callable[[Mapping[str, Any]], None]) -> None:
        pending = b""
        while True:
            try:
                data = os.read(self._fd, 65536)
            except ConnectionError:
                break  # the parent is gone, and had not heard all
            except OSError:
                return  # the program has closed what is not its own
            if not data or len(pending) > MAX_LINE:
                break
            *lines, pending = (pending + data).split(b"\n")
            for line in lines:
                with suppress(Exception):  # a command that means nothing
                    take(json.loads(line))
        with suppress(OSError):
            if not os.path.samestat(os.fstat(self._fd), self._channel):
                return  # another file under this number
        _exit(2)


@dataclass(slots=True, eq=False)
class _Held:
    """A call that waits for a person."""

    call: Call
    expected: Expected
    frames: list[FrameType]
    told: Mapping[str, object] = field(default_factory=dict)
    wake: Callable[[], None] = field(default=lambda: None)
    asked: deque[Mapping[str, Any]] = field(default_factory=deque)
    decision: Decision | None = None
    inspector: Inspector | None = None


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
        self._over = False
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
        if held is None:
            return GO
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
        return decision

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

    def _step(self, _command: Mapping[str, Any]) -> None:
        self._pausing = True
        waiting = [held for held in self._held if held.decision is None]
        if waiting:
            self._let_go([min(waiting, key=lambda held: held.expected.order)])

    def _continue(self, command: Mapping[str, Any]) -> None:
        self._pausing = False
        self._target = command.get("target")
        self._let_go(list(self._held))

    def _set_stops(self, command: Mapping[str, Any]) -> None:
        self._stops = list(command.get("stops") or ())

    def _decide(self, command: Mapping[str, Any]) -> None:
        for held in self._held:
            if held.call.step == command.get("call") and command.get("action") in ("go", *held.expected.choices):
                self._again.add(held.call.step)  # it is held again when that cannot be done
                self._let_go([held], Decision(str(command["action"]), cast("Json", command.get("value"))))

    def _inspect(self, command: Mapping[str, Any]) -> None:
        for held in self._held:
            if held.call.step == command.get("call"):
                held.asked.append(command)
                held.wake()

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
            held = _Held(call, expected, _frames(sys._getframe(2)))
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
            told = {"step": held.call.step, "line": command.get("line"), "text": _inspect(held, str(command["line"]))}
            self._tell({"event": "inspected", **told})

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
        self._tell({"event": "released", "step": held.call.step, "action": action})


def _inspect(held: _Held, line: str) -> str:
    try:
        held.inspector = held.inspector or Inspector(held.frames)
        return _cleaned(held.inspector.do(line))
    except BaseException as problem:  # whatever it is, it was the person's doing and not the program's
        return f"{type(problem).__name__}\n"


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


def _frames(frame: FrameType | None) -> list[FrameType]:
    """The stack from a frame outwards."""
    found: list[FrameType] = []
    while frame is not None:
        found.append(frame)
        frame = frame.f_back
    return found


def _cleaned(text: str) -> str:
    """A text without the secrets that the run knows."""
    here = scope.current()
    return text if here is None else here.run.gate.text(text)

"""A running replay under control, without a terminal: pause, step, continue, run to, abort; what happens as events.

    session = ReplaySession(source, options, pause=True)
    session.start()
    for event in session.events():
        if isinstance(event, Paused):
            session.step()
    outcome = session.wait()

All methods may be called from any thread.
"""

from __future__ import annotations

import json
import threading
import time
import weakref
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from queue import SimpleQueue
from typing import Any, Final, cast

from agentdbg.model.json_text import loads_json
from agentdbg.model.records import Json, Step
from agentdbg.model.safe_text import safe_block
from agentdbg.redaction.gate import Gate
from agentdbg.replay.cassette import served_steps
from agentdbg.replay.child_process import ControlPair, Watch
from agentdbg.replay.log_pieces import LogPieces
from agentdbg.replay.outcome import Outcome
from agentdbg.replay.regression import RegressionOptions, regression
from agentdbg.replay.run import NotReplayable, ReplayOptions, ReplayRefused, exact
from agentdbg.replay.session_events import (
    CallAt,
    Diverged,
    Ended,
    Event,
    Inspected,
    NoCall,
    NotDone,
    Paused,
    Refused,
    Released,
    Started,
    Stepped,
)
from agentdbg.replay.session_values import CannotDo as CannotDo
from agentdbg.replay.session_values import check_arguments, encoded_value, frame_from
from agentdbg.store.protocols import BodyMissing
from agentdbg.store.reader import DirectoryRunSource

MOST_EDITED: Final = 1024 * 1024
_running: weakref.WeakSet[ReplaySession] = weakref.WeakSet()


def abort_all(seconds: float = 0.0) -> None:
    """End every replay that runs in this process, and wait so long for what there is of them to be kept."""
    sessions = list(_running)
    for session in sessions:
        session.abort()
    until = time.monotonic() + seconds
    for session in sessions:
        session._over.wait(max(0.0, until - time.monotonic()))


class ReplaySession:
    """One replay."""

    def __init__(
        self,
        source: DirectoryRunSource,
        options: ReplayOptions | RegressionOptions,
        *,
        pause: bool = False,
        stops: Sequence[Mapping[str, Json]] = (),
        listener: Callable[[Event], None] | None = None,
    ) -> None:
        """Prepare; nothing runs yet.

        Args:
            source: The recorded run; stays open until the replay is over.
            options: As of a replay that nobody watches; they say which kind it is.
            pause: Hold the first call.
            stops: Breakpoints: ``kind``, ``name``, ``step`` (its number), ``error: true``, ``divergence: true``; all
                members of one must hold.
            listener: Called with every event, from the replay's threads; else they wait for `events`.
        """
        self.source = source
        self.mode = "regression" if isinstance(options, RegressionOptions) else "exact"
        self._options = options
        self._settings: dict[str, object] = {"pause": pause, "target": None, "stops": self._stops(stops)}
        self._listener = listener
        self._queue: SimpleQueue[Event] = SimpleQueue()
        self._lock = threading.RLock()
        self._control: ControlPair | None = None
        self._held: dict[str, Paused] = {}
        self._passed: set[int] = set()
        self._aborted = False
        self._ended: Ended | None = None
        self._raised: Exception | None = None
        self._over = threading.Event()
        self._others: list[Callable[[Event], None]] = []
        self._log = LogPieces(Gate(enabled=True))
        self._thread = threading.Thread(target=self._run, name="agentdbg-replay")

    # -- control ----------------------------------------------------------------------------------

    def start(self) -> None:
        """Begin."""
        _running.add(self)
        self._thread.start()

    def pause(self) -> None:
        """Hold the next call that the program makes."""
        self._send({"do": "pause"}, pause=True)

    def step(self) -> None:
        """Let one held call go and hold the next: of several the one whose outcome was recorded first."""
        self._send({"do": "step"}, pause=True)

    def cont(self) -> None:
        """Let everything go until a breakpoint."""
        self._send({"do": "continue"}, pause=False, target=None)

    def run_to(self, step: int) -> int:
        """Let everything go until the first recorded call at or behind a step; returns the number of that call.

        Raises:
            CannotDo: There is no such call, or it has been made already.
        """
        target = next((each for each in self._calls() if each.n >= step), None)
        if target is None:
            raise CannotDo(f"the recorded run makes no call at or after step {step}")
        if target.n in self._passed and not any(held.call.recorded == target.n for held in self._held.values()):
            raise CannotDo(f"step {target.n}, {target.kind} {target.name}, has been replayed already")
        if self._held and all(held.call.recorded == target.n for held in self._held.values()):
            raise CannotDo(f"the replay stands before step {target.n} already")
        self._send({"do": "run_to", "target": target.id}, pause=False, target=target.id)
        return target.n

    def set_stops(self, stops: Sequence[Mapping[str, Json]]) -> None:
        """Other breakpoints from now on."""
        found = self._stops(stops)
        self._send({"do": "stops", "stops": found}, stops=found)

    def decide(self, action: str, value: object = None, call: str | None = None, *, encoded: bool = False) -> None:
        """Say what becomes of a held call.

        Args:
            action: ``go``, or one of the choices of its `Paused`.
            value: Other arguments by name, or another result. Any value that can be recorded.
            call: Id of the call; the one that is held the longest by default.
            encoded: ``value`` is JSON as records have it, objects taken apart: an edited copy of what was recorded.

        Raises:
            CannotDo: No such call is held, or that cannot be done with it.
        """
        held = self._one(call)
        if action != "go" and action not in held.choices:
            there = ", ".join(("go", *held.choices))
            raise CannotDo(f"{action} cannot be done with a call of {self.mode} replay here; there is {there}")
        tree = cast("Json", value) if encoded else encoded_value(value)
        if action == "arguments":
            check_arguments(held, tree)
        if len(json.dumps(tree)) > MOST_EDITED:
            raise CannotDo(f"that is more than {MOST_EDITED:,} characters of JSON")
        self._send({"do": "decide", "call": held.call.id, "action": action, "value": tree})

    def recorded_result(self, held: Paused) -> Json:
        """What is recorded as the result of a held call, as JSON; ``None`` where there is none, or it is no JSON."""
        steps = self.source.steps()
        number = held.call.recorded
        result = steps[number - 1].result if number is not None else None
        try:
            return None if result is None else loads_json(self.source.body(result))
        except (BodyMissing, ValueError):
            return None

    def inspect(self, line: str, call: str | None = None) -> None:
        """Have ``pdb`` do one line in the program's innermost own frame where it is held; see `Inspected`.

        ``n``, ``s``, ``r``, ``until`` and ``c`` let it go on, in its own thread; it is held again where pdb stops. The
        guard holds for what is evaluated, and the verdict says that something was.

        Raises:
            CannotDo: No such call is held.
        """
        self._send({"do": "inspect", "call": self._one(call).call.id, "line": line})

    def abort(self) -> None:
        """End the replay; what was replayed is kept, marked ``aborted``."""
        self._aborted = True

    # -- what happens -----------------------------------------------------------------------------

    @property
    def held(self) -> tuple[Paused, ...]:
        """The calls that are held now."""
        with self._lock:
            return tuple(self._held.values())

    @property
    def state(self) -> str:
        """``ready``, ``running``, ``paused`` or ``over``."""
        if self._over.is_set():
            return "over"
        if self._thread.ident is None:
            return "ready"
        return "paused" if self._held else "running"

    @property
    def ended(self) -> Ended | None:
        """How it ended, once it has."""
        return self._ended

    def events(self) -> Iterator[Event]:
        """Everything that happens, to the end; without a listener only, and for one reader."""
        while True:
            event = self._queue.get()
            yield event
            if isinstance(event, Ended):
                return

    def wait(self, seconds: float | None = None) -> Outcome:
        """Wait for the end.

        Raises:
            TimeoutError: It has not come.
            ReplayRefused: Nothing was run, for safety.
            NotReplayable: The record does not support it.
        """
        if not self._over.wait(seconds):
            raise TimeoutError("the replay is not over yet")
        self._thread.join()
        if self._raised is not None:
            raise self._raised
        assert self._ended is not None and self._ended.outcome is not None
        return self._ended.outcome

    # -- inside -----------------------------------------------------------------------------------

    def _run(self) -> None:
        try:
            outcome = self._outcome(_Watching(self))
        except Exception as problem:  # told, and raised in `wait`
            self._raised = problem
            told = isinstance(problem, ReplayRefused | NotReplayable)
            words = str(problem) if told else f"{type(problem).__name__}: {problem}"
            ended = Ended(None, words, refused=isinstance(problem, ReplayRefused))
        else:
            ended = Ended(outcome)
        with self._lock:
            self._held.clear()
            self._ended = ended
        self._tell_log(last=True)
        self._over.set()
        _running.discard(self)
        self._tell(ended)

    def _outcome(self, watch: Watch) -> Outcome:
        if isinstance(self._options, RegressionOptions):
            return regression(self.source, self._options, watch)
        return exact(self.source, self._options, watch)

    def _send(self, command: Mapping[str, object], **settings: object) -> None:
        with self._lock:
            self._settings.update(settings)  # for what is started yet: the next sample of a regression replay
            if self._control is not None:
                self._control.send(command)

    def _one(self, call: str | None) -> Paused:
        with self._lock:
            found = next((held for step, held in self._held.items() if call in (None, step)), None)
        if found is None:
            raise CannotDo("no call is held" if call is None else f"the call {call} is not held")
        return found

    def _stops(self, stops: Sequence[Mapping[str, Json]]) -> list[dict[str, Json]]:
        """Breakpoints as the child knows them: steps by their ids."""
        found = [dict(stop) for stop in stops]
        for stop in found:
            if "step" in stop:
                number, steps = stop["step"], self.source.steps()
                if not isinstance(number, int) or not 1 <= number <= len(steps):
                    raise CannotDo(f"there is no step {number}: the run has steps 1 to {len(steps)}")
                stop["step"] = steps[number - 1].id
        return found

    def _calls(self) -> Iterator[Step]:
        return (step for step in served_steps(self.source.steps()) if step.is_call)

    def overhear(self, listener: Callable[[Event], None]) -> Callable[[], None]:
        """Tell somebody else too; returns what ends that."""
        with self._lock:
            self._others.append(listener)
        return lambda: self._others.remove(listener)

    def _tell(self, event: Event) -> None:
        for listener in tuple(self._others):
            listener(event)
        if self._listener is not None:
            self._listener(event)
        else:
            self._queue.put(event)

    def _tell_log(self, *, last: bool = False) -> None:
        piece = self._log.take(last=last)
        if piece is not None:
            self._tell(piece)

    def _hear(self, message: Mapping[str, Any]) -> None:
        event = str(message.get("event"))
        if event in ("step", "paused", "released"):
            self._hear_call(event, message)
        elif event == "inspected":
            text = str(safe_block(str(message.get("text"))))
            self._tell(Inspected(str(message.get("line")), text, bool(message.get("moves"))))
        elif event == "no_call":
            self._tell(NoCall(tuple(frame_from(each) for each in message.get("where") or ())))
        elif event == "not_done":
            self._tell(NotDone(str(message.get("name")), str(message.get("reason"))))
        elif event in ("refused", "tolerated", "refused_by_hand"):
            effect, detail, frame = (str(message.get(name) or "") for name in ("effect", "detail", "frame"))
            self._tell(Refused(effect, detail, frame, event == "tolerated"))
        elif event == "diverged":
            self._tell(Diverged(str(message.get("name")), str(message.get("reason"))))

    def _hear_call(self, event: str, message: Mapping[str, Any]) -> None:
        with self._lock:
            call = self._call(message)
            if event == "step":
                if call.recorded is not None:
                    self._passed.add(call.recorded)
                self._tell(Stepped(call))
            elif event == "paused":
                where = tuple(frame_from(each) for each in message.get("where") or ())
                choices = tuple(map(str, message.get("choices") or ()))
                why, problem = str(message.get("why")), str(message.get("problem") or "")
                said = str(safe_block(str(message.get("said") or "")))
                held = Paused(call, why, problem, where, choices, message.get("arguments"), said)
                self._held[call.id] = held
                self._tell(held)
            elif (was := self._held.pop(call.id, None)) is not None:
                self._tell(Released(was.call, str(message.get("action"))))

    def _call(self, message: Mapping[str, Any]) -> CallAt:
        recorded = self.source.step_by_id(str(message["recorded"])) if message.get("recorded") else None
        number = recorded.n if recorded is not None else None
        return CallAt(str(message.get("step")), str(message.get("kind")), str(message.get("name")), number)


class _Watching:
    """What the replay's engine sees of a session."""

    def __init__(self, session: ReplaySession) -> None:
        self._session = session

    def settings(self) -> Mapping[str, object]:
        with self._session._lock:
            return dict(self._session._settings)

    def attached(self, control: ControlPair, made: Path) -> None:
        with self._session._lock:
            self._session._control = control
            self._session._held.clear()
            self._session._passed.clear()
        self._session._tell(Started(made))

    def heard(self, message: Mapping[str, Any]) -> None:
        self._session._hear(message)

    def printed(self, data: bytes) -> None:
        self._session._log.add(data)
        self._session._tell_log()

    def waits(self) -> bool:
        self._session._tell_log()
        return bool(self._session._held)

    def aborted(self) -> bool:
        return self._session._aborted

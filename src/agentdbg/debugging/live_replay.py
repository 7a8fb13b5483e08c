"""A running replay as a user follows it, without a terminal: its steps beside the recorded ones, pauses, log, end."""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Callable, Sequence
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Final

from agentdbg.debugging.held_calls import decide
from agentdbg.debugging.replay_pairs import Pair, PairTable, steps_inside
from agentdbg.i18n.catalogue import message
from agentdbg.model.records import Json, Kind, Step
from agentdbg.replay.session import CannotDo, ReplaySession
from agentdbg.replay.session_events import (
    Diverged,
    Ended,
    Event,
    Inspected,
    NoCall,
    NotDone,
    Paused,
    Printed,
    Refused,
    Started,
    Stepped,
)
from agentdbg.replay.where import Frame
from agentdbg.store.reader import DirectoryRunSource

if TYPE_CHECKING:
    from agentdbg.replay.outcome import Outcome
    from agentdbg.replay.regression_lane import Person, Question

MOST_LINES: Final = 5_000
"""Lines of the program's output that are kept."""
Make = Callable[[Callable[[Event], None], "Person"], ReplaySession]


class LiveReplay:
    """Movements and commands for one replay. Everything but the events' arrival happens on the user's thread.

    Attributes:
        cursor: Index of the selected pair.
        follow: Whether the cursor stays where the replay is.
        message: What the last action has to say.
        log: What the program printed, line by line.
        effects: Effects that were stopped.
        sample: Number of the sample that runs, from 1.
        divergence: Where it left the recorded path, once it has.
        question: What a person is asked, while nobody has answered.
        quiet: Where the program is that was asked to pause and makes no call.
        within: Indexes of recorded steps that lie inside a call whose outcome is served as a whole.
    """

    def __init__(self, recorded: DirectoryRunSource, make: Make, wake: Callable[[], None]) -> None:
        """Prepare.

        Args:
            recorded: The recorded run; closed when this is closed and the replay is over.
            make: Makes the session.
            wake: Called from any thread when there is something to `take_in`.
        """
        self.recorded = recorded
        self.cursor = 0
        self.follow = True
        self.message = ""
        self.log: deque[str] = deque(maxlen=MOST_LINES)
        self.effects: list[Refused] = []
        self.divergence: Diverged | None = None
        self.question: Question | None = None
        self.quiet: tuple[Frame, ...] = ()
        self._table = PairTable(recorded)
        self.stops: list[dict[str, Json]] = []
        self.calls = self.sample = 0
        self._wake = wake
        self._events: deque[Event] = deque()
        self._replayed: DirectoryRunSource | None = None
        self._made: Path | None = None
        self._known = 0
        self._answer: str | bool | None = None
        self._answered = threading.Event()
        self._ended: Ended | None = None
        self._closed = self._line_open = False
        self.within = steps_inside(recorded)
        self.session = make(self._arrive, self._ask)

    # -- what there is to show --------------------------------------------------------------------

    @property
    def pairs(self) -> list[Pair]:
        """Recorded steps and the replay's beside them."""
        return self._table.rows

    @property
    def mode(self) -> str:
        """``exact`` or ``regression``."""
        return self.session.mode

    @property
    def state(self) -> str:
        """``running``, ``paused``, ``asking`` or ``over``."""
        if self._ended is not None:
            return "over"
        if self.question is not None:
            return "asking"
        return "paused" if self.session.held else "running"

    @property
    def held(self) -> tuple[Paused, ...]:
        """The calls that are held."""
        return () if self._ended is not None else self.session.held

    @property
    def standing(self) -> Paused | None:
        """The held call that is decided about: the selected one, else the one that is held the longest."""
        held, rows = self.held, self.pairs[self.cursor : self.cursor + 1]
        numbers = [pair.recorded + 1 for pair in rows if pair.recorded is not None]
        return next((each for each in held if each.call.recorded in numbers), held[0] if held else None)

    @property
    def ended(self) -> Ended | None:
        """How it ended, once that has been taken in."""
        return self._ended

    @property
    def outcome(self) -> Outcome | None:
        """The outcome, once there is one."""
        return self._ended.outcome if self._ended is not None else None

    @property
    def final_state(self) -> str:
        """The state that the replayed run came to, where it declared one; empty while it runs."""
        steps: Sequence[Step] = self._replayed.steps() if self._replayed is not None and self.outcome else ()
        found = (step.attrs.get("status") for step in reversed(steps) if step.kind is Kind.CHECKPOINT)
        return next((status for status in found if isinstance(status, str)), "")

    @property
    def published(self) -> str:
        """The directory of the replay's run; empty when there is none."""
        found = self.outcome
        return str(Path(found.store) / "runs" / found.replay_run) if found and found.replay_run else ""

    def recorded_step(self, pair: Pair) -> Step | None:
        """The recorded step of a pair."""
        return self.recorded.steps()[pair.recorded] if pair.recorded is not None else None

    def replayed_step(self, pair: Pair) -> Step | None:
        """The replay's step of a pair, as it is now."""
        steps: Sequence[Step] = self._replayed.steps() if self._replayed is not None else ()
        with suppress(IndexError):
            return steps[pair.replayed] if pair.replayed is not None else None
        return None

    def is_held(self, pair: Pair) -> bool:
        """Whether the replay stands before a pair's call."""
        step = self.replayed_step(pair)
        number = pair.recorded + 1 if pair.recorded is not None else None
        return any(
            (step is not None and held.call.id == step.id) or (number is not None and held.call.recorded == number)
            for held in self.held
        )

    # -- actions ----------------------------------------------------------------------------------

    def pause(self) -> None:
        """Hold the next call."""
        if self._can():
            self.session.pause()
            self.message = "pauses before the next call"

    def step(self) -> None:
        """Let one call go, hold the next."""
        if self._can():
            if not self.held:
                self.message = "pauses before the next call"
            self.session.step()

    def cont(self) -> None:
        """Go on until a breakpoint."""
        self.quiet = ()
        if self._can():
            self.session.cont()

    def run_to_here(self) -> None:
        """Go on until the selected step."""
        pair = self.pairs[self.cursor] if self.cursor < len(self.pairs) else None
        if not self._can():
            return
        if pair is None or pair.recorded is None:
            self.message = "choose a recorded step to run to"
            return
        try:
            number = self.session.run_to(pair.recorded + 1)
        except CannotDo as problem:
            self.message = str(problem)
        else:
            self.follow = True
            self.message = f"runs to step {number}"

    def toggle_breakpoint(self) -> None:
        """Hold every call of the selected step's kind and name, or no longer."""
        pair = self.pairs[self.cursor] if self.cursor < len(self.pairs) else None
        step = (self.recorded_step(pair) or self.replayed_step(pair)) if pair is not None else None
        if step is None or not step.is_call or not self._can():
            self.message = self.message or "breakpoints are for calls: of models, tools, HTTP, approvals"
            return
        self._toggle({"kind": step.kind.value, "name": step.name}, f"{step.kind} {step.name}")

    def toggle_error_stop(self) -> None:
        """Hold every call whose recorded outcome is an error, or no longer."""
        if self._can():
            self._toggle({"error": True}, "calls that failed while recording")

    def toggle_divergence_stop(self) -> None:
        """Hold before the replay leaves the recorded path, or no longer."""
        if self._can():
            self._toggle({"divergence": True}, "the first call that the record does not have")

    def stop(self) -> None:
        """End the replay and keep what there is of it."""
        if self._can():
            self.session.abort()
            self._answered.set()
            self.message = "stopping …"

    def inspect(self, line: str) -> None:
        """Have ``pdb`` do a line where the replay stands."""
        if not self._can():
            return
        try:
            self.session.inspect(line)
        except CannotDo:
            self.message = "the replay has to be paused for that: P pauses before the next call"

    def decide(self, text: str) -> None:
        """Say what becomes of the held call: ``live``, ``serve``, ``refuse``, ``result=JSON``, ``arguments=JSON``."""
        if not self._can():
            return
        self.message = decide(self.session, self.standing, text)

    def toggle_follow(self) -> None:
        """Stay where the replay is, or stay here."""
        self.follow = not self.follow
        self.message = "following" if self.follow else "not following"
        if self.follow:
            self._go_to_place()

    def answer(self, text: str) -> None:
        """Answer the question: a decision, or ``yes``; an empty text decides nothing."""
        question, self.question = self.question, None
        if question is not None:
            self._answer = (text.strip() or None) if question.about == "approval" else text.strip() == "yes"
            self._answered.set()

    def start(self) -> None:
        """Begin."""
        self.session.start()

    def close(self) -> None:
        """End what runs, and close both runs."""
        self.session.abort()
        self._answered.set()
        self._closed = True
        if self.session.state in ("ready", "over"):
            self.recorded.close()
        if self._replayed is not None:
            self._replayed.close()
            self._replayed = None

    # -- news -------------------------------------------------------------------------------------

    def take_in(self) -> None:
        """Take in what happened since, and what the replay's record has grown by."""
        before = self._ended
        while self._events:
            self._take(self._events.popleft())
        self._look()
        if self._ended is not before:
            self._go_to_end()
        elif self.follow and self._ended is None:
            self._go_to_place()

    def _arrive(self, event: Event) -> None:
        """From the replay's threads."""
        self._events.append(event)
        if isinstance(event, Ended) and self._closed:
            self.recorded.close()
        self._wake()

    def _ask(self, question: Question) -> str | bool | None:
        """From the replay's threads: wait for a person."""
        self._answered.clear()
        self._answer, self.question = None, question
        self._wake()
        self._answered.wait()
        return self._answer

    def _take(self, event: Event) -> None:
        if isinstance(event, Started):
            self._begin(event.made)
        elif isinstance(event, Stepped):
            self.calls += 1
            if event.call.recorded is not None:
                self._table.mates[event.call.id] = event.call.recorded - 1
        elif isinstance(event, Printed):
            self._print(event.text, event.skipped)
        elif isinstance(event, Inspected):
            self._line_open = False
            self._print(f"(pdb) {event.line}\n{event.text}".rstrip() + "\n", 0)
        elif isinstance(event, Paused | NoCall):
            self.quiet = event.where if isinstance(event, NoCall) else ()
        elif isinstance(event, NotDone):
            self.message = message("live.not_done", name=event.name, reason=event.reason)
        elif isinstance(event, Refused):
            self.effects.append(event)
        elif isinstance(event, Diverged):
            self.divergence = event
        elif isinstance(event, Ended):
            self._end(event)

    def _begin(self, made: Path) -> None:
        """A record begins: the only one, or that of the next sample."""
        self._made, self._known, self.calls = made, 0, 0
        self.sample += 1
        self._table = PairTable(self.recorded)
        if self._replayed is not None:
            self._replayed.close()
            self._replayed = None

    def _end(self, event: Ended) -> None:
        self._look()
        self._ended = event
        self.question = None
        if self.published:
            with suppress(Exception):  # it is shown as far as it was seen growing
                found = DirectoryRunSource(Path(self.published))
                found.index(None)
                if self._replayed is not None:
                    self._replayed.close()
                self._replayed = found

    def _look(self) -> None:
        """Read on in the replay's record."""
        if self._replayed is None:
            if self._made is None or not (self._made / "run.json").exists():
                return
            with suppress(Exception):  # half made: the next look finds more
                self._replayed = DirectoryRunSource(self._made)
        if self._replayed is None:
            return
        with suppress(Exception):  # gone: the replay is over, and published elsewhere
            self._replayed.poll()
            steps = self._replayed.steps()
            for index in range(self._known, len(steps)):
                self._table.place(index, steps[index])
                self._known = index + 1

    def _print(self, text: str, skipped: int) -> None:
        if skipped:
            self.log.append(f"… {skipped:,} bytes came too fast to be shown")
            self._line_open = False
        lines = text.splitlines()
        if self._line_open and lines:
            lines[0] = (self.log.pop() if self.log else "") + lines[0]
        self.log.extend(lines)
        self._line_open = not text.endswith("\n")

    def _go_to_place(self) -> None:
        """Select where the replay is: the held call, else the newest step."""
        first = next((held.call.recorded for held in self.held if held.call.recorded is not None), None)
        self.cursor = self._table.newest if first is None else self._table.row_of(first - 1)

    def _go_to_end(self) -> None:
        """Select the first difference, else where the replay came to."""
        at = self.outcome.first_divergence if self.outcome is not None else None
        if at is not None and 1 <= at.step <= len(self.recorded.steps()):
            self.cursor = self._table.row_of(at.step - 1)
        elif self.follow:
            self._go_to_place()

    def _toggle(self, stop: dict[str, Json], words: str) -> None:
        if stop in self.stops:
            self.stops.remove(stop)
            self.message = f"no breakpoint on {words} any more"
        else:
            self.stops.append(stop)
            self.message = f"breakpoint on {words}"
        self.session.set_stops(self.stops)

    def _can(self) -> bool:
        self.message = "" if self._ended is None else "the replay is over"
        return self._ended is None

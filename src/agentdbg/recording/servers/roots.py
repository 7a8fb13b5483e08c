"""What came into a server, a request or a task: a run from its first call on, unless an agent's run takes it."""

from __future__ import annotations

import os
import threading
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import partial
from typing import TYPE_CHECKING, Protocol, cast

from agentdbg.model.records import Kind, StepStatus
from agentdbg.recording.calls import ReplayStop
from agentdbg.recording.pins import real_monotonic_ns, real_time
from agentdbg.recording.run import OpenStep, RunRecording
from agentdbg.recording.scope import Lane, Scope, Unbegun
from agentdbg.store.journal import reference

if TYPE_CHECKING:
    from agentdbg.recording.encoding import Encoded
    from agentdbg.recording.process import Recorder

MOST_DRAWS = 5_000
"""Clock and random values that are kept for a run that has not begun."""


@dataclass(frozen=True, slots=True)
class Ending:
    """How a request ended.

    Attributes:
        step: Status of the root step.
        run: Status of the run.
        error: What was raised.
    """

    step: StepStatus
    run: str
    error: BaseException | None = None


@dataclass(frozen=True, slots=True)
class Answer:
    """What went out.

    Attributes:
        result: The answer itself, encodable.
        attrs: Further facts, redacted.
        holes: What of it is not kept.
    """

    result: object = None
    attrs: Mapping[str, object] = field(default_factory=dict)
    holes: tuple[str, ...] = ()


class Source(Protocol):
    """The adapter's side of one request. What is called ``run`` is the request's own."""

    def name(self) -> str:
        """The run's name; asked when it begins, as all of these are."""

    def arguments(self, run: RunRecording) -> Mapping[str, object]:
        """What has come in, by name, encodable."""

    def entry(self, run: RunRecording, body: dict[str, object], holes: tuple[str, ...]) -> dict[str, object]:
        """What a replay needs; ``body`` is where the arguments are, ``holes`` what of them could not be encoded."""

    def answer(self, run: RunRecording) -> Answer:
        """What went out; asked when the request has ended."""

    def tags(self) -> Mapping[str, str]:
        """Tags for every run that begins in the request."""

    def continues(self) -> str | None:
        """The run that it was sent by."""

    def trace_id(self) -> str | None:
        """The distributed trace that it belongs to."""


class ServedRoot:
    """One request, in place of its run in the scopes of all that it started.

    Attributes:
        drawing: Lanes with values of the clock that are not written down yet.
    """

    def __init__(self, recorder: Recorder, source: Source, *, runs: bool = True) -> None:
        self.recorder = recorder
        self._source = source
        self._lane = Lane()
        self._lane.events = 1  # the root step's intent, ahead of whatever is forked
        self._began = (real_time(), real_monotonic_ns())
        self._run: RunRecording | None = None
        self._step: OpenStep | None = None
        self._ending: Ending | None = None
        self._taken = not runs
        self._beginning = False
        self._draws_cut = False
        self.drawing: set[Lane] = set()
        self._lock = threading.RLock()

    def scope(self) -> Unbegun:
        """Where the code that handles the request stands."""
        return Unbegun(cast(RunRecording, self), None, self._lane)

    # -- as scopes ask ----------------------------------------------------------------------------

    def place(self, lane: Lane) -> Scope | None:
        """The scope of a lane in the run; ``None`` as long as there is none."""
        run, step = self._run, self._step
        return None if run is None or step is None else Scope(run, step.id, lane)

    def begin(self) -> None:
        """Begin the run, unless that was done or an agent's run has taken the request. Never raises."""
        if self._step is not None or self._taken:
            return
        with self._lock:
            if self.recorded is not None or self._taken:  # another thread was first
                return
            try:
                self._begin()
            except ReplayStop:
                raise
            except Exception as error:
                self._taken = True
                self.recorder.fault(error)
            if self._ending is not None:
                self._write(self._ending)

    def took(self, run: RunRecording) -> None:
        """A run begins here: the request's own, or that of an agent, which is the run then."""
        if not self._beginning:
            self._taken = True
        facts = run.facts
        facts.tags.update(self._source.tags())
        facts.tags["pid"] = str(os.getpid())
        facts.tags["thread"] = threading.current_thread().name
        facts.trace_id = self._source.trace_id() or facts.trace_id
        parent = self._source.continues()
        if parent is not None:
            facts.continues = parent
            facts.tags["parent_run"] = parent

    @property
    def draws_cut(self) -> bool:
        """Whether values of the clock are not kept any more."""
        return self._draws_cut if self._run is None else self._run.draws_cut

    def flush_draws(self, lane: Lane) -> None:
        """Many values were drawn without an event."""
        if self._run is not None:
            self._run.flush_draws(lane)
        elif len(lane.draws) >= MOST_DRAWS:
            self._draws_cut = True

    # -- as the adapter says ----------------------------------------------------------------------

    def end(self, ending: Ending) -> None:
        """The request was answered, or failed. What goes on behind it is written into the run all the same."""
        with self._lock:
            self._ending = ending
            if self._step is not None:
                self._write(ending)

    @property
    def recorded(self) -> RunRecording | None:
        """The request's own run, once it has begun."""
        return self._run

    def _begin(self) -> None:
        recorder = self.recorder
        number = recorder.begin_root()
        name = self._source.name()
        self._beginning = True
        encoded: Encoded

        def complete(run: RunRecording) -> None:
            nonlocal encoded
            run.root, run.drawing = self._lane, self.drawing
            run.facts.root = number
            run.facts.started_at = self._began[0]
            encoded = run.encode(dict(self._source.arguments(run)))
            body = reference(encoded.data, encoded.digest)  # it is stored with the step below
            run.facts.entry = recorder.guard(partial(self._source.entry, run, body, encoded.holes), {"args": body})

        try:
            run = RunRecording.start(recorder, name, entry={}, complete=complete)
        finally:
            self._beginning = False
        began = self._began[1]
        self._lane.events -= 1
        step = run.begin(Scope(run, None, self._lane), Kind.AGENT, name, encoded)
        step.began = began
        if self._draws_cut:
            what = "clock and random values before the first call are not pinned from some point: too many"
            run.event(Scope(run, None, self._lane), "hole", {"of": step.id, "what": what})
        self._run, self._step = run, step

    def _write(self, ending: Ending) -> None:
        run, step = self._run, self._step
        if run is None or step is None or run.facts.ended_at is not None:
            return
        scope = Scope(run, None, self._lane)

        def write() -> None:
            answer = self._source.answer(run)
            members: dict[str, object] = {"attrs": answer.attrs} if answer.attrs else {}
            result = None if answer.result is None else run.encode(answer.result)
            if result is not None:
                result = result._replace(holes=(*result.holes, *answer.holes))
            run.end(scope, step, ending.step, result, error=ending.error, members=members)

        self.recorder.guard(write, None)
        if ending.run == "failed" and not run.facts.failing_step:
            run.facts.failing_step = step.id
        self.recorder.guard(lambda: run.finish(ending.run, ending.error), None)
        self.recorder.end_root()

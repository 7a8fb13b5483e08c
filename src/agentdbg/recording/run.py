"""One run being recorded: its steps, inputs, notes and ``run.json``."""

from __future__ import annotations

import os
import threading
import weakref
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, ClassVar, TypeAlias, cast

from agentdbg.model.fingerprint import VolatileRules
from agentdbg.model.records import Effect, Kind, StepStatus
from agentdbg.model.segments import Part
from agentdbg.recording import launched, root_facts, standard_input
from agentdbg.recording import scope as scopes
from agentdbg.recording.calls import Call
from agentdbg.recording.calls import OpenStep as OpenStep
from agentdbg.recording.effect_steps import RunEffects
from agentdbg.recording.encoding import Encoded, encode, error_message
from agentdbg.recording.error_records import described_error
from agentdbg.recording.facts import RunFacts, meta
from agentdbg.recording.identity import CallIdentity
from agentdbg.recording.model_inputs import Clean, store_input
from agentdbg.recording.pins import MAX_DRAWS_PER_RUN, real_monotonic_ns, real_time
from agentdbg.recording.request_headers import RequestHeaders
from agentdbg.recording.scope import Lane, Scope
from agentdbg.recording.turns import note_turn
from agentdbg.recording.versions import derive_versions
from agentdbg.redaction.gate import Gate
from agentdbg.store.journal import RunWriter

if TYPE_CHECKING:
    from agentdbg.recording.handoffs import Notes
    from agentdbg.recording.process import Recorder

Complete: TypeAlias = "Callable[[RunRecording], None]"
_COUNTED = frozenset(("intent", "outcome", "step"))
_BEGINS = frozenset(("intent", "step"))
_CALL_KINDS = (Kind.MODEL, Kind.TOOL, Kind.HTTP, Kind.APPROVAL, Kind.RETRIEVAL, Kind.READ)
_plain = str.__str__
"""The text of a name: a quarter of the time of its ``value``."""


class RunRecording:
    """Writes one run from this process. All methods may be called from any thread."""

    _live: ClassVar[weakref.WeakSet[RunRecording]] = weakref.WeakSet()

    _writer: RunWriter

    def __init__(self, recorder: Recorder, facts: RunFacts) -> None:
        self.recorder = recorder
        self.facts = facts
        self.gate = Gate(recorder.key, enabled=recorder.redacting)
        self.identity = CallIdentity(recorder.volatile)
        self.request_headers = RequestHeaders()
        self.effects = RunEffects()
        self.root = Lane()
        self.waiting = False
        self.drawing: set[Lane] = set()
        self.handoffs: Notes | None = None
        self.loop_steps: dict[int, int] = {}
        self._lock = threading.RLock()
        self._forked_lanes: set[str] = {"0"}
        self._redacted = self._surrogates = self._drawn = self._last = 0
        self.draws_cut = self.is_child = False
        RunRecording._live.add(self)

    @classmethod
    def start(
        cls,
        recorder: Recorder,
        name: str,
        *,
        entry: Mapping[str, object],
        run_id: str | None = None,
        complete: Complete | None = None,
    ) -> RunRecording:
        """Create the run's directory and first records.

        Args:
            recorder: Of this process.
            name: The agent's.
            entry: What is known of the entry point.
            complete: Completes the facts, before anything is written; without it the caller saves ``run.json`` then.
        """
        shown = Gate(recorder.key, enabled=recorder.redacting).text(name)
        run = cls(recorder, RunFacts(run_id or recorder.new_run_id(shown), name, entry=dict(entry)))
        for number, placeholder in recorder.surrogates:
            run.gate.adopt_int(number, placeholder)
        if complete is not None:
            if os.path.lexists(run._directory()):
                run._take_other_id(recorder.new_writer_id())
            root_facts.describe(run)
            complete(run)
        run._writer = run._create()
        recorder.environment(run)
        if complete is None:
            root_facts.describe(run)
        standard_input.state.belongs_to(run)
        launched.tell("run", run_id=run.run_id)
        return run

    @classmethod
    def join(cls, recorder: Recorder, run_id: str, agent: str, store: str, step: str | None) -> RunRecording:
        """Write into a run that another process began; ``step`` is what started this one. That process ends the run."""
        for run in list(cls._live):
            if run.run_id == run_id:
                return run
        run = cls(recorder, RunFacts(run_id, agent))
        run.is_child = True
        hello = recorder.hello(step)
        run._writer = RunWriter(recorder.disk, f"{store}/runs/{run_id}", recorder.new_writer_id(), hello)
        return run

    def _create(self) -> RunWriter:
        recorder = self.recorder
        writer_id, hello = recorder.new_writer_id(), recorder.hello(None)
        recorder.prepare_store()
        try:
            return RunWriter.create(recorder.disk, self._directory(), writer_id, hello, self.meta())
        except FileExistsError:
            self._take_other_id(writer_id)
            return self._create()
        except OSError as error:
            recorder.fault_io(error)
            return RunWriter(recorder.disk, self._directory(), writer_id, hello)

    def _take_other_id(self, tail: str) -> None:
        self.recorder.warn(f"a run {self.run_id!r} exists already: recording under another id")
        self.facts.run_id = f"{self.run_id[:110]}-{tail}"

    def _directory(self) -> str:
        return f"{self.recorder.store}/runs/{self.facts.run_id}"

    @property
    def run_id(self) -> str:
        """The run's id."""
        return self.facts.run_id

    def scope(self) -> Scope:
        """The scope at the top of this run."""
        return Scope(self, None, self.root)

    # -- steps ------------------------------------------------------------------------------------

    def begin(
        self,
        scope: Scope,
        kind: Kind,
        name: str,
        arguments: Encoded | None = None,
        *,
        effect: Effect | None = None,
        members: Mapping[str, object] | None = None,
        identity: object = None,
        arguments_hash: str = "",
    ) -> OpenStep:
        """Write an intent. ``identity`` is what the fingerprint covers when it is not the arguments."""
        name = self.gate.text(name)
        event: dict[str, object] = {"kind": _plain(kind), "name": name, **self._place(scope)}
        if effect is not None:
            event["effect"] = _plain(effect)
        call_print = ""
        if kind in _CALL_KINDS:
            call_print = self.identity.fingerprint(kind, name, arguments, identity)
            event["fp"] = call_print
            note_turn(scope, event)
        if arguments is not None:
            event["args"] = self._writer.store(arguments.data, arguments.digest)
            arguments_hash = arguments_hash or arguments.digest
            if gaps := arguments.gaps:
                event["holes"] = list(gaps)
        if members:
            event.update(members)
        seq = self._write(scope, "intent", event)
        step_id = self._writer.step_id(seq)
        self.effects.began(self, scope, step_id, kind, effect)
        call = None
        if call_print and (replay := self.recorder.answerer) is not None and (replay.nested or not scope.inside_tool):
            alpha = self.identity.alpha(kind, name, arguments, identity) if replay.nested else ""
            call = Call(step_id, kind, name, effect, scope.lane.path, call_print, alpha, arguments_hash)
        return OpenStep(step_id, kind, real_monotonic_ns(), call)

    def end(
        self,
        scope: Scope,
        step: OpenStep,
        status: StepStatus,
        result: Encoded | bytes | None = None,
        *,
        error: BaseException | None = None,
        members: Mapping[str, object] | None = None,
    ) -> None:
        """Write a step's outcome."""
        event: dict[str, object] = {
            "of": step.id,
            "status": _plain(status),
            "ms": (real_monotonic_ns() - step.began + 500) // 1000 / 1000,
        }
        holes: list[str] = []
        if isinstance(result, Encoded):
            event["result"] = self._writer.store(result.data, result.digest)
            holes.extend(result.holes)
        elif result is not None:
            event["result"] = self._writer.store(result)
        if error is not None:
            event["error"] = described_error(error, self.gate, self._writer, holes)
        if members:
            event.update(members)
        if holes:
            event["holes"] = holes
        if step.kind in _CALL_KINDS:
            note_turn(scope, event)
        seq = self._write(scope, "outcome", event)
        self.effects.ended(step.id)
        if step.call is not None and self.recorder.answerer is not None:
            self.recorder.answerer.finished(step.call, status)
        if self.handoffs is not None and step.kind in _CALL_KINDS and not scope.inside_tool:
            self.handoffs.returned(seq, last=self._last == seq)

    def note(
        self,
        scope: Scope,
        kind: Kind,
        name: str,
        body: Encoded | None = None,
        members: Mapping[str, object] | None = None,
    ) -> str:
        """Write a step that is intent and outcome in one; returns its id."""
        place = self._place(scope)
        event: dict[str, object] = {"kind": _plain(kind), "name": self.gate.text(name), **place, "status": "ok"}
        if body is not None:
            event["args"] = self._writer.store(body.data, body.digest)
            if gaps := body.gaps:
                event["holes"] = list(gaps)
        if members:
            event.update(members)
        return self._writer.step_id(self._write(scope, "step", event))

    def event(self, scope: Scope, kind: str, members: Mapping[str, object]) -> str:
        """Write an event as it is (``chunk``, ``hole``); returns the id of the step if it is one."""
        return self._writer.step_id(self._write(scope, kind, members))

    @property
    def volatile(self) -> VolatileRules:
        """The rules under which this run's calls are identified."""
        return self.identity.volatile

    def declare_volatile(self, tool: str, paths: tuple[str, ...]) -> None:
        """Add a tool's volatile paths to the rules, which are stored with the run; a replay keeps the recorded ones."""
        if tool in self.volatile.paths or self.recorder.volatile is not None:
            return
        with self._lock:
            self.identity.declare(tool, paths)
            self.save()

    def write_environment(self, found: Mapping[str, object]) -> None:
        """Store the environment of the recording process."""
        encoded = self.recorder.environment_text
        if encoded is None:
            before = self.gate.count
            encoded = self.encode(found)
            if self.gate.count == before:  # nothing in it that this run's gate would have to know
                self.recorder.environment_text = encoded
        ref = self._writer.store(encoded.data, encoded.digest)
        seal = self.recorder.seal(self.run_id, ref["sha256"])  # recorded code is run for its recorder alone
        self._writer.event("environment", {"body": ref, "seal": seal})

    def body(self, data: bytes) -> dict[str, object]:
        """Store redacted bytes; returns the reference as it stands in an event."""
        return self._writer.store(data)

    def encode(self, value: object) -> Encoded:
        """Encode a value for this run."""
        return encode(value, self.gate)

    # -- model inputs -----------------------------------------------------------------------------

    def model_input(
        self, lane: Lane, parts: Sequence[Part], clean: Clean, *, rebuilt: bool
    ) -> tuple[dict[str, object], str]:
        """Store the segments of a model input; returns the event's ``input`` and its chained hash.

        The caller sets ``lane.input_step`` when the step that has this input is on disk.
        """
        base, lane.input_step = lane.input_step, None
        members, lane.input_state = store_input(lane.input_state, base, parts, clean, self._writer, self.gate)
        if rebuilt:
            members["rebuilt"] = True
        derive_versions(self.facts, lane.input_state.parts)
        return members, cast(str, members["hash"])

    # -- the run's own facts ----------------------------------------------------------------------

    def meta(self) -> dict[str, object]:
        """``run.json`` as it is now."""
        return meta(self.facts, self.recorder, self.gate, self.volatile, self.effects.uncovered(self))

    def save(self) -> None:
        """Write ``run.json``; only the process that began the run does."""
        if self.is_child:
            return
        held = self._lock.acquire(timeout=self.recorder.disk.patience)
        try:
            self._writer.meta(self.meta())
        finally:
            if held:
                self._lock.release()

    def finish(self, status: str, error: BaseException | None) -> None:
        """The root call returned or raised. In a forked child that is not the end of the run."""
        facts = self.facts
        self.effects.finish(self)
        while self.drawing:  # lanes that ended without an event since, or without any
            self.flush_draws(self.drawing.pop())
        if self.is_child:
            self._writer.close()
            return
        facts.status = "waiting" if status == "ok" and self.waiting else status
        facts.ended_at = real_time()
        if error is not None:
            facts.error = {"type": type(error).__name__, "message": self.gate.text(error_message(error))[:2000]}
        self._write(self.scope(), "end", {"status": facts.status, "steps": facts.steps})
        self.save()
        self._writer.close()

    # -- inside -----------------------------------------------------------------------------------

    def _place(self, scope: Scope) -> dict[str, object]:
        lane = scope.lane
        place: dict[str, object] = {"parent": scope.parent, "lane": lane.path}
        if lane.path not in self._forked_lanes:
            self._forked_lanes.add(lane.path)
            place["fork"] = lane.forked_at
        return place

    def _write(self, scope: Scope, kind: str, members: Mapping[str, object]) -> int:
        lane, lock = scope.lane, self._lock
        held = lock.acquire(False) or lock.acquire(timeout=self.recorder.disk.patience)  # its holder may hang
        try:
            drawn: Lane | None = lane
            while drawn is not None:
                if drawn.draws:
                    self.flush_draws(drawn)
                drawn = drawn.parent
            if kind in _COUNTED and not scope.inside_tool:
                lane.events += 1
            if kind in _BEGINS:
                self.facts.steps += 1
            if self.gate.count != self._redacted:
                self._redacted = self.gate.count
                members = self._with_surrogates(members)
            members = members if self.handoffs is None else self.handoffs.beside(scope, members)
            seq = self._last = self._writer.event(kind, members)
            if self.facts.ended_at is not None and kind in _COUNTED:
                self.save()  # a background task that outlived the root
            return seq
        finally:
            if held:
                lock.release()

    def _with_surrogates(self, members: Mapping[str, object]) -> Mapping[str, object]:
        """Integers that stand for redacted ones are named beside the body that holds them."""
        known = self.gate.surrogates()
        new = known[self._surrogates :]
        self._surrogates = len(known)
        return {**members, "surrogates": [list(pair) for pair in new]} if new else members

    def flush_draws(self, lane: Lane) -> None:
        """Write the values that the agent's code drew in a lane, ahead of its next event."""
        held = self._lock.acquire(timeout=self.recorder.disk.patience)
        try:
            draws, lane.draws = lane.draws, []
            self.drawing.discard(lane)
            self._drawn += len(draws)
            if self._drawn <= MAX_DRAWS_PER_RUN:
                self._writer.event("draws", {"lane": lane.path, "draws": draws})
            elif not self.draws_cut:
                self.draws_cut = True
                what = "clock and random values are not pinned from here: too many"
                self._writer.event("hole", {"of": None, "what": what})
        finally:
            if held:
                self._lock.release()

    @classmethod
    def after_fork(cls) -> None:
        """In a forked child: a new writer for every run that was open, so that no file has two writers."""
        for run in list(cls._live):
            here = scopes.here()
            parent = here.parent if here is not None and here.run is run else None
            recorder = run.recorder
            run._lock = threading.RLock()
            run.is_child, run.handoffs = True, None
            run.effects = RunEffects()
            run._forked_lanes = set()
            run._writer = RunWriter(
                recorder.disk, run._writer.directory, recorder.new_writer_id(), recorder.hello(parent)
            )

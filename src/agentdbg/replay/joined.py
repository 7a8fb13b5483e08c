"""A process that the program of a replay started: linked to the first one, guarded and served from the record."""

from __future__ import annotations

import atexit
import json
import os
import sys
from collections.abc import Callable, Mapping
from contextlib import suppress
from typing import TYPE_CHECKING, Any, NoReturn

from agentdbg.model.records import StepStatus
from agentdbg.recording import child_places, children, coverage, handoffs, pins, plain_tools, scope, starts
from agentdbg.recording.calls import Call, ReplayStop
from agentdbg.recording.process import recorder
from agentdbg.recording.start import install as install_seams
from agentdbg.recording.starts import COMMAND, Start
from agentdbg.replay import cassette as cassettes
from agentdbg.replay import layers, libraries
from agentdbg.replay.answers import ExactAnswers
from agentdbg.replay.cassette import Cassette, RecordedCall
from agentdbg.replay.clock import RecordedDraws
from agentdbg.replay.guard import Guard, leaky_modules
from agentdbg.replay.kin import MARKER, Elsewhere, Kin
from agentdbg.replay.process_link import Link, Message, leave
from agentdbg.replay.reporting import Reporter, step_now
from agentdbg.replay.set_up import set_up

if TYPE_CHECKING:
    from agentdbg.replay.timers import Timers


class RemoteAnswers(ExactAnswers):
    """Answers of a process that asks the first one which recorded call a call is."""

    def __init__(self, cassette: Cassette, link: Link) -> None:
        super().__init__(cassette, self._tell_first)
        self._order.others = Elsewhere()
        self._link = link
        self._steps = {call.step: call for call in cassette.calls}

    def _tell_first(self, message: Mapping[str, object]) -> None:
        self._link.send({"do": "tell", "message": message})

    def _match(self, call: Call) -> RecordedCall | None:
        if self._stop is not None:
            raise self._stop
        about = {"step": call.step, "kind": call.kind.value, "name": call.name, "lane": call.lane}
        answer = self._link.ask({"do": "match", "fingerprint": call.fingerprint, **about})
        if "stop" in answer:
            raise self.stop_here(str(answer["stop"]))
        if answer.get("recorded") is None:
            return None
        recorded = self._steps[str(answer["recorded"])]
        with self._changed:
            self._matched[call.step] = self._by_recorded[recorded.step] = recorded
            self._order.asked(recorded)
        return recorded

    def finished(self, call: Call, status: StepStatus) -> None:
        """An outcome is in the replay's record: all processes may go on to the next."""
        super().finished(call, status)
        recorded = self._matched.get(call.step)
        if recorded is not None and recorded.ended is not None:
            self._link.send({"do": "take", "place": recorded.ended})

    def latch(self, stop: ReplayStop, message: dict[str, object]) -> ReplayStop:
        """End the replay once, in all processes."""
        with self._changed:
            if self._stop is not None:
                return self._stop
            self._stop = stop
        self._order.wake_all()
        self._link.ask({"do": "latch", "stop": str(stop), "message": message})
        return stop

    def stop_here(self, why: str) -> ReplayStop:
        """Another process has ended the replay."""
        with self._changed:
            self._stop = found = self._stop or ReplayStop(why)
        self._order.wake_all()
        return found

    def hear(self, message: Message) -> None:
        """What the first process tells everybody."""
        if "take" in message:
            self._order.take(int(message["take"]))
        elif "stop" in message:
            self.stop_here(str(message["stop"]))

    def take_over(self, timers: Timers, taken: list[int]) -> None:
        """Go on where the replay is."""
        self._order.timers = timers
        timers.others = Elsewhere()
        for place in taken:
            self._order.take(place)

    @property
    def held(self) -> Callable[[], bool]:
        """Whether a person holds calls here."""
        return self._order.held

    @property
    def order_lost(self) -> bool:
        """Whether an outcome was given out before its turn."""
        return self._order.lost


class Joined:
    """What this process has of the replay.

    Attributes:
        now: The one of this process.
    """

    now: Joined | None = None

    def __init__(self, address: str, kind: str) -> None:
        """Say hello to the first process; ends this one when it is not expected."""
        self._early: list[Message] = []
        self._answers: RemoteAnswers | None = None
        self.link = Link(address, self._heard, gone=leave)
        about = {"kind": kind, "pid": os.getpid(), "argv": list(sys.orig_argv)}
        self.about = self.link.ask({"do": "hello", **about})
        if "refused" in self.about:
            leave()
        Joined.now, starts.failed = self, self.start_failed

    def _heard(self, message: Message) -> None:
        if self._answers is None:
            self._early.append(message)
        else:
            self._answers.hear(message)

    def answered_by(self, answers: RemoteAnswers, timers: Timers) -> None:
        """From now on what the others do is told to these answers."""
        answers.take_over(timers, [int(place) for place in self.about["taken"]])
        early, self._answers = self._early, answers
        for message in [*early, *([{"stop": self.about["stop"]}] if self.about.get("stop") else [])]:
            answers.hear(message)

    def may_start(self, start: Start) -> bool:
        """Whether a start is due."""
        return bool(self.link.ask({"do": "start", "how": start.how, "what": start.what})["may"])

    def start_failed(self) -> None:
        """A start that was due came to nothing."""
        self.link.send({"do": "failed"})

    def tell(self, message: Mapping[str, object]) -> None:
        """Tell the parent of the replay."""
        self.link.send({"do": "tell", "message": message})

    def said(self, state: str) -> None:
        """A worker of a pool says whether it has something to do."""
        self.link.send({"do": "state", "said": state})


def begin() -> None:
    """Join the replay from a Python that was just started; called by the bootstrap, ahead of the program."""
    address, _, place = os.environ[MARKER].partition("|")
    with open(place, "rb") as file:
        spec: dict[str, Any] = json.load(file)
    coverage.switch_off()
    joined = Joined(address, "exec")
    found = recorder()
    if found is None:
        raise RuntimeError("recording is switched off")
    tape = cassettes.read(spec["cassette"])
    answers = RemoteAnswers(tape, joined.link)
    draws = RecordedDraws(tape.draws, float(spec.get("started_at") or 0.0), tape.began)
    set_up(found, spec, tape, answers)
    timers = answers.keep_time(draws.time)
    handoffs.after_fork()
    draws.time.to(float(joined.about["now"]))
    joined.answered_by(answers, timers)
    _know_machine(str(joined.about.get("processor") or ""))
    pins.drawer = draws
    pins.skip_sleeps(timers.sleep)
    kin = Kin(address, spec["processes"]["own"], joined.may_start, _role(str(joined.about["role"])))
    _wrap_tools(spec)
    children.told = joined.said
    kin.settle()
    layers.keep_temporary_files_as_first(spec)
    libraries.answer_from_cache()
    scope.enter_program(child_places.lane_of_start())
    install_seams()
    reporter = Reporter(answers, joined.tell)
    guard = Guard(
        spec["allow_write"], spec["tolerate"], step_now, reporter.report, kin.allows, spec.get("started") or ()
    )
    kin.refuse = guard.refuse
    guard.arm()
    follow_forks(reporter, kin, draws, None)
    atexit.register(_say_last, answers, draws, joined)


def follow_forks(reporter: Reporter, kin: Kin, draws: RecordedDraws, drop: Callable[[], None] | None) -> None:
    """Have every process that is forked from this one join the replay by itself."""

    def joins() -> None:
        try:
            _join_forked(reporter, kin, draws, drop)
        except OSError:
            leave()  # there is no replay any more

    os.register_at_fork(after_in_child=joins)


def _join_forked(reporter: Reporter, kin: Kin, draws: RecordedDraws, drop: Callable[[], None] | None) -> None:
    start = starts.now.start
    if drop is not None:
        drop()
    if Joined.now is not None:
        Joined.now.link.close()
    before = reporter.answers
    joined = Joined(kin.address, "preexec" if start is not None and start.how == COMMAND else "fork")
    answers = RemoteAnswers(before.cassette, joined.link)
    timers = before.timers
    draws.starts_anew()
    timers.starts_anew(answers.held)
    joined.answered_by(answers, timers)
    reporter.answers, reporter.tell = answers, joined.tell
    kin.may_start, kin.role = joined.may_start, "child"
    children.told = joined.said
    found = recorder()
    if found is not None:
        found.answerer = answers
    atexit.register(_say_last, answers, draws, joined)


def _say_last(answers: RemoteAnswers, draws: RecordedDraws, joined: Joined) -> None:
    if Joined.now is joined:
        last = {"unpinned": draws.unpinned, "order_lost": answers.order_lost, "leaky": leaky_modules()}
        joined.link.send({"do": "end", **last})


def _role(role: str) -> str:
    return "forkserver" if role == "forkserver" else "child"


def _know_machine(processor: str) -> None:
    """Let ``platform`` know what the first process has asked: SDKs put it into headers."""
    import platform

    with suppress(AttributeError):
        vars(platform.uname())["processor"] = processor


def _wrap_tools(spec: Mapping[str, Any]) -> None:
    tools = (spec.get("launch") or {}).get("tools")
    if isinstance(tools, dict) and tools:
        plain_tools.install({str(name): str(effect) for name, effect in tools.items()})


def end_forked(status: int) -> NoReturn:
    """End a forked process as its interpreter would."""
    with suppress(BaseException):
        sys.stdout.flush()
        sys.stderr.flush()
    os._exit(status)

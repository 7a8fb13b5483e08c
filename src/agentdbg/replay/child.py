"""The replay's child process: the recorded entry point, called again with the recorder in replay mode, guard armed.

It is started by ``child_start``, with the path of its specification as its argument.

Everything that the parent must know goes over a socket pair as JSON lines, the replay's own record to a scratch store.
Runs on the standard library, in the agent's environment.
"""

from __future__ import annotations

import atexit
import json
import os
import platform
import sys
import threading
from collections.abc import Callable, Mapping
from contextlib import suppress
from typing import TYPE_CHECKING, Any, NoReturn

from agentdbg.recording import coverage, pins, scope
from agentdbg.recording.calls import ReplayStop
from agentdbg.recording.http_calls import give_up_open
from agentdbg.recording.launch.ending import exit_status_text
from agentdbg.recording.process import recorder
from agentdbg.recording.start import install as install_seams
from agentdbg.replay import cassette as cassettes
from agentdbg.replay import kept_descriptors, layers, libraries, program, program_error
from agentdbg.replay.answers import ExactAnswers
from agentdbg.replay.by_hand import by_hand
from agentdbg.replay.clock import RecordedDraws
from agentdbg.replay.control import Aborted, Control
from agentdbg.replay.entry import CannotStart, load, start
from agentdbg.replay.guard import Guard, Refused, leaky_modules
from agentdbg.replay.joined import end_forked, follow_forks
from agentdbg.replay.pauses import Pauses
from agentdbg.replay.processes import Hub, SharedAnswers, first_process
from agentdbg.replay.reporting import Reporter, step_now
from agentdbg.replay.set_up import set_up

if TYPE_CHECKING:
    from agentdbg.replay.kin import Kin
    from agentdbg.replay.regression_child import RegressionChild

RUNS_AT_IMPORT = (
    "the program calls its agent while it is imported, so that it cannot be restored: "
    "put the calls below if __name__ == '__main__'"
)
search_path: list[str] = []
"""Where the program's modules are found, and what a replay loads later; before it is set, the replay's own alone."""
WAIT_S, IDLE_WAITS = 0.05, 40


class Over(ReplayStop):
    """The recorded run has been replayed; the program would go on with another one."""


def main(spec_path: str) -> int:
    """Run one replay; returns the process's exit status."""
    with open(spec_path, "rb") as file:
        spec: dict[str, Any] = json.load(file)
    control = Control(int(spec["control_fd"]))
    _ask_platform()
    _give_standard_input(spec)
    try:
        if spec["kernel"]:
            spec["allow_write"] = layers.enter(spec, control.tell, control.wait)
        replay = Replay(spec, control)
    except layers.NoKernelGuard as problem:
        control.tell({"event": "no_kernel", "reason": str(problem)})
        return 3
    except CannotStart as problem:
        control.tell({"event": "cannot_start", "reason": str(problem)})
        return 3
    return replay.run()


class Replay:
    """One replay in this process: answers, pins and guard are in place once it is made."""

    def __init__(self, spec: Mapping[str, Any], control: Control) -> None:
        coverage.switch_off()  # the guard looks
        found = recorder()
        if found is None:
            raise CannotStart("recording is switched off (AGENTDBG=off)")
        tape = cassettes.read(spec["cassette"])
        self._regression = regression_of(spec, tape, control.tell)
        self._hub: Hub | None = None
        exact = SharedAnswers if spec.get("processes") else ExactAnswers
        self.answers = exact(tape, control.tell) if self._regression is None else self._regression.answers
        self._spec, self._control = spec, control
        self._pauses = Pauses(control.tell, spec.get("control") or {}, self.answers.hold)
        if spec.get("control") is not None:
            self.answers.gate = self._pauses
        self._draws = RecordedDraws(tape.draws, float(spec.get("started_at") or 0.0), tape.began)
        self._tape_breaks_off = tape.ends_early
        restore = spec.get("restore") or {}
        self._seeds, self._resumes = "seed" in restore, bool(restore) and "seed" not in restore
        self._roots = 0
        self._importing = self._ended = False
        self._pid = os.getpid()
        set_up(found, spec, tape, self.answers)
        found.run_id = spec["run_id"]
        self._launch = spec.get("launch")
        self._whole = self._launch is not None and not spec.get("root")
        self._found = found
        found.seen_root = not self._whole  # calls outside a root were no part of the recorded run
        found.begin_root = self._begin_root  # type: ignore[method-assign]  # this process's recorder alone
        found.end_root = self._end_root  # type: ignore[method-assign]
        pins.drawer = self._draws
        if self._seeds:
            from agentdbg.replay import resumed

            resumed.seed(restore, self.answers, self._draws)
        again = self._regression
        sleep = self.answers.keep_time(self._draws.time).sleep if again is None else again.slept(self._draws.sleep)
        pins.skip_sleeps(lambda seconds: None if by_hand() else sleep(seconds))
        sys.argv = list(spec["argv"])
        here = os.path.dirname(os.path.abspath(__file__))
        sys.path[:] = [place for place in dict.fromkeys(search_path or sys.path) if place != here]
        self._reporter = Reporter(self.answers, control.tell)
        kin = self._with_others()
        install_seams()
        libraries.answer_from_cache()
        self._arm(kin)
        control.listen(self._take)
        control.tell({"event": "started", "guard": "audit"})

    def _arm(self, kin: Kin | None) -> None:
        """Put the guard in force."""
        if kin is None:
            libraries.track_nothing()
        kept_descriptors.keep()
        spec, report = self._spec, self._reporter.report
        allow = None if self._regression is None else self._regression.allows
        allow = allow if kin is None else kin.allows
        guard = Guard(spec["allow_write"], spec["tolerate"], step_now, report, allow, spec.get("started") or ())
        guard.arm()
        if self._regression is not None:
            self._regression.watch_wire(guard.refuse)
        if kin is not None:
            kin.refuse = guard.refuse
            follow_forks(self._reporter, kin, self._draws, self._drop)

    def _with_others(self) -> Kin | None:
        """Be the first of several processes, where the record has them."""
        if not isinstance(self.answers, SharedAnswers):
            return None

        def about() -> dict[str, object]:
            return {"now": self._draws.time.now(), "processor": platform.uname().processor}

        self._hub, kin = first_process(self._spec, self.answers, self._control.tell, about)
        self.answers.share(self._hub)
        kin.settle()
        return kin

    def _drop(self) -> None:
        """This is a forked process: what the first one talks through is not its own."""
        self._control.close()
        if self._hub is not None:
            self._hub.forget()

    def _take(self, command: Mapping[str, Any]) -> None:
        """A command of the parent's."""
        if command.get("do") == "abort":
            self.answers.latch(Aborted("stopped by a person"), {"event": "aborted"})
        elif command.get("do") == "reply" and self._regression is not None:
            self._regression.take(command)
        else:
            self._pauses.take(command)

    def run(self) -> int:
        """Call the recorded entry point and tell how it ended."""
        error: BaseException | None = None
        if self._whole:
            self._tell_before_hard_exit()
        try:
            self._run()
        except SystemExit as problem:
            error = None if problem.code in (None, 0) or (self._launch is not None and not self._whole) else problem
        except (ReplayStop, Refused):
            pass  # latched: the parent knows
        except CannotStart as problem:
            if not self._roots and os.getpid() == self._pid:
                self._ended = True
                self._control.tell({"event": "cannot_start", "reason": str(problem)})
                return 3
        except BaseException as problem:
            error = problem
        if os.getpid() != self._pid:
            return _end_of_forked(error)
        self._await_threads()
        if self._whole and not self._tape_breaks_off and self.answers.stopped() is None:
            _wind_down()
        if self._hub is not None:
            self._hub.await_others(self.answers.left, self.answers.stopped)
        return self._end(error)

    def _run(self) -> None:
        if self._launch is not None:
            scope.enter_program()
            if self._hub is not None and self._whole:
                scope.program_run.begin()  # so that processes find it
            atexit._clear()  # what is called at the end is the program's
            self.answers.begins()
            program.run(self._launch)
            return
        self._importing = True
        program.declare_tools(self._spec.get("tools"))
        entry = load(self._spec["entry"], self._spec.get("file"))
        self._importing = False
        if not self._roots:
            self._start(entry)

    def _start(self, entry: Callable[..., Any]) -> None:
        arguments = self._spec["arguments"]
        if self._spec.get("asgi"):
            from agentdbg.replay import asgi

            asgi.serve(entry, self._spec["asgi"], arguments, self.answers.left)
        elif self._spec.get("celery"):
            from agentdbg.replay import celery

            celery.apply(entry, arguments)
        elif self._resumes:
            from agentdbg.replay import resumed

            resumed.go_on(entry, arguments, self._spec["restore"])
        else:
            start(entry, arguments, self._spec.get("items"))

    def _await_threads(self) -> None:
        """Let threads that went on behind the agent's end, and are due recorded outcomes, come to their end too."""
        idle, before = 0, self.answers.left()
        while before and idle < IDLE_WAITS and self.answers.stopped() is None:
            others = [thread for thread in threading.enumerate() if thread is not threading.current_thread()]
            if not others:
                return
            others[-1].join(WAIT_S)
            left = self.answers.left()
            idle, before = (0 if left < before or self._pauses.holding else idle + 1), left

    def _end(self, error: BaseException | None) -> int:
        if self._seeds and self._roots and self.answers.stopped() is None:
            from agentdbg.replay import resumed

            resumed.check_seeded()
        stop, self._ended = self.answers.stopped(), True
        if self._whole:
            self._end_whole(error)
        elif stop is None and not self._roots:
            reason = program_error.in_one_line(error) if error is not None else "the entry point is no agent any more"
            if error is not None:
                program_error.show(error)
            self._control.tell({"event": "cannot_start", "reason": f"the program cannot be loaded: {reason}"})
            return 3
        give_up_open()
        said: dict[str, object] = {
            "event": "done" if stop is None or isinstance(stop, Over) else "stopped",
            "error": program_error.in_one_line(error) if error is not None else None,
            "unpinned": self._draws.unpinned,
            "leaky": leaky_modules(),
        }
        others = {} if self._hub is None else self._hub.report()
        self._control.tell({**said, **self.answers.report(), **others})
        return 0

    def _tell_before_hard_exit(self) -> None:
        """A program that ends by ``os._exit`` ends without a word: say for it how."""
        exit_now, mine = os._exit, os.getpid()

        def hard_exit(status: int) -> NoReturn:
            if os.getpid() == mine and not self._ended:
                self._end(SystemExit(status) if status else None)
            exit_now(status)

        os._exit = hard_exit

    def _end_whole(self, error: BaseException | None) -> None:
        """The program was the run: end it as the end of its process did."""
        give_up_open()
        run = self._found.implicit_run()
        if isinstance(error, SystemExit):
            status = error.code if isinstance(error.code, int) else 1
            error = SystemExit(exit_status_text(status))
        elif error is not None:
            program_error.show(error)
        if run is not None:
            run.finish("ok" if error is None else "failed", error)

    def _begin_root(self) -> int:
        """A root call starts; the second one of a program that calls its agent while it is imported is another run."""
        if self._importing and self._resumes:
            self._control.tell({"event": "cannot_start", "reason": RUNS_AT_IMPORT})
            raise self._over()
        self._roots += 1
        if self._roots == 1 and not self._whole:
            self.answers.begins()
        if self._roots == 1 and self._importing:
            self._control.tell({"event": "at_import", "file": os.path.basename(str(self._spec.get("file")))})
        if self._whole or (self._roots > 1 and (self._importing or self._launch is not None)):
            raise self._over()
        return self._roots

    def _end_root(self) -> None:
        """A root call ended; what a program that calls its agent while it is imported does then is not of the run."""
        if (self._importing or self._launch is not None) and not self.answers.left():
            raise self._over()

    def _over(self) -> ReplayStop:
        return self.answers.latch(Over("the recorded run is over"), {"event": "over"})


def regression_of(
    spec: Mapping[str, Any], tape: cassettes.Cassette, tell: Callable[[Mapping[str, object]], None]
) -> RegressionChild | None:
    """What a regression replay needs beside; ``None`` in an exact one."""
    if not spec.get("regression"):
        return None
    from agentdbg.replay.regression_child import RegressionChild

    return RegressionChild(spec["regression"], tape, tell)


def _wind_down() -> None:
    """End a program as its interpreter does: threads first that are no daemons, then what it left to the exit."""
    with suppress(ReplayStop, Refused):  # latched: the parent knows
        threading._shutdown()  # type: ignore[attr-defined]  # what the interpreter itself calls
        atexit._run_exitfuncs()


def _end_of_forked(error: BaseException | None) -> NoReturn:
    """End a process that the program has forked and that came out at its end."""
    status = 0
    if isinstance(error, SystemExit):
        status = error.code if isinstance(error.code, int) else int(error.code is not None)
    elif error is not None:
        sys.excepthook(type(error), error, error.__traceback__)
        status = 1
    give_up_open()
    _wind_down()
    end_forked(status)


def _give_standard_input(spec: Mapping[str, Any]) -> None:
    """Let standard input be what the recorded program read from it."""
    place = spec.get("stdin")
    if not place:
        return
    fd = os.open(place, os.O_RDONLY)
    os.dup2(fd, 0)
    os.close(fd)
    if spec.get("terminal") and sys.stdin is not None:
        sys.stdin.isatty = lambda: True  # type: ignore[method-assign]  # what the program was told


def _ask_platform() -> None:
    """Let ``platform`` ask the machine ahead of the guard: SDKs put its answers, which it keeps, into headers."""
    platform.uname().processor  # noqa: B018  # asks ``uname -p`` on first use
    platform.platform()


def run_and_end() -> NoReturn:
    """Run the replay that the command line names, and end the process."""
    code = main(sys.argv[1])
    try:
        sys.stdout.flush()
        sys.stderr.flush()
    finally:
        os._exit(code)


if __name__ == "__main__":
    run_and_end()

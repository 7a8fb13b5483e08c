"""The replay's child process: the recorded entry point, called again with the recorder in replay mode, guard armed.

    python -m agentdbg.replay.child SPEC.json

Everything that the parent must know goes over a socket pair as JSON lines, the replay's own record to a scratch store.
Runs on the standard library, in the agent's environment.
"""

from __future__ import annotations

import json
import os
import platform
import sys
import threading
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import asdict
from typing import Any

from agentdbg.model.fingerprint import VolatileRules
from agentdbg.recording import coverage, pins, scope
from agentdbg.recording.calls import ReplayStop
from agentdbg.recording.http_calls import give_up_open
from agentdbg.recording.launch.ending import exit_status_text
from agentdbg.recording.process import recorder
from agentdbg.recording.start import install as install_seams
from agentdbg.replay import cassette as cassettes
from agentdbg.replay import layers, program
from agentdbg.replay.answers import ExactAnswers
from agentdbg.replay.clock import RecordedDraws
from agentdbg.replay.entry import CannotStart, load, start
from agentdbg.replay.guard import Guard, Refused, Violation, leaky_modules

MAX_TOLERATED = 1000
WAIT_S, IDLE_WAITS = 0.05, 40


class Stopped(ReplayStop):
    """The guard stopped an effect."""


class Control:
    """The child's end of the control channel."""

    def __init__(self, fd: int) -> None:
        self._fd = fd
        self._lock = threading.Lock()

    def tell(self, message: Mapping[str, object]) -> None:
        """Send one message; a parent that is gone is no reason to fail."""
        line = json.dumps(message, default=str).encode() + b"\n"
        with self._lock, suppress(OSError):  # the parent ended first
            while line:
                line = line[os.write(self._fd, line) :]

    def wait(self) -> None:
        """Wait until the parent says to go on."""
        os.read(self._fd, 1)


class Over(ReplayStop):
    """The recorded run has been replayed; the program would go on with another one."""


def main(spec_path: str) -> int:
    """Run one replay; returns the process's exit status."""
    with open(spec_path, "rb") as file:
        spec: dict[str, Any] = json.load(file)
    control = Control(int(spec["control_fd"]))
    _ask_platform()
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
        self.answers = ExactAnswers(tape, control.tell)
        self._spec, self._control = spec, control
        self._draws = RecordedDraws(tape.draws, float(spec.get("started_at") or 0.0))
        self._roots = 0
        self._importing = False
        self._tolerated = 0
        found.answerer = self.answers
        found.capture_environment = False
        found.surrogates = tape.surrogates
        found.redacting = bool(spec["redacting"])  # the record's hashes hold under its own rules alone
        found.run_id = spec["run_id"]
        found.mode_meta = dict(spec["meta"])
        found.roots = dict(spec["roots"])
        found.volatile = VolatileRules(spec["volatile"]["version"], spec["volatile"]["paths"])
        self._launch = spec.get("launch")
        self._whole = self._launch is not None and not spec.get("root")
        self._found = found
        found.seen_root = not self._whole  # calls outside a root were no part of the recorded run
        found.begin_root = self._begin_root  # type: ignore[method-assign]  # this process's recorder alone
        found.end_root = self._end_root  # type: ignore[method-assign]
        pins.drawer = self._draws
        pins.skip_sleeps(self._draws.sleep)
        sys.argv = list(spec["argv"])
        here = os.path.dirname(os.path.abspath(__file__))
        sys.path[:] = [place for place in dict.fromkeys(sys.path) if place != here]
        install_seams()
        guard = Guard(spec["allow_write"], spec["tolerate"], _where, self._report)
        guard.arm()
        control.tell({"event": "started", "guard": "audit"})

    def run(self) -> int:
        """Call the recorded entry point and tell how it ended."""
        error: BaseException | None = None
        try:
            self._run()
        except SystemExit as problem:
            error = None if problem.code in (None, 0) or (self._launch is not None and not self._whole) else problem
        except (ReplayStop, Refused):
            pass  # latched: the parent knows
        except CannotStart as problem:
            if not self._roots:
                self._control.tell({"event": "cannot_start", "reason": str(problem)})
                return 3
        except BaseException as problem:
            error = problem
        self._await_threads()
        return self._end(error)

    def _run(self) -> None:
        if self._launch is not None:
            scope.enter_program()
            program.run(self._launch)
            return
        self._importing = True
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
            idle, before = (0 if left < before else idle + 1), left

    def _end(self, error: BaseException | None) -> int:
        stop = self.answers.stopped()
        if self._whole:
            self._end_whole(error)
        elif stop is None and not self._roots:
            reason = _last_line(error) if error is not None else "the entry point is no agent any more"
            if error is not None:
                sys.excepthook(type(error), error, error.__traceback__)
            self._control.tell({"event": "cannot_start", "reason": f"the program cannot be loaded: {reason}"})
            return 3
        give_up_open()
        said: dict[str, object] = {
            "event": "done" if stop is None or isinstance(stop, Over) else "stopped",
            "error": _last_line(error) if error is not None else None,
            "unpinned": self._draws.unpinned,
            "leaky": leaky_modules(),
        }
        self._control.tell({**said, **self.answers.report()})
        return 0

    def _end_whole(self, error: BaseException | None) -> None:
        """The program was the run: end it as the end of its process did."""
        give_up_open()
        run = self._found.implicit_run()
        if isinstance(error, SystemExit):
            status = error.code if isinstance(error.code, int) else 1
            error = SystemExit(exit_status_text(status))
        elif error is not None:
            sys.excepthook(type(error), error, error.__traceback__)
        if run is not None:
            run.finish("ok" if error is None else "failed", error)

    def _begin_root(self) -> int:
        """A root call starts; the second one of a program that calls its agent while it is imported is another run."""
        self._roots += 1
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

    def _report(self, violation: Violation) -> None:
        kind = "tolerated" if violation.tolerated else "refused"
        message = {**asdict(violation), "effect": violation.event, "event": kind}
        if (here := scope.current()) is not None:  # the run knows values that no rule finds
            message |= {name: here.run.gate.text(str(message[name])) for name in ("detail", "frame")}
        if not violation.tolerated:
            self.answers.latch(Stopped(f"{violation.event} {violation.detail}"), message)
            return
        self._tolerated += 1
        if self._tolerated <= MAX_TOLERATED:
            self._control.tell(message)


def _ask_platform() -> None:
    """Let ``platform`` ask the machine ahead of the guard: SDKs put its answers, which it keeps, into headers."""
    platform.uname().processor  # noqa: B018  # asks ``uname -p`` on first use
    platform.platform()


def _where() -> str | None:
    here = scope.current()
    return None if here is None else here.parent


def _last_line(error: BaseException) -> str:
    import traceback

    return traceback.format_exception_only(error)[-1].strip()


if __name__ == "__main__":
    code = main(sys.argv[1])
    try:
        sys.stdout.flush()
        sys.stderr.flush()
    finally:
        os._exit(code)

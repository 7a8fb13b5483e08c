"""The recorder of this process: its store, settings, disk, key, and the runs it is writing."""

from __future__ import annotations

import atexit
import contextvars
import hmac
import os
import re
import sys
import threading
import time
from collections.abc import Callable
from dataclasses import asdict
from functools import partial
from typing import TYPE_CHECKING, Literal, TypeVar

from agentdbg.model.canonical import canonical
from agentdbg.model.records import Effect, Json
from agentdbg.recording import launched
from agentdbg.recording import scope as scopes
from agentdbg.recording.host import keep_interrupt_status, say, working_directory
from agentdbg.recording.interrupts import let_through
from agentdbg.recording.start import enabled as enabled
from agentdbg.store.disk import Disk
from agentdbg.store.journal import FORMAT
from agentdbg.store.liveness import here as owner_here

if TYPE_CHECKING:
    from agentdbg.model.fingerprint import VolatileRules
    from agentdbg.recording.calls import Answerer
    from agentdbg.recording.encoding import Encoded
    from agentdbg.recording.run import RunRecording
    from agentdbg.recording.scope import Lane, Scope

T = TypeVar("T")
RUN_ID = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,127}\Z")
ASIDE = "it is what the program did outside its root calls, which are runs of their own"
ENVIRONMENT_S = 3.0
"""So long the end of the process, or a fork, waits for the capture of the environment."""


class Recorder:
    """State of one recording process. ``answerer`` is set in a replay child only."""

    def __init__(self) -> None:
        from agentdbg.config.paths import store_url
        from agentdbg.config.settings import settings
        from agentdbg.redaction.keys import load_key

        self.settings = settings()
        self.store = _directory(store_url(None, self.settings))
        self.key = load_key()
        self.redacting = self.settings.flag("recording.redaction")
        self.disk = Disk(
            self.warn,
            durability=self.settings.text("recording.durability") or "none",
            group=self.settings.flag("store.group"),
        )
        self.answerer: Answerer | None = None
        self.run_id: str | None = os.environ.get("AGENTDBG_RUN_ID") or None
        self.mode_meta: dict[str, object] = {}
        self.capture_environment = True
        self.surrogates: tuple[tuple[int, str], ...] = ()
        self.volatile: VolatileRules | None = None
        self.seen_root = False
        self.root_calls = 0
        self.serving = False  # requests of others are the roots here: the program itself is no run
        self.child_process = False  # started by a recorded process, whose launch is the one to repeat
        self.owner = owner_here()
        self._main = getattr(sys.modules.get("__main__"), "__file__", None)
        self._lock = threading.RLock()
        self._warned = False
        self._implicit: RunRecording | None = None
        self._aside: RunRecording | None = None
        self._inherited: Scope | None | Literal[""] = ""  # not asked yet
        self.roots = {"root": working_directory(), "venv": sys.prefix, "home": os.path.expanduser("~")}
        self._prepared = False
        self._capturing: threading.Thread | None = None
        self._environment: dict[str, Json] | None = None
        self.environment_text: Encoded | None = None
        self._waiting_for_environment: list[RunRecording] = []

    def warn(self, message: str) -> None:
        """One line on stderr, once per process; the agent goes on."""
        if self._warned:
            return
        self._warned = True
        say(message)

    def guard(self, function: Callable[[], T], fallback: T) -> T:
        """Run recorder code that must never raise into the agent."""
        try:
            return function()
        except Exception as error:
            self.fault(error)
            return fallback

    def fault(self, error: Exception) -> None:
        """Count a fault of the recorder itself and say so once. Never raises, not even where no stack is left.

        What a signal handler of the program's raised meanwhile is no fault: that goes on to the program.
        """
        let_through(error)
        try:
            self.disk.stats.errors += 1
            self.disk.stats.last_error = f"{type(error).__name__}: {error}"
            self._describe(error)
        except Exception:
            self.disk.stats.last_error = "fault"

    def _describe(self, error: Exception) -> None:
        if os.environ.get("AGENTDBG_DEBUG"):
            import traceback

            traceback.print_exception(error)
        place, where = "?", error.__traceback__
        while where is not None:
            place = f"{os.path.basename(where.tb_frame.f_code.co_filename)}:{where.tb_lineno}"
            where = where.tb_next
        self.warn(f"recording degraded, the agent goes on: {type(error).__name__} in {place}")

    def fault_io(self, error: OSError) -> None:
        """The store cannot be written: say so once and go on."""
        self.disk.failed(error)

    def prepare_store(self) -> None:
        """Create the store on first use."""
        if self._prepared:
            return
        self._prepared = True
        try:
            if not os.path.isdir(f"{self.store}/runs"):
                self.disk.make_dir(f"{self.store}/runs")
            if not os.path.exists(f"{self.store}/store.json"):
                self.disk.replace(f"{self.store}/store.json", b'{"format":"%s"}\n' % FORMAT.encode())
        except FileExistsError:
            pass  # another process was faster
        except OSError as error:
            self.fault_io(error)

    def hello(self, parent: str | None) -> dict[str, object]:
        """Members of a ``writer`` record. ``parent``: the step that spawned this process."""
        return {**self.owner, "parent": parent}

    def seal(self, run_id: str, entry: object) -> str:
        """Proof that this user recorded this entry point: only the holder of the key can make it."""
        return seal(self.key.secret, run_id, entry)

    def environment(self, run: RunRecording) -> None:
        """Add the environment to a run: at once when it is known, else when the capturing thread has it."""
        if not self.capture_environment:
            return
        with self._lock:
            if self._environment is not None:
                run.write_environment(self._environment)
                return
            self._waiting_for_environment.append(run)
            if self._capturing is not None:
                return
            self._capturing = threading.Thread(target=self._capture, name="agentdbg-environment", daemon=True)
        try:
            contextvars.Context().run(self._capturing.start)
        except RuntimeError:  # the program is at its end, where no thread starts any more
            self._capturing = None
            self._capture()

    def await_environment(self) -> None:
        """Let the capturing thread end, within bounds: at exit, and before a fork, which threads would endanger."""
        thread = self._capturing
        if thread is not None and thread.is_alive() and thread is not threading.current_thread():
            thread.join(ENVIRONMENT_S)

    def _capture(self) -> None:
        from agentdbg.recording.environment import capture

        failed: dict[str, Json] = {"error": "capture failed"}
        found = self.guard(lambda: capture(self.key.secret, cwd=self.roots["root"], main=self._main), failed)
        with self._lock:
            self._environment = found
            waiting, self._waiting_for_environment = self._waiting_for_environment, []
        for run in waiting:
            self.guard(partial(run.write_environment, found), None)

    def new_writer_id(self) -> str:
        """Twelve random hex digits; never from the agent's own random state."""
        return os.urandom(6).hex()

    def new_run_id(self, name: str) -> str:
        """A readable, unique run id: agent name, UTC time, random tail."""
        wanted_id = self.run_id or launched.wanted_run_id()
        if wanted_id is not None:
            wanted, self.run_id = wanted_id, None
            if RUN_ID.match(wanted):
                return wanted
            self.warn(f"run id {wanted[:60]!a} is not allowed (letters, digits, . _ -): using another")
        stem = re.sub(r"[^A-Za-z0-9]+", "-", name).strip("-")[:40] or "run"
        return f"{stem}-{time.strftime('%m%d-%H%M%S', time.gmtime())}-{os.urandom(4).hex()}"

    def begin_root(self) -> int:
        """A root call starts: from now on nothing outside a root makes a run of its own. Returns its number, from 1."""
        with self._lock:
            self.seen_root = True
            self.root_calls += 1
            return self.root_calls

    def end_root(self) -> None:
        """A root call has ended, and its run is written down; a replay stops the program here when it has all."""

    def effect_of(self, tool: str) -> Effect:
        """Side-effect level of a tool that declares none: as configured, else ``external``."""
        return Effect(self.settings.table("tools").get(tool, Effect.EXTERNAL.value))

    def neutral(self, path: str) -> str:
        """A path without this machine's directories."""
        from agentdbg.recording.paths import neutral_path

        return neutral_path(path, **self.roots)

    def inherited_scope(self) -> Scope | None:
        """Where the process that started this one stood, when that was in a run."""
        if self._inherited == "":
            from agentdbg.recording import child_places

            self._inherited = child_places.inherited(self)
        return self._inherited

    def outer_scope(self, *, aside: bool = True) -> Scope | None:
        """Where a call stands that is in no run: that of its request, of the parent process, or of this process.

        Args:
            aside: Begin the run of what a launched program does outside its root calls, where there is none yet.
        """
        inherited, place = self.inherited_scope(), scopes.unbegun()
        if inherited is not None and place is None:
            return inherited
        if place is not None:
            return place.begin() or self._aside_scope(place.lane, begin=aside)
        run = self.implicit_run()
        return None if run is None else run.scope()

    def _aside_scope(self, lane: Lane, *, begin: bool) -> Scope | None:
        """The run of what a program with root calls does outside of them: recorded, though not to be replayed apart."""
        if not launched.active or self.answerer is not None:
            return None
        with self._lock:
            if self._aside is None and begin:
                from agentdbg.recording.run import RunRecording

                self._aside = RunRecording.start(self, self._program_name(), entry={"not_replayable": [ASIDE]})
                self._aside.save()
            return None if self._aside is None else scopes.Scope(self._aside, None, lane)

    @staticmethod
    def _program_name() -> str:
        return os.path.basename(sys.argv[0] if sys.argv else "") or "process"

    def program_run(self) -> RunRecording | None:
        """The run that this process's program is: that of the process that started it, or its own."""
        inherited = self.inherited_scope()
        return self.implicit_run() if inherited is None else inherited.run

    def implicit_run(self) -> RunRecording | None:
        """The run of a process without a root; ``None`` once a root has been seen."""
        if self.seen_root or (self.serving and self._implicit is None):
            return None
        with self._lock:
            if self._implicit is None:
                from agentdbg.recording import child_places, program_run
                from agentdbg.recording.entry_point import program_entry

                self._implicit = run = program_run.begin(self, self._program_name())
                child_places.flush(run)
                if not run.is_child:
                    run.facts.entry = self.guard(lambda: program_entry(run), {})
                    run.save()
                    launched.tell("process_run", run_id=run.run_id, store=self.store)
            return self._implicit

    @property
    def begun(self) -> RunRecording | None:
        """The run of a process without a root, if it has begun."""
        return None if self.seen_root else self._implicit

    def finish(self) -> None:
        """The process ends: so does its run without a root, and the last records are written."""
        self.await_environment()
        error = getattr(sys, "last_exc", None) or getattr(sys, "last_value", None)
        from agentdbg.recording import child_places

        own = self._implicit or self.guard(self._left_to_end, None)
        if own is not None:
            self.guard(lambda: child_places.flush(own), None)
        for run in (own, self._aside):
            if run is not None:
                self.guard(partial(run.finish, "ok" if error is None else "failed", error), None)
        self.guard(lambda: self.disk.drain(2.0), None)
        if isinstance(getattr(sys, "last_value", None), KeyboardInterrupt):
            keep_interrupt_status()

    def _left_to_end(self) -> RunRecording | None:
        """The program's own run, where this process has to end it though it has made no call."""
        from agentdbg.recording import program_run

        return program_run.left_to_end(self)

    def after_fork(self) -> None:
        """In a forked child: own identity, locks and files; the parent's threads are not here."""
        self._lock = threading.RLock()
        self.owner = owner_here()
        self._capturing = None
        self._inherited = ""
        self.disk.after_fork()
        from agentdbg.recording.run import RunRecording

        RunRecording.after_fork()

    def stats(self) -> dict[str, object]:
        """Counters of this process: records, bytes, dropped, errors, queued, last_error."""
        return asdict(self.disk.stats)


def _directory(url: str) -> str:
    if "://" in url:
        raise ValueError(f"the store {url.split('://')[0]}:// cannot be recorded into; use a directory")
    return os.path.abspath(url)


def seal(secret: bytes, run_id: str, entry: object) -> str:
    """HMAC over a run's id and entry point, so that only its recorder's runs start without asking."""
    return hmac.new(secret, b"agentdbg entry\0" + canonical([run_id, entry]), "sha256").hexdigest()


_recorder: Recorder | None = None
_broken = False
_making = False
_lock = threading.RLock()


def recorder() -> Recorder | None:
    """The process's recorder, made on first use; ``None`` when recording is off or cannot start."""
    global _recorder, _broken, _making
    found = _recorder
    if found is not None:
        return found
    if _broken or not enabled():
        return None
    with _lock:
        if _recorder is None and not _broken and not _making:
            _making = True  # a signal handler that comes in between finds no recorder yet
            try:
                made = Recorder()
                _install(made)
                _recorder = made
            except Exception as error:
                let_through(error)
                _broken = True
                _say_broken(error)
            finally:
                _making = False
        return _recorder


def existing() -> Recorder | None:
    """The process's recorder if it has been made."""
    return _recorder


def _install(made: Recorder) -> None:
    from agentdbg.recording import coverage, outset, propagate

    outset.patch()
    coverage.attach(made)
    atexit.register(made.finish)
    if hasattr(os, "register_at_fork"):
        os.register_at_fork(
            before=_before_fork, after_in_parent=propagate.after_fork_in_parent, after_in_child=_after_fork
        )


def _before_fork() -> None:
    from agentdbg.recording import propagate

    if _recorder is not None:
        _recorder.await_environment()
    propagate.before_fork()


def _after_fork() -> None:
    global _lock
    from agentdbg.recording import propagate

    _lock = threading.RLock()
    propagate.after_fork_in_child()
    if _recorder is not None:
        _recorder.guard(_recorder.after_fork, None)


def _say_broken(error: Exception) -> None:
    say(f"not recording, the agent goes on: {type(error).__name__}: {error}")

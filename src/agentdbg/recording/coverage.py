"""Notes effects that no seam saw, so that the record itself says what is missing.

An audit hook sees what the interpreter does for the program: connections, processes, files, databases. What is inside a
seam's own exchange is recorded already and is left out, and so is what the recorder does. It never raises into the
program, never waits for a lock of its own and never looks at itself. Light: ``agentdbg record`` loads it before the
program; the rest comes with the recorder.

Not seen: extension modules that do their own system calls (uvloop, gRPC, libpq), SQLite's ``ATTACH``, descriptors that
were open before the hook, what a signal handler or finalizer does in the middle of the hook.
"""

from __future__ import annotations

import atexit
import os
import sys
from _thread import _local

from agentdbg.recording import starts
from agentdbg.recording.effect_events import WRITE_FLAGS, Rules, command, nothing_to_start, resolve
from agentdbg.recording.file_weight import TemporaryFiles, is_dull
from agentdbg.recording.frames import OwnFiles, asked_by, innermost, place_of, witness
from agentdbg.recording.hooks import on_standard_import
from agentdbg.recording.interrupts import let_through
from agentdbg.recording.sightings import Sighting, Waiting

TYPE_CHECKING = False  # as typing has it: importing typing takes longer than all of this
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from types import FrameType, ModuleType
    from typing import Any

    from agentdbg.recording.captured_files import CapturedFiles
    from agentdbg.recording.effect_events import Args, Check
    from agentdbg.recording.process import Recorder
    from agentdbg.recording.run import RunRecording
    from agentdbg.recording.scope import Scope

MAX_AMBIENT = 200
"""Effects outside every run that one process keeps for the run that it may begin."""
LAUNCH, _IMPORTING = "AGENTDBG_LAUNCH", "<frozen importlib"
FILE, NETWORK, PROCESS, DATABASE, SYSTEM = "file", "network", "process", "database", "system"
# A look-up is the first half of a connection, shutil works through os, and who forks has not reached outside yet.
_LEFT_OUT = frozenset(("socket.bind", "socket.getaddrinfo", "socket.gethostbyname", "socket.gethostbyaddr",
                       "socket.getnameinfo", "syslog.openlog", "webbrowser.open", "pty.spawn", "os.fork", "os.forkpty",
                       "_winapi.CreateProcess", "open", "sqlite3.connect"))  # fmt: skip
_HELPERS = ("multiprocessing.resource_tracker", "multiprocessing.forkserver")
_ASKS_MACHINE = {"uname -p": "platform", "/sbin/ldconfig -p": "ctypes.util"}  # as SDKs do when they are imported
_TAKES_CONTENT = frozenset(("open", "os.remove", "os.rename", "os.truncate", "os.mkdir", "os.rmdir", "os.symlink",
                            "os.link", "os.chmod", "os.utime"))  # fmt: skip
_SIGNALLERS = (f"{os.sep}subprocess.py", f"{os.sep}base_subprocess.py", f"{os.sep}popen_fork.py")


class _Local(_local):
    busy = False


class _State:
    """What the hook works with. One for the process."""

    def __init__(self) -> None:
        self.hooked = False
        self.on = True
        self.recorder: Recorder | None = None
        self.current: Callable[[], Scope | None] = _nowhere
        self.exchanging: Callable[[], bool] = bool
        self.write: Callable[[RunRecording, Scope, Sighting, bool], None] | None = None
        self.files: CapturedFiles | None = None
        self.waiting: dict[int, Waiting] = {}
        self.pending = False  # something waits for a run
        self.program: object = None
        self.place: Callable[[], Scope | None] = _nowhere
        self.given: set[tuple[str, str, str]] = set()
        self.temporary = TemporaryFiles()


def _nowhere() -> None:
    return None


_here = _Local()
_rules = Rules([])


def enabled() -> bool:
    """Whether nothing in the environment switches it, or recording as a whole, off."""
    off = ("off", "0", "false", "no")
    return not any(os.environ.get(name, "").lower() in off for name in ("AGENTDBG", "AGENTDBG_COVERAGE"))


def install() -> None:
    """Begin to look, once per process. What is seen before there is a recorder is kept for it, within bounds."""
    if state.hooked or not state.on or not enabled():
        return
    state.hooked = True
    sys.addaudithook(_hook(_table()))
    atexit.register(_at_exit)
    on_standard_import("multiprocessing.util", _patch_spawning)
    if hasattr(os, "register_at_fork"):
        os.register_at_fork(after_in_child=_after_fork)


def switch_off() -> None:
    """Look at nothing from now on: in a replay the guard does."""
    state.on = False
    state.waiting.clear()


def attach(recorder: Recorder) -> None:
    """There is a recorder: what is seen goes into its runs from now on."""
    if not recorder.settings.flag("recording.coverage"):
        switch_off()
    if not state.on:
        return
    from agentdbg.recording import scope
    from agentdbg.recording.captured_files import CapturedFiles
    from agentdbg.recording.effect_steps import write
    from agentdbg.recording.exchange_marker import inside_exchange

    state.files = CapturedFiles(recorder, lambda: waiting().files)
    state.place, state.program = scope.here, scope.program_run
    state.current, state.exchanging, state.write = scope.current, inside_exchange, write
    state.recorder = recorder
    install()


def flush_ambient(run: RunRecording, scope: Scope | None = None) -> None:
    """Give a run what was seen in its place before it began, and outside every run, each once in a process.

    Args:
        run: The run.
        scope: Where it is written, if not on top.
    """
    if state.write is None or not state.on or run.recorder is not state.recorder:
        return
    found = [state.waiting.pop(0, None), state.waiting.pop(id(_root()), None)]
    state.pending = bool(state.waiting)
    for each in found:
        for sighting in each.sightings.values() if each is not None else ():
            if each is None or each.root is not None or sighting.key not in state.given:
                state.given.add(sighting.key)
                state.write(run, scope or run.scope(), sighting, scope is None)
        if each is not None and state.files is not None:
            state.files.flush(run, each.files)


def waiting() -> Waiting:
    """Where to keep what is seen in a place that no run has yet."""
    root = _root()
    key = 0 if root is None else id(root)
    found = state.waiting.get(key)
    if found is None:
        if len(state.waiting) > MAX_AMBIENT:  # requests that made no call
            state.waiting.pop(next(each for each in state.waiting if each), None)
        found = state.waiting.setdefault(key, Waiting(root))
    state.pending = True
    return found


def _root() -> object:
    """What may become the run of the running code; ``None`` where that is the process's own or there is nothing."""
    root = getattr(state.place(), "root", None)
    return None if root is state.program else root


# -- the hook ---------------------------------------------------------------------------------------


def _hook(table: Mapping[str, Callable[[str, Args], None]]) -> Callable[[str, Args], None]:
    # Everything that an event without meaning touches is local: most events are such, and globals go at shutdown.
    find, here, now, caller, own = table.get, _here, state, sys._getframe, OwnFiles()

    def hook(event: str, args: Args) -> None:
        look = find(event)
        if look is None or here.busy or not now.on:
            return
        here.busy = True
        try:
            frame = caller().f_back  # none where the interpreter itself reads the source for a traceback
            if frame is None or not own[frame.f_code.co_filename]:  # the recorder writes more than most programs
                look(event, args)
        except Exception as problem:
            if now.recorder is not None:
                now.recorder.fault(problem)
        finally:
            here.busy = False

    return hook


def _table() -> dict[str, Callable[[str, Args], None]]:
    found = {event: _looker(check) for event, check in _rules.checks.items()
             if event not in _LEFT_OUT and not event.startswith("shutil.")}  # fmt: skip
    started = ("subprocess.Popen", "os.posix_spawn", "os.exec", "os.spawn", "os.system")
    found.update(dict.fromkeys((event for event in started if event in found), _started))
    found["open"] = _opened
    found["sqlite3.connect"] = _database
    for event in found:
        if event.startswith("os.") and event not in started:
            found[event] = _changer(_rules.checks[event])
    for event in ("os.kill", "os.killpg"):
        found[event] = _signaller(_rules.checks[event])
    return found


def _looker(check: Check) -> Callable[[str, Args], None]:
    def look(event: str, args: Args) -> None:
        detail = _judged(check, args)
        if detail is not None:
            _saw(event, detail)

    return look


def _changer(check: Check) -> Callable[[str, Args], None]:
    """What changes a file or a directory without opening it."""

    def look(event: str, args: Args) -> None:
        detail = _judged(check, args)
        if detail is not None:
            _wrote(event, detail, detail.split(" -> "))

    return look


def _signaller(check: Check) -> Callable[[str, Args], None]:
    def look(event: str, args: Args) -> None:
        detail = _judged(check, args)
        if detail is not None and not innermost().f_code.co_filename.endswith(_SIGNALLERS):
            _saw(event, detail, None, PROCESS)

    return look


def _judged(check: Check, args: Args) -> str | None:
    try:
        return check(args)
    except Exception as problem:
        let_through(problem)
        return f"(not understood: {type(problem).__name__})"


def _opened(event: str, args: Args) -> None:
    path, mode, flags = args
    if isinstance(path, int):
        return
    if flags & WRITE_FLAGS if isinstance(flags, int) else isinstance(mode, str) and set(mode) & set("wax+"):
        target = resolve(path)
        if not os.path.isdir(target):  # it has no name there: tempfile, whose opener's own event follows
            _wrote(event, target, [target])
        return
    files = state.files
    if files is None or not files.interesting(path) or innermost().f_code.co_filename.startswith(_IMPORTING):
        return
    run, scope = _standing()
    if files.is_news(path, run) and witness() is not None:
        files.read(path, run, scope)


def _wrote(event: str, detail: str, paths: list[str]) -> None:
    """A file is about to be opened for writing, or changed: how it was is kept first."""
    store = "" if state.recorder is None else state.recorder.store
    if all(is_dull(path, store) for path in paths):
        return
    frame = witness()
    if frame is None:
        return
    weight = state.temporary.weight(paths)
    _be_ready()
    if state.files is not None and not weight and event in _TAKES_CONTENT:
        state.files.before_change(event, paths, *_standing())
    _saw(event, detail, frame, FILE, weight)


def _be_ready() -> None:
    """A launched program writes before its first call: what stood in the file is kept all the same."""
    if state.files is None and LAUNCH in os.environ:
        from agentdbg.recording.process import recorder

        recorder()


def _database(event: str, args: Args) -> None:
    path = _rules.database(args[0])
    if path is None and state.files is not None:  # for reading only
        state.files.hold(os.path.realpath(os.fsdecode(args[0]).removeprefix("file:").partition("?")[0]))
    frame = None if path is None else witness()
    if path is None or frame is None:
        return
    _be_ready()
    if state.files is not None:
        state.files.before_connect(path, *_standing())
    _saw(event, path, frame, DATABASE)


def _started(event: str, args: Args) -> None:
    detail = _judged(_rules.checks[event], args) or ""
    if nothing_to_start(event, args) is not None:
        return
    if (asker := _ASKS_MACHINE.get(detail)) is None or not asked_by(asker):
        _start(event, detail)


def _start(event: str, detail: str) -> None:
    """A process was started; one that records itself has an event of its own."""
    if not (starts.now.start is not None and starts.now.start.noted) and not any(
        helper in detail for helper in _HELPERS
    ):
        _saw(event, detail, None, PROCESS)


def _saw(event: str, detail: str, frame: FrameType | None = None, group: str = "", weight: str = "") -> None:
    """Put an effect into the run that it belongs to."""
    frame = frame or witness()
    if frame is None:
        return
    group = group or (NETWORK if event.startswith("socket.") else FILE if event.startswith("os.") else SYSTEM)
    run, scope = _standing()
    if run is not None and run.recorder is not state.recorder:
        return  # another recorder's, which has nobody look
    if state.exchanging() or (scope is not None and scope.inside_http):
        return
    sighting = Sighting(event, detail, place_of(frame), group, weight)
    if run is not None and scope is not None and state.write is not None:
        state.write(run, scope, sighting, scope.parent is None and state.current() is None)
        return
    place = waiting()
    known = place.sightings.get(sighting.key)
    if known is not None:
        known.count += 1
    elif len(place.sightings) < MAX_AMBIENT and (place.root is not None or len(state.given) < MAX_AMBIENT):
        place.sightings[sighting.key] = sighting


def _at_exit() -> None:
    """A launched program ends that made no call: what it did outside makes a run of it, or is of its parent's."""
    from agentdbg.recording import launched

    if state.recorder is not None or 0 not in state.waiting or not launched.active or not state.on:
        return
    from agentdbg.recording.process import recorder

    made = recorder()
    if made is None:
        return
    scope = made.guard(made.inherited_scope, None)
    if scope is not None:
        made.guard(lambda: flush_ambient(scope.run, scope), None)
    made.finish()


def _standing() -> tuple[RunRecording | None, Scope | None]:
    """The run and the scope of the running code; that of the process outside every other; nothing without either."""
    scope = state.current()
    if scope is None and state.recorder is not None:
        scope = state.recorder.inherited_scope()
    if scope is not None:
        return scope.run, scope
    run = state.recorder.begun if state.recorder is not None else None
    return (None, None) if run is None else (run, run.scope())


# -- what comes with no event, and forks ------------------------------------------------------------


def _patch_spawning(module: ModuleType) -> None:
    """Processes of ``multiprocessing`` that are not forked start without an event."""
    original = module.spawnv_passfds

    def spawnv_passfds(path: Any, args: Any, passfds: Any) -> Any:
        _note(lambda: _start("_posixsubprocess.fork_exec", command(path, args)))
        return original(path, args, passfds)

    module.spawnv_passfds = spawnv_passfds  # type: ignore[attr-defined]  # the module is known at run time only


def _note(function: Callable[[], None]) -> None:
    if _here.busy or not state.on:
        return
    _here.busy = True
    try:
        function()
    except Exception as problem:
        if state.recorder is not None:
            state.recorder.fault(problem)
    finally:
        _here.busy = False


def _after_fork() -> None:
    """A forked child: what waited for a run is its parent's to write."""
    _here.busy, state.waiting, state.pending = False, {}, False
    if state.files is not None:
        state.files.forget()


state = _State()

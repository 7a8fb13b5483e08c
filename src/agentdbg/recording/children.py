"""Child processes of a recorded program: told which run they belong to, in which step and lane they were started."""

from __future__ import annotations

import os
from _collections_abc import Mapping

from agentdbg.recording import launched
from agentdbg.recording import scope as scopes
from agentdbg.recording.hooks import on_standard_import
from agentdbg.recording.scope import Lane, Scope
from agentdbg.recording.wrapping import wraps

TYPE_CHECKING = False  # as typing has it: importing typing takes longer than all of this
if TYPE_CHECKING:
    from collections.abc import Callable
    from types import ModuleType
    from typing import Any

    from agentdbg.recording.process import Recorder
    from agentdbg.recording.run import RunRecording

SPAWN = "AGENTDBG_SPAWN"
"""Where a child stands: run, step and lane as JSON, in the environment of its process."""
_ENV_PLACE = 10
"""Place of ``env`` among the positional parameters of ``subprocess.Popen``."""
_installed = False


def install() -> None:
    """Patch what starts processes, now or when it will be loaded. Idempotent; nothing without the launcher."""
    global _installed
    if _installed or not launched.active:
        return
    _installed = True
    for name in ("posix_spawn", "posix_spawnp"):
        if hasattr(os, name):
            setattr(os, name, _spawning(getattr(os, name)))
    os.system = _system(os.system)
    on_standard_import("subprocess", _patch_popen)
    on_standard_import("multiprocessing.process", _patch_processes)
    on_standard_import("multiprocessing.pool", _patch_pool)
    on_standard_import("concurrent.futures.process", _patch_executor)


def inherited(recorder: Recorder) -> Scope | None:
    """The scope that this process was started in; ``None`` when a run's step did not start it."""
    told = os.environ.get(SPAWN)
    if not told or not launched.active:
        return None
    try:
        import json

        place = json.loads(told)
        if place["pid"] == os.getpid():
            return None  # left by this process for its own children
        return _joined(recorder, place)
    except (ValueError, KeyError, TypeError):
        return None


_runs: dict[tuple[int, str], RunRecording] = {}


def _joined(recorder: Recorder, place: Mapping[str, Any]) -> Scope:
    from agentdbg.recording.run import RunRecording

    key = (os.getpid(), str(place["run"]))
    run = _runs.get(key)
    if run is None:
        run = _runs[key] = RunRecording.join(
            recorder, str(place["run"]), str(place["agent"]), str(place["store"]), place["step"]
        )
        recorder.child_process = True
    lane = Lane(str(place["lane"]), int(place["forked_at"]))
    return Scope(run, place["step"], lane, bool(place["inside_tool"]))


def _place() -> dict[str, object] | None:
    """Where a process that is started here will stand."""
    from agentdbg.recording.process import existing

    here = scopes.current()
    if here is None:
        recorder, outer = existing(), scopes.here()
        begun = recorder.begun if recorder is not None else None
        if begun is None:
            return None
        here = begun.scope() if outer is None else outer._replace(run=begun)
    inside = here._replace(lane=here.lane.fork(inside=True))  # a replay starts no process: it must not count there
    return {
        "pid": os.getpid(),
        "run": inside.run.run_id,
        "agent": inside.run.facts.agent,
        "store": inside.run.recorder.store,
        "step": inside.parent,
        "lane": inside.lane.path,
        "forked_at": inside.lane.forked_at,
        "inside_tool": inside.inside_tool,
    }


def _text(place: Mapping[str, object]) -> str:
    import json  # not loaded before there is something to say

    return json.dumps(place)


def _patch_popen(module: ModuleType) -> None:
    original = module.Popen.__init__

    @wraps(original)
    def init(self: object, *args: Any, **kwargs: Any) -> None:
        place = _quiet(_place)
        if place is not None:
            args, kwargs = _with_place(args, kwargs, place)
        original(self, *args, **kwargs)

    module.Popen.__init__ = init


def _system(original: Callable[..., int]) -> Callable[..., int]:
    @wraps(original)
    def system(command: Any) -> int:
        place = _quiet(_place)
        if place is None or launched.LAUNCH not in os.environ:
            return original(command)
        before = os.environ.get(SPAWN)
        os.environ[SPAWN] = _text(place)  # the shell gets this process's own variables
        try:
            return original(command)
        finally:
            if before is None:
                os.environ.pop(SPAWN, None)
            else:
                os.environ[SPAWN] = before

    return system


def _spawning(original: Callable[..., int]) -> Callable[..., int]:
    @wraps(original)
    def spawn(path: Any, argv: Any, env: Any, **kwargs: Any) -> int:
        place = _quiet(_place)
        if place is not None and isinstance(env, Mapping) and launched.LAUNCH in env:
            env = {**env, SPAWN: _text(place)}
        return original(path, argv, env, **kwargs)

    return spawn


def _with_place(
    args: tuple[Any, ...], kwargs: dict[str, Any], place: dict[str, object]
) -> tuple[tuple[Any, ...], dict[str, Any]]:
    given = args[_ENV_PLACE] if len(args) > _ENV_PLACE else kwargs.get("env")
    environ = os.environ if given is None else given
    if not isinstance(environ, Mapping) or launched.LAUNCH not in environ:
        return args, kwargs  # the child will not be recorded
    told = {**environ, SPAWN: _text(place)}
    if len(args) > _ENV_PLACE:
        return (*args[:_ENV_PLACE], told, *args[_ENV_PLACE + 1 :]), kwargs
    return args, {**kwargs, "env": told}


def _patch_processes(module: ModuleType) -> None:
    kind = module.BaseProcess
    start, bootstrap = kind.start, kind._bootstrap

    @wraps(start)
    def start_in_lane(self: Any) -> Any:
        place = _quiet(_place)
        if place is None or getattr(self, "_start_method", None) == "fork":
            return start(self)
        self._agentdbg_place = place
        try:
            return start(self)
        finally:
            vars(self).pop("_agentdbg_place", None)

    @wraps(bootstrap)
    def bootstrap_in_lane(self: Any, *args: Any, **kwargs: Any) -> Any:
        place = vars(self).pop("_agentdbg_place", None)
        scope = _quiet(lambda: _scope_of(place)) if isinstance(place, dict) and place["pid"] != os.getpid() else None
        if scope is None:
            return bootstrap(self, *args, **kwargs)
        with scopes.inside(scope):
            return bootstrap(self, *args, **kwargs)

    kind.start, kind._bootstrap = start_in_lane, bootstrap_in_lane


def _scope_of(place: Mapping[str, Any]) -> Scope | None:
    """The scope of a place in this process; of a forked child's own run, where it has one."""
    from agentdbg.recording.process import recorder

    found = recorder()
    return None if found is None else _joined(found, place)


class InLane:
    """A function for another process, with the place that it was handed over from."""

    def __init__(self, function: Callable[..., Any], place: dict[str, object]) -> None:
        self.function = function
        self.place = place

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        scope = _quiet(lambda: _scope_of(self.place))
        if scope is None:
            return self.function(*args, **kwargs)
        with scopes.inside(scope):
            return self.function(*args, **kwargs)


def _handed_over(function: Callable[..., Any]) -> Callable[..., Any]:
    place = _quiet(_place) if scopes.here() is not None else None
    return function if place is None else InLane(function, place)


def _patch_executor(module: ModuleType) -> None:
    pool = module.ProcessPoolExecutor
    submit = pool.submit

    @wraps(submit)
    def submit_in_lane(self: object, fn: Callable[..., Any], /, *args: Any, **kwargs: Any) -> Any:
        handed = _handed_over(fn)
        token = scopes.enter(None)  # a worker that this starts outlives the run
        try:
            return submit(self, handed, *args, **kwargs)
        finally:
            scopes.leave(token)

    pool.submit = submit_in_lane


def _patch_pool(module: ModuleType) -> None:
    pool = module.Pool
    make = pool.__init__

    @wraps(make)
    def make_outside(*args: Any, **kwargs: Any) -> None:
        with scopes.inside(None):
            make(*args, **kwargs)

    pool.__init__ = make_outside
    pool.apply_async = _once_in_lane(pool.apply_async, module)
    for name in ("_map_async", "imap", "imap_unordered"):
        setattr(pool, name, _each_in_lane(getattr(pool, name), module))


class EachInLane(InLane):
    """The same for the items of a ``map``: each comes with its number, which makes a lane of its own."""

    def __init__(self, function: Callable[..., Any], place: dict[str, object], *, unpacked: bool) -> None:
        super().__init__(function, place)
        self.unpacked = unpacked

    def __call__(self, *numbered: Any) -> Any:
        number, *items = numbered if self.unpacked else numbered[0]
        place = {**self.place, "lane": f"{self.place['lane']}.{number}", "forked_at": 0}
        return InLane(self.function, place)(*items)


def _each_in_lane(method: Callable[..., Any], module: ModuleType) -> Callable[..., Any]:
    @wraps(method)
    def with_lanes(self: object, func: Callable[..., Any], iterable: Any, *args: Any, **kwargs: Any) -> Any:
        handed = func if isinstance(self, module.ThreadPool) else _handed_over(func)  # threads have lanes already
        if not isinstance(handed, InLane):
            return method(self, func, iterable, *args, **kwargs)
        unpacked = getattr(args[0] if args else kwargs.get("mapper"), "__name__", "") == "starmapstar"
        each = EachInLane(func, handed.place, unpacked=unpacked)
        numbered = ((number, *item) if unpacked else (number, item) for number, item in enumerate(iterable))
        counted = list(numbered) if hasattr(iterable, "__len__") else numbered
        return method(self, each, counted, *args, **kwargs)

    return with_lanes


def _once_in_lane(method: Callable[..., Any], module: ModuleType) -> Callable[..., Any]:
    @wraps(method)
    def with_lane(self: object, func: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
        return method(self, func if isinstance(self, module.ThreadPool) else _handed_over(func), *args, **kwargs)

    return with_lane


def _quiet(function: Callable[[], Any]) -> Any:
    """What ``function`` gives; ``None`` when it fails: a child is not kept from starting for it."""
    try:
        return function()
    except Exception:
        return None

"""Child processes of a recorded program: told which run they belong to, in which step and lane they were started."""

from __future__ import annotations

import os
from _collections_abc import Mapping

from agentdbg.recording import launched, starts
from agentdbg.recording import scope as scopes
from agentdbg.recording.child_places import (
    SPAWN,
    ahead_of_run,
    as_text,
    flush_draws,
    keep_start,
    place_here,
    place_in,
    quiet,
    scope_of,
    starter,
)
from agentdbg.recording.hooks import on_standard_import
from agentdbg.recording.scope import Scope
from agentdbg.recording.starts import COMMAND, FORK, Start, starting
from agentdbg.recording.wrapping import wraps

TYPE_CHECKING = False  # as typing has it: importing typing takes longer than all of this
if TYPE_CHECKING:
    from collections.abc import Callable
    from types import ModuleType
    from typing import Any, NoReturn


_ENV_PLACE = 10
"""Place of ``env`` among the positional parameters of ``subprocess.Popen``."""
_SHELL_PLACE = 8
_installed = False


def install() -> None:
    """Patch what starts processes, now or when it will be loaded. Idempotent; nothing without the launcher."""
    if launched.active:
        follow(launched.LAUNCH)


def follow(marker: str) -> None:
    """Patch them in a process whose children know by a variable that they are of ours. Idempotent."""
    global _installed
    starts.marker = marker
    if _installed:
        return
    _installed = True
    if hasattr(os, "fork"):
        os.fork = _fork(os.fork)
    for name in ("posix_spawn", "posix_spawnp"):
        if hasattr(os, name):
            setattr(os, name, _spawning(getattr(os, name)))
    os.system = _system(os.system)
    on_standard_import("subprocess", _patch_popen)
    on_standard_import("multiprocessing.process", _patch_processes)
    for module, function in (("multiprocessing.pool", "patch_pool"), ("concurrent.futures.process", "patch_executor")):
        on_standard_import(module, _Pools(function))


class _Pools:
    """Patches a kind of pools when it is loaded."""

    def __init__(self, function: str) -> None:
        self._function = function

    def __call__(self, module: ModuleType) -> None:
        from agentdbg.recording import child_pools

        getattr(child_pools, self._function)(module)


told: Callable[[str], None] | None = None
"""In a replay: hears that this process is a ``worker``, that it is ``busy``, and that it is ``idle`` again."""


def _begins(start: Start | None, here: Scope | None, place: Mapping[str, object] | None) -> starting:
    """Announce a start; ``None`` is one that no replay makes again."""
    if start is None:
        return starting(None, None)
    behind = starts.now.behind
    if here is None and behind is not None:
        here = behind.begun() if isinstance(behind, scopes.Unbegun) else behind
    start.lane = str(place["lane"]) if place is not None else ""
    start.inside = here is not None and (here.inside_tool or here.inside_http)
    if here is None and starts.now.start is None:
        quiet(lambda: keep_start(start))
    return starting(start, here)


def _command(program: object, argv: object, environ: Mapping[str, str] | None, here: Scope | None) -> Start | None:
    """A command line as a start; ``None`` where it is none of a process of ours."""

    def clean(word: str) -> str:
        return word if here is None else here.run.gate.text(here.run.recorder.neutral(word))

    from agentdbg.recording.start_commands import of_command

    text = quiet(lambda: of_command(program, argv, environ, clean))
    return None if text is None else Start(COMMAND, text)


def _fork(original: Callable[[], int]) -> Callable[[], int]:
    @wraps(original)
    def fork() -> int:
        quiet(_follow_forks)
        with _begins(Start(FORK, ""), quiet(starter), None):
            pid = original()
        if pid == 0:
            starts.now.start = None
            setattr(os, "_exit", _hard_exit(os._exit))  # noqa: B010  # mypy knows it as one that is not replaced
        return pid

    return fork


def _follow_forks() -> None:
    """A recorder gives forks lanes of their own."""
    from agentdbg.recording.process import recorder

    recorder()


def _hard_exit(original: Callable[[int], NoReturn]) -> Callable[[int], NoReturn]:
    """A forked process mostly ends like this."""

    def hard_exit(status: int) -> NoReturn:
        flush_draws(scopes.current())
        original(status)

    return hard_exit


def _patch_popen(module: ModuleType) -> None:
    original = module.Popen.__init__

    @wraps(original)
    def init(self: object, *args: Any, **kwargs: Any) -> None:
        here = quiet(starter)
        place = quiet(ahead_of_run if here is None else lambda: place_in(here))
        given = args[_ENV_PLACE] if len(args) > _ENV_PLACE else kwargs.get("env")
        words = args[0] if args else kwargs.get("args")
        shell = args[_SHELL_PLACE] if len(args) > _SHELL_PLACE else kwargs.get("shell")
        program = args[2] if len(args) > 2 else kwargs.get("executable")
        start = None if shell else _command(program, words, given, here)
        if place is not None:
            args, kwargs = _with_place(args, kwargs, place)
        with _begins(start, here, place):
            original(self, *args, **kwargs)

    module.Popen.__init__ = init


def _system(original: Callable[..., int]) -> Callable[..., int]:
    @wraps(original)
    def system(command: Any) -> int:
        place = quiet(place_here)
        if place is None or starts.marker not in os.environ:
            return original(command)
        before = os.environ.get(SPAWN)
        os.environ[SPAWN] = as_text(place)  # the shell gets this process's own variables
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
        here = quiet(starter)
        place = quiet(ahead_of_run if here is None else lambda: place_in(here))
        start = _command(path, argv, env, here) if isinstance(env, Mapping) else None
        if place is not None and isinstance(env, Mapping) and starts.marker in env:
            env = {**env, SPAWN: as_text(place)}
        with _begins(start, here, place):
            return original(path, argv, env, **kwargs)

    return spawn


def _with_place(
    args: tuple[Any, ...], kwargs: dict[str, Any], place: dict[str, object]
) -> tuple[tuple[Any, ...], dict[str, Any]]:
    given = args[_ENV_PLACE] if len(args) > _ENV_PLACE else kwargs.get("env")
    environ = os.environ if given is None else given
    if not isinstance(environ, Mapping) or starts.marker not in environ:
        return args, kwargs  # the child will not be recorded
    told = {**environ, SPAWN: as_text(place)}
    if len(args) > _ENV_PLACE:
        return (*args[:_ENV_PLACE], told, *args[_ENV_PLACE + 1 :]), kwargs
    return args, {**kwargs, "env": told}


def _patch_processes(module: ModuleType) -> None:
    kind = module.BaseProcess
    start, bootstrap = kind.start, kind._bootstrap

    @wraps(start)
    def start_in_lane(self: Any) -> Any:
        here = quiet(starter)
        forks = getattr(self, "_start_method", None) == "fork"
        place = None if forks else quiet(ahead_of_run if here is None else lambda: place_in(here))
        with _begins(starts.of_process(self), here, place):
            if place is None:
                return start(self)
            self._agentdbg_place = place
            try:
                return start(self)
            finally:
                vars(self).pop("_agentdbg_place", None)

    @wraps(bootstrap)
    def bootstrap_in_lane(self: Any, *args: Any, **kwargs: Any) -> Any:
        starts.now.start = None  # of the process that this one was forked from
        if told is not None and starts.of_process(self).how == starts.WORKER:
            told("worker")
        place = vars(self).pop("_agentdbg_place", None)
        scope = quiet(lambda: scope_of(place)) if isinstance(place, dict) and place["pid"] != os.getpid() else None
        if scope is None:
            try:
                return bootstrap(self, *args, **kwargs)
            finally:
                flush_draws()
        with scopes.inside(scope):
            try:
                return bootstrap(self, *args, **kwargs)
            finally:
                flush_draws(scope)

    kind.start, kind._bootstrap = start_in_lane, bootstrap_in_lane

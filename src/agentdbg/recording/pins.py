"""Clock, uuid and random values that the agent's own code reads: noted while recording, given back in a replay.

A draw is keyed by source and *site* (file name and function of the caller), not by position in the process, because libraries read the clock
too and do so differently when no network is there. Reads by the standard library and by network stacks pass through unnoted.
Not seen: ``os.urandom`` and ``secrets`` (their values must not be written down), unseeded ``random.Random`` objects, C and Rust code that reads the
clock by itself, and ``from time import time`` in a module that is imported before the recorder starts and lives in site-packages.
"""

from __future__ import annotations

import datetime as dt
import os
import random
import sys
import time
import uuid
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Protocol, cast

from agentdbg.recording import scope as scopes

if TYPE_CHECKING:
    from types import CodeType, FrameType

MAX_DRAWS_PER_RUN = 200_000
FLUSH_AT = 500
_TRANSPARENT = frozenset(("random", "uuid", "datetime", "time", "agentdbg.recording.pins", "agentdbg.recording.values"))
_NETWORK = frozenset(
    "agentdbg httpx httpcore httpx2 httpcore2 anyio sniffio h11 h2 urllib3 requests aiohttp certifi websockets grpc botocore "
    "watchfiles textual opentelemetry ddtrace sentry_sdk".split()
)
_QUIET = (frozenset(sys.stdlib_module_names) - {"__main__"}) | _NETWORK
_TIME_SOURCES = ("time", "time_ns", "monotonic", "monotonic_ns", "perf_counter", "perf_counter_ns")

real_time: Callable[[], float] = time.time
real_sleep: Callable[[float], None] = time.sleep
_originals: dict[str, Callable[..., Any]] = {name: getattr(time, name) for name in _TIME_SOURCES}


class Drawer(Protocol):
    """Gives recorded values back in a replay."""

    def draw(self, lane: str, source: str, site: str) -> tuple[bool, object]:
        """The next recorded value of that source and site, if there is one."""

    def passed(self, source: str) -> float | int:
        """What a clock shows to code whose reads were not recorded."""


drawer: Drawer | None = None
_installed = False
problems: list[str] = []


def install() -> None:
    """Put the pins in. Idempotent; what cannot be pinned is added to ``problems``."""
    global _installed
    if _installed:
        return
    _installed = True
    wrappers = {name: _clock(name, original) for name, original in _originals.items()}
    for name, wrapper in wrappers.items():
        setattr(time, name, wrapper)
    _rebind({id(_originals[name]): wrapper for name, wrapper in wrappers.items()})
    _pin_datetime()
    _pin_uuid()
    random._inst.__class__ = _NotedRandom  # type: ignore[attr-defined]  # module-level functions are methods of this one object


def note(source: str, depth: int, make: Callable[[], Any], thaw: Callable[[object], Any], freeze: Callable[[Any], object]) -> Any:
    """Read ``source`` for the caller ``depth`` frames up: from the record in a replay, else for real and noted."""
    scope = scopes.current()
    if (scope is None and drawer is None) or (scope is not None and scope.inside_tool):
        return make()
    frame: FrameType | None = sys._getframe(depth + 1)
    while frame is not None and frame.f_globals.get("__name__") in _TRANSPARENT:
        frame = frame.f_back
    if frame is None or scope is None or _is_quiet(frame):
        return make()
    code = frame.f_code
    site = f"{os.path.basename(code.co_filename)}:{code.co_qualname}"
    value: Any
    if drawer is not None:
        found, frozen = drawer.draw(scope.lane.path, source, site)
        value = thaw(frozen) if found else make()
    else:
        value = make()
    draws = scope.lane.draws
    draws.append((source, site, freeze(value)))
    if len(draws) >= FLUSH_AT:
        scope.run.flush_draws(scope.lane)
    return value


def _is_quiet(frame: FrameType) -> bool:
    name = frame.f_globals.get("__name__") or ""
    root = name.partition(".")[0]
    if root == "agentdbg":
        return not name.startswith("agentdbg.demo")
    return root in _QUIET


def _same(value: Any) -> Any:
    return value


def _clock(name: str, original: Callable[[], Any]) -> Callable[[], Any]:
    def read() -> Any:
        return original() if drawer is None else drawer.passed(name)

    def clock() -> Any:
        scope = scopes._current.get()
        if scope is None and drawer is None:
            return original()
        return note(name, 1, read, _same, _same)

    clock.__name__ = clock.__qualname__ = name
    clock.__doc__ = original.__doc__
    return clock


def skip_sleeps(slept: Callable[[float], None]) -> None:
    """In a replay: sleeps below a run end at once and are reported to ``slept``, which moves the clocks on."""

    def sleep(seconds: float, /) -> None:
        if scopes.current() is not None:
            slept(seconds)
        else:
            real_sleep(seconds)

    time.sleep = sleep
    _rebind({id(real_sleep): sleep})


def _rebind(replacements: dict[int, Callable[..., Any]]) -> None:
    """``from time import time`` in the agent's own modules: rebind the names they hold."""
    for name, module in list(sys.modules.items()):
        root = name.partition(".")[0]
        file = getattr(module, "__file__", None)
        if root in _QUIET or not isinstance(file, str) or "site-packages" in file:
            continue
        for key, value in list(vars(module).items()):
            new = replacements.get(id(value))
            if new is not None:
                setattr(module, key, new)


# -- datetime ---------------------------------------------------------------------------------------


def _pin_datetime() -> None:
    try:
        import ctypes
        import gc

        members = next(item for item in gc.get_referents(dt.datetime.__dict__) if isinstance(item, dict))
        for name in ("now", "utcnow"):
            members[name] = classmethod(_now(name, members[name]))
        ctypes.pythonapi.PyType_Modified(ctypes.py_object(dt.datetime))
    except (ImportError, StopIteration, AttributeError, KeyError) as problem:
        problems.append(f"datetime.now is not pinned: {problem}")


def _now(name: str, original: Any) -> Callable[..., dt.datetime]:
    def now(cls: type[dt.datetime], tz: dt.tzinfo | None = None) -> dt.datetime:
        arguments = (tz,) if tz is not None else ()

        def make() -> dt.datetime:
            if drawer is None:
                return cast(dt.datetime, original.__get__(None, cls)(*arguments))
            zone = dt.timezone.utc if name == "utcnow" else tz
            moment = cls.fromtimestamp(float(drawer.passed("time")), zone)
            return moment.replace(tzinfo=None) if name == "utcnow" else moment

        def thaw(frozen: object) -> dt.datetime:
            moment = cls.fromisoformat(str(frozen))
            return moment.astimezone(tz) if tz is not None else moment

        return cast(dt.datetime, note(f"datetime.{name}", 1, make, thaw, _freeze_moment))

    now.__name__ = now.__qualname__ = name
    return now


def _freeze_moment(moment: dt.datetime) -> str:
    return (moment.astimezone(dt.timezone.utc) if moment.tzinfo is not None else moment).isoformat()


# -- uuid -------------------------------------------------------------------------------------------


def _pin_uuid() -> None:
    for name in ("uuid1", "uuid4"):
        function = getattr(uuid, name)
        hook = f"__agentdbg_{name}__"
        original = type(function)(function.__code__, function.__globals__, name, function.__defaults__, function.__closure__)
        vars(uuid)[hook] = _minted(name, original)
        source = f"def {name}(*args, **kwargs):\n    return {hook}(*args, **kwargs)\n"
        namespace: dict[str, Any] = {}
        exec(compile(source, uuid.__file__ or "uuid.py", "exec"), vars(uuid), namespace)  # a fixed text: every holder of the function sees it
        replaced: CodeType = namespace[name].__code__
        function.__code__ = replaced
        function.__defaults__ = None


def _minted(name: str, original: Callable[..., uuid.UUID]) -> Callable[..., uuid.UUID]:
    def mint(*args: Any, **kwargs: Any) -> uuid.UUID:
        return cast(uuid.UUID, note(name, 2, lambda: original(*args, **kwargs), lambda frozen: uuid.UUID(str(frozen)), str))

    return mint


# -- random -----------------------------------------------------------------------------------------


class _NotedRandom(random.Random):
    """The module-level generator of ``random``, noting what it gives."""

    def random(self) -> float:
        return cast(float, note("random", 1, super().random, _same, _same))

    def getrandbits(self, k: int, /) -> int:
        make = super().getrandbits
        return cast(int, note(f"getrandbits.{k}", 1, lambda: make(k), lambda frozen: int(cast(str, frozen), 16), hex))

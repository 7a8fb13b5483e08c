"""Clock, uuid and random values, and temporary names, that the agent's own code reads: a replay gives them back.

A draw is keyed by source and *site* (file name and function of the caller), not by position in the process, because
libraries read the clock too and do so differently when no network is there. Reads by the standard library and by
network stacks pass through unnoted. Not seen: ``os.urandom`` and ``secrets`` (their values must not be written down),
``random.Random`` objects of the agent's own, C and Rust code that reads the clock by itself, and functions that were
taken before the recorder started by a module in site-packages, a class or a default argument.

Here are the clocks of ``time``, which is loaded in any case; ``datetime_pins``, ``uuid_pins`` and ``random_pins`` are
loaded with the module that each pins. Light: loaded before the program that is recorded.
"""

from __future__ import annotations

import os
import sys
import time

from agentdbg.recording.scope import _current

TYPE_CHECKING = False  # as typing has it: importing typing takes longer than all of this
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from types import FrameType
    from typing import Any, Protocol

    from agentdbg.recording.scope import Scope

    class Drawer(Protocol):
        """Gives recorded values back in a replay."""

        def draw(self, lane: str, source: str, site: str) -> tuple[bool, object]:
            """The next recorded value of that source and site, if there is one."""

        def passed(self, source: str) -> float | int:
            """What a clock shows to code whose reads were not recorded."""


LOOP_TIME = "loop.time"
LOOPS = "asyncio.base_events"
MAX_DRAWS_PER_RUN = 200_000
FLUSH_AT = 500
_HERE = __name__.rpartition(".")[0]
_OURS = ("pins", "datetime_pins", "random_pins", "tempfile_pins", "uuid_pins", "values")
_TRANSPARENT = frozenset(
    ("random", "uuid", "datetime", "time", "tempfile", "email.utils", *(f"{_HERE}.{name}" for name in _OURS))
)
_NETWORK = frozenset(
    ("agentdbg", "httpx", "httpcore", "httpx2", "httpcore2", "anyio", "sniffio", "h11", "h2", "urllib3", "requests",
     "aiohttp", "certifi", "websockets", "grpc", "botocore", "watchfiles", "textual", "opentelemetry", "ddtrace",
     "sentry_sdk")
)  # fmt: skip
_QUIET = (frozenset(sys.stdlib_module_names) - {"__main__"}) | _NETWORK
_TIME_SOURCES = ("time", "time_ns", "monotonic", "monotonic_ns", "perf_counter", "perf_counter_ns")
_CPU_SOURCES = ("process_time", "process_time_ns", "thread_time", "thread_time_ns")
"""Clocks of the processor: no time that passes in a replay says anything of them."""
_BY_ID = ("clock_gettime", "clock_gettime_ns")
_CALENDARS = {"localtime": 0, "gmtime": 0, "ctime": 0, "asctime": 0, "strftime": 1}
"""Functions that read the clock when they are given no moment, and the place of that argument."""

real_time: Callable[[], float] = time.time
real_monotonic_ns: Callable[[], int] = time.monotonic_ns
real_sleep: Callable[[float], None] = time.sleep
ORIGINALS: dict[str, Callable[..., Any]] = {
    name: getattr(time, name)
    for name in (*_TIME_SOURCES, *_CPU_SOURCES, *_BY_ID, *_CALENDARS)
    if hasattr(time, name)  # not every system has them all
}
_CLOCK_IDS = {
    getattr(time, name, None): source for name, source in (("CLOCK_REALTIME", "time"), ("CLOCK_MONOTONIC", "monotonic"))
}

drawer: Drawer | None = None
_installed = False
problems: list[str] = []


def install() -> None:
    """Pin the clocks. Idempotent."""
    global _installed
    if _installed:
        return
    _installed = True
    wrappers: dict[str, Callable[..., Any]] = {
        name: _clock(name, ORIGINALS[name]) for name in (*_TIME_SOURCES, *_CPU_SOURCES) if name in ORIGINALS
    }
    wrappers |= {name: _clock_by_id(name, ORIGINALS[name]) for name in _BY_ID if name in ORIGINALS}
    wrappers |= {name: _calendar(name, place, ORIGINALS[name]) for name, place in _CALENDARS.items()}
    for name, wrapper in wrappers.items():
        setattr(time, name, wrapper)
    rebind(stand_ins({id(ORIGINALS[name]): wrapper for name, wrapper in wrappers.items()}))


def note(
    source: str, depth: int, make: Callable[[], Any], thaw: Callable[[object], Any], freeze: Callable[[Any], object]
) -> Any:
    """Read ``source`` for the caller ``depth`` frames up: from the record in a replay, else for real and noted."""
    scope = _current.get()
    if scope is None or scope.inside_tool:
        return make()
    site = _site(depth + 2)
    if site is None:
        return make()
    found, value = (False, None) if drawer is None else _drawn(drawer, scope, source, site, thaw)
    if not found:
        value = make()
    if not scope.run.draws_cut:
        scope.run.recorder.guard(lambda: keep(scope, source, site, freeze(value)), None)
    return value


def _drawn(source_of: Drawer, scope: Scope, source: str, site: str, thaw: Callable[[object], Any]) -> tuple[bool, Any]:
    found, frozen = source_of.draw(scope.lane.path, source, site)
    if not found:
        return False, None
    try:
        return True, thaw(frozen)
    except (ValueError, TypeError):
        return False, None  # not what this source gives


def keep(scope: Scope, source: str, site: str, frozen: object) -> None:
    """Note a value, to be written with the lane's next event."""
    draws = scope.lane.draws
    if not draws:
        scope.run.drawing.add(scope.lane)
    draws.append((source, site, frozen))
    if len(draws) >= FLUSH_AT:
        scope.run.flush_draws(scope.lane)


def _site(depth: int) -> str | None:
    """File and function that asks, past modules that only pass the value on; ``None`` when it is not the agent's."""
    try:
        frame: FrameType | None = sys._getframe(depth)
    except ValueError:
        return None  # called by C code at the bottom of a thread
    while frame is not None and _module(frame) in _TRANSPARENT:
        frame = frame.f_back
    if frame is None or is_quiet(_module(frame)):
        return None
    code = frame.f_code
    return f"{os.path.basename(code.co_filename)}:{code.co_qualname}"


def _module(frame: FrameType) -> str:
    name = frame.f_globals.get("__name__")
    return name if type(name) is str else ""


def is_quiet(name: str) -> bool:
    """Whether a module is one of those whose own reads are left alone."""
    root = name.partition(".")[0]
    if root == "agentdbg":
        return not name.startswith("agentdbg.demo")
    return root in _QUIET


def same(value: Any) -> Any:
    return value


class _TimeModule:
    """What the functions below are bound to, as those of ``time`` are to it: in a class they become no methods."""

    def __reduce__(self) -> tuple[Any, ...]:
        return __import__, ("time",)  # pickled as what they stand for


_TIME = _TimeModule()
_bound: Any = type(_TIME.__reduce__)


class _QuietNames(dict[str, bool]):
    """By name, whether a module's own reads are left alone."""

    def __missing__(self, name: str) -> bool:
        found = self[name] = type(name) is str and name not in _TRANSPARENT and is_quiet(name)
        return found


def _clock(name: str, original: Callable[[], Any]) -> Callable[[], Any]:
    frame, quiet, is_monotonic = sys._getframe, _QuietNames(), name == "monotonic"

    def clock(_: _TimeModule) -> Any:
        if _current.get() is None and drawer is None:
            return original()
        try:
            asker = frame(1)
            if quiet[asker.f_globals["__name__"]]:  # most: event loops and connections ask all the time
                if not is_monotonic or asker.f_code.co_name != "time" or quiet[frame(2).f_globals["__name__"]]:
                    return _read(name)
                if asker.f_globals["__name__"] == LOOPS:
                    return note(LOOP_TIME, 2, lambda: _read(name), same, same)
                return _read(name)
        except (ValueError, KeyError, TypeError):
            pass  # at the bottom of a thread, or in code without a proper name
        return note(name, 1, lambda: _read(name), same, same)

    return _stand_in(clock, name, original)


def _clock_by_id(name: str, original: Callable[[int], Any]) -> Callable[[int], Any]:
    suffix = name.removeprefix("clock_gettime")

    def clock(_: _TimeModule, clk_id: int, /) -> Any:
        if not isinstance(clk_id, int) or (_current.get() is None and drawer is None):
            return original(clk_id)
        source = _CLOCK_IDS.get(clk_id)
        if source is None:
            return note(f"{name}.{clk_id}", 1, lambda: original(clk_id), same, same)
        return note(source + suffix, 1, lambda: _read(source + suffix), same, same)

    return _stand_in(clock, name, original)


def _calendar(name: str, place: int, original: Callable[..., Any]) -> Callable[..., Any]:
    localtime = ORIGINALS["localtime"]

    def calendar(_: _TimeModule, *args: Any) -> Any:
        given = len(args) > place and (args[place] is not None or name in ("asctime", "strftime"))
        if given or len(args) < place or (_current.get() is None and drawer is None):
            return original(*args)
        moment = note("time", 1, lambda: _read("time"), same, same)
        return original(*args[:place], localtime(moment) if name in ("asctime", "strftime") else moment)

    return _stand_in(calendar, name, original)


def _read(name: str) -> Any:
    return ORIGINALS[name]() if drawer is None or name in _CPU_SOURCES else drawer.passed(name)


def _stand_in(function: Any, name: str, original: Callable[..., Any]) -> Callable[..., Any]:
    function.__name__ = function.__qualname__ = name
    function.__module__ = "time"
    function.__doc__ = original.__doc__
    made: Callable[..., Any] = _bound(function, _TIME)
    return made


def skip_sleeps(slept: Callable[[float], None]) -> None:
    """In a replay: sleeps below a run end at once and are reported to ``slept``, which moves the clocks on."""

    def sleep(_: _TimeModule, seconds: float, /) -> None:
        if _current.get() is not None:
            slept(seconds)
        else:
            real_sleep(seconds)

    stand_in = _stand_in(sleep, "sleep", real_sleep)
    time.sleep = stand_in  # in a replay no time passes
    rebind(stand_ins({id(real_sleep): stand_in}))


def rebind(replacement: Callable[[object], Callable[..., Any] | None]) -> None:
    """``from time import time`` in the agent's own modules: rebind the names they hold.

    Args:
        replacement: Gives what stands in for an object, ``None`` for most.
    """
    for name, module in list(sys.modules.items()):
        root = name.partition(".")[0]
        file = getattr(module, "__file__", None)
        if root in _QUIET or not isinstance(file, str) or "site-packages" in file:
            continue
        for key, value in list(vars(module).items()):
            new = replacement(value)
            if new is not None:
                setattr(module, key, new)


def stand_ins(by_id: Mapping[int, Callable[..., Any]]) -> Callable[[object], Callable[..., Any] | None]:
    """What ``rebind`` takes, for functions that are always the same object."""
    return lambda value: by_id.get(id(value))

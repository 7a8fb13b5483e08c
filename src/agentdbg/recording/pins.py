"""Clock, uuid and random values that the agent's own code reads: noted while recording, given back in a replay.

A draw is keyed by source and *site* (file name and function of the caller), not by position in the process, because
libraries read the clock too and do so differently when no network is there. Reads by the standard library and by
network stacks pass through unnoted. Not seen: ``os.urandom`` and ``secrets`` (their values must not be written down),
``random.Random`` objects of the agent's own, C and Rust code that reads the clock by itself, and functions that were
taken before the recorder started by a module in site-packages, a class or a default argument.
"""

from __future__ import annotations

import datetime as dt
import importlib
import inspect
import os
import random
import re
import sys
import time
import uuid
from collections.abc import Callable
from types import BuiltinMethodType, FunctionType, MethodType
from typing import TYPE_CHECKING, Any, Protocol, cast

from agentdbg.recording import scope as scopes

if TYPE_CHECKING:
    from types import CodeType, FrameType

    from agentdbg.recording.scope import Scope

MAX_DRAWS_PER_RUN = 200_000
FLUSH_AT = 500
_TRANSPARENT = frozenset(("random", "uuid", "datetime", "time", "agentdbg.recording.pins", "agentdbg.recording.values"))
_NETWORK = frozenset(
    re.split(
        r"\s+",
        "agentdbg httpx httpcore httpx2 httpcore2 anyio sniffio h11 h2 urllib3 requests aiohttp certifi websockets "
        "grpc botocore watchfiles textual opentelemetry ddtrace sentry_sdk",
    )
)
_QUIET = (frozenset(sys.stdlib_module_names) - {"__main__"}) | _NETWORK
_UUIDS = ("uuid1", "uuid4", "uuid6", "uuid7")
_TIME_SOURCES = ("time", "time_ns", "monotonic", "monotonic_ns", "perf_counter", "perf_counter_ns")
_CALENDARS = {"localtime": 0, "gmtime": 0, "ctime": 0, "asctime": 0, "strftime": 1}
"""Functions that read the clock when they are given no moment, and the place of that argument."""

real_time: Callable[[], float] = time.time
real_monotonic_ns: Callable[[], int] = time.monotonic_ns
real_sleep: Callable[[float], None] = time.sleep
ORIGINALS: dict[str, Callable[..., Any]] = {name: getattr(time, name) for name in (*_TIME_SOURCES, *_CALENDARS)}


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
    wrappers = {name: _clock(name, ORIGINALS[name]) for name in _TIME_SOURCES}
    wrappers |= {name: _calendar(name, place, ORIGINALS[name]) for name, place in _CALENDARS.items()}
    for name, wrapper in wrappers.items():
        setattr(time, name, wrapper)
    _pin_datetime()
    _pin_uuid()
    _rebind({**{id(ORIGINALS[name]): wrapper for name, wrapper in wrappers.items()}, **_pin_random()})


def note(
    source: str, depth: int, make: Callable[[], Any], thaw: Callable[[object], Any], freeze: Callable[[Any], object]
) -> Any:
    """Read ``source`` for the caller ``depth`` frames up: from the record in a replay, else for real and noted."""
    scope = scopes._current.get()
    if scope is None or scope.inside_tool:
        return make()
    site = _site(depth + 2)
    if site is None:
        return make()
    found, value = (False, None) if drawer is None else _drawn(drawer, scope, source, site, thaw)
    if not found:
        value = make()
    if not scope.run.draws_cut:
        scope.run.recorder.guard(lambda: _keep(scope, source, site, freeze(value)), None)
    return value


def _drawn(source_of: Drawer, scope: Scope, source: str, site: str, thaw: Callable[[object], Any]) -> tuple[bool, Any]:
    found, frozen = source_of.draw(scope.lane.path, source, site)
    if not found:
        return False, None
    try:
        return True, thaw(frozen)
    except (ValueError, TypeError):
        return False, None  # not what this source gives


def _keep(scope: Scope, source: str, site: str, frozen: object) -> None:
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
    if frame is None or _is_quiet(_module(frame)):
        return None
    code = frame.f_code
    return f"{os.path.basename(code.co_filename)}:{code.co_qualname}"


def _module(frame: FrameType) -> str:
    name = frame.f_globals.get("__name__")
    return name if type(name) is str else ""


def _is_quiet(name: str) -> bool:
    root = name.partition(".")[0]
    if root == "agentdbg":
        return not name.startswith("agentdbg.demo")
    return root in _QUIET


def _same(value: Any) -> Any:
    return value


class _TimeModule:
    """What the functions below are bound to, as those of ``time`` are to it: in a class they become no methods."""

    def __reduce__(self) -> tuple[Any, ...]:
        return importlib.import_module, ("time",)  # pickled as what they stand for


_TIME = _TimeModule()


def _clock(name: str, original: Callable[[], Any]) -> Callable[[], Any]:
    def clock(_: _TimeModule) -> Any:
        scope = scopes._current.get()
        if scope is None and drawer is None:
            return original()
        return note(name, 1, lambda: _read(name), _same, _same)

    return _stand_in(clock, name, original)


def _calendar(name: str, place: int, original: Callable[..., Any]) -> Callable[..., Any]:
    localtime = ORIGINALS["localtime"]

    def calendar(_: _TimeModule, *args: Any) -> Any:
        given = len(args) > place and (args[place] is not None or name in ("asctime", "strftime"))
        if given or len(args) < place or (scopes._current.get() is None and drawer is None):
            return original(*args)
        moment = note("time", 1, lambda: _read("time"), _same, _same)
        return original(*args[:place], localtime(moment) if name in ("asctime", "strftime") else moment)

    return _stand_in(calendar, name, original)


def _read(name: str) -> Any:
    return ORIGINALS[name]() if drawer is None else drawer.passed(name)


def _stand_in(function: Any, name: str, original: Callable[..., Any]) -> Callable[..., Any]:
    function.__name__ = function.__qualname__ = name
    function.__module__ = "time"
    function.__doc__ = original.__doc__
    return MethodType(function, _TIME)


def skip_sleeps(slept: Callable[[float], None]) -> None:
    """In a replay: sleeps below a run end at once and are reported to ``slept``, which moves the clocks on."""

    def sleep(_: _TimeModule, seconds: float, /) -> None:
        if scopes.here() is not None:
            slept(seconds)
        else:
            real_sleep(seconds)

    stand_in = _stand_in(sleep, "sleep", real_sleep)
    time.sleep = stand_in  # in a replay no time passes
    _rebind({id(real_sleep): stand_in})


def _rebind(replacements: dict[int, Callable[..., Any]]) -> None:
    """``from time import time`` in the agent's own modules: rebind the names they hold."""
    for name, module in list(sys.modules.items()):
        root = name.partition(".")[0]
        file = getattr(module, "__file__", None)
        if root in _QUIET or not isinstance(file, str) or "site-packages" in file:
            continue
        for key, value in list(vars(module).items()):
            new = replacements.get(id(value)) or _method_of_datetime(value)
            if new is not None:
                setattr(module, key, new)


def _method_of_datetime(value: object) -> Callable[..., Any] | None:
    """``now = datetime.now``: each look-up makes another object, so that it is known by what it is bound to."""
    if (
        type(value) is not BuiltinMethodType
        or value.__self__ is not dt.datetime
        or value.__name__ not in ("now", "utcnow")
    ):
        return None
    found: Callable[..., Any] = getattr(dt.datetime, value.__name__)
    return found


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
    def read(cls: type[dt.datetime], tz: dt.tzinfo | None) -> dt.datetime:
        def make() -> dt.datetime:
            if drawer is None:
                return cast(dt.datetime, original.__get__(None, cls)(*(() if tz is None else (tz,))))
            zone = dt.UTC if name == "utcnow" else tz
            moment = cls.fromtimestamp(float(drawer.passed("time")), zone)
            return moment.replace(tzinfo=None) if name == "utcnow" else moment

        def thaw(frozen: object) -> dt.datetime:
            text, _, fold = str(frozen).partition("/")
            moment = cls.fromisoformat(text)
            return moment.astimezone(tz) if tz is not None else moment.replace(fold=int(fold or 0))

        return cast(dt.datetime, note(f"datetime.{name}", 2, make, thaw, _freeze_moment))

    def now(cls: type[dt.datetime], tz: dt.tzinfo | None = None) -> dt.datetime:
        return read(cls, tz)

    def utcnow(cls: type[dt.datetime]) -> dt.datetime:
        return read(cls, None)

    chosen: Callable[..., dt.datetime] = now if name == "now" else utcnow
    chosen.__module__, chosen.__qualname__, chosen.__doc__ = "datetime", f"datetime.{name}", original.__doc__
    return chosen


def _freeze_moment(moment: dt.datetime) -> str:
    if moment.tzinfo is not None:
        return moment.astimezone(dt.UTC).isoformat()
    return f"{moment.isoformat()}/1" if moment.fold else moment.isoformat()


# -- uuid -------------------------------------------------------------------------------------------


def _pin_uuid() -> None:
    for name in _UUIDS:
        function = getattr(uuid, name, None)
        if not isinstance(function, FunctionType):
            continue
        hook = f"__agentdbg_{name}__"
        original = FunctionType(
            function.__code__, function.__globals__, name, function.__defaults__, function.__closure__
        )
        vars(uuid)[hook] = _minted(name, original)
        source = f"def {name}(*args, **kwargs):\n    return {hook}(*args, **kwargs)\n"
        namespace: dict[str, Any] = {}
        exec(
            compile(source, uuid.__file__ or "uuid.py", "exec"), vars(uuid), namespace
        )  # a fixed text: every holder of the function sees it
        replaced: CodeType = namespace[name].__code__
        function.__signature__ = inspect.signature(original)  # type: ignore[attr-defined]  # what inspect looks for
        function.__code__ = replaced.replace(co_firstlineno=original.__code__.co_firstlineno)
        function.__defaults__ = None


def _minted(name: str, original: Callable[..., uuid.UUID]) -> Callable[..., uuid.UUID]:
    def mint(*args: Any, **kwargs: Any) -> uuid.UUID:
        return cast(
            uuid.UUID, note(name, 2, lambda: original(*args, **kwargs), lambda frozen: uuid.UUID(str(frozen)), str)
        )

    return mint


# -- random -----------------------------------------------------------------------------------------


_base_random = random.Random.random
_base_bits = random.Random.getrandbits


class _NotedRandom(random.Random):
    """The module-level generator of ``random``, noting what it gives. State and numbers are those of its base."""

    def random(self) -> float:
        if scopes._current.get() is None:
            return _base_random(self)
        return cast(float, note("random", 1, lambda: _base_random(self), _same, _same))

    def getrandbits(self, k: int, /) -> int:
        if scopes._current.get() is None:
            return _base_bits(self, k)
        return cast(
            int,
            note(f"getrandbits.{k}", 1, lambda: _base_bits(self, k), lambda frozen: int(cast(str, frozen), 16), hex),
        )

    def __reduce__(self) -> tuple[Any, ...]:
        return random.Random, (), self.getstate()  # a copy is the agent's own


def _pin_random() -> dict[int, Callable[..., Any]]:
    """Note the module's functions: most are methods of one object and follow its class, two are bound to C code."""
    shared: random.Random = random._inst
    bound = {name: getattr(random, name) for name in ("random", "getrandbits")}
    if any(getattr(function, "__self__", None) is not shared for function in bound.values()):
        problems.append("random is not pinned: somebody has replaced its functions")
        return {}
    shared.__class__ = _NotedRandom
    for name in bound:
        setattr(random, name, getattr(shared, name))
    return {id(function): getattr(random, name) for name, function in bound.items()}

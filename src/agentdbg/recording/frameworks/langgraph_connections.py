"""Databases that a program opens for LangGraph's savers: in a replay they are not opened.

A replay serves what was read from a saver, and swallows what is written, so that the connection beneath is never used.
Programs make it all the same, when they start. In a replay, and there alone, once a saver on a database is imported:

- ``sqlite3.connect`` of a file gives a connection to an empty database in memory. As soon as the program uses it for
  anything of its own, that counts as opening the file, and the guard judges it.
- A connection to Postgres (``psycopg``, its pools, ``from_conn_string``) is a stand-in that connects to nothing. Using
  it ends the replay.
"""

from __future__ import annotations

import sqlite3
import sys
from collections.abc import AsyncGenerator, Callable, Generator
from contextlib import asynccontextmanager, contextmanager
from types import ModuleType
from typing import Any

from agentdbg.recording.calls import ReplayStop
from agentdbg.recording.frameworks.langgraph_savers import replaying
from agentdbg.recording.frameworks.patches import replace_method
from agentdbg.recording.process import recorder


def install(module: ModuleType) -> None:
    """In a replay: see to what the savers of ``module`` would connect to."""
    if not replaying():
        return
    if "sqlite" in module.__name__:
        replace_method(sqlite3, "connect", _unopened)
        return
    for name in ("PostgresSaver", "AsyncPostgresSaver", "PostgresStore", "AsyncPostgresStore"):
        if name in vars(module):
            wrap = _from_nowhere_async if name.startswith("Async") else _from_nowhere
            replace_method(vars(module)[name], "from_conn_string", wrap)
    _patch_psycopg()


# -- SQLite -----------------------------------------------------------------------------------------


def _unopened(original: Callable[..., Any]) -> Callable[..., Any]:
    def connect(database: Any, *args: Any, **kwargs: Any) -> Any:
        name = str(database)
        if args or "factory" in kwargs or name in ("", ":memory:") or "mode=memory" in name:
            return original(database, *args, **kwargs)
        kwargs.pop("uri", None)
        made = original(":memory:", factory=Unopened, **kwargs)
        made.agentdbg_place = database
        return made

    return connect


def _judged(name: str) -> Callable[..., Any]:
    def method(self: Any, *args: Any, **kwargs: Any) -> Any:
        sys.audit("sqlite3.connect", self.agentdbg_place)  # raises where the guard refuses that file
        return getattr(sqlite3.Connection, name)(self, *args, **kwargs)

    return method


class Unopened(sqlite3.Connection):
    """A connection to a file that nobody has asked anything of yet."""

    agentdbg_place: Any = ":memory:"
    cursor = _judged("cursor")
    execute = _judged("execute")
    executemany = _judged("executemany")
    executescript = _judged("executescript")
    backup = _judged("backup")
    iterdump = _judged("iterdump")
    blobopen = _judged("blobopen")


# -- Postgres ---------------------------------------------------------------------------------------


class Nowhere:
    """Stands for a connection, or a pool of them, that leads nowhere."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        self.closed = False

    def close(self, *args: Any, **kwargs: Any) -> Any:
        """Nothing is open."""
        self.closed = True
        return _Done()

    open = wait = close

    def __enter__(self) -> Nowhere:
        return self

    def __exit__(self, *error: object) -> None:
        return None

    async def __aenter__(self) -> Nowhere:
        return self

    async def __aexit__(self, *error: object) -> None:
        return None

    def __await__(self) -> Generator[Any, None, Nowhere]:
        yield from ()
        return self

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        raise _refused(name)


class _Done:
    """The result of a method that is awaited in the asynchronous classes."""

    def __await__(self) -> Generator[Any, None, None]:
        yield from ()


def _refused(name: str) -> BaseException:
    stop = ReplayStop(f"the program uses its Postgres connection ({name}): a replay connects to nothing")
    found = recorder()
    latch = getattr(found.answerer, "latch", None) if found is not None else None
    if latch is None:
        return stop
    made: BaseException = latch(stop, {"event": "refused", "effect": "connect", "detail": f"Postgres ({name})"})
    return made


def _from_nowhere(original: Callable[..., Any]) -> Callable[..., Any]:
    @contextmanager
    def from_conn_string(cls: Any, *args: Any, **kwargs: Any) -> Generator[Any, None, None]:
        yield cls(Nowhere())

    return from_conn_string


def _from_nowhere_async(original: Callable[..., Any]) -> Callable[..., Any]:
    @asynccontextmanager
    async def from_conn_string(cls: Any, *args: Any, **kwargs: Any) -> AsyncGenerator[Any, None]:
        yield cls(Nowhere())

    return from_conn_string


def _patch_psycopg() -> None:
    psycopg: Any = sys.modules.get("psycopg")
    if psycopg is not None:
        for name in ("Connection", "AsyncConnection"):
            replace_method(vars(psycopg)[name], "connect", _leading_nowhere)
        vars(psycopg)["connect"] = psycopg.Connection.connect
    pools: Any = sys.modules.get("psycopg_pool")
    for name in ("ConnectionPool", "AsyncConnectionPool") if pools is not None else ():
        vars(pools)[name] = Nowhere


def _leading_nowhere(original: Callable[..., Any]) -> Callable[..., Any]:
    def connect(cls: Any, *args: Any, **kwargs: Any) -> Any:
        return Nowhere()

    return connect

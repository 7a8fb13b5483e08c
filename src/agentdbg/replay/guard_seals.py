"""Replacements for the calls that have effects and raise no audit event, or one that does not say enough.

They sit where the standard library looks them up, in the replay's own child process, and call the original when the
guard does not object.
"""

from __future__ import annotations

import functools
import importlib
import os
import sys
from collections.abc import Callable
from types import ModuleType
from typing import Any, TypeAlias

from agentdbg.recording.effect_events import WRITE_FLAGS, Rules, command, descriptor_path

Refuse: TypeAlias = "Callable[[str, str], None]"
Function: TypeAlias = "Callable[..., Any]"
Allows: TypeAlias = "Callable[[str, tuple[Any, ...]], bool]"

_SQLITE_OK, _SQLITE_DENY, _SQLITE_ATTACH = 0, 1, 24


class Seals:
    """The replaced functions; ``close`` puts them in place, ``open`` takes them out again."""

    def __init__(self, rules: Rules, refuse: Refuse, allows: Allows = lambda event, args: False) -> None:
        """Prepare without touching anything.

        Args:
            rules: Judges paths.
            refuse: Called with event and detail of an effect; raises when the guard is armed.
            allows: Whether an effect may happen all the same.
        """
        self._rules = rules
        self._refuse = refuse
        self._allows = allows
        self._replaced: list[tuple[ModuleType, str, Function]] = []
        self._bytecode = sys.dont_write_bytecode

    def close(self) -> None:
        """Replace the functions, once."""
        if self._replaced:
            return
        self._bytecode = sys.dont_write_bytecode
        sys.dont_write_bytecode = True  # an import would write its cache, and be refused
        self._replace(("_posixsubprocess",), "fork_exec", self._fork_exec)
        self._replace((os.name, "os"), "open", self._open)
        self._replace((os.name, "os"), "mkfifo", functools.partial(self._make_node, "os.mkfifo"))
        self._replace((os.name, "os"), "mknod", functools.partial(self._make_node, "os.mknod"))
        self._replace(("_signal", "signal"), "pidfd_send_signal", self._send_signal)
        for module in ("_interpreters", "_xxsubinterpreters"):
            self._replace((module,), "create", self._create_interpreter)
        self._replace(("_sqlite3", "sqlite3", "sqlite3.dbapi2"), "connect", self._connect)

    def open(self) -> None:
        """Put the originals back."""
        if not self._replaced:
            return
        sys.dont_write_bytecode = self._bytecode
        while self._replaced:
            module, name, original = self._replaced.pop()
            os.supports_dir_fd.discard(getattr(module, name))
            setattr(module, name, original)

    def _replace(self, modules: tuple[str, ...], name: str, make: Callable[[Function], Function]) -> None:
        """Replace one function in the first module, which may be missing, and in the others where they are loaded."""
        try:
            origin = importlib.import_module(modules[0])
        except ImportError:
            return
        if not hasattr(origin, name):
            return
        original: Function = getattr(origin, name)
        sealed = functools.wraps(original)(make(original))
        if original in os.supports_dir_fd:
            os.supports_dir_fd.add(sealed)
        for module in [origin, *(sys.modules[other] for other in modules[1:] if other in sys.modules)]:
            if getattr(module, name, None) is original:
                self._replaced.append((module, name, original))
                setattr(module, name, sealed)

    def _fork_exec(self, original: Function) -> Function:
        """Starting a process below ``subprocess``, as ``multiprocessing`` does without an event on 3.11."""

        def fork_exec(args: Any, executables: Any, *rest: Any) -> Any:
            if not self._allows("_posixsubprocess.fork_exec", (args, executables, *rest)):
                self._refuse("_posixsubprocess.fork_exec", command(executables[0] if executables else "", args))
            return original(args, executables, *rest)

        return fork_exec

    def _open(self, original: Function) -> Function:
        """``os.open(dir_fd=…)``, whose event leaves the directory out: the full path is opened instead."""

        def sealed(path: Any, flags: int, mode: int = 0o777, *, dir_fd: int | None = None) -> Any:
            if dir_fd is None or not flags & WRITE_FLAGS or os.path.isabs(path):
                return original(path, flags, mode, dir_fd=dir_fd)
            return original(os.path.join(descriptor_path(dir_fd), os.fsdecode(path)), flags, mode)

        return sealed

    def _make_node(self, event: str, original: Function) -> Function:
        def sealed(path: Any, *args: Any, dir_fd: int | None = None, **kwargs: Any) -> Any:
            detail = self._rules.create(path, dir_fd)
            if detail is not None:
                self._refuse(event, detail)
            return original(path, *args, dir_fd=dir_fd, **kwargs)

        return sealed

    def _send_signal(self, original: Function) -> Function:
        def sealed(pidfd: int, number: int, *rest: Any) -> Any:
            if number != 0:
                self._refuse("signal.pidfd_send_signal", str(int(number)))
            return original(pidfd, number, *rest)

        return sealed

    def _create_interpreter(self, original: Function) -> Function:
        """Another interpreter, which audit hooks do not reach into; refusing its event crashes some versions."""

        def create(*args: Any, **kwargs: Any) -> Any:
            self._refuse("interpreters.create", "")
            return original(*args, **kwargs)

        return create

    def _connect(self, original: Function) -> Function:
        """SQLite's ``connect``: no ``ATTACH`` or ``VACUUM INTO`` of a file behind the guard's back."""
        import _sqlite3

        def authorize(action: int, name: str | None, *_: object) -> int:
            if action != _SQLITE_ATTACH:
                return _SQLITE_OK
            detail = "a name that is known at run time only" if name is None else self._rules.database(name)
            if detail is None:
                return _SQLITE_OK
            try:
                self._refuse("sqlite3.attach", detail)
            except BaseException:
                return _SQLITE_DENY  # SQLite's C code stands in between and would drop the exception
            return _SQLITE_OK

        def connect(database: Any, *args: Any, **kwargs: Any) -> Any:
            if os.fsdecode(database).startswith("file:") and not (kwargs.get("uri") or (len(args) > 6 and args[6])):
                detail = self._rules.database(database, uri=False)
                if detail is not None:
                    self._refuse("sqlite3.connect", detail)
            connection = original(database, *args, **kwargs)
            _sqlite3.Connection.set_authorizer(connection, authorize)
            return connection

        return connect

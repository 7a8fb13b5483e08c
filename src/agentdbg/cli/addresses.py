"""Addresses that lie outside a store: packs, a pack on stdin, and the files of other tools."""

from __future__ import annotations

import os
import shutil
import signal
import stat
import sys
import tempfile
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, BinaryIO

from agentdbg.store.files import StoreError

if TYPE_CHECKING:
    from agentdbg.store.packs import PackedRunSource, Unpacked
    from agentdbg.store.protocols import RunSource, RunStore

STDIN = "-"
_INNER = "::"


class Outside:
    """Opens what lies outside a store. Packs are unpacked once, into a private directory that goes away at the end."""

    def __init__(self) -> None:
        self._unpacked: dict[str, Unpacked] = {}
        self._scratch: Path | None = None

    def open(self, address: str, store: RunStore) -> RunSource | None:
        """The run at an address; ``None`` when it is an address for the store.

        Raises:
            StoreError: It is refused or cannot be read.
        """
        if address == STDIN:
            return self._stdin()
        path, run_id = _split(address)
        mode = _mode(path)
        if stat.S_ISFIFO(mode):
            return self._pack(path)
        bare = not run_id and os.sep not in path and "/" not in path
        if stat.S_ISREG(mode):
            if bare and _has(store, path):
                return None
            return self._pack(path) if _is_pack(path) else _foreign(path, run_id)
        if stat.S_ISDIR(mode) and not _is_own(Path(path)) and not (bare and _has(store, path)):
            return _foreign(path, run_id)
        if run_id:
            raise StoreError(f"there is no {path}")
        return None

    def _clean_up_when_ended(self) -> None:
        """Leave nothing behind when the terminal is closed or the process is asked to end."""

        def end(number: int, _frame: object) -> None:
            self.close()
            signal.signal(number, signal.SIG_DFL)
            os.kill(os.getpid(), number)

        for name in ("SIGTERM", "SIGHUP"):
            number = getattr(signal, name, None)
            with suppress(ValueError):  # not the main thread
                if number is not None and signal.getsignal(number) is signal.SIG_DFL:
                    signal.signal(number, end)

    def close(self) -> None:
        """Remove what was unpacked."""
        if self._scratch is not None:
            shutil.rmtree(self._scratch, ignore_errors=True)
        self._unpacked.clear()
        self._scratch = None

    def _stdin(self) -> PackedRunSource:
        if STDIN not in self._unpacked and sys.stdin.isatty():
            raise StoreError("stdin is a terminal, not a pack: 'agentdbg pack RUN -o - | agentdbg -'")
        source = self._pack(STDIN)
        if sys.stdout.isatty():
            _take_keys_from_terminal()
        return source

    def _pack(self, address: str) -> PackedRunSource:
        from agentdbg.store.packs import PackedRunSource

        unpacked = self._unpacked.get(address)
        if unpacked is None:
            unpacked = self._unpacked[address] = self._unpack(address)
        return PackedRunSource(unpacked)

    def _unpack(self, address: str) -> Unpacked:
        from agentdbg.store.packs import extract

        if self._scratch is None:
            self._scratch = Path(tempfile.mkdtemp(prefix="agentdbg-"))
            self._clean_up_when_ended()
        place = Path(tempfile.mkdtemp(dir=self._scratch))
        try:
            with open_pack(address) as stream:
                return extract(stream, place)
        except StoreError as problem:
            named = "stdin" if address == STDIN else address
            raise StoreError(f"{named}: {problem}") from problem


def is_outside(source: RunSource) -> bool:
    """Whether a run lies outside every store, so that only its address finds it again."""
    return hasattr(source, "notes_location")


def open_pack(address: str) -> BinaryIO:
    """The bytes of a pack, from a file or from stdin."""
    return os.fdopen(os.dup(0), "rb") if address == STDIN else open(address, "rb")


def _split(address: str) -> tuple[str, str]:
    """A path, and the run in it that is meant."""
    path, inner, run_id = address.rpartition(_INNER)
    if not inner or os.path.lexists(os.path.expanduser(address)):
        path, run_id = address, ""
    return os.path.expanduser(path), run_id


def _mode(path: str) -> int:
    try:
        return os.stat(path).st_mode
    except (OSError, ValueError):
        return 0


def _is_pack(path: str) -> bool:
    from agentdbg.store.pack_stream import is_pack

    with open(path, "rb") as file:
        return is_pack(file.read(4))


def _is_own(path: Path) -> bool:
    """Whether a directory is a run or a store of ours."""
    return any(os.path.lexists(path / name) for name in ("run.json", "events", "runs", "store.json"))


def _has(store: RunStore, run_id: str) -> bool:
    try:
        store.open(run_id).close()
    except KeyError:
        return False
    except (OSError, ValueError):
        return True
    return True


def _foreign(path: str, run_id: str) -> RunSource:
    from agentdbg.importing import open_one

    return open_one(path, run_id)


def _take_keys_from_terminal() -> None:
    """Let what runs from now on read keys: stdin was the pipe, and is at its end."""
    with suppress(OSError):
        terminal = os.open("/dev/tty", os.O_RDWR)
        try:
            os.dup2(terminal, 0)
        finally:
            os.close(terminal)

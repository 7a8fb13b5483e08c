"""What only the launcher knows of a program's own run: how the process ended."""

from __future__ import annotations

import json
import os
import secrets
import signal
import time
from contextlib import suppress

OS_EXIT = "the program ended without its exit handlers (os._exit): its last records may be missing"


def note_end(store: str, run_id: str, *, exit_status: int | None, signal_number: int | None) -> None:
    """Add the exit status or the signal to ``run.json``; a program that failed by its exit status has failed.

    Nothing happens where the run is not there or cannot be written: the program has its own end all the same.

    Args:
        store: Directory of the store.
        run_id: The program's own run.
        exit_status: Its exit status; ``None`` when a signal ended it.
        signal_number: That signal.
    """
    path = os.path.join(store, "runs", run_id, "run.json")
    with suppress(OSError, ValueError, TypeError):
        with open(path, "rb") as file:
            found = json.load(file)
        if signal_number is not None:
            found["signal"] = _name(signal_number)
        else:
            _exited(found, exit_status or 0)
        _replace(path, json.dumps(found).encode())


def _exited(found: dict[str, object], status: int) -> None:
    found["exit_status"] = status
    if found.get("status") == "running":
        found["status"], found["ended_at"] = "ok", time.time()
        holes = found.get("holes")
        found["holes"] = [*(holes if isinstance(holes, list) else []), OS_EXIT]
    if status and found.get("status") == "ok":
        found["status"] = "failed"
        found["error"] = {"type": "SystemExit", "message": exit_status_text(status)}


def exit_status_text(status: int) -> str:
    """What a run's error says of a program that failed by its exit status."""
    return f"exit status {status}"


def _name(number: int) -> str:
    try:
        return signal.Signals(number).name
    except ValueError:
        return str(number)


def _replace(path: str, data: bytes) -> None:
    draft = f"{path}.{secrets.token_hex(4)}"
    fd = os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    try:
        with open(fd, "wb") as file:
            file.write(data)
        os.chmod(draft, os.stat(path).st_mode & 0o777)
        os.replace(draft, path)
    except OSError:
        os.unlink(draft)
        raise

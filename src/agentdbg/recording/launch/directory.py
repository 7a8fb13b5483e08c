"""The launcher's private directory: what it tells the processes of a launch, and what they tell it."""

from __future__ import annotations

import json
import os
import shutil
import stat
import tempfile
import time
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, field

PREFIX = "agentdbg-launch-"
LAUNCH_FILE, EVENTS_FILE = "launch.json", "events.jsonl"
KEPT_S = 86_400
"""So long a directory is kept whose launcher was killed, or whose program left processes behind."""
_MOST_EVENT_BYTES = 64_000_000


@dataclass(frozen=True, slots=True)
class Told:
    """What the processes of a launch said.

    Attributes:
        pids: Processes in which recording began.
        runs: Ids of the runs, in the order in which they began.
        failures: Why a process is not recorded.
        warnings: What the recorder had to say.
        own: By process: store and id of the run that the program itself is.
        tools: Names of declared tools of which there was one.
    """

    pids: tuple[int, ...] = ()
    runs: tuple[str, ...] = ()
    failures: tuple[str, ...] = ()
    warnings: tuple[str, ...] = ()
    own: Mapping[int, tuple[str, str]] = field(default_factory=dict)
    tools: frozenset[str] = frozenset()


def make(run_id: str | None, store: str | None, tools: Mapping[str, str]) -> str:
    """Make the private directory of a new launch; returns its path.

    Raises:
        OSError: It cannot be made.
    """
    _sweep()
    path = tempfile.mkdtemp(prefix=PREFIX)
    members = {
        "root": _package_root(),
        "run_id": run_id,
        "store": store,
        "tools": dict(tools),
        "random_seed": int.from_bytes(os.urandom(8), "big"),
        "launcher": os.getpid(),
        "created": time.time(),
    }
    lines = ",\n".join(f"{json.dumps(name)}: {json.dumps(value)}" for name, value in members.items())
    try:
        _write(f"{path}/{LAUNCH_FILE}", f"{{\n{lines}\n}}\n")  # a member a line: the bootstrap reads it without json
        _write(f"{path}/{EVENTS_FILE}", "")
    except OSError:
        shutil.rmtree(path, ignore_errors=True)
        raise
    return path


def read(path: str) -> Told:
    """Everything that was said so far. A line that is none costs itself only."""
    pids: dict[int, None] = {}
    runs: dict[str, None] = {}
    failures: dict[str, None] = {}
    warnings: dict[str, None] = {}
    own: dict[int, tuple[str, str]] = {}
    tools: set[str] = set()
    for event in _events(path):
        match event.get("event"):
            case "started" if isinstance(event.get("pid"), int):
                pids[event["pid"]] = None  # type: ignore[index]  # just looked at
            case "run":
                runs[str(event.get("run_id"))] = None
            case "process_run" if isinstance(event.get("pid"), int):
                own[event["pid"]] = (str(event.get("store")), str(event.get("run_id")))  # type: ignore[index]  # as above
            case "tool":
                tools.add(str(event.get("name")))
            case "failed":
                failures[str(event.get("reason"))] = None
            case "warned":
                warnings[str(event.get("reason"))] = None
    return Told(tuple(pids), tuple(runs), tuple(failures), tuple(warnings), own, frozenset(tools))


def remove(path: str, told: Told) -> None:
    """Remove the directory, unless the program left recording processes behind: these still write to it."""
    if not any(map(_is_alive, told.pids)):
        shutil.rmtree(path, ignore_errors=True)


def _events(path: str) -> list[dict[str, object]]:
    try:
        with open(f"{path}/{EVENTS_FILE}", "rb") as file:
            lines = file.read(_MOST_EVENT_BYTES).splitlines()
    except OSError:
        return []
    found: list[dict[str, object]] = []
    for line in lines:
        with suppress(ValueError):
            event = json.loads(line)
            if isinstance(event, dict):
                found.append(event)
    return found


def _write(path: str, text: str) -> None:
    fd = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    with open(fd, "w", encoding="ascii") as file:
        file.write(text)


def _package_root() -> str:
    here = os.path.abspath(__file__)
    for _ in range(4):
        here = os.path.dirname(here)
    return here


def _sweep() -> None:
    """Remove directories of earlier launches that nobody uses any more."""
    with suppress(OSError), os.scandir(tempfile.gettempdir()) as entries:
        for entry in entries:
            if entry.name.startswith(PREFIX) and _is_stale(entry):
                shutil.rmtree(entry.path, ignore_errors=True)


def _is_stale(entry: os.DirEntry[str]) -> bool:
    try:
        facts = entry.stat(follow_symlinks=False)
    except OSError:
        return False  # its own launcher has just removed it
    if not stat.S_ISDIR(facts.st_mode) or (hasattr(os, "getuid") and facts.st_uid != os.getuid()):
        return False
    return facts.st_mtime < time.time() - KEPT_S and not any(map(_is_alive, read(entry.path).pids))


def _is_alive(pid: int) -> bool:
    """Whether there is a process of this number; a dead one that nobody has waited for counts as gone."""
    try:
        with open(f"/proc/{pid}/stat", "rb") as file:
            return file.read().rpartition(b")")[2].split()[:1] != [b"Z"]
    except OSError:
        if os.path.isdir("/proc/self"):
            return False
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except OSError:
        return True
    return True

"""The Python processes that a recorded program started, as a replay's parent prepares for them."""

from __future__ import annotations

import os
import secrets
import shutil
import tempfile
from collections import Counter
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import cast

from agentdbg.recording.starts import WORKER
from agentdbg.replay.kernel_watch import Processes
from agentdbg.replay.kin import BOOTSTRAP, MARKER
from agentdbg.replay.processes import in_words
from agentdbg.store.reader import DirectoryRunSource

_LONGEST_SOCKET = 107 - len("/pymp-abcdefgh/listener-abcdefgh")
SHOWN = 20
REGRESSION = (
    "the recorded program started {count} Python {processes} ({what}): a regression replay starts none, "
    "so it will be stopped there; an exact replay runs them again"
)


@dataclass(frozen=True, slots=True)
class RecordedStart:
    """One start of a Python process that was recorded too.

    Attributes:
        how: ``command``, ``fork``, ``process`` or ``worker``; see `agentdbg.recording.starts`.
    """

    how: str
    what: str

    def members(self) -> dict[str, object]:
        """For the child."""
        return {"how": self.how, "what": self.what}

    @property
    def words(self) -> str:
        """As people say it."""
        return in_words(self.how, self.what)


def recorded_starts(source: DirectoryRunSource) -> list[RecordedStart]:
    """The starts that a replay makes again: none inside a call whose outcome is served."""
    found = [event.members for event in source.extra_events("process")]
    return [
        RecordedStart(str(each.get("how", "")), str(each.get("what", "")))
        for each in found
        if each.get("inside") is not True
    ]


def start_lines(source: DirectoryRunSource) -> list[str]:
    """What is started again, one line each, workers of pools together."""
    counted = Counter(each.words for each in recorded_starts(source) if each.how != WORKER)
    lines = [f"{words}{f', {count} times' if count > 1 else ''}" for words, count in counted.items()]
    if any(each.how == WORKER for each in recorded_starts(source)):
        lines.append(in_words(WORKER, ""))
    return lines


def regression_remark(source: DirectoryRunSource) -> str:
    """Why a regression replay will be stopped at a start; empty where nothing is started."""
    found = recorded_starts(source)
    if not found:
        return ""
    lines = start_lines(source)
    what = ", ".join(lines[:3]) + (", …" if len(lines) > 3 else "")
    return REGRESSION.format(count=len(found), processes="process" if len(found) == 1 else "processes", what=what)


class Descent:
    """What the processes of one replay share; a short directory for their sockets, gone afterwards."""

    def __init__(self, source: DirectoryRunSource, scratch: Path, *, apart: bool = False) -> None:
        """Look what was started.

        Args:
            source: The recorded run.
            scratch: The replay's directory.
            apart: None is started here.
        """
        self._starts = [] if apart else recorded_starts(source)
        self._scratch = scratch
        self._made = ""

    def __enter__(self) -> Mapping[str, object] | None:
        if not self._starts:
            return None
        place = str(self._scratch / "tmp")
        if len(place) > _LONGEST_SOCKET:
            with suppress(OSError):
                place = self._made = os.path.realpath(tempfile.mkdtemp(prefix="adbg-", dir="/tmp"))
        name = f"agentdbg-{secrets.token_hex(8)}"
        address = f"@{name}" if os.uname().sysname == "Linux" else f"{place}/{name[-12:]}"
        return {"address": address, "own": [place], "starts": [each.members() for each in self._starts]}

    def __exit__(self, *_: object) -> None:
        if self._made:
            shutil.rmtree(self._made, ignore_errors=True)


def under_guard(python: str, processes: Mapping[str, object] | None, scratch: Path) -> Processes | None:
    """What the processes of a replay have to be, for those who judge their system calls."""
    if processes is None:
        return None
    variables = {MARKER: f"{processes['address']}|{scratch / 'spec.json'}", "PYTHONPATH": BOOTSTRAP}
    own = tuple(map(str, cast("list[str]", processes["own"])))
    return Processes(python, variables, str(processes["address"]), own)

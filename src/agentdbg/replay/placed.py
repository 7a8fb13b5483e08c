"""A recorded run put in its place before it is replayed: on its recorded code, or on paths mapped to this machine."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass

from agentdbg.replay.moved_run import MovedRunSource, check_moves
from agentdbg.replay.recorded_code import CannotRestore, RecordedCode, is_own_code, read_recorded_code, restore
from agentdbg.replay.scratch import ScratchDirectory
from agentdbg.replay.trust import is_trusted
from agentdbg.store.reader import DirectoryRunSource

CURRENT, RECORDED = "current", "recorded"


class CodeRefused(Exception):
    """The recorded code is not run, for safety; the message says why and what to do."""


@dataclass(frozen=True, slots=True)
class Placed:
    """Attributes:
    source: The run to replay.
    notes: What is to be said of its code and places.
    """

    source: DirectoryRunSource
    notes: tuple[str, ...]


@contextmanager
def placed(source: DirectoryRunSource, code: str, moves: Sequence[tuple[str, str]], *, trust: bool) -> Iterator[Placed]:
    """Give the run to replay; what was made for it is gone afterwards.

    Args:
        source: The recorded run.
        code: ``current`` or ``recorded``.
        moves: Beginnings of paths with what stands there instead.
        trust: Run code that this user did not record.

    Raises:
        CannotRestore: The recorded code cannot be put together.
        CodeRefused: It must not be run.
        BadMapping: There is nothing to map.
    """
    check_moves(source, moves)
    mapped = MovedRunSource(source, moves, vouched=is_trusted(source)) if moves else None
    if code != RECORDED:
        try:
            yield Placed(mapped or source, tuple(_mapped(moves)))
        finally:
            _close(mapped)
        return
    if not trust and not (is_trusted(source) and is_own_code(source)):
        raise CodeRefused(
            f"the code in run {source.summary().run_id} was not recorded by this user, so it is not run; "
            "look at it with 'show', then say --trust"
        )
    found = readable_code(mapped or source)
    there = None
    with ScratchDirectory("code-") as place:
        try:
            notes = restore(found, place)
            everything = [*moves, ("{root}", str(place))]
            there = MovedRunSource(source, everything, passing=True, vouched=is_trusted(source))
            yield Placed(there, (code_words(found), *notes, *_mapped(moves)))
        finally:
            _close(there)
            _close(mapped)


def readable_code(source: DirectoryRunSource) -> RecordedCode:
    """The recorded code, if it can be put together here.

    Raises:
        CannotRestore: It cannot.
    """
    found = read_recorded_code(source)
    if found.obstacles:
        raise CannotRestore("; ".join(found.obstacles))
    return found


def code_words(code: RecordedCode) -> str:
    """Which code it is, in words."""
    commit = f"commit {code.commit[:12]}" if code.commit is not None else "no commit"
    extra = [
        *(["the recorded difference"] if any(diff.strip() for diff in code.diffs) else []),
        *([f"{len(code.untracked)} untracked files"] if code.untracked else []),
    ]
    return f"code as recorded: {' with '.join([commit, ' and '.join(extra)]) if extra else commit}"


def _mapped(moves: Sequence[tuple[str, str]]) -> Iterator[str]:
    for before, after in moves:
        yield f"{before} is {after} here"


def _close(source: DirectoryRunSource | None) -> None:
    if source is not None:
        source.close()

"""Where a program stands: its stack as data.

The stack is shown without running code of the program's: no ``repr``, no property, no ``__getattr__``.
"""

from __future__ import annotations

import builtins
import itertools
import linecache
import sys
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from types import FrameType

from agentdbg.recording.frames import rank_of

MOST_FRAMES = 24
MOST_LOCALS = 30
MOST_ITEMS = 8
LONGEST = 240


@dataclass(frozen=True, slots=True)
class Frame:
    """One frame, innermost first in a stack.

    Attributes:
        own: Of the program's own code, not of a library.
        locals: Names with their values as text.
    """

    file: str
    line: int
    function: str
    source: str
    own: bool
    locals: tuple[tuple[str, str], ...] = ()

    def members(self) -> dict[str, object]:
        """For the parent."""
        return {
            **{name: getattr(self, name) for name in ("file", "line", "function", "source", "own")},
            "locals": [list(pair) for pair in self.locals],
        }


def stack_of(frames: Sequence[FrameType], cleaned: Callable[[str], str]) -> list[Frame]:
    """The frames of the program, innermost first; variables of its own code alone.

    Args:
        frames: Innermost first.
        cleaned: Takes secrets out of a text.
    """
    found = []
    for frame in frames:
        file = frame.f_code.co_filename
        rank = rank_of(file)
        if rank == 3 or file.startswith("<frozen") or (file.startswith("<") and frame.f_code.co_name == "<module>"):
            continue
        own = rank == 0
        source = cleaned(linecache.getline(file, frame.f_lineno).strip()[:LONGEST])
        variables = _variables(frame, cleaned) if own else ()
        found.append(Frame(file, frame.f_lineno, frame.f_code.co_name, source, own, variables))
        if len(found) == MOST_FRAMES:
            break
    return found


def _variables(frame: FrameType, cleaned: Callable[[str], str]) -> tuple[tuple[str, str], ...]:
    if frame.f_code.co_name == "<module>":
        return ()
    pairs = itertools.islice(dict(frame.f_locals).items(), MOST_LOCALS)
    return tuple((name, cleaned(f"{name} = {shown(value)}")[len(name) + 3 :]) for name, value in pairs)


def shown(value: object, depth: int = 2) -> str:
    """A value as text; objects of classes by their class alone, so that none of their code runs."""
    kind = type(value)
    if value is None or kind in (bool, float, complex):
        return repr(value)
    if kind is int and isinstance(value, int):
        return repr(value) if value.bit_length() < 4096 else f"<int of {value.bit_length()} bits>"
    if kind in (str, bytes) and isinstance(value, str | bytes):
        more = f"… ({len(value):,} in all)" if len(value) > LONGEST else ""
        return f"{value[:LONGEST]!r}{more}"
    if kind in (list, tuple, set, frozenset) and isinstance(value, list | tuple | set | frozenset):
        left, right = {list: "[]", tuple: "()", set: ("{", "}"), frozenset: ("frozenset(", ")")}[kind]
        return _several(left, right, len(value), (shown(item, depth - 1) for item in value), depth)
    if kind is dict and isinstance(value, dict):
        pairs = (f"{shown(key, depth - 1)}: {shown(item, depth - 1)}" for key, item in value.items())
        return _several("{", "}", len(value), pairs, depth)
    module, name = (type.__getattribute__(kind, part) for part in ("__module__", "__qualname__"))
    return f"<{name}>" if module == builtins.__name__ else f"<{module}.{name}>"


def _several(left: str, right: str, count: int, items: Iterable[str], depth: int) -> str:
    if depth <= 0 and count:
        return f"{left}… {count:,}{right}"
    try:
        listed = list(itertools.islice(items, MOST_ITEMS))
    except RuntimeError:  # another thread changes it
        return f"{left}…{right}"
    more = [f"… {count - MOST_ITEMS:,} more"] if count > MOST_ITEMS else []
    return f"{left}{', '.join([*listed, *more])}{right}"


def frames_of(frame: FrameType | None) -> list[FrameType]:
    """The stack from a frame outwards."""
    found: list[FrameType] = []
    while frame is not None:
        found.append(frame)
        frame = frame.f_back
    return found


def innermost_own(cleaned: Callable[[str], str]) -> list[Frame]:
    """Where each thread of the process is in the program's own code, without its variables."""
    found = []
    for frame in sys._current_frames().values():
        own = next((each for each in frames_of(frame) if rank_of(each.f_code.co_filename) == 0), None)
        if own is not None:
            stack = stack_of([own], cleaned)
            found += [Frame(each.file, each.line, each.function, each.source, own=True) for each in stack]
    return found

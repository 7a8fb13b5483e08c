"""One field of the state: which one a line shows, and when it last changed."""

from __future__ import annotations

import json
import re
from ast import literal_eval
from collections.abc import Sequence
from typing import TYPE_CHECKING, Final, TypeAlias

from agentdbg.debugging.hunt import Hunt
from agentdbg.model.canonical import dumps_json, loads_json
from agentdbg.model.records import Json, Kind, Step
from agentdbg.store.protocols import BodyMissing

if TYPE_CHECKING:
    from agentdbg.debugging.session import Session

Path: TypeAlias = "tuple[str | int, ...]"

LOOK_BACK: Final = 2_000
"""Steps looked back at for an earlier checkpoint."""
_MEMBER: Final = re.compile(r'\s*("(?:[^"\\]|\\.)*"):')
_STEP: Final = re.compile(r"\.(\w+)|\[(\d+)\]|\[('(?:[^'\\]|\\.)*'|\"(?:[^\"\\]|\\.)*\")\]")
_ABSENT: Final = "(absent)"
_MISSING: Final[Json] = "".join((_ABSENT, "\0"))
_SHOWN: Final = 60


def path_of_line(lines: Sequence[str], at: int) -> Path | None:
    """Path of the member or item that one line of indented JSON shows; ``None`` where it shows none."""
    if not 0 <= at < len(lines) or not lines[at].strip().strip("{}[],"):
        return None
    path: list[str | int] = []
    depth = _depth(lines[at])
    index = at
    while depth > 0:
        above = index
        items = 0
        while above > 0:
            above -= 1
            if _depth(lines[above]) < depth:
                break
            items += _depth(lines[above]) == depth and not lines[above].strip().startswith(("]", "}"))
        member = _MEMBER.match(lines[index])
        path.append(_key(member[1]) if member else items)
        index, depth = above, _depth(lines[above])
    return tuple(reversed(path)) or None


def parse_path(text: str) -> Path | None:
    """A path as field diffs write it; only as far as it lies in the document itself."""
    text = text.partition("→")[0]
    if not text.startswith("$"):
        return None
    path: list[str | int] = []
    for match in _STEP.finditer(text):
        name, number, quoted = match.groups()
        path.append(name if name is not None else int(number) if number is not None else str(literal_eval(quoted)))
    return tuple(path) or None


def path_words(path: Path) -> str:
    """A path for people."""
    return "".join(f"[{part}]" if isinstance(part, int) else f".{part}" for part in path).lstrip(".")


def checkpoint_before(session: Session, index: int) -> Step | None:
    """The checkpoint at an index or the last one before it."""
    for at in range(index, max(index - LOOK_BACK, -1), -1):
        step = session.step_at(at)
        if step is not None and step.kind is Kind.CHECKPOINT:
            return step
    return None


def hunt_change(session: Session, path: Path) -> None:
    """Look backward in time for the checkpoint at which a field last changed; leaves a hunt, which reads bodies."""
    here = checkpoint_before(session, session.cursor)
    if here is None:
        session.message = "no checkpoint at or before this step"
        return
    again = here.n - 1 == session.cursor and _changed(session, here, path) is not None
    start = here.n - (2 if again else 1)

    def is_change(step: Step) -> bool:
        change = _changed(session, step, path) if step.kind is Kind.CHECKPOINT else None
        if change is not None:
            hunt.arrival = f"{path_words(path)} changed here: {change}"
        return change is not None

    what = f"change of {path_words(path)}"
    hunt = Hunt(session.steps, start, -1, is_change, what)
    session.hunt = hunt


def _changed(session: Session, step: Step, path: Path) -> str | None:
    """How a field changed at a checkpoint, in words; ``None`` when it did not, or nobody knows."""
    before = checkpoint_before(session, step.n - 2)
    if before is None or before.arguments is None or step.arguments is None:
        return None
    if before.arguments.sha256 == step.arguments.sha256:
        return None
    try:
        old, new = (_text(session, checkpoint, path) for checkpoint in (before, step))
    except (BodyMissing, ValueError):
        return None
    return f"{old[:_SHOWN]} → {new[:_SHOWN]}" if old != new else None


def _text(session: Session, step: Step, path: Path) -> str:
    value: Json = loads_json(session.source.body(step.arguments)) if step.arguments is not None else None
    for part in path:
        if isinstance(value, dict):
            value = value.get(str(part), _MISSING)
        elif isinstance(value, list) and isinstance(part, int):
            value = value[part] if part < len(value) else _MISSING
        else:
            return _ABSENT
    return _ABSENT if value is _MISSING else dumps_json(value)


def _depth(line: str) -> int:
    return (len(line) - len(line.lstrip(" "))) // 2


def _key(quoted: str) -> str:
    try:
        return str(json.loads(quoted))
    except ValueError:
        return quoted[1:-1]

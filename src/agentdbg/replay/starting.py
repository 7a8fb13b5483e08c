"""What starting a run would start, for somebody who did not record it: program, arguments, place, recorded changes."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import cast

from agentdbg.model.records import Json
from agentdbg.replay.recorded_code import read_recorded_code
from agentdbg.replay.spec import interpreter, interpreter_options, mapping
from agentdbg.replay.trust import roots_of
from agentdbg.store.reader import DirectoryRunSource


@dataclass(frozen=True, slots=True)
class Starting:
    """Attributes:
    facts: What is started, each with its name.
    argv: The command line, word by word.
    difference: What the recorded tree had over its commit; empty when there was nothing.
    """

    facts: tuple[tuple[str, str], ...]
    argv: tuple[str, ...]
    difference: str


def starting(source: DirectoryRunSource) -> Starting:
    """What a replay of a run would start. Recorded texts, to be shown and not believed."""
    entry = mapping(source.summary().meta.get("entry"))
    launch = mapping(entry.get("launch"))
    argv = tuple(str(word) for word in cast("list[Json]", launch.get("argv") or entry.get("argv") or []))
    difference = "\n".join(diff for diff in read_recorded_code(source).diffs if diff.strip())
    return Starting(tuple(_facts(source)), argv, difference)


def _facts(source: DirectoryRunSource) -> Iterator[tuple[str, str]]:
    entry = mapping(source.summary().meta.get("entry"))
    target, launch = mapping(entry.get("callable")), mapping(entry.get("launch"))
    yield "python", " ".join([interpreter(source), *interpreter_options(entry)])
    if target:
        yield "function", f"{target.get('qualname')} of {target.get('file') or target.get('module')}"
    for name in ("kind", "target", "file"):
        if not target and launch.get(name):
            yield name, str(launch[name])
    yield "directory", str((launch if not target else entry).get("cwd") or entry.get("cwd") or "")
    for name, place in roots_of(source.summary()).items():
        yield f"{{{name}}}", place
    for searched in cast("list[Json]", entry.get("path") or []):
        yield "search path", str(searched)

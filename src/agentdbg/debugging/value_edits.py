"""A recorded value as somebody edits it: which one a step has, and the edits that come of what they wrote."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

from agentdbg.debugging.jsontext import pretty
from agentdbg.i18n.catalogue import message
from agentdbg.model.canonical import dumps_json
from agentdbg.model.json_path import Path, words
from agentdbg.model.json_text import json_bytes, loads_json
from agentdbg.model.records import BodyRef, Json, Kind, Step
from agentdbg.replay import cassette as cassettes
from agentdbg.replay.edits import BadEdit, Edit, apply
from agentdbg.replay.spec import mapping
from agentdbg.store.journal import ref_from
from agentdbg.store.protocols import BodyMissing
from agentdbg.store.reader import DirectoryRunSource

_MOST: Final = 12
"""Edits that one value comes apart into; more are one edit of the whole."""


class CannotEdit(Exception):
    """A step whose value cannot be edited; the message says why."""


class NoJson(Exception):
    """What was written is no JSON; the message says why."""


class NoChange(Exception):
    """What was written is what is recorded."""


@dataclass(frozen=True, slots=True)
class Value:
    """A recorded value.

    Attributes:
        top: ``result``, ``arguments`` or ``state``.
        restores: It is a checkpoint's state: the replay has to be restored there.
    """

    step: int
    top: str
    body: bytes
    restores: bool = False

    @property
    def text(self) -> str:
        """As it is laid out for an editor."""
        return "\n".join(pretty(self.body.decode("utf-8", "surrogatepass"))) + "\n"

    def edits(self, text: str) -> list[str]:
        """The edits that turn it into what somebody wrote, the fewest places that do.

        Raises:
            NoJson: That is none.
            NoChange: It is the same.
        """
        try:
            after = loads_json(text.encode("utf-8", "surrogatepass"))
        except ValueError as problem:
            raise NoJson(str(problem)) from problem
        before = loads_json(self.body)
        found = list(_changes((self.top,), before, after))
        if not found:
            raise NoChange(message("dialog.edits.unchanged"))
        if len(found) > _MOST:
            found = [((self.top,), after)]
        return [f"{self.step}:{words(path)}={dumps_json(value)}" for path, value in found]


def value_of(source: DirectoryRunSource, step: Step) -> Value:
    """The value of a step that a replay can go on from in an edited form.

    Raises:
        CannotEdit: There is none.
    """
    if step.kind is Kind.CHECKPOINT:
        return Value(step.n, "state", _body(source, step.arguments), restores=True)
    if step.kind is Kind.AGENT and step.parent is None:
        entry = mapping(source.summary().meta.get("entry"))
        found = Value(step.n, "arguments", _body(source, ref_from(entry.get("args"))))
    elif step.kind is Kind.RETRIEVAL:
        raise CannotEdit(message("dialog.edits.documents", step=step.n))
    else:
        found = Value(step.n, "result", _body(source, step.result) if step.result is not None else b"null")
    _check(source, found)
    return found


def _check(source: DirectoryRunSource, value: Value) -> None:
    """Try the edit before somebody writes one in vain."""
    try:
        edit = Edit(value.step, value.top, loads_json(value.body))
    except ValueError as problem:
        raise CannotEdit(message("dialog.edits.no_json", why=str(problem))) from problem
    try:
        apply(source, cassettes.build(source), [edit])
    except BadEdit as problem:
        raise CannotEdit(str(problem).removeprefix(f"{edit.words()}: ")) from problem


def _body(source: DirectoryRunSource, ref: BodyRef | None) -> bytes:
    if ref is None:
        raise CannotEdit(message("dialog.edits.no_body"))
    try:
        return source.body(ref)
    except BodyMissing as problem:
        raise CannotEdit(str(problem)) from problem


def _changes(path: Path, before: Json, after: Json) -> Iterator[tuple[Path, Json]]:
    """The places that differ."""
    if json_bytes(before) == json_bytes(after):
        return
    if isinstance(before, dict) and isinstance(after, dict) and before.keys() == after.keys():
        for key, value in before.items():
            yield from _changes((*path, key), value, after[key])
    elif isinstance(before, list) and isinstance(after, list) and len(before) == len(after):
        for place, value in enumerate(before):
            yield from _changes((*path, place), value, after[place])
    else:
        yield path, after

"""Edits of recorded values: a regression replay goes on from what somebody wrote in their place.

4:result.amount=10              the result of the call that is step 4
1:arguments.ticket.text="…"     what the agent was called with
6:documents[0].text="…"         a retrieved document, which some call before it returned
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import cast

from agentdbg.model.hashing import sha256_hex
from agentdbg.model.json_text import json_bytes, loads_json
from agentdbg.model.records import Json, Kind, Step
from agentdbg.replay.cassette import Cassette, RecordedCall, served_steps
from agentdbg.store.journal import ref_from
from agentdbg.store.protocols import BodyMissing
from agentdbg.store.reader import DirectoryRunSource

_EDIT = re.compile(r"(?P<step>\d+):(?P<path>[^=]+)=(?P<value>.*)", re.DOTALL)
_PART = re.compile(r"\.?([^.\[\]]+)|\[(\d+)\]")
NOT_FAST_FORWARD = (
    "the program makes it again on the way to there; it can be edited where a regression replay restores it "
    "(--from that step, --prefix restore)"
)


class BadEdit(Exception):
    """An edit that cannot be made; the message says why and what to do."""


@dataclass(frozen=True, slots=True)
class Edit:
    """One edit.

    Attributes:
        step: Number of the recorded step.
        path: ``result``, ``arguments`` or ``documents``, then members and indexes.
        value: What stands there from now on.
    """

    step: int
    path: str
    value: Json

    def members(self) -> dict[str, object]:
        """As in ``run.json``."""
        return {"step": self.step, "path": self.path, "value": self.value}

    def words(self) -> str:
        """As it is written on the command line."""
        return f"{self.step}:{self.path}={json.dumps(self.value, ensure_ascii=False)}"


@dataclass(frozen=True, slots=True)
class Edited:
    """Attributes:
    tape: What is served.
    steps: Ids of the calls whose outcome was edited: they are always served.
    arguments: The agent's arguments, where they were edited.
    """

    tape: Cassette
    steps: frozenset[str] = frozenset()
    arguments: bytes | None = None


def parse_edit(text: str) -> Edit:
    """Read ``STEP:PATH=JSON``; what is no JSON is a text.

    Raises:
        BadEdit: It is not of that form.
    """
    found = _EDIT.fullmatch(text)
    if found is None:
        raise BadEdit(f"cannot read the edit {text!r}: write STEP:PATH=JSON, as in 4:result.amount=10")
    try:
        value: Json = json.loads(found["value"])
    except ValueError:
        value = found["value"]
    _parts(found["path"].strip())
    return Edit(int(found["step"]), found["path"].strip(), value)


def apply(source: DirectoryRunSource, tape: Cassette, edits: Sequence[Edit]) -> Edited:
    """Make the edits on what will be served.

    Raises:
        BadEdit: One of them cannot be made.
    """
    done = Edited(tape)
    for edit in edits:
        steps = source.steps()
        if not 1 <= edit.step <= len(steps):
            raise BadEdit(f"{edit.words()}: the run has steps 1 to {len(steps)}")
        done = _one(source, done, edit, steps[edit.step - 1])
    return done


def edited_state(edit: Edit, body: bytes) -> bytes:
    """The state of the checkpoint that is restored, edited.

    Raises:
        BadEdit: It cannot be.
    """
    return _changed(edit, body, _parts(edit.path)[1:], edit.value)


def _one(source: DirectoryRunSource, done: Edited, edit: Edit, step: Step) -> Edited:
    top = str(_parts(edit.path)[0])
    if top == "arguments" and step.kind is Kind.AGENT and step.parent is None:
        return replace(done, arguments=_edited_arguments(source, done, edit))
    if top == "arguments":
        raise BadEdit(
            f"{edit.words()}: the arguments of step {step.n} are made by the agent or its model; edit the "
            "result that they come from, or the agent's own, 1:arguments…"
        )
    if top == "state":
        raise BadEdit(f"{edit.words()}: the state of step {step.n}: {NOT_FAST_FORWARD}")
    if top == "documents":
        return _edited_document(source, done, edit, step)
    if top != "result":
        raise BadEdit(f"{edit.words()}: {top!r} cannot be edited: there is result, arguments, documents")
    return _edited_result(done, edit, _call_of(done, edit, step), _parts(edit.path)[1:], edit.value)


def _edited_arguments(source: DirectoryRunSource, done: Edited, edit: Edit) -> bytes:
    body = done.arguments
    if body is None:
        entry = source.summary().meta.get("entry")
        ref = ref_from(entry.get("args")) if isinstance(entry, Mapping) else None
        try:
            body = source.body(ref) if ref is not None else None
        except BodyMissing as problem:
            raise BadEdit(f"{edit.words()}: {problem}") from problem
    if body is None:
        raise BadEdit(f"{edit.words()}: the run was started as a program, it has no arguments but its command line")
    return _changed(edit, body, _parts(edit.path)[1:], edit.value)


def _call_of(done: Edited, edit: Edit, step: Step) -> RecordedCall:
    call = next((each for each in done.tape.calls if each.step == step.id), None)
    if call is None:
        inside = "it lies inside a call that is served as a whole" if step.is_call else "it is no call"
        raise BadEdit(f"{edit.words()}: step {step.n}, {step.kind.value} {step.name}, has no result to serve: {inside}")
    if call.ended is None:
        raise BadEdit(f"{edit.words()}: step {step.n} has no outcome in the record: it is in doubt")
    if call.stream:
        raise BadEdit(f"{edit.words()}: the result of step {step.n} was streamed; its pieces cannot be edited")
    return call


def _edited_result(done: Edited, edit: Edit, call: RecordedCall, path: Sequence[str | int], value: Json) -> Edited:
    tape = done.tape
    if path and call.result is None:
        raise BadEdit(f"{edit.words()}: that call has no result, only an error; give it a whole one: result=…")
    before = tape.bodies[call.result] if call.result is not None else b"null"
    body = _changed(edit, before, path, value)
    digest = sha256_hex(body)
    status = "ok" if call.error is not None else call.status
    attrs = {name: each for name, each in call.attrs.items() if name not in ("chunks", "chunk_events")}
    changed = replace(call, result=digest, error=None, status=status, attrs=attrs)
    calls = tuple(changed if each.step == call.step else each for each in tape.calls)
    tape = replace(tape, calls=calls, bodies={**tape.bodies, digest: body})
    return replace(done, tape=tape, steps=done.steps | {call.step})


def _edited_document(source: DirectoryRunSource, done: Edited, edit: Edit, step: Step) -> Edited:
    """Edit a noted document where it came from: in the result of the call before the note that has its text."""
    parts = _parts(edit.path)
    if step.kind is not Kind.RETRIEVAL or len(parts) != 3 or not isinstance(parts[1], int) or parts[2] != "text":
        raise BadEdit(f"{edit.words()}: write documents[N].text of a retrieval")
    try:
        noted = loads_json(source.body(step.arguments)) if step.arguments is not None else None
        text = cast("dict[str, Json]", cast("list[Json]", noted)[parts[1]])["text"]
    except (BodyMissing, ValueError, TypeError, KeyError, IndexError) as problem:
        raise BadEdit(f"{edit.words()}: the retrieval has no such document") from problem
    before = {each.id for each in served_steps(source.steps()) if each.n < step.n}
    for call in reversed([each for each in done.tape.calls if each.step in before and each.result and not each.stream]):
        place = _place_of(text, _value(done.tape.bodies[cast(str, call.result)]))
        if place is not None:
            return _edited_result(done, edit, call, place, edit.value)
    raise BadEdit(f"{edit.words()}: no call before step {step.n} returned that text, so nothing can serve it")


def _place_of(text: Json, value: Json, at: tuple[str | int, ...] = ()) -> tuple[str | int, ...] | None:
    if value == text and isinstance(value, str):
        return at
    items: Sequence[tuple[str | int, Json]] = []
    if isinstance(value, dict):
        items = list(value.items())
    elif isinstance(value, list):
        items = list(enumerate(value))
    return next((found for key, item in items if (found := _place_of(text, item, (*at, key))) is not None), None)


def _value(body: bytes) -> Json:
    try:
        return loads_json(body)
    except ValueError:
        return None


def _changed(edit: Edit, body: bytes, path: Sequence[str | int], value: Json) -> bytes:
    try:
        tree = loads_json(body)
    except ValueError as problem:
        raise BadEdit(f"{edit.words()}: what is recorded there is no JSON; replace it whole: result=…") from problem
    if not path:
        tree = value
    else:
        holder: Json = tree
        for part in path[:-1]:
            holder = _member(edit, holder, part)
        _member(edit, holder, path[-1])
        cast("dict[str | int, Json]", holder)[path[-1]] = value
    return json_bytes(tree)


def _member(edit: Edit, holder: Json, part: str | int) -> Json:
    """A member that is there: a new one would be a slip of the pen more often than meant."""
    if isinstance(holder, dict) and isinstance(part, str) and part in holder:
        return holder[part]
    if isinstance(holder, list) and isinstance(part, int) and part < len(holder):
        return holder[part]
    there = f"; there is {', '.join(map(str, list(holder)[:12]))}" if isinstance(holder, dict) else ""
    raise BadEdit(f"{edit.words()}: the record has no {part!r} there{there}")


def _parts(path: str) -> list[str | int]:
    found: list[str | int] = []
    at = 0
    while at < len(path):
        match = _PART.match(path, at)
        if match is None:
            raise BadEdit(f"cannot read the path {path!r}: write members and indexes, as in result.items[0].price")
        found.append(int(match[2]) if match[2] is not None else match[1])
        at = match.end()
    if not found:
        raise BadEdit("an edit needs a path, as in 4:result.amount=10")
    return found

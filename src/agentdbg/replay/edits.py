"""Edits of recorded values: a replay goes on from what somebody wrote in their place.

4:result.amount=10              the result of the call that is step 4; of a stream, a text in it
4:arguments.amount=10           what that tool is called with, in a regression replay
1:arguments.ticket.text="…"     what the agent was called with
6:documents[0].text="…"         a retrieved document, which some call before it returned
5:state.status="NEW"            the state of a checkpoint, where the run is restored there
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import cast

from agentdbg.model.json_path import BadPath, parse_path, split_place
from agentdbg.model.json_text import json_bytes, loads_json
from agentdbg.model.records import Json, Kind, Step
from agentdbg.model.safe_text import safe_line
from agentdbg.redaction.gate import Gate
from agentdbg.replay.cassette import Cassette, RecordedCall, served_steps
from agentdbg.replay.edit_streams import CannotEditStream
from agentdbg.replay.edited_results import is_json, with_result
from agentdbg.replay.spec import mapping
from agentdbg.store.journal import ref_from
from agentdbg.store.protocols import BodyMissing
from agentdbg.store.reader import DirectoryRunSource

_EDIT = re.compile(r"\s*(?P<step>[0-9]{1,12}):(?P<rest>.*)", re.DOTALL)
_JSON_BEGINS = ("{", "[", '"')
LONGEST = 200
NOT_FAST_FORWARD = (
    "the program makes it again on the way to there; it can be edited where the replay restores it "
    "(--from that step, --prefix restore)"
)
EXACT_ARGUMENTS = "an exact replay has no outcome for other arguments: a regression replay can make the call with them"


class BadEdit(Exception):
    """An edit that cannot be made; the message says why and what to do."""


@dataclass(frozen=True, slots=True)
class Edit:
    """One edit.

    Attributes:
        step: Number of the recorded step.
        path: ``result``, ``arguments``, ``documents`` or ``state``, then members and indexes.
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
        value = json.dumps(self.value, ensure_ascii=False)
        return str(safe_line(f"{self.step}:{self.path}={value if len(value) <= LONGEST else value[:LONGEST] + '…'}"))


@dataclass(frozen=True, slots=True)
class Edited:
    """Attributes:
    tape: What is served.
    steps: Ids of the calls whose outcome was edited: they are always served.
    arguments: The agent's arguments, where they were edited.
    calls: By tool call, what is put into its arguments.
    """

    tape: Cassette
    steps: frozenset[str] = frozenset()
    arguments: bytes | None = None
    calls: Mapping[str, tuple[tuple[Sequence[str | int], Json], ...]] = field(default_factory=dict)


def parse_edit(text: str) -> Edit:
    """Read ``STEP:PATH=JSON``; what does not begin like JSON is a text.

    Raises:
        BadEdit: It is not of that form.
    """
    found = _EDIT.fullmatch(text)
    try:
        path, raw = split_place(found["rest"]) if found is not None else ("", "")
    except (BadPath, ValueError):
        path, raw = "", ""
    if found is None or not path:
        raise BadEdit(f"cannot read the edit {text[:120]!r}: write STEP:PATH=JSON, as in 4:result.amount=10")
    try:
        value: Json = json.loads(raw)
    except (ValueError, RecursionError) as problem:
        if raw.lstrip().startswith(_JSON_BEGINS):
            words = f"{found['step']}:{path}: {raw[:60]!r} is no JSON ({problem}), as in 4:result.name='\"text\"'"
            raise BadEdit(words) from problem
        value = raw
    _parts(path)
    return Edit(int(found["step"]), path, value)


def gated(source: DirectoryRunSource, edits: Sequence[Edit]) -> list[Edit]:
    """The edits with what the record's rules redact redacted."""
    gate = Gate(enabled=mapping(mapping(source.summary().meta.get("rules")).get("redaction")).get("version") != "off")
    return [replace(edit, value=gate.value(edit.value)) for edit in edits]


def apply(source: DirectoryRunSource, tape: Cassette, edits: Sequence[Edit], *, exact: bool = False) -> Edited:
    """Make the edits on what will be served.

    Args:
        source: The record.
        tape: What is served.
        edits: One after the other.
        exact: Nothing is made for real.

    Raises:
        BadEdit: One of them cannot be made.
    """
    done = Edited(tape)
    for edit in edits:
        if exact and _parts(edit.path)[0] == "arguments" and edit.step != 1:
            raise BadEdit(f"{edit.words()}: {EXACT_ARGUMENTS}")
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
        return _rearranged(source, done, edit, step)
    if top == "state":
        if step.kind is not Kind.CHECKPOINT:
            raise BadEdit(f"{edit.words()}: step {step.n}, {step.kind.value} {step.name}, is no checkpoint")
        raise BadEdit(f"{edit.words()}: the state of step {step.n}: {NOT_FAST_FORWARD}")
    if top == "documents":
        return _edited_document(source, done, edit, step)
    if top != "result":
        raise BadEdit(f"{edit.words()}: {top!r} cannot be edited: there is result, arguments, documents, state")
    call = _call_of(done, edit, step)
    return _edited_result(done, edit, call, _parts(edit.path)[1:], edit.value, step.attrs.get("provider"))


def _rearranged(source: DirectoryRunSource, done: Edited, edit: Edit, step: Step) -> Edited:
    """Put other values into the arguments that a tool is called with, when it is."""
    call = next((each for each in done.tape.calls if each.step == step.id), None)
    if step.kind is not Kind.TOOL or call is None:
        raise BadEdit(
            f"{edit.words()}: the arguments of step {step.n}, {step.kind.value} {step.name}, are made by the agent; "
            "edit the result that they come from, a tool's arguments, or the agent's own, 1:arguments…"
        )
    if done.steps & {step.id}:
        raise BadEdit(f"{edit.words()}: its result is edited too, so the call is not made")
    path = _parts(edit.path)[1:]
    try:
        body = source.body(step.arguments) if step.arguments is not None else b"{}"
    except BodyMissing as problem:
        raise BadEdit(f"{edit.words()}: {problem}") from problem
    tree = loads_json(_changed(edit, body, path, edit.value))
    before = loads_json(body)
    if not isinstance(tree, dict) or not isinstance(before, dict) or tree.keys() != before.keys():
        raise BadEdit(f"{edit.words()}: arguments are a mapping, with the names that the tool has")
    made = (*done.calls.get(step.id, ()), (path, edit.value))
    return replace(done, calls={**done.calls, step.id: made})


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
    if done.calls.get(step.id):
        raise BadEdit(f"{edit.words()}: its arguments are edited too, so its recorded result is not served")
    return call


def _edited_result(
    done: Edited, edit: Edit, call: RecordedCall, path: Sequence[str | int], value: Json, provider: Json = None
) -> Edited:
    try:
        changed, bodies = with_result(done.tape, call, _result_of(done, edit, call, path, value), provider)
    except CannotEditStream as problem:
        raise BadEdit(f"{edit.words()}: that result was streamed: {problem}") from problem
    calls = tuple(changed if each.step == call.step else each for each in done.tape.calls)
    tape = replace(done.tape, calls=calls, bodies={**done.tape.bodies, **bodies})
    return replace(done, tape=tape, steps=done.steps | {call.step})


def _result_of(done: Edited, edit: Edit, call: RecordedCall, path: Sequence[str | int], value: Json) -> bytes:
    if path and call.result is None and call.error is None:
        raise BadEdit(f"{edit.words()}: that call has no result in the record; give it a whole one: result=…")
    if path and call.result is None:
        raise BadEdit(f"{edit.words()}: that call has no result, only an error; give it a whole one: result=…")
    before = done.tape.bodies[call.result] if call.result is not None else b"null"
    if not path and isinstance(value, str) and "http_status" in call.attrs and not call.stream and not is_json(before):
        return value.encode()  # a page, not a value
    return _changed(edit, before, path, value)


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
        if not path:
            return json_bytes(value)
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
    if isinstance(holder, list) and isinstance(part, int) and -len(holder) <= part < len(holder):
        return holder[part]
    there = f"but {_called(holder)}"
    if isinstance(holder, dict):
        names = [str(safe_line(str(name)))[:40] for name in list(holder)[:12]]
        there = f"there is {', '.join(names) or 'nothing'}{', …' if len(holder) > 12 else ''}"
    elif isinstance(holder, list):
        there = f"the list has {len(holder)} items"
    raise BadEdit(f"{edit.words()}: the record has no {part!r} there; {there}")


def _called(value: Json) -> str:
    names = {str: "a text", bool: "true or false", type(None): "null"}
    return names.get(type(value), "a number")


def _parts(path: str) -> list[str | int]:
    try:
        return list(parse_path(path))
    except ValueError as problem:
        words = f"cannot read the path {path[:120]!r}: write members and indexes, as in result.items[0].price"
        raise BadEdit(words) from problem

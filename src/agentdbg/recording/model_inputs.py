"""The inputs of model calls on their way to disk: each message is looked at and stored once, then known by its hash."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, NamedTuple, cast

from agentdbg.model.hashing import chain, sha256_hex
from agentdbg.model.json_text import json_bytes
from agentdbg.model.records import Json
from agentdbg.recording.input_state import InputState as InputState

if TYPE_CHECKING:
    from agentdbg.model.segments import Part
    from agentdbg.redaction.gate import Gate
    from agentdbg.store.journal import RunWriter

FULL_INPUT_EVERY = 64
LONGEST_CHAIN = 4_000
"""A reader follows that many links for certain."""
_ROUNDS = 3


class Clean(NamedTuple):
    """A request without what must go, and the bytes and hashes of those of its items that were looked at by hash."""

    body: dict[str, Json]
    items: Mapping[int, tuple[bytes, str]]


def clean_request(body: dict[str, Json], gate: Gate) -> Clean:
    """Redact until nothing more is found: what one message gives away may stand in an earlier one too."""
    items: dict[int, tuple[bytes, str]] = {}
    if gate.enabled:
        for _ in range(_ROUNDS):
            items.clear()
            redacted = _redacted(body, gate, items)
            if redacted is body:
                break
            body = redacted
    return Clean(body, items)


def _redacted(body: dict[str, Json], gate: Gate, items: dict[int, tuple[bytes, str]]) -> dict[str, Json]:
    """Redact a request; its messages and tools one by one, as a mapping in a list does not depend on what is around."""
    lists = {key: value for key, value in body.items() if type(value) is list and all(type(v) is dict for v in value)}
    rest = {**body, **dict.fromkeys(lists)}
    seen = gate.value(rest)
    if seen is not rest:
        return gate.value(body)
    found = {key: [_item(item, gate, items) for item in listed] for key, listed in lists.items()}
    same = all(new is old for key, listed in lists.items() for new, old in zip(found[key], listed, strict=True))
    return body if same else {**body, **found}


def _item(item: Json, gate: Gate, items: dict[int, tuple[bytes, str]]) -> Json:
    data = json_bytes(item)
    digest = sha256_hex(data)
    if not gate.is_clean(digest):
        learned = gate.learned
        redacted = gate.value(item)
        if redacted is not item:
            return redacted
        gate.keep_clean(digest, learned)
    items[id(item)] = data, digest
    return item


def store_input(
    state: InputState, base: str | None, parts: Sequence[Part], clean: Clean, writer: RunWriter, gate: Gate
) -> tuple[dict[str, object], InputState]:
    """Store the segments of a model input.

    Args:
        state: What was known of the lane's latest input.
        base: The step of that.
        parts: The segments, in order.
        clean: The request that they are cut from.
        writer: Writes the run.
        gate: Redacts it.

    Returns:
        The ``input`` of the event, and what is to be known for the next call.
    """
    found: list[tuple[str, str]] = []
    refs: list[dict[str, object]] = []
    for part in parts:
        known = clean.items.get(id(part.value))
        data, digest = known if known is not None else (json_bytes(gate.value(part.value)), "")
        ref = writer.store(data, digest)
        refs.append(ref)
        found.append((part.kind, cast(str, ref["sha256"])))
    alike = _alike(state.parts, found)
    keep = alike if base is not None and not _is_full_due(state.since_full + 1, len(parts)) else 0
    hashes = list(state.hashes[:alike])
    digest = hashes[-1] if hashes else ""
    for kind, sha in found[alike:]:
        digest = chain(digest, kind, sha)
        hashes.append(digest)
    add = [
        {"kind": part.kind, "name": gate.text(part.name), "ref": ref}
        for part, ref in zip(parts[keep:], refs[keep:], strict=True)
    ]
    members: dict[str, object] = {
        "hash": digest,
        "n": len(parts),
        "base": base if keep else None,
        "keep": keep,
        "add": add,
    }
    return members, InputState(tuple(found), tuple(hashes), state.since_full + 1 if keep else 0)


def _alike(known: Sequence[tuple[str, str]], new: Sequence[tuple[str, str]]) -> int:
    count = 0
    for left, right in zip(known, new, strict=False):
        if left != right:
            break
        count += 1
    return count


def _is_full_due(calls: int, segments: int) -> bool:
    """Whether a full list is due: as rarely as makes all of them together grow with the run and not with its square."""
    return calls >= min(max(FULL_INPUT_EVERY, segments // 3), LONGEST_CHAIN)

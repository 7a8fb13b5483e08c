"""A recorded call with another result: as it is served, in one piece or streamed. Used in the child too."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from agentdbg.model.hashing import sha256_hex
from agentdbg.model.json_text import json_bytes, loads_json
from agentdbg.model.records import Json
from agentdbg.replay.cassette import Cassette, RecordedCall
from agentdbg.replay.edit_streams import CannotEditStream, edited_parts

_CHUNKS = ("chunks", "chunk_events")


def with_result(
    tape: Cassette, call: RecordedCall, body: bytes, provider: Json = None
) -> tuple[RecordedCall, dict[str, bytes]]:
    """A recorded call with another result, and the bodies that it needs.

    Args:
        tape: Where it is from.
        call: The recorded call.
        body: The result, encoded as the recorded one was.
        provider: Of a model call: its shape.

    Raises:
        CannotEditStream: It was streamed, and its pieces cannot carry that.
    """
    attrs = {name: each for name, each in call.attrs.items() if name not in _CHUNKS}
    attrs = {**attrs, "edited": True, **_with_length(attrs, len(body))}
    bodies, stream = {}, call.stream
    if call.stream:
        if call.result is None or not isinstance(provider, str):
            raise CannotEditStream("only texts of a model's answer that came to its end can be replaced")
        parts = [tape.bodies[key] for key in call.stream]
        before, after = loads_json(tape.bodies[call.result]), loads_json(body)
        found, came_to = edited_parts(parts, provider, call.attrs.get("headers"), before, after)
        bodies = {sha256_hex(part): part for part in found}
        stream, body = tuple(map(sha256_hex, found)), json_bytes(came_to)
    digest = sha256_hex(body)
    status = "ok" if call.error is not None else call.status
    changed = replace(call, result=digest, error=None, status=status, attrs=attrs, stream=stream)
    return changed, {**bodies, digest: body}


def _with_length(attrs: Mapping[str, Json], length: int) -> dict[str, Json]:
    """The headers with the length of another body, where they tell one."""
    headers = attrs.get("headers")
    if not isinstance(headers, list):
        return {}

    def told(pair: Json) -> Json:
        is_length = isinstance(pair, list) and len(pair) == 2 and str(pair[0]).lower() == "content-length"
        return [pair[0], str(length)] if is_length and isinstance(pair, list) else pair

    return {"headers": [told(pair) for pair in headers]}


def is_json(body: bytes) -> bool:
    """Whether a body is JSON."""
    try:
        loads_json(body)
    except ValueError:
        return False
    return True

"""Multipart forms: written down part by part, because the line between the parts is drawn anew for each request."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from agentdbg.redaction.gate import Gate

_KEPT = ("name", "filename")


def parts_of(content_type: str, content: bytes, gate: Gate) -> list[dict[str, object]] | None:
    """The parts of a multipart body, redacted; ``None`` for another body, or one that is not put together rightly."""
    boundary = _boundary(content_type)
    if boundary is None:
        return None
    line = b"--" + boundary
    pieces = (b"\r\n" + content).split(b"\r\n" + line)
    if len(pieces) < 3 or pieces[0] or pieces[-1].strip() != b"--":
        return None
    found = [_part(piece, gate) for piece in pieces[1:-1]]
    return None if None in found else [part for part in found if part is not None]


def _boundary(content_type: str) -> bytes | None:
    if not content_type.strip().lower().startswith("multipart/"):
        return None
    from email.message import Message  # not for every program: it takes longer than all of this

    head = Message()
    head["content-type"] = content_type
    found = head.get_boundary()
    return found.encode("latin-1", "replace") if found else None


def _part(piece: bytes, gate: Gate) -> dict[str, object] | None:
    head, empty, content = piece.removeprefix(b"\r\n").partition(b"\r\n\r\n")
    if not empty:
        return None
    lines = [line.decode("utf-8", "replace").partition(":") for line in head.split(b"\r\n")]
    headers = {name.strip().lower(): value.strip() for name, _, value in lines}
    found: dict[str, object] = {}
    for name in _KEPT:
        param = _param(headers.get("content-disposition", ""), name)
        if param is not None:
            found[name] = param
    if "content-type" in headers:
        found["type"] = headers["content-type"]
    found["content"] = _content(found, content, gate)
    return found


def _param(disposition: str, name: str) -> str | None:
    match = re.search(rf';\s*{name}="([^"]*)"', disposition) or re.search(rf";\s*{name}\*?=([^;]*)", disposition)
    return match[1].strip() if match else None


def _content(part: dict[str, object], content: bytes, gate: Gate) -> Any:
    """A field's text, looked at under the field's name; a file as text or bytes."""
    try:
        text = content.decode("utf-8")
    except UnicodeDecodeError:
        return gate.body(content)
    name = str(part.get("name", ""))
    if "filename" not in part:
        return gate.value({name: text}).get(name, "")
    return gate.body(content).decode("utf-8", "surrogateescape")

"""Bodies of HTTP messages: JSON, event streams, forms, anything."""

from __future__ import annotations

import json
import math
from typing import TYPE_CHECKING

from agentdbg.redaction.placeholder import OPEN, pattern

if TYPE_CHECKING:
    from agentdbg.redaction.gate import Gate


class _Lossy(ValueError):
    """Parsing and writing this JSON again would change it."""


def redact(gate: Gate, raw: bytes) -> bytes:
    """Return the redacted body: the same object when nothing was found."""
    try:
        text = raw.decode("utf-8")
    except UnicodeDecodeError:
        return _binary(gate, raw)
    head = raw[:64].lstrip()[:1]
    if head and head in b'{["':
        try:
            parsed = json.loads(text, object_pairs_hook=_unique, parse_float=_exact, parse_constant=_constant)
        except (ValueError, RecursionError):
            pass
        else:
            seen = gate.value(parsed)
            if seen is parsed:
                return raw
            return json.dumps(seen, ensure_ascii=False, separators=(",", ":")).encode("utf-8", "surrogatepass")
    seen_text = _events(gate, text) if text.startswith(("data:", "event:", "id:", ":")) else gate.text(text)
    return raw if seen_text == text else seen_text.encode("utf-8", "surrogatepass")


def _unique(pairs: list[tuple[str, object]]) -> dict[str, object]:
    out = dict(pairs)
    if len(out) != len(pairs):
        raise _Lossy
    return out


def _exact(literal: str) -> float:
    number = float(literal)
    if math.isinf(number):
        raise _Lossy
    return number


def _constant(literal: str) -> float:
    raise _Lossy(literal)


def _events(gate: Gate, text: str) -> str:
    """Redact an event stream line by line, so that each JSON payload is seen as JSON."""
    lines = text.split("\n")
    for i, line in enumerate(lines):
        if line.startswith("data:"):
            payload = line[5:].lstrip()
            seen = gate.text(payload)
            if seen is not payload:
                lines[i] = line[: len(line) - len(payload)] + seen
        else:
            lines[i] = gate.text(line)
    return "\n".join(lines)


def _binary(gate: Gate, raw: bytes) -> bytes:
    """Scan bytes that are no UTF-8 as Latin-1; everything but the findings keeps its bytes."""
    text = raw.decode("latin-1")
    seen = gate.text(text)
    if seen is text:
        return raw
    out: list[bytes] = []
    last = 0
    for match in pattern().finditer(seen) if OPEN in seen else ():
        out += (seen[last : match.start()].encode("latin-1"), match.group().encode())
        last = match.end()
    return b"".join((*out, seen[last:].encode("latin-1")))

"""JSON laid out for reading without being parsed: every literal keeps the characters that were recorded.

A parser would turn 1e999, 2**70, duplicate keys and torn endings into something else, or refuse them.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final

from agentdbg.debugging.document import Block, Flavour, Span, Tone, span
from agentdbg.model.safe_text import SafeText, safe_line

_TOKEN: Final = re.compile(r'"[^"\\]*(?:\\.[^"\\]*)*"?|[{}\[\]:,]|[^\s{}\[\]:,"]+', re.DOTALL)
_INLINE_TOKENS: Final = 16
_INLINE_CHARS: Final = 64
_MAX_INDENT: Final = 60
_INDENTS: Final = tuple("  " * depth for depth in range(_MAX_INDENT + 1))
_CLOSING: Final = {"{": "}", "[": "]"}
_CLOSERS: Final = frozenset("}]")
_BRACKETS: Final = frozenset("{}[]")

_COLOURS: Final = re.compile(
    r'(?P<string>"[^"\\]*(?:\\.[^"\\]*)*"?)(?P<key>\s*:)?|(?P<number>-?\d[\d.eE+-]*)|(?P<literal>true|false|null|NaN|-?Infinity)'
    r"|(?P<punctuation>[{}\[\]:,]+)"
)


def block_of(data: bytes) -> Block:
    """A body as lines: JSON indented, anything else as the text it is."""
    text = data.decode("utf-8", "replace")
    if looks_like_json(text):
        return Block(pretty(text), Flavour.JSON, data)
    return Block(text_lines(text), Flavour.TEXT, data)


def looks_like_json(text: str) -> bool:
    """Whether the text begins as a JSON container or is a JSON string."""
    head = text[:64].lstrip()
    return head[:1] in ("{", "[") and text[-64:].rstrip()[-1:] in ("}", "]")


def text_lines(text: str) -> list[SafeText]:
    """Plain text as safe lines, tabs expanded."""
    return [safe_line(line.expandtabs(4)) for line in text.removesuffix("\n").split("\n")]


def pretty(text: str) -> list[SafeText]:
    """The lines of indented JSON; short flat containers stay on one line."""
    tokens = _TOKEN.findall(text)
    lines: list[SafeText] = []
    line = ""
    depth = 0
    index = 0
    count = len(tokens)
    while index < count:
        token = tokens[index]
        index += 1
        if token == ",":
            lines.append(_line(line + token))
            line = _INDENTS[min(depth, _MAX_INDENT)]
        elif token == ":":
            line += ": "
        elif token in _CLOSING:
            flat = _flat(tokens, index - 1)
            if flat is not None:
                line += flat[0]
                index = flat[1]
                continue
            lines.append(_line(line + token))
            depth += 1
            line = _INDENTS[min(depth, _MAX_INDENT)]
        elif token in _CLOSERS:
            depth = max(depth - 1, 0)
            if line and not line.isspace():
                lines.append(_line(line))
            line = _INDENTS[min(depth, _MAX_INDENT)] + token
        else:
            line += token
    if line and not line.isspace():
        lines.append(_line(line))
    return lines


def colour(line: str) -> Iterator[tuple[int, int, Tone]]:
    """Start, end and tone of the coloured parts of one line of JSON."""
    for match in _COLOURS.finditer(line):
        kind = match.lastgroup
        if kind == "key":
            yield match.start(), match.end("string"), Tone.KEY
            yield match.start("key"), match.end(), Tone.PUNCTUATION
        elif kind == "string":
            yield match.start(), match.end(), Tone.STRING
        elif kind == "number":
            yield match.start(), match.end(), Tone.NUMBER
        elif kind == "literal":
            yield match.start(), match.end(), Tone.LITERAL
        else:
            yield match.start(), match.end(), Tone.PUNCTUATION


def coloured(line: str) -> list[Span]:
    """One line of JSON as spans that cover all of it."""
    spans: list[Span] = []
    done = 0
    for start, end, tone in colour(line):
        if start > done:
            spans.append(span(line[done:start]))
        spans.append(span(line[start:end], tone))
        done = end
    if done < len(line):
        spans.append(span(line[done:]))
    return spans


def _line(line: str) -> SafeText:
    return SafeText(line) if line.isascii() and line.isprintable() else safe_line(line)


def _flat(tokens: list[str], start: int) -> tuple[str, int] | None:
    """A container without containers that fits on the line, and the index after it."""
    closing = _CLOSING[tokens[start]]
    parts = [tokens[start]]
    length = 0
    for index in range(start + 1, min(start + 1 + _INLINE_TOKENS, len(tokens))):
        token = tokens[index]
        if token == closing:
            parts.append(token)
            return "".join(parts), index + 1
        if token in _BRACKETS:
            return None
        length += len(token)
        if length > _INLINE_CHARS:
            return None
        parts.append(token + " " if token in ":," else token)
    return None

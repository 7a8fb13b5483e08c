"""A finding: where it is, what it is, and its decoded value."""

from __future__ import annotations

from typing import NamedTuple


class Span(NamedTuple):
    """``text[start:end]`` holds a secret of a kind; ``value`` is what it decodes to."""

    start: int
    end: int
    kind: str
    value: str


def merge(spans: list[Span], text: str) -> list[Span]:
    """Sort, drop what is covered, join what overlaps: every character found stays covered."""
    if len(spans) < 2:
        return spans
    spans.sort(key=lambda s: (s.start, -s.end))
    out: list[Span] = []
    start, end, kind, value, size = *spans[0], spans[0].end - spans[0].start
    joined = False
    for span in spans[1:]:
        if span.start >= end:
            out.append(Span(start, end, kind, text[start:end] if joined else value))
            start, end, kind, value = span
            size, joined = end - start, False
        elif span.end > end:
            if span.end - span.start > size:
                kind, size = span.kind, span.end - span.start
            end, joined = span.end, True
    out.append(Span(start, end, kind, text[start:end] if joined else value))
    return out

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
    out = [spans[0]]
    for span in spans[1:]:
        last = out[-1]
        if span.start >= last.end:
            out.append(span)
        elif span.end > last.end:
            kind = last.kind if last.end - last.start >= span.end - span.start else span.kind
            out[-1] = Span(last.start, span.end, kind, text[last.start : span.end])
    return out

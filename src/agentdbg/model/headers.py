"""The request headers of a model call, of which a record keeps what differs from an earlier call."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from agentdbg.model.records import Json, Step

LIKE = "request_headers_like"


def request_headers(step: Step, step_by_id: Callable[[str], Step | None]) -> list[tuple[str, str]]:
    """All headers of a step's request, in the order sent; those of its own alone when the other step is missing."""
    own = _pairs(step.attrs)
    like = step.attrs.get(LIKE)
    earlier = step_by_id(like) if isinstance(like, str) else None
    if earlier is None:
        return own
    differing = dict(own)
    return [(name, differing.get(name, value)) for name, value in _pairs(earlier.attrs)]


def _pairs(attrs: Mapping[str, Json]) -> list[tuple[str, str]]:
    found = attrs.get("request_headers")
    return [
        (str(pair[0]), str(pair[1]))
        for pair in (found if isinstance(found, list) else [])
        if isinstance(pair, list) and len(pair) == 2
    ]

"""The headers of a request, put together from what differs."""

from __future__ import annotations

from agentdbg.model.headers import request_headers
from agentdbg.model.records import Json, Kind, Step


def step(**attrs: Json) -> Step:
    return Step(1, "w:1", Kind.MODEL, "m", attrs=attrs)


NOTHING: dict[str, Step] = {}
FULL = step(request_headers=[["host", "a"], ["content-length", "7"]])


def test_what_differs_takes_its_place_among_the_others() -> None:
    later = step(request_headers=[["content-length", "9"]], request_headers_like="w:0")
    assert request_headers(later, {"w:0": FULL}.get) == [("host", "a"), ("content-length", "9")]
    assert request_headers(FULL, NOTHING.get) == [("host", "a"), ("content-length", "7")]


def test_a_damaged_record_gives_what_there_is() -> None:
    later = step(request_headers=[["content-length", "9"], "x", ["y"]], request_headers_like="w:0")
    assert request_headers(later, NOTHING.get) == [("content-length", "9")]
    assert request_headers(step(request_headers_like=3, request_headers=None), NOTHING.get) == []

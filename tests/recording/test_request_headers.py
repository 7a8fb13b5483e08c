"""Headers are written once, then what differs."""

from __future__ import annotations

from agentdbg.recording.request_headers import RequestHeaders


def test_only_what_differs_is_written_again() -> None:
    sent = RequestHeaders()
    first = [["host", "a"], ["content-length", "7"]]
    assert sent.attrs(first) == {"request_headers": first}
    sent.written("w:3", first)
    later = [["host", "a"], ["content-length", "8"]]
    assert sent.attrs(later) == {"request_headers": [["content-length", "8"]], "request_headers_like": "w:3"}
    sent.written("w:5", later)
    assert sent.attrs(first) == {"request_headers": [], "request_headers_like": "w:3"}


def test_other_names_another_order_or_a_name_twice_are_written_in_full() -> None:
    sent = RequestHeaders()
    sent.written("w:3", [["host", "a"], ["accept", "b"]])
    sent.written("w:4", [["x", "1"], ["x", "2"]])
    for headers in ([["host", "a"]], [["accept", "b"], ["host", "a"]], [["x", "1"], ["x", "3"]]):
        assert sent.attrs(headers) == {"request_headers": headers}

"""Sources that offer no more than the protocol are served as well."""

from __future__ import annotations

from agentdbg.debugging.capabilities import KeepsRecords, SelectsPositions, is_complete, watch_kind
from tests.support.refund_run import refund_run


def test_a_plain_source_is_complete_and_polled() -> None:
    source = refund_run()
    assert is_complete(source)
    assert watch_kind(source) == "polling"
    assert not isinstance(source, SelectsPositions)
    assert not isinstance(source, KeepsRecords)


def test_what_a_source_says_about_itself_is_believed_within_reason() -> None:
    source = refund_run()
    source.complete = False  # type: ignore[attr-defined]
    source.watch_kind = "\x1b[2J"  # type: ignore[attr-defined]
    assert not is_complete(source)
    assert watch_kind(source) == "polling"

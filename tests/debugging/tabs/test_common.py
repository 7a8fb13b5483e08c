"""Pieces of tabs."""

from __future__ import annotations

from agentdbg.debugging.tabs.common import body_section, effect_span, fact_rows, json_block, origin_note, short
from agentdbg.model.records import BodyRef, Effect, Origin
from tests.support.reading import row_text
from tests.support.refund_run import refund_run


def test_hashes_are_short_and_absent_ones_a_dash() -> None:
    assert (short("fp1:0123456789"), short("0123456789"), short(None), short("")) == ("0123456", "0123456", "–", "–")


def test_facts_leave_out_what_says_nothing() -> None:
    rows = fact_rows({"a": "x", "b": None, "c": [], "d": {"k": 1}, "e": "skip"}, skip=("e",))
    assert [row_text(row).split() for row in rows] == [["a", "x"], ["d", '{"k":1}']]


def test_a_body_that_is_missing_is_a_line() -> None:
    section = body_section(refund_run(), "k", "Result", BodyRef("0" * 64, 7))
    assert row_text(section.title) == "Result  7 B · 0000000"
    assert [row_text(line) for line in section.load().lines] == ["body missing: pruned"]  # type: ignore[arg-type]


def test_what_was_not_recorded_is_marked(monkeypatch) -> None:
    source = refund_run()
    step = source.steps()[0]
    assert origin_note(source, step, "input").text == ""
    monkeypatch.setattr(source, "origin", lambda _step, _field: Origin.REBUILT)
    assert "rebuilt, not recorded" in origin_note(source, step, "input").text


def test_effects_and_values() -> None:
    assert effect_span(Effect.WRITE).text == "write"
    assert effect_span(None).text == "–"
    assert list(json_block({"a": [1]}).lines) == ["{", '  "a": [1]', "}"]

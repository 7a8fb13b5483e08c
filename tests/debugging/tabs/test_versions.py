"""Versions: what code, prompts and models the run used."""

from __future__ import annotations

from dataclasses import replace

from agentdbg.debugging.session import Session
from agentdbg.debugging.tabs.versions import versions_tab
from agentdbg.store.step_list import ExtraEvent
from tests.support.memory_source import MemorySource, run_of
from tests.support.reading import text_of
from tests.support.refund_run import refund_run


def test_declared_and_derived_versions_are_told_apart() -> None:
    session = Session(refund_run())
    session.goto_number(3)
    text = text_of(versions_tab(session))
    assert "refund-desk 2.4.1" in text
    assert "sha256:5d0a77c1  derived, not declared" in text
    assert '"dirty":true' in text
    assert "desk-model-2026-06-01" in text


class _WithEnvironment(MemorySource):
    """A source that keeps records about the run."""

    def extra_events(self, kind=None):
        ref = self.put({"python": "3.11"})
        yield ExtraEvent("w", "environment", b"", {"body": {"sha256": ref.sha256, "size": ref.size}})
        yield ExtraEvent("w", "environment", b"", {"body": "torn"})


def test_the_environment_is_shown_where_the_source_has_it() -> None:
    source = _WithEnvironment(
        replace(run_of([]).run, meta={"entry": {"argv": ["a"], "callable": {"m": 1}}, "format": "0.1"})
    )
    text = text_of(versions_tab(Session(source)))
    assert '{"python": "3.11"}' in text
    assert '"argv": ["a"]' in text


def test_nothing_recorded_is_said() -> None:
    assert text_of(versions_tab(Session(run_of([])))) == "no versions were recorded"

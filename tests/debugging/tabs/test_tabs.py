"""Which tabs there are, and which of them tells most about a step."""

from __future__ import annotations

import pytest

from agentdbg.debugging.session import Session
from agentdbg.debugging.tabs import TABS, build, tab, telling_tab
from agentdbg.model.records import Kind, Step
from tests.support.memory_source import run_of
from tests.support.reading import text_of
from tests.support.refund_run import refund_run


def test_every_kind_of_step_has_a_telling_tab() -> None:
    for kind in Kind:
        assert tab(telling_tab(Step(n=1, id="w:0", kind=kind, name=""))).title
    assert telling_tab(None) == "summary"
    with pytest.raises(KeyError):
        tab("nothing")


def test_a_tab_that_fails_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    session = Session(refund_run())

    def broken(_step: object) -> object:
        raise RuntimeError("no \x1b[2J way")

    monkeypatch.setattr(session.source, "segments", broken)
    assert text_of(build("raw", session)) == "cannot be shown: RuntimeError: no ␛[2J way"


def test_digits_are_unique() -> None:
    assert len({entry.digit for entry in TABS}) == len(TABS)


@pytest.mark.parametrize("entry", TABS, ids=lambda entry: entry.id)
def test_every_tab_says_something_about_every_step(entry) -> None:
    session = Session(refund_run())
    for index in range(session.count):
        session.goto(index)
        assert text_of(entry.build(session)).strip()
    assert text_of(entry.build(Session(run_of([])))).strip()

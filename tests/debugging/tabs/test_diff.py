"""The Diff tab and the input hash table."""

from __future__ import annotations

from agentdbg.debugging.compared import compare_runs
from agentdbg.debugging.document import load
from agentdbg.debugging.session import Session
from agentdbg.debugging.tabs import build, tab_for
from agentdbg.model.records import Kind
from tests.support.reading import line_text, row_text, text_of
from tests.support.refund_run import TWIN, refund_run, twin_run


def never() -> bool:
    return False


def beside_twin() -> Session:
    session = Session(refund_run())
    compared = compare_runs(session.source, twin_run(), never)
    list(compared.sift(never))
    compared.settle()
    session.compare(compared)
    return session


def last_model(session: Session) -> None:
    session.goto(max(step.n - 1 for step in session.steps if step.kind is Kind.MODEL))


def test_alone_it_says_how_to_compare() -> None:
    assert "= compares" in text_of(build("diff", Session(refund_run())))


def test_the_first_difference_shows_the_lost_field() -> None:
    session = beside_twin()
    assert tab_for(session) == "diff"
    said = text_of(build("diff", session), only_open=True)
    assert '+ $→$.requires_manual_approval  "approval.manual"' in said or "requires_manual_approval" in said
    assert TWIN in said and "≠" in said


def test_a_step_that_is_the_same_keeps_its_own_tab() -> None:
    session = beside_twin()
    session.goto_number(4)
    assert tab_for(session) != "diff"
    assert "nothing differs" in text_of(build("diff", session))


def test_the_table_of_a_model_call_has_one_differing_row_that_opens_to_the_field() -> None:
    session = beside_twin()
    last_model(session)
    document = build("diff", session)
    rows = [section for section in document.sections if section.key.startswith("row.")]
    differing = [section for section in rows if row_text(section.title).startswith("~")]
    assert len(differing) == 1
    assert differing[0].open
    assert not any(section.open for section in rows if section is not differing[0])
    opened = "\n".join(line_text(line) for line in load(differing[0]).lines)
    assert "requires_manual_approval" in opened


def test_alone_the_table_is_against_the_call_before() -> None:
    session = Session(refund_run())
    last_model(session)
    said = text_of(build("input", session))
    assert "compared with step" in said
    signs = [row_text(section.title)[0] for section in build("input", session).sections if section.key[:4] == "row."]
    assert set(signs) == {"=", "+"}

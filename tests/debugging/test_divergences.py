"""From one divergence to the next."""

from __future__ import annotations

from dataclasses import replace

from agentdbg.debugging.compared import compare_runs
from agentdbg.debugging.divergences import DiffView
from agentdbg.debugging.session import Session
from agentdbg.model.records import Mode
from tests.support.memory_source import MemorySource, plain_steps, run_of
from tests.support.refund_run import refund_run, twin_run


def beside_twin(session: Session) -> Session:
    session.compare(compare_runs(session.source, twin_run(), lambda: False))
    return session


def here(session: Session) -> str:
    assert session.current is not None
    return session.current.name


def replay(first: dict[str, object], *served: str | None) -> MemorySource:
    steps = [
        replace(step, attrs={"served_from": source} if source else {})
        for step, source in zip(plain_steps(len(served)), served, strict=True)
    ]
    meta = {"outcome": {"verdict": "diverged", "first_divergence": first}}
    return run_of(steps, mode=Mode.EXACT, replay_of="source", verdict="diverged", meta=meta)


def test_comparing_goes_to_the_first_difference_when_nobody_has_moved() -> None:
    session = beside_twin(Session(refund_run()))
    assert here(session) == "policy_lookup"
    assert [mark.word for mark in session.marks_of(session.steps[session.cursor])][:1] == ["diverged"]


def test_comparing_leaves_the_cursor_where_the_user_put_it() -> None:
    session = Session(refund_run())
    session.goto_number(3)
    beside_twin(session)
    assert session.cursor == 2


def test_d_goes_to_the_first_difference_and_says_what_it_is_then_on() -> None:
    session = Session(refund_run())
    session.goto_number(3)
    beside_twin(session)
    session.diffs.next()
    assert here(session) == "policy_lookup"
    assert "refund-policy" in session.message or "requires_manual_approval" in session.message
    first = session.cursor
    session.diffs.next()
    assert session.cursor > first
    session.diffs.previous()
    assert session.cursor == first
    session.first()
    session.diffs.previous()
    assert "no earlier difference" in session.message


def test_without_a_compared_run_d_says_what_to_do() -> None:
    session = Session(refund_run())
    session.diffs.next()
    assert "= compares" in session.message


def test_a_replay_opens_at_the_step_that_was_served_from_where_it_parted() -> None:
    first = {"step": 3, "id": "src:30", "path": "$"}
    session = Session(replay(first, "src:10", "src:20", None, "src:30", "src:40"))
    assert session.cursor == 3
    session.first()
    session.diffs.next()
    assert session.cursor == 3
    session.diffs.next()
    assert "only divergence" in session.message


def test_a_replay_whose_step_was_not_served_opens_at_its_ordinal_or_the_end() -> None:
    assert Session(replay({"step": 2, "id": "src:99"}, None, None, None)).cursor == 1
    assert Session(replay({"step": 70, "id": "src:99"}, None, None, None)).cursor == 2
    assert Session(replay({"step": "x", "id": 4}, None, None)).diffs.first_id is None


def test_layouts_need_room_for_two_columns() -> None:
    session = beside_twin(Session(refund_run()))
    assert session.diffs.view is DiffView.UNIFIED
    session.diffs.cycle_view()
    assert str(session.diffs.view) == DiffView.TABLE
    assert "wider" in session.message
    session.diffs.cycle_view()
    session.diffs.wide = True
    seen = []
    for _ in DiffView:
        session.diffs.cycle_view()
        seen.append(session.diffs.view)
    assert set(seen) == set(DiffView)

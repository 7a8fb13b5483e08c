"""Moving through a run, as a user's keys do it, without a terminal."""

from __future__ import annotations

from array import array
from dataclasses import replace
from operator import attrgetter

import pytest

from agentdbg.debugging.actions import Owner, Place, action, actions_of
from agentdbg.debugging.overview import gather
from agentdbg.debugging.session import Session
from agentdbg.model.records import Effect, ErrorInfo, Kind, RunStatus, Step, StepStatus
from tests.support.memory_source import EndlessSource, MemorySource, plain_steps, run_of
from tests.support.refund_run import refund_run


def perform(session: Session, *action_ids: str) -> None:
    """Do what keys do: look the action up and call its method."""
    for action_id in action_ids:
        attrgetter(action(action_id).method)(session)()
        session.settle()


def here(session: Session) -> Step:
    """The selected step."""
    assert session.current is not None
    return session.current


def nested() -> MemorySource:
    """agent > (tool, node > (model, model), tool)."""
    steps = plain_steps(6)
    parents = (None, "w:0", "w:0", "w:2", "w:2", "w:0")
    depths = (0, 1, 1, 2, 2, 1)
    return run_of(replace(s, parent=p, depth=d) for s, p, d in zip(steps, parents, depths, strict=True))


def test_opens_at_the_error_that_started_it() -> None:
    assert here(Session(refund_run())).n == 14


def test_opens_at_the_intent_without_outcome() -> None:
    session = Session(refund_run(crash=True, status=RunStatus.LOST))
    assert (here(session).name, here(session).status) == ("execute_refund", StepStatus.OPEN)


def test_opens_at_the_last_effect_outside_when_nothing_went_wrong() -> None:
    steps = plain_steps(10)
    steps[3] = replace(steps[3], effect=Effect.WRITE)
    steps[5] = replace(steps[5], effect=Effect.EXTERNAL)
    assert Session(run_of(steps)).cursor == 5


def test_opens_at_the_divergence_before_anything_else() -> None:
    steps = plain_steps(10)
    steps[7] = replace(steps[7], status=StepStatus.ERROR)
    source = run_of(steps, meta={"first_divergence": {"step": 3, "id": "w:2"}})
    session = Session(source)
    assert session.cursor == 2
    assert session.marks_of(here(session))[0].word == "diverged"


def test_the_error_inside_counts_and_not_the_agent_around_it() -> None:
    steps = plain_steps(4)
    failed = ErrorInfo("ValueError", "no")
    steps[0] = replace(steps[0], kind=Kind.AGENT, status=StepStatus.ERROR, error=failed)
    steps[2] = replace(steps[2], status=StepStatus.ERROR, error=failed)
    assert Session(run_of(steps)).cursor == 2


def test_an_empty_run_opens() -> None:
    session = Session(run_of([]))
    for entry in actions_of(Place.DEBUGGER):
        if entry.owner is Owner.SESSION:
            perform(session, entry.id)
    assert (session.current, session.cursor) == (None, -1)


def test_n_goes_over_children_and_s_into_them() -> None:
    session = Session(nested())
    session.goto(2)
    perform(session, "step.over")
    assert session.cursor == 5
    perform(session, "step.back")
    assert session.cursor == 2
    perform(session, "step.into")
    assert session.cursor == 3
    perform(session, "step.into_back", "step.into_back")
    assert session.cursor == 1


def test_u_goes_to_the_parent() -> None:
    session = Session(nested())
    session.goto(4)
    perform(session, "step.up")
    assert session.cursor == 2
    perform(session, "step.up", "step.up")
    assert (session.cursor, session.message) == (0, "this step has no parent")


def test_e_and_w_go_between_errors_and_effects() -> None:
    session = Session(refund_run())
    session.first()
    perform(session, "write.next")
    assert here(session).name == "execute_refund"
    perform(session, "error.next")
    assert here(session).n == 14
    perform(session, "error.next")
    assert (here(session).n, session.message) == (14, "no further error")
    perform(session, "write.previous", "write.previous")
    assert (here(session).n, session.message) == (13, "no earlier write or external call")


def test_search_finds_names_and_n_goes_between_hits_until_it_is_closed() -> None:
    session = Session(refund_run())
    session.search("NOTIFY", 0)
    session.settle()
    assert here(session).n == 14
    perform(session, "step.over")
    assert here(session).n == 15
    perform(session, "step.over")
    assert session.message == "no further hit for NOTIFY"
    perform(session, "search.previous")
    assert here(session).n == 14
    session.close_search()
    perform(session, "step.back")
    assert here(session).n == 13
    perform(session, "search.next")
    assert session.message == "no search is open: / opens one"


def test_search_sees_errors_and_numbers() -> None:
    session = Session(refund_run())
    session.search("connectionerror", 0)
    assert here(session).n == 14
    session.search("#3")
    assert here(session).n == 3


def test_bookmarks_are_stops() -> None:
    session = Session(refund_run())
    session.goto(2)
    perform(session, "bookmark")
    assert [mark.word for mark in session.marks_of(here(session))] == ["bookmark"]
    session.last()
    perform(session, "stop.previous")
    assert session.cursor == 2
    perform(session, "bookmark", "stop.next")
    assert session.message == "no further bookmark, breakpoint or divergence"


def test_a_reader_who_is_not_at_the_end_stays_and_is_told() -> None:
    source = refund_run(status=RunStatus.RUNNING, crash=True)
    session = Session(source)
    session.goto(4)
    source.arrive(*plain_steps(12))
    assert session.poll() is True
    assert (session.cursor, session.unseen, session.count) == (4, 12, 25)
    perform(session, "follow")
    assert (session.cursor, session.unseen, session.follow) == (24, 0, True)
    source.arrive(*plain_steps(2))
    session.poll()
    assert session.cursor == 26


def test_moving_up_stops_following_and_the_end_follows_again() -> None:
    source = refund_run(status=RunStatus.RUNNING, crash=True)
    session = Session(source, follow=True)
    assert session.cursor == 12
    session.move(-1)
    after_moving = session.follow
    session.last()
    at_the_end = session.follow
    perform(session, "follow")
    assert (after_moving, at_the_end, session.follow) == (False, True, False)


def test_a_finished_run_is_not_followed() -> None:
    session = Session(refund_run())
    perform(session, "follow")
    assert (session.follow, session.message) == (False, "the run has ended: nothing to follow")


def test_following_ends_with_the_run() -> None:
    source = refund_run(status=RunStatus.RUNNING, crash=True)
    session = Session(source, follow=True)
    source.run = replace(source.run, status=RunStatus.OK)
    assert session.poll() is True
    assert (session.follow, session.live) == (False, False)


def test_the_selected_step_stays_selected_when_earlier_ones_turn_up() -> None:
    source = run_of(plain_steps(5), status=RunStatus.RUNNING)
    session = Session(source)
    session.goto(2)
    late = Step(n=1, id="x:0", kind=Kind.TOOL, name="late")
    source._steps[:] = [replace(s, n=n) for n, s in enumerate([late, *source._steps], 1)]
    session.take_in()
    assert (here(session).id, session.cursor) == ("w:2", 3)


def test_a_run_that_shrinks_while_it_is_watched_keeps_the_cursor_inside() -> None:
    source = run_of(plain_steps(10), status=RunStatus.RUNNING)
    session = Session(source)
    del source._steps[4:]
    assert session.current is None
    session.next_error()
    session.settle()
    assert session.poll() is True
    assert (session.count, session.cursor) == (4, 3)
    assert gather(session.steps).complete


def test_a_million_steps_are_not_looked_at_to_move() -> None:
    source = EndlessSource(1_000_000)
    session = Session(source)
    source.built = 0
    for index in (0, 999_999, 500_000):
        session.goto(index)
        session.move(-1)
        session.into()
    assert source.built < 10


def test_a_long_search_is_left_for_a_worker_and_can_be_called_off() -> None:
    session = Session(EndlessSource(1_000_000))
    session.goto(0)
    session.next_error()
    hunt = session.hunt
    assert hunt is not None
    session.move(1)
    assert session.hunt is None
    hunt.advance()
    assert (session.finish(hunt), session.cursor) == (False, 1)
    session.next_error()
    session.settle()
    assert session.cursor == 249_999


def test_the_scene_of_a_long_run_is_found_later_unless_the_user_has_moved() -> None:
    steps = plain_steps(6_000)
    steps[100] = replace(steps[100], status=StepStatus.ERROR)
    source = run_of(steps)
    session = Session(source)
    overview = gather(session.steps)
    assert (session.cursor, session.adopt(overview), session.cursor) == (5_999, True, 100)
    other = Session(source)
    other.move(-1)
    assert (other.adopt(overview), other.cursor) == (False, 5_998)


class _Selecting(MemorySource):
    """A source that finds steps by their columns."""

    asked = 0

    def positions(self, *, kinds=(), effects=(), statuses=()) -> array[int]:
        self.asked += 1
        found = [
            s.n - 1
            for s in self.steps()
            if (not effects or s.effect in effects) and (not statuses or s.status in statuses)
        ]
        return array("q", found)


@pytest.mark.parametrize(
    ("start", "keys", "end"), [(0, "error.next", 14), (16, "error.previous", 14), (14, "error.previous", 14)]
)
def test_columns_are_used_where_the_source_has_them(start: int, keys: str, end: int) -> None:
    plain = refund_run()
    source = _Selecting(plain.run)
    for step in plain.steps():
        source.add(step)
    session = Session(source)
    session.goto(start)
    perform(session, keys)
    assert source.asked == 1
    assert here(session).n == end or session.message


class _Growing(MemorySource):
    """A record that takes several polls to read."""

    complete = False

    def poll(self) -> bool:
        for step in self._arrived[:3]:
            self.add(step)
        del self._arrived[:3]
        self.complete = not self._arrived
        return True


def test_a_record_that_is_still_being_read_opens_at_once_and_then_at_the_scene() -> None:
    steps = plain_steps(10)
    steps[1] = replace(steps[1], status=StepStatus.ERROR)
    source = _Growing(run_of([]).run)
    source._arrived = steps
    session = Session(source)
    assert (session.indexing, session.count) == (True, 3)
    while session.indexing:
        session.poll()
    assert (session.unseen, session.count) == (0, 10)
    assert session.adopt(gather(session.steps)) is True
    assert session.cursor == 1

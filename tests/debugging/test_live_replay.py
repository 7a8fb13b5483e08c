"""A replay asked for, started, held, stepped and ended through the table of actions, without a terminal."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from operator import attrgetter
from pathlib import Path

import pytest

from agentdbg.debugging.actions import Owner, Place, actions_of
from agentdbg.debugging.live_replay import LiveReplay
from agentdbg.debugging.replay_dialog import ReplayDialog
from agentdbg.debugging.replay_pages import live_document, state_spans
from agentdbg.debugging.replay_wish import Choice
from agentdbg.store.address import open_store
from tests.support.reading import text_of
from tests.support.replay_lab import ReplayLab
from tests.support.replay_sessions import DESK

METHODS = {entry.id: entry.method for place in (Place.PLAN, Place.REPLAY) for entry in actions_of(place)}


@pytest.fixture
def lab(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> ReplayLab:
    made = ReplayLab(tmp_path)
    monkeypatch.setenv("OUTSIDE", str(made.outside))
    made.record(DESK)
    return made


@pytest.fixture
def dialog(lab: ReplayLab) -> ReplayDialog:
    made = ReplayDialog(lab.run(), open_store(str(lab.store)), 3)
    made.wish = made.wish.changed(choice(made, "guard"), 1)
    return made


def choice(dialog: ReplayDialog, key: str) -> Choice:
    return next(each for each in dialog.choices if each.key == key)


def do(owner: ReplayDialog | LiveReplay, action_id: str) -> str:
    """An action of the table, as a key does it."""
    attrgetter(METHODS[action_id])(owner)()
    return owner.message


def plan(dialog: ReplayDialog) -> None:
    assert dialog.adopt(dialog.make()(), dialog.wish)


def choose(dialog: ReplayDialog, key: str) -> None:
    dialog.row = [each.key for each in dialog.choices].index(key)
    do(dialog, "plan.change")


def until(live: LiveReplay, wanted: Callable[[], bool]) -> None:
    deadline = time.monotonic() + 30
    while not wanted():
        assert time.monotonic() < deadline, (live.state, live.message, list(live.log))
        time.sleep(0.01)
        live.take_in()


@pytest.fixture
def live(dialog: ReplayDialog) -> Iterator[LiveReplay]:
    choose(dialog, "begin")
    plan(dialog)
    assert dialog.may_start()
    made = dialog.live(lambda: None)
    made.start()
    yield made
    made.close()
    made.session._thread.join(20)


def test_a_replay_is_followed_from_call_to_call(live: LiveReplay) -> None:
    until(live, lambda: live.state == "paused")
    assert live.recorded_step(live.pairs[live.cursor]).name == "look"  # type: ignore[union-attr]
    assert live.is_held(live.pairs[1])
    assert "found = look(order)" in text_of(live_document(live))
    do(live, "live.step")
    until(live, lambda: bool(live.held) and live.held[0].call.name == "refund")
    live.inspect("p found['total']")
    until(live, lambda: "120" in live.log)
    live.cursor = 4
    assert do(live, "live.run_to") == "runs to step 5"
    until(live, lambda: bool(live.held) and live.held[0].call.name == "check")
    assert do(live, "live.run_to") == "the replay stands before step 5 already"
    do(live, "live.continue")
    until(live, lambda: live.state == "over")
    assert live.outcome is not None and live.outcome.verdict == "identical"
    assert [(pair.recorded, pair.replayed) for pair in live.pairs] == [(0, 0), (1, 1), (2, 2), (3, None), (4, 3)]
    assert live.within == {3}
    assert "paid paid" in live.log
    assert do(live, "live.pause") == "the replay is over"
    assert "identical" in "".join(each.text for each in state_spans(live))
    assert "identical" in text_of(live_document(live))


def test_breakpoints_are_set_on_what_is_selected(live: LiveReplay) -> None:
    until(live, lambda: live.state == "paused")
    live.cursor = 0
    assert "breakpoints are for calls" in do(live, "live.breakpoint")
    live.cursor = 2
    assert do(live, "live.breakpoint") == "breakpoint on tool refund"
    do(live, "live.continue")
    until(live, lambda: bool(live.held) and live.held[0].call.name == "refund")
    live.cursor = 2
    assert "any more" in do(live, "live.breakpoint")
    assert "failed while recording" in do(live, "live.break_error")
    assert "does not have" in do(live, "live.break_divergence")
    do(live, "live.continue")
    until(live, lambda: bool(live.held) and live.held[0].call.name == "check")
    assert live.held[0].why == "breakpoint"


def test_a_person_stops_it_and_what_there_is_of_it_is_kept(live: LiveReplay) -> None:
    until(live, lambda: live.state == "paused")
    assert do(live, "live.stop") == "stopping …"
    until(live, lambda: live.state == "over")
    assert live.outcome is not None and live.outcome.verdict == "aborted"
    assert Path(live.published).is_dir()


def test_every_action_can_be_done_at_any_time(live: LiveReplay) -> None:
    for when in ("running", "over"):
        for entry in actions_of(Place.REPLAY):
            if entry.owner is Owner.SESSION and entry.id != "live.stop":
                do(live, entry.id)
        if when == "running":
            live.session.set_stops([])
            do(live, "live.stop")
            until(live, lambda: live.state == "over")

"""The table of actions: complete, without clashes, and every entry does something."""

from __future__ import annotations

from operator import attrgetter

import pytest

from agentdbg.debugging.actions import ACTIONS, Owner, Place, action, actions_of
from agentdbg.debugging.asking import Asking
from agentdbg.debugging.live_replay import LiveReplay
from agentdbg.debugging.replay_dialog import ReplayDialog
from agentdbg.debugging.session import Session
from agentdbg.ui.keymap import FORBIDDEN, textual_key
from agentdbg.ui.screens.ask import AskScreen
from agentdbg.ui.screens.debugger import DebuggerScreen
from agentdbg.ui.screens.plan import PlanScreen
from agentdbg.ui.screens.replay import ReplayScreen
from agentdbg.ui.screens.runs import RunsScreen
from agentdbg.ui.screens.side import SideScreen
from tests.support.refund_run import refund_run

SCREENS = {
    Place.RUNS: RunsScreen,
    Place.DEBUGGER: DebuggerScreen,
    Place.SIDE: SideScreen,
    Place.PLAN: PlanScreen,
    Place.REPLAY: ReplayScreen,
    Place.ASK: AskScreen,
}
SESSIONS = {Place.PLAN: ReplayDialog, Place.REPLAY: LiveReplay, Place.ASK: Asking}


def test_ids_are_unique() -> None:
    ids = [entry.id for entry in ACTIONS]
    assert len(ids) == len(set(ids))


@pytest.mark.parametrize("place", list(Place))
def test_no_key_does_two_things_on_one_screen(place: Place) -> None:
    keys = [textual_key(key) for entry in actions_of(place) for key in entry.keys]
    assert sorted(keys) == sorted(set(keys))


@pytest.mark.parametrize("place", list(Place))
def test_every_action_reaches_a_method_that_is_there(place: Place) -> None:
    for entry in actions_of(place):
        session = SESSIONS.get(place) or Session(refund_run())
        owner = session if entry.owner is Owner.SESSION else SCREENS[place]
        assert callable(attrgetter(entry.method)(owner)), entry.id


def test_no_key_is_one_that_terminals_confuse() -> None:
    assert not {key for entry in ACTIONS for key in entry.keys} & set(FORBIDDEN)


def test_uppercase_is_the_same_thing_backward() -> None:
    keys = {key: entry for entry in actions_of(Place.DEBUGGER) for key in entry.keys}
    for forward, backward in (("s", "S"), ("e", "E"), ("w", "W"), ("c", "C"), ("n", "N")):
        assert keys[forward].help.replace("next", "previous") == keys[backward].help


def test_an_action_is_found_by_its_id() -> None:
    assert action("help").keys[0] == "?"
    with pytest.raises(KeyError):
        action("no.such")

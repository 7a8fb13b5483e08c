"""Keys can be remapped; clashes are told and settled for the user."""

from __future__ import annotations

import pytest

from agentdbg.debugging.actions import ACTIONS, Place, action
from agentdbg.ui.keymap import bindings_of, resolve, shown_key, textual_key


def test_without_a_table_the_defaults_count() -> None:
    keymap = resolve()
    assert keymap.problems == ()
    assert keymap.changes() == {}
    assert keymap.shown(action("step.over")) == "n F10"


def test_the_users_keys_win_and_the_loser_is_named() -> None:
    keymap = resolve({"zoom": "n", "help": ["h", "F1"]})
    assert keymap.keys["zoom"] == ("n",)
    assert keymap.keys["step.over"] == ("F10",)
    assert keymap.keys["pan.left"] == ("left",)
    assert keymap.problems == (
        "[keys] h is taken by help: pan.left has lost it",
        "[keys] n is taken by zoom: step.over has lost it",
        "[keys] n is taken by zoom: side.next has lost it",
        "[keys] h is taken by help: plan.change_back has lost it",
        "[keys] n is taken by zoom: live.step has lost it",
    )
    assert keymap.changes()["help"] == "h,f1"


def test_one_key_for_two_actions_of_the_user_goes_to_the_first() -> None:
    keymap = resolve({"zoom": "x", "wrap": "x y"})
    assert keymap.keys["zoom"] == ("x",)
    assert "[keys] x is taken by zoom: wrap has lost it" in keymap.problems


@pytest.mark.parametrize("key", ["ctrl+i", "ctrl+m", "ctrl+h", "ctrl+["])
def test_keys_that_terminals_confuse_are_refused(key: str) -> None:
    keymap = resolve({"zoom": key})
    assert keymap.keys["zoom"] == ("z",)
    assert "cannot be used" in keymap.problems[0]


@pytest.mark.parametrize(
    ("wanted", "keys"),
    [
        ("x", ("x",)),
        ("x y", ("x", "y")),
        ("x,F9", ("x", "F9")),
        (",,x", (",", "x")),
        ("x,,", ("x", ",")),
        (",", (",",)),
    ],
)
def test_several_keys_in_one_text(wanted: str, keys: tuple[str, ...]) -> None:
    assert resolve({"bookmark": wanted}).keys["bookmark"] == keys


def test_unknown_actions_are_told() -> None:
    assert resolve({"fly": "x"}).problems == ("[keys] fly: no such action; the help screen lists them",)


@pytest.mark.parametrize("place", list(Place))
def test_bindings_have_an_id_and_never_priority(place: Place) -> None:
    for binding in bindings_of(place):
        assert not isinstance(binding, tuple)
        assert binding.id in {entry.id for entry in ACTIONS}
        assert not binding.priority


def test_names_of_keys() -> None:
    assert [textual_key(key) for key in ("n", "N", "?", ",", "F10", "PgDn", "esc", "ctrl+D")] == [
        "n", "N", "question_mark", "comma", "f10", "pagedown", "escape", "ctrl+d",
    ]  # fmt: skip
    assert (shown_key("escape"), shown_key("x")) == ("esc", "x")

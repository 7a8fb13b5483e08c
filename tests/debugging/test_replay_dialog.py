"""A replay asked for through the table of actions, without a terminal: choices, plan, what stands in the way."""

from __future__ import annotations

from collections.abc import Iterator
from operator import attrgetter
from pathlib import Path

import pytest

from agentdbg.debugging.actions import Owner, Place, actions_of
from agentdbg.debugging.plan_pages import plan_document
from agentdbg.debugging.replay_dialog import ReplayDialog
from agentdbg.debugging.replay_wish import Choice
from agentdbg.replay.regression import RegressionOptions
from agentdbg.store.address import open_store
from tests.support.reading import text_of
from tests.support.replay_lab import ReplayLab
from tests.support.replay_sessions import DESK

METHODS = {entry.id: entry.method for entry in actions_of(Place.PLAN) if entry.owner is Owner.SESSION}
RESUMED = """\
import agentdbg

@agentdbg.tool(effect="read")
def look(order):
    return {"id": order, "total": 120}

def resume(state, node):
    return state["order"]

@agentdbg.agent(resume=resume)
def run(order):
    found = look(order)
    agentdbg.checkpoint("seen", {"order": order}, can_resume=True)
    agentdbg.checkpoint("paid", {"order": order}, can_resume=False, unsafe_reasons=("the bank has it",))
    return found["id"]

if __name__ == "__main__":
    run("o-1")
"""
"""Steps: 1 agent, 2 look, 3 and 4 checkpoints."""


@pytest.fixture
def lab(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> ReplayLab:
    made = ReplayLab(tmp_path)
    monkeypatch.setenv("OUTSIDE", str(made.outside))
    monkeypatch.chdir(tmp_path)
    return made


@pytest.fixture
def dialog(lab: ReplayLab) -> Iterator[ReplayDialog]:
    lab.record(DESK)
    made = ReplayDialog(lab.run(), open_store(str(lab.store)), 3, opener=lab.run)
    yield made
    made.close()
    made.source.close()


def choice(dialog: ReplayDialog, key: str) -> Choice:
    return next(each for each in dialog.choices if each.key == key)


def keys(dialog: ReplayDialog) -> list[str]:
    return [each.key for each in dialog.choices]


def do(dialog: ReplayDialog, action_id: str) -> str:
    """An action of the table, as a key does it."""
    attrgetter(METHODS[action_id])(dialog)()
    return dialog.message


def choose(dialog: ReplayDialog, key: str) -> str:
    dialog.row = keys(dialog).index(key)
    return do(dialog, "plan.change")


def plan(dialog: ReplayDialog) -> str:
    """Make the plan; what the page says."""
    assert dialog.adopt(dialog.make()(), dialog.wish)
    return text_of(plan_document(dialog.prepared))


def test_no_plan_yet() -> None:
    assert text_of(plan_document(None)) == "making the plan …"


def test_nothing_is_started_before_its_plan_was_shown(dialog: ReplayDialog) -> None:
    assert not dialog.may_start()
    assert "before it has been shown" in dialog.message
    plan(dialog)
    assert dialog.may_start()
    choose(dialog, "mode")
    assert dialog.wish.is_live
    assert not dialog.may_start()
    stale = dialog.wish
    do(dialog, "plan.change_back")
    assert not dialog.adopt(dialog.make()(), stale)


def test_what_can_be_chosen_follows_from_what_was_chosen(dialog: ReplayDialog) -> None:
    assert keys(dialog) == ["mode", "start", "begin", "guard", "code", "edits", "words"]
    plan(dialog)
    choose(dialog, "start")
    assert dialog.wish.number == 3 and "tool refund" in choice(dialog, "start").help
    assert keys(dialog)[2] == "prefix"
    choose(dialog, "mode")
    assert keys(dialog)[-6:] == ["samples", "sandbox", "edits", "pins", "intents", "words"]
    assert choice(dialog, "start").values[:2] == ("auto", "start")
    assert "serve → live" not in plan(dialog)
    dialog.take("start", "auto")
    text = plan(dialog)
    assert "serve → live with drift check" in text and "once a model input differs" in text


def test_values_are_typed_where_there_are_too_many_to_choose_from(dialog: ReplayDialog) -> None:
    choose(dialog, "mode")
    plan(dialog)
    for key, text, shown in (
        ("start", "2", "2"),
        ("samples", "7", "7"),
        ("edits", "3:result=7", "1"),
        ("pins", "look", "1"),
        ("intents", "input.history:*", "1"),
    ):
        dialog.row = keys(dialog).index(key)
        assert dialog.typed()[0] == key
        dialog.take(key, text)
        assert (dialog.message, choice(dialog, key).value) == ("", shown)
    assert "edit" in plan(dialog) and dialog.may_start()
    options = dialog.wish.options(dialog.store, pins=dialog._open_pins(dialog.wish))
    assert isinstance(options, RegressionOptions)
    assert (options.start, options.samples, options.edits[0].words()) == (2, 7, "3:result=7")
    assert (options.pins[0].tool, options.intents[0].kind) == ("look", "input.history")
    dialog.row = keys(dialog).index("mode")
    assert dialog.typed()[0] == "edits"
    for key in ("edits", "pins", "intents"):
        dialog.take(key, " ")
        assert choice(dialog, key).value == "none"


@pytest.mark.parametrize(
    ("key", "text", "words"),
    [
        ("start", "x", "from step"),
        ("samples", "0", "1 to 100"),
        ("samples", "²", "1 to 100"),
        ("edits", "nonsense", "nonsense"),
        ("pins", "pay", "no tool pay"),
        ("pins", "look=", "TOOL=RUN2"),
        ("intents", "nonsense", "KIND:NAME"),
    ],
)
def test_what_cannot_be_read_is_said_and_not_taken(dialog: ReplayDialog, key: str, text: str, words: str) -> None:
    before = dialog.wish
    dialog.take(key, text)
    assert words in dialog.message and dialog.wish == before


@pytest.mark.parametrize(
    ("key", "value", "words"),
    [
        ("start", "99", "has steps 1 to"),
        ("edits", ("99:result=7",), "has steps 1 to"),
        ("pins", ("look=run-9",), "cannot be opened"),
        ("sandbox", "staging", "declare [sandbox.staging]"),
    ],
)
def test_what_cannot_be_done_stands_in_the_way(
    dialog: ReplayDialog, key: str, value: str | tuple[str, ...], words: str
) -> None:
    dialog.wish = dialog.wish.having("mode", "regression").having(key, value)
    assert words in plan(dialog)
    assert not dialog.may_start() and words in dialog.message


def test_an_exact_replay_says_what_it_leaves_out(dialog: ReplayDialog) -> None:
    dialog.take("edits", "3:result=7")
    assert dialog.wish.mode == "exact"
    assert "edit" in plan(dialog) and dialog.may_start()
    dialog.take("pins", "look")
    assert choice(dialog, "mode").value == "regression"
    assert "1 left out" in choose(dialog, "mode")


def test_a_declared_sandbox_can_be_chosen(lab: ReplayLab, dialog: ReplayDialog) -> None:
    choose(dialog, "mode")
    assert "sandbox.NAME" in choose(dialog, "sandbox")
    (lab.place / "agentdbg.toml").write_text('[sandbox.staging]\nhosts = ["127.0.0.1:9"]\ntools = ["refund"]\n')
    dialog.take("samples", "3")
    plan(dialog)
    choose(dialog, "sandbox")
    assert dialog.wish.sandbox == "staging"
    assert "127.0.0.1:9" in plan(dialog)


def test_restoring_is_offered_where_it_is_possible(lab: ReplayLab) -> None:
    lab.record(RESUMED)
    dialog = ReplayDialog(lab.run(), open_store(str(lab.store)), 3)
    dialog.take("start", "3")
    plan(dialog)
    assert choice(dialog, "prefix").values == ("fast-forward", "restore")
    choose(dialog, "prefix")
    assert "before the restored checkpoint" in plan(dialog) and dialog.may_start()
    dialog.take("start", "4")
    assert "the bank has it" in plan(dialog) and not dialog.may_start()
    choose(dialog, "prefix")
    text = plan(dialog)
    assert choice(dialog, "prefix").values == ("fast-forward",)
    assert "not possible there" in text and "the bank has it" in text and dialog.may_start()
    choose(dialog, "mode")
    assert "which declares that nothing may go on from there" in plan(dialog) and not dialog.may_start()
    dialog.source.close()


def test_somebody_elses_run_is_started_only_when_it_is_trusted(lab: ReplayLab, dialog: ReplayDialog) -> None:
    dialog.source.close()
    file = lab.store / "runs" / "run-1" / "run.json"
    file.write_text(file.read_text().replace('"seal":"', '"seal":"0'))
    dialog.source = lab.run()
    text = plan(dialog)
    assert "What would be started" in text and "program.py" in text and "argv[0]" in text
    assert "Changes to the code in the record" in text
    assert not dialog.may_start()
    assert "trust" in dialog.message and dialog.selected.key == "trust"
    do(dialog, "plan.change")
    plan(dialog)
    assert dialog.may_start()
    again = ReplayDialog(dialog.source, dialog.store, 3, wish=dialog.wish)
    assert again.wish.trust == "no"


def test_every_action_can_be_done_on_every_choice(dialog: ReplayDialog) -> None:
    for mode in ("exact", "regression"):
        dialog.wish = dialog.wish.having("mode", mode)
        for row in range(len(dialog.choices)):
            for action_id in METHODS:
                dialog.row = row
                do(dialog, action_id)
            assert all(each.label and each.help for each in dialog.choices)


def test_further_options_are_typed_in_the_words_of_the_command_line(dialog: ReplayDialog, tmp_path: Path) -> None:
    dialog.row = keys(dialog).index("words")
    assert dialog.typed() == ("words", "options", "")
    dialog.take("words", "--timeout never")
    assert "a number of seconds" in dialog.message and dialog.wish.words == ""
    (tmp_path / "vars").write_text("SHOP=here\n", encoding="utf-8")
    typed = f"--timeout 7 --map {{root}}={tmp_path} --env-file {tmp_path}/vars"
    dialog.take("words", typed)
    assert choice(dialog, "words").value == "3" and choice(dialog, "words").help == typed
    assert dialog.typed()[2] == typed
    options = dialog.wish.options(dialog.store)
    assert not isinstance(options, RegressionOptions)
    assert (options.timeout, options.moves, options.env) == (7.0, (("{root}", str(tmp_path)),), {"SHOP": "here"})
    assert "✗" not in plan(dialog)
    dialog.take("words", "--in nothing-like-that")
    choose(dialog, "mode")
    assert "✗ options" in plan(dialog) and not dialog.may_start()
    assert "needs an exact replay" in dialog.message
    dialog.row = keys(dialog).index("words")
    dialog.take("words", "")
    assert dialog.wish.words == "" and "✗" not in plan(dialog)


def test_an_option_that_no_longer_holds_stands_in_the_way(dialog: ReplayDialog, tmp_path: Path) -> None:
    (tmp_path / "vars").write_text("SHOP=here\n", encoding="utf-8")
    dialog.take("words", f"--env-file {tmp_path}/vars")
    (tmp_path / "vars").unlink()
    assert "✗ options" in plan(dialog)

"""The table of a regression replay: what is done with a call, and that nothing that writes runs by accident."""

from __future__ import annotations

from dataclasses import replace
from itertools import product

import pytest

from agentdbg.model.records import Effect, Kind
from agentdbg.replay.policy import Deed, Match, Situation, Stage, otherwise, rule

AFTER = Situation(Kind.TOOL, Effect.WRITE, Stage.AFTER)
RUNS = (Deed.LIVE, Deed.CHECKED)


@pytest.mark.parametrize(
    ("case", "deed"),
    [
        (Situation(Kind.MODEL, None, Stage.AFTER, Match.SAME), Deed.LIVE),
        (Situation(Kind.MODEL, None, Stage.BEFORE, Match.SAME), Deed.SERVE),
        (Situation(Kind.MODEL, None, Stage.PREFIX, Match.PLACE), Deed.SERVE),
        (Situation(Kind.TOOL, Effect.NONE, Stage.AFTER, Match.SAME), Deed.LIVE),
        (Situation(Kind.TOOL, Effect.READ, Stage.AFTER, Match.SAME), Deed.CHECKED),
        (Situation(Kind.TOOL, Effect.READ, Stage.BEFORE), Deed.CHECKED),
        (Situation(Kind.TOOL, Effect.READ, Stage.PREFIX), Deed.STOP),
        (replace(AFTER, match=Match.SAME), Deed.SERVE),
        (replace(AFTER, match=Match.RENAMED), Deed.SERVE),
        (AFTER, Deed.REFUSE),
        (replace(AFTER, dry_run=True), Deed.DRY_RUN),
        (replace(AFTER, dry_run=True, match=Match.SAME), Deed.SERVE),
        (replace(AFTER, sandboxed=True), Deed.LIVE),
        (replace(AFTER, effect=Effect.EXTERNAL), Deed.REFUSE),
        (replace(AFTER, effect=None), Deed.REFUSE),
        (replace(AFTER, effect=Effect.EXTERNAL, sandboxed=True), Deed.REFUSE),
        (replace(AFTER, effect=Effect.EXTERNAL, sandboxed=True, key_holds=True), Deed.ASK),
        (Situation(Kind.HTTP, Effect.READ, Stage.AFTER), Deed.CHECKED),
        (Situation(Kind.HTTP, Effect.EXTERNAL, Stage.AFTER), Deed.REFUSE),
        (Situation(Kind.APPROVAL, None, Stage.AFTER, Match.SAME), Deed.SERVE),
        (Situation(Kind.APPROVAL, None, Stage.AFTER), Deed.ASK),
        (replace(AFTER, match=Match.SAME, in_doubt=True), Deed.REFUSE),
        (replace(AFTER, match=Match.SAME, in_doubt=True, settles=True), Deed.CHECKED),
        (replace(AFTER, effect=Effect.READ, pinned=True, match=Match.PLACE), Deed.SERVE),
        (replace(AFTER, effect=Effect.READ, pinned=True), Deed.REFUSE),
        (replace(AFTER, match=Match.SAME, inside=True), Deed.REFUSE),
        (Situation(Kind.TOOL, Effect.READ, Stage.AFTER, Match.SAME, served_only=True), Deed.SERVE),
        (Situation(Kind.TOOL, Effect.READ, Stage.AFTER, served_only=True), Deed.REFUSE),
        (Situation(Kind.TOOL, Effect.READ, Stage.AFTER, Match.SAME, inside=True, served_only=True), Deed.REFUSE),
        (Situation(Kind.HTTP, Effect.READ, Stage.AFTER, served_only=True), Deed.REFUSE),
        (replace(AFTER, sandboxed=True, served_only=True), Deed.REFUSE),
        (Situation(Kind.MODEL, None, Stage.CONTROL), Deed.STOP),
        (Situation(Kind.MODEL, None, Stage.CONTROL, Match.PLACE), Deed.SERVE),
    ],
)
def test_a_call_is_decided_by_what_it_can_do_and_where_it_is_made(case: Situation, deed: Deed) -> None:
    ruling = rule(case)
    assert ruling.deed is deed
    assert ruling.reason


def test_no_write_ever_runs_without_a_sandbox() -> None:
    flags = (False, True)
    for effect, stage, match in product((Effect.WRITE, Effect.EXTERNAL, None), Stage, Match):
        for doubt, settles, dry, key, pinned, inside in product(flags, repeat=6):
            case = Situation(Kind.TOOL, effect, stage, match, doubt, settles, dry, False, key, pinned, inside)
            ruling = rule(case)
            looked_up = ruling.deed is Deed.CHECKED and doubt and settles
            assert ruling.deed not in RUNS or looked_up, case
            assert ruling.deed is not Deed.ASK, case


def test_nothing_external_runs_without_a_person_in_a_sandbox_either() -> None:
    flags = (False, True)
    for effect, stage, match, key, doubt in product((Effect.EXTERNAL, None), Stage, Match, flags, flags):
        ruling = rule(Situation(Kind.TOOL, effect, stage, match, doubt, sandboxed=True, key_holds=key))
        assert ruling.deed not in RUNS


def test_in_the_control_lane_nothing_runs() -> None:
    for kind, effect, match in product(Kind, (*Effect, None), Match):
        assert rule(Situation(kind, effect, Stage.CONTROL, match)).deed in (Deed.SERVE, Deed.STOP)


def test_a_write_that_is_neither_made_nor_recorded_says_what_it_lacks() -> None:
    assert otherwise(replace(AFTER, dry_run=True)).deed is Deed.DRY_RUN
    assert "recorded, non-derived key" in otherwise(replace(AFTER, sandboxed=True)).reason

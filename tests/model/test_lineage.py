"""A run says of which other one it is a replay, and that it was edited."""

from __future__ import annotations

from dataclasses import replace

from agentdbg.model.lineage import edit_count, mode_words
from agentdbg.model.records import Mode
from tests.support.refund_run import refund_run


def test_how_a_run_came_about() -> None:
    run = refund_run().run
    assert (mode_words(run), edit_count(run)) == ("recorded", 0)
    run = replace(run, mode=Mode.REGRESSION, replay_of="incident")
    assert mode_words(run) == "regression of incident"
    run = replace(run, meta={"edits": [{"step": 4, "path": "result", "value": 1}]})
    assert (mode_words(run), edit_count(run)) == ("regression of incident, EDITED", 1)
    assert edit_count(replace(run, meta={"edits": "x"})) == 0

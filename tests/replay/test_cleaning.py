"""Nothing that a replay keeps or shows of its child holds a secret or obeys a terminal."""

from __future__ import annotations

import json
from pathlib import Path

from agentdbg.redaction.gate import Gate
from agentdbg.redaction.keys import RedactionKey
from agentdbg.replay.child_process import ChildReport
from agentdbg.replay.cleaning import cleaned
from tests.support.replay_lab import ReplayLab

TOKEN = "sk-proj-abcdefghijklmnopqrstuvwxyz0123456789ABCDEF"
PROGRAM = f"""\
import os, subprocess, sys
import agentdbg

@agentdbg.agent
def run():
    print("key {TOKEN} of ann.miller@example.com \\x1b[31mred", file=sys.stderr, flush=True)
    open(os.environ["OUTSIDE"] + "/ann.miller@example.com", "a").close()

if __name__ == "__main__":
    run()
"""


def test_messages_and_log_are_redacted_and_harmless() -> None:
    refused = {"event": "refused", "detail": f"curl https://api.example.com/?key={TOKEN}\x1b[2J", "step": None, "n": 1}
    leaky = {"event": "done", "leaky": ["a\nb"]}
    report = ChildReport(messages=[refused, leaky], log=f"{TOKEN}\x07 x\nnext line")
    found = cleaned(report, Gate(RedactionKey(b"k" * 32, "test")))
    assert TOKEN not in repr(found)
    assert "\x1b" not in repr(found.messages[0]["detail"])
    assert (found.messages[0]["step"], found.messages[0]["n"]) == (None, 1)
    assert "\n" not in found.messages[1]["leaky"][0]
    assert "\x07" not in found.log
    assert "\nnext line" in found.log


def test_what_was_stopped_is_named_without_secrets(lab: ReplayLab) -> None:
    lab.record(PROGRAM)
    for left in lab.outside.iterdir():
        left.unlink()
    outcome = lab.replay()
    assert outcome.verdict == "refused", outcome.reason
    kept = (lab.store / "runs" / str(outcome.replay_run) / "run.json").read_text(encoding="utf-8")
    for text in (outcome.reason, outcome.log, json.dumps(outcome.members()), kept):
        assert "ann.miller" not in text
        assert TOKEN not in text
        assert "\x1b" not in text
    assert Path(str(outcome.refused[0]["detail"])).parent.name == "outside"

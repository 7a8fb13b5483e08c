"""Before somebody else's run is started, its command and its changes to the code are shown."""

from __future__ import annotations

import json
from pathlib import Path

from agentdbg.cli import trusting
from agentdbg.cli.invocation import Invocation
from agentdbg.store.reader import DirectoryRunSource
from tests.support.program import agentdbg


def somebody_elses(store: Path) -> None:
    file = store / "runs" / "refund-8" / "run.json"
    launch = {"kind": "file", "target": "{root}/agent.py", "argv": ["agent.py", "--rm\x1b[31m\nall"], "cwd": "{root}"}
    members = {"entry": {"launch": launch, "roots": {}}, "seal": "0" * 64}
    file.write_text(json.dumps({**json.loads(file.read_text()), **members}))


def test_what_would_be_started_is_shown_and_nothing_is(store: Path) -> None:
    somebody_elses(store)
    for mode in ("--exact", "--regression"):
        done = agentdbg("replay", "refund-8", mode, "--guard", "audit", "--store", store)
        assert (done.returncode, done.stdout) == (3, "")
        assert "argv[0]: agent.py" in done.stderr and "{root}/agent.py" in done.stderr
        assert "\x1b" not in done.stderr
        assert done.stderr.splitlines()[-1].endswith("then say --trust")


def test_on_a_terminal_only_a_typed_yes_counts(store: Path, monkeypatch, capsys) -> None:
    somebody_elses(store)
    source = DirectoryRunSource(store / "runs" / "refund-8")
    monkeypatch.setattr(trusting, "on_terminal", lambda: True)
    for typed, wanted in (("yes\n", True), ("y\n", False), ("\n", False), ("", False)):
        monkeypatch.setattr("sys.stdin.readline", lambda typed=typed: typed)
        assert trusting.leave_given(Invocation(), source, trust=False, code="current") is wanted
    assert not trusting.leave_given(Invocation(json=True), source, trust=False, code="current")
    source.close()
    assert "agent.py" in capsys.readouterr().err

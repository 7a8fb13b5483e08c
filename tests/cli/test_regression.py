"""The refund incident from the command line: reproduced, mended, tried again, and no money moved."""

from __future__ import annotations

import io
import json
import os
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from agentdbg.cli.main import main
from agentdbg.cli.regression import ask_person
from agentdbg.demo import desk, refund_desk
from agentdbg.demo.server import DemoServer
from agentdbg.replay.regression_lane import Question
from tests.support.program import agentdbg, document

SRC = Path(refund_desk.__file__).resolve().parents[2]
BEFORE = "    shown: dict[str, Json] = {}\n"
MENDED = BEFORE + '    mapping = {**mapping, "requires_manual_approval": "approval.manual"}\n'


@dataclass
class Incident:
    """The demo's desk as a program of its own, recorded once.

    Attributes:
        program: Its source, which a test may edit.
    """

    place: Path
    program: Path
    server: DemoServer

    @property
    def options(self) -> list[str | Path]:
        return ["--store", self.place / ".agentdbg", "--guard", "audit"]

    def replay(self, *options: str) -> dict[str, Any]:
        return document("replay", "incident", *options, *self.options, cwd=self.place)

    def refunds(self) -> int:
        return desk.refund_count(str(self.place / "desk"))

    def messages(self) -> int:
        return desk.message_count(str(self.place / "desk"))


@pytest.fixture
def incident(tmp_path: Path) -> Iterator[Incident]:
    place = tmp_path
    program = place / "refund_program.py"
    program.write_text(Path(refund_desk.__file__).read_text(encoding="utf-8"), encoding="utf-8")
    with DemoServer() as server:
        done = subprocess.run(
            [sys.executable, str(program), "--base-url", server.url, "--desk", str(place / "desk")],
            cwd=place,
            env={
                **os.environ,
                "AGENTDBG_STORE": str(place / ".agentdbg"),
                "AGENTDBG_RUN_ID": "incident",
                "PYTHONPATH": str(SRC),
            },
            capture_output=True,
            encoding="utf-8",
            check=False,
        )
        assert done.stdout.startswith("AUTO_EXECUTE"), done.stderr
        yield Incident(place, program, server)


def test_the_incident_is_reproduced_mended_and_tried_again_without_a_refund(incident: Incident) -> None:
    before = incident.refunds(), incident.messages(), incident.server.calls
    assert before[:2] == (1, 1)
    found = incident.replay("--exact")
    assert found["verdict"] == "identical", found["reason"]
    assert incident.server.calls == before[2]
    shown = document("show", found["replay_run"], "--store", incident.place / ".agentdbg")
    assert any(step["name"] == "execute_refund" for step in shown["steps"])

    incident.program.write_text(incident.program.read_text(encoding="utf-8").replace(BEFORE, MENDED), encoding="utf-8")
    done = agentdbg(
        "replay",
        "incident",
        "--regression",
        "--intent",
        "input.history:*",
        "--json",
        *incident.options,
        cwd=incident.place,
    )
    assert done.returncode == 1, done.stderr
    found = json.loads(done.stdout)
    assert (found["mode"], found["verdict"]) == ("regression", "changed"), found["reason"]
    assert found["reason"].startswith("final state AUTO_EXECUTE → WAITING_HUMAN_APPROVAL")
    (sample,) = found["samples"]
    assert sample["final_state"] == "WAITING_HUMAN_APPROVAL"
    assert "execute_refund" not in sample["path"]
    assert "approval" in sample["path"]
    assert [touched["cause"] for touched in found["touched"]][:1] == ["input.history"]
    assert found["counts"]["live"] == 2
    assert {each["deed"] for each in found["findings"]} == {"ask", "dry-run"}
    assert (incident.refunds(), incident.messages()) == before[:2]
    assert incident.server.calls == before[2] + 2


SHIPPED = ("refund-incident", "--store", "demo", "--guard", "audit")


def test_the_plan_says_what_would_happen_to_every_call() -> None:
    found = document("replay", *SHIPPED, "--regression", "--from", "14", "--plan")
    rows = {row["step"]: (row["what"], row["why"]) for row in found["plan"]}
    assert rows[11][0] == "serve" and "before the checkpoint" in rows[11][1]
    assert rows[14][0] == "live"
    assert rows[16][0] == "serve" and "dry run" in rows[16][1]
    assert any("127.0.0.1" in remark["text"] for remark in found["remarks"] if remark["about"] == "open")


@pytest.mark.parametrize(
    ("options", "status", "words"),
    [
        (("--exact", "--regression"), 2, "--exact or --regression"),
        (("--exact", "--samples", "2"), 2, "--samples needs --regression"),
        (("--exact", "--edit", "1:result=1"), 2, "has no result to serve"),
        (("--exact", "--pin", "pay"), 2, "--pin needs --regression"),
        (("--regression", "--from", "x"), 2, "number of a step"),
        (("--regression", "--from", "99"), 2, "has steps 1 to"),
        (("--regression", "--edit", "nonsense"), 2, "STEP:PATH=JSON"),
        (("--regression", "--intent", "nonsense"), 2, "KIND:NAME"),
        (("--regression", "--sandbox", "none"), 2, "declare [sandbox.none]"),
        (("--regression", "--pin", "pay="), 2, "TOOL or TOOL=RUN2"),
        (("--regression", "--prefix", "restore"), 2, "needs --from N"),
        (("--exact", "--from", "auto"), 2, "--from auto needs --regression"),
        (("--regression", "--from", "18"), 3, "the bank has the refund"),
    ],
)
def test_what_cannot_be_done_is_said_in_one_line(
    options: tuple[str, ...], status: int, words: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["replay", *SHIPPED, *options]) == status
    said = capsys.readouterr()
    assert said.out == ""
    assert words in said.err
    assert said.err.count("\n") == 1


@pytest.mark.parametrize(
    ("options", "status", "words"),
    [
        (("--from", "99"), 2, "has no step 99"),
        (("--from", "5", "--prefix", "restore"), 3, "step 5 is no checkpoint"),
        (("--from", "4", "--prefix", "restore"), 3, "had no resume entry when it was recorded"),
        (("--from", "21", "--prefix", "restore"), 3, "the customer has the answer"),
    ],
)
def test_an_exact_replay_that_cannot_start_there_says_why(
    options: tuple[str, ...], status: int, words: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["replay", *SHIPPED, "--exact", *options]) == status
    said = capsys.readouterr()
    assert said.out == ""
    assert words in said.err


@pytest.mark.parametrize(
    ("about", "typed", "answer"),
    [
        ("approval", "approved\n", "approved"),
        ("approval", "\n", None),
        ("approval", "", None),
        ("tool", "yes\n", True),
        ("tool", "y\n", False),
        ("tool", "", False),
    ],
)
def test_only_what_a_person_types_decides(
    about: str, typed: str, answer: object, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("sys.stdin", io.StringIO(typed))
    assert ask_person(Question(about, "pay \x1b[31mred", "k-1")) == answer
    said = capsys.readouterr()
    assert said.out == ""
    assert "pay" in said.err and "\x1b" not in said.err

"""The refund desk, run for real against the stand-in: what it does, and what its recording holds."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from agentdbg.demo import desk
from agentdbg.demo.server import DemoServer

TRAIL = ("plan", "handbook", "read", "decide")


def handle(
    place: Path, ticket: str, policy: str, recording: str = "off", decision: str | None = None, **more: str
) -> str:
    """Handle one ticket in a process of its own; the last line it printed."""
    desk.prepare_desk(str(place / "desk"))
    if decision:
        (place / "desk" / "approvals.json").write_text(json.dumps({ticket: decision}))
    command = [sys.executable, "-m", "agentdbg.demo.refund_desk", "--ticket", ticket, "--policy-version", policy]
    environment = {**os.environ, "AGENTDBG": recording, "HOME": str(place), **more}
    with DemoServer() as server:
        done = subprocess.run(
            [*command, "--base-url", server.url, "--desk", "desk"],
            capture_output=True,
            text=True,
            cwd=place,
            env=environment,
            check=False,
        )
    assert done.returncode == 0, done.stderr
    return done.stdout.splitlines()[-1]


def events(run: Path) -> list[dict[str, Any]]:
    """All records of a run's skeleton."""
    lines = [line for file in sorted((run / "events").iterdir()) for line in file.read_text().splitlines() if line]
    return [json.loads(line) for line in lines]


@pytest.fixture(scope="module")
def recorded(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The recorded incident."""
    place: Path = tmp_path_factory.mktemp("incident")
    more = {"AGENTDBG_STORE": str(place / "store"), "AGENTDBG_RUN_ID": "incident"}
    handle(place, "T-2041", desk.AFTER_CHANGE, recording="on", **more)
    return place / "store" / "runs" / "incident"


def test_after_the_policy_change_the_refund_is_paid_without_asking(tmp_path: Path) -> None:
    said = handle(tmp_path, "T-2041", desk.AFTER_CHANGE)

    assert said.startswith("AUTO_EXECUTE: Good news")
    assert desk.refund_count(str(tmp_path / "desk")) == 1
    assert desk.message_count(str(tmp_path / "desk")) == 1


def test_before_the_policy_change_the_same_ticket_waits_for_a_person(tmp_path: Path) -> None:
    said = handle(tmp_path, "T-2041", desk.BEFORE_CHANGE)

    assert said.startswith("WAITING_HUMAN_APPROVAL: ")
    assert desk.refund_count(str(tmp_path / "desk")) == 0
    assert desk.message_count(str(tmp_path / "desk")) == 1


@pytest.mark.parametrize(
    ("decision", "status", "refunds"), [("approved", "EXECUTED_AFTER_APPROVAL", 1), ("rejected", "REJECTED", 0)]
)
def test_a_persons_decision_is_followed(tmp_path: Path, decision: str, status: str, refunds: int) -> None:
    said = handle(tmp_path, "T-2041", desk.BEFORE_CHANGE, decision=decision)

    assert said.startswith(f"{status}: ")
    assert desk.refund_count(str(tmp_path / "desk")) == refunds


def test_what_needs_no_person_is_paid_under_both_policies(tmp_path: Path) -> None:
    for policy in (desk.BEFORE_CHANGE, desk.AFTER_CHANGE):
        assert handle(tmp_path, "T-2042", policy).startswith("AUTO_EXECUTE: ")

    assert desk.refund_count(str(tmp_path / "desk")) == 1  # the key is the ticket's: the second try pays nothing


def test_the_recording_tells_the_whole_path(recorded: Path) -> None:
    meta = json.loads((recorded / "run.json").read_text())
    steps = [event for event in events(recorded) if event["e"] in ("intent", "step")]
    tools = {step["name"]: step.get("effect") for step in steps if step["kind"] == "tool"}

    assert meta["status"] == "ok"
    assert meta["thread_id"] == "customer-8812"
    assert meta["tags"]["policy_version"] == desk.AFTER_CHANGE
    assert set(tools.values()) == {"none", "read", "write", "external"}
    assert [step["name"] for step in steps if step["kind"] == "checkpoint"][:4] == list(TRAIL)
    assert sum(step["kind"] == "model" for step in steps) == 4


def test_phone_and_key_are_nowhere_in_the_recording(recorded: Path) -> None:
    written = b"".join(path.read_bytes() for path in recorded.rglob("*") if path.is_file())

    assert b"R:" in written
    for secret in (desk.PHONE, desk.ACCESS_KEY):
        assert secret.encode() not in written

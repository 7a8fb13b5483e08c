"""The desk with a fraud check below it: the check stops a refund, and is a run of its own when called by itself."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from agentdbg.demo import desk
from agentdbg.demo.checked_desk import check_fraud, handle_checked_ticket
from agentdbg.demo.server import DemoServer
from agentdbg.model.records import Kind
from tests.support.recorded import only_run


@pytest.mark.parametrize(
    ("ticket", "status", "risk"), [("T-2044", "WAITING_HUMAN_APPROVAL", "high"), ("T-2042", "AUTO_EXECUTE", "low")]
)
def test_a_high_risk_waits_and_pays_nothing(
    desk_place: str, desk_store: Path, ticket: str, status: str, risk: str
) -> None:
    with DemoServer() as server:
        outcome: dict[str, Any] = handle_checked_ticket(desk.TICKETS[ticket], desk.AFTER_CHANGE, desk_place, server.url)

    assert outcome["status"] == status
    assert outcome["fraud"]["risk"] == risk
    assert desk.refund_count(desk_place) == (0 if risk == "high" else 1)
    agents = [step for step in only_run(desk_store).steps if step.kind is Kind.AGENT]
    assert [step.name for step in agents] == ["checked-desk", "fraud-check"]


def test_the_check_alone_is_a_run(desk_place: str, desk_store: Path) -> None:
    with DemoServer() as server:
        verdict = check_fraud("customer-5520", "a refund", desk_place, server.url)

    assert verdict == {"risk": "high", "reason": "4 refunds in the last 30 days", "refund_rate": 0.67}
    assert only_run(desk_store).source.summary().agent == "fraud-check"

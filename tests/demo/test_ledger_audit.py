"""The audit reads every line, in a conversation that grows, and makes the mistake that it is there for."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from agentdbg.demo.ledger_audit import MONTH, audit_ledger, prepare_month
from agentdbg.demo.server import DemoServer
from agentdbg.model.records import Kind
from tests.support.recorded import only_run

LINES = 20


def ledger(place: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in (place / MONTH).read_text().splitlines()]


def test_every_line_is_read_once_and_kronor_are_added_as_euros(tmp_path: Path, desk_store: Path) -> None:
    prepare_month(str(tmp_path), LINES)
    with DemoServer() as server:
        totals = audit_ledger(str(tmp_path), LINES, server.url)

    (kronor,) = [line for line in ledger(tmp_path) if line["currency"] == "SEK"]
    assert totals["lines"] == LINES
    assert (totals["largest_refund"], totals["largest_eur"]) == (kronor["refund_id"], kronor["amount"])
    recorded = only_run(desk_store)
    read = [recorded.arguments(step)["line"] for step in recorded.steps if step.kind is Kind.TOOL]
    assert read == list(range(1, LINES + 1))


def test_a_month_is_the_same_every_time(tmp_path: Path) -> None:
    for place in ("one", "other"):
        prepare_month(str(tmp_path / place), LINES)

    assert ledger(tmp_path / "one") == ledger(tmp_path / "other")

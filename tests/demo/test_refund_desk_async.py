"""The asynchronous desk: gathered reads, and the faster of two warehouses."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from agentdbg.demo import desk, refund_desk_async
from agentdbg.demo.refund_desk_async import WAREHOUSES, first_warehouse, handle_ticket_async
from agentdbg.demo.server import DemoServer


@pytest.fixture(autouse=True)
def store(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AGENTDBG_STORE", str(tmp_path / "store"))


@pytest.mark.parametrize(
    ("policy", "status", "refunds"),
    [(desk.AFTER_CHANGE, "AUTO_EXECUTE", 1), (desk.BEFORE_CHANGE, "WAITING_HUMAN_APPROVAL", 0)],
)
async def test_the_same_ticket_ends_as_in_the_plain_desk(
    tmp_path: Path, policy: str, status: str, refunds: int
) -> None:
    place = str(tmp_path / "desk")
    desk.prepare_desk(place)
    with DemoServer() as server:
        outcome: dict[str, Any] = await handle_ticket_async(desk.TICKETS["T-2041"], policy, place, server.url)

    assert outcome["status"] == status
    assert desk.refund_count(place) == refunds


def test_it_runs_from_the_command_line(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with DemoServer() as server:
        options = ["--ticket", "T-2042", "--desk", str(tmp_path / "desk"), "--base-url", server.url]
        assert refund_desk_async.main(options) == 0

    assert capsys.readouterr().out.startswith("AUTO_EXECUTE: Good news")


async def test_one_warehouse_answers() -> None:
    answer = await first_warehouse({"order_id": "A-1042"})

    assert answer["warehouse"] in WAREHOUSES

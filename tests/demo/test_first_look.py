"""The first look reads one line of a streamed answer and leaves the rest."""

from __future__ import annotations

from pathlib import Path

from agentdbg.demo import desk
from agentdbg.demo.first_look import look_at_ticket
from agentdbg.demo.server import DemoServer
from agentdbg.model.records import StepStatus
from tests.support.recorded import only_run


def test_only_the_first_line_is_read(desk_place: str, desk_store: Path) -> None:
    with DemoServer(pause=0.01) as server:
        found = look_at_ticket(desk.TICKETS["T-2041"], desk_place, server.url)

    assert found == {"first_step": "1. Read the order and the refund policy."}
    assert only_run(desk_store).named("refund-model").status is StepStatus.PARTIAL

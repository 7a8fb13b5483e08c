"""The parcel desk gets through a bad day: a carrier that fails first, and a busy model server."""

from __future__ import annotations

from pathlib import Path

import pytest

from agentdbg.demo import desk
from agentdbg.demo.parcel_desk import find_parcel, track_parcel
from agentdbg.demo.server import DemoServer
from agentdbg.model.records import Kind, StepStatus
from tests.support.recorded import only_run


def test_both_attempts_of_both_are_recorded(desk_place: str, desk_store: Path) -> None:
    with DemoServer(busy_at=(2,)) as server:
        found = find_parcel(desk.TICKETS["T-2042"], desk_place, server.url)

    assert found == {"answer": "The parcel of order A-1077 is back on the shelf in Malmö.", "tries": 2}
    steps = only_run(desk_store).steps
    assert [(step.kind, step.status) for step in steps if step.kind in (Kind.MODEL, Kind.TOOL)] == [
        (Kind.MODEL, StepStatus.OK),
        (Kind.TOOL, StepStatus.ERROR),
        (Kind.TOOL, StepStatus.OK),
        (Kind.MODEL, StepStatus.ERROR),
        (Kind.MODEL, StepStatus.OK),
        (Kind.TOOL, StepStatus.OK),
    ]


def test_only_the_carriers_first_answer_is_an_error(desk_place: str, desk_store: Path) -> None:
    with pytest.raises(ConnectionError, match="A-1077"):
        track_parcel(desk_place, "A-1077")

    assert track_parcel(desk_place, "A-1077")["place"] == "Malmö"

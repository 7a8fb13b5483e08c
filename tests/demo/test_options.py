"""All desks take the same options."""

from __future__ import annotations

import pytest

from agentdbg.demo.desk import AFTER_CHANGE, TICKETS
from agentdbg.demo.options import desk_options


def test_a_desk_needs_no_options() -> None:
    found = desk_options("agentdbg.demo.any", ticket="T-2042").parse_args([])

    assert (found.ticket, found.policy_version, found.gateway_seconds) == ("T-2042", AFTER_CHANGE, 0.0)


def test_an_unknown_ticket_is_named_with_the_known_ones(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        desk_options("agentdbg.demo.any").parse_args(["--ticket", "T-1"])

    said = capsys.readouterr().err
    assert all(ticket in said for ticket in TICKETS)

"""Scripts can rely on the exit status of every verdict."""

from __future__ import annotations

import pytest

from agentdbg.cli.verdicts import exit_status


@pytest.mark.parametrize(
    ("verdict", "status"),
    [
        ("identical", 0),
        ("recording_ended", 0),
        ("same", 0),
        ("unaffected", 0),
        ("diverged", 1),
        ("changed", 1),
        ("refused", 3),
        ("flaky", 4),
        ("not_replayable", 5),
        ("prefix_changed", 5),
        ("needs_data", 5),
        ("aborted", 2),
        ("timed_out", 2),
        ("crashed", 2),
        ("a verdict from the future", 2),
    ],
)
def test_exit_status(verdict: str, status: int) -> None:
    assert exit_status(verdict) == status

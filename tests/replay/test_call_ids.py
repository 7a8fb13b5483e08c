"""A served tool result names the id under which the model asks for the call now."""

from __future__ import annotations

from dataclasses import replace

import pytest

from agentdbg.model.records import StepStatus
from agentdbg.recording.calls import Served
from agentdbg.replay.call_ids import with_present_id
from tests.support.regression_lab import made

RESULT = b'{"content":"call_1 is \\"call_1\\"","tool_call_id":"call_1"}'


@pytest.mark.parametrize(
    ("before", "now", "result"),
    [
        ("call_1", "call_9", b'{"content":"call_1 is \\"call_1\\"","tool_call_id":"call_9"}'),
        ("call_1", "call_1", RESULT),
        ("call_1", None, RESULT),
        (None, "call_9", RESULT),
        ("call", "call_9", RESULT),
    ],
)
def test_the_id_of_now_stands_in_a_served_result(before: str | None, now: str | None, result: bytes) -> None:
    call = replace(made("refund"), call_id=now)
    served = with_present_id(Served("s", StepStatus.OK, result=RESULT), call, {"call_id": before})
    assert served.result == result

"""What a request's headers say: believed only as far as it is well-formed."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agentdbg.recording.process import RUN_ID
from agentdbg.recording.servers.trace_context import parent_run, request_id, trace_id, wanted


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        (f"00-{'ab' * 16}-{'cd' * 8}-01", "ab" * 16),
        (f"00-{'00' * 16}-{'cd' * 8}-01", None),
        (f"00-{'AB' * 16}-{'cd' * 8}-01", None),
        ("00-ab-cd-01", None),
        ("", None),
    ],
)
def test_the_trace_is_that_of_a_valid_traceparent(value: str, expected: str | None) -> None:
    assert trace_id({"traceparent": value}) == expected


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        ("agentdbg.run=desk-1129-1", "desk-1129-1"),
        ("a=b, agentdbg.run = desk-1 ;meta=1,c=d", "desk-1"),
        ("agentdbg.run=desk%2D1", "desk-1"),
        ("agentdbg.run=../../etc", None),
        ("agentdbg.run=", None),
        ("agentdbg.run", None),
        ("xagentdbg.run=desk", None),
    ],
)
def test_the_sending_run_is_the_member_of_the_baggage(value: str, expected: str | None) -> None:
    assert parent_run({"baggage": value}) == expected


@given(st.text(max_size=60))
def test_no_other_text_becomes_a_run_id(value: str) -> None:
    found = parent_run({"baggage": f"agentdbg.run={value}"})
    assert found is None or RUN_ID.match(found)


def test_headers_are_found_in_any_case_and_number() -> None:
    found = wanted([("X-Request-ID", "r1"), ("x-request-id", "r2"), ("Baggage", "a=b"), ("baggage", "agentdbg.run=x")])
    assert request_id(found) == "r1"
    assert parent_run(found) == "x"
    assert request_id({}) is None

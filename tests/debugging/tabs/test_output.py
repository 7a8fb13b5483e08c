"""Output: the assembled answer, or how it failed."""

from __future__ import annotations

from dataclasses import replace

from agentdbg.debugging.session import Session
from agentdbg.debugging.tabs.output import output_tab
from agentdbg.model.records import Kind, RunStatus, StepStatus
from tests.support.memory_source import MemorySource, plain_steps, run_of
from tests.support.reading import text_of
from tests.support.refund_run import refund_run


def shown(number: int) -> str:
    session = Session(refund_run())
    session.goto_number(number)
    return text_of(output_tab(session), only_open=True)


def test_an_answer_reads_well() -> None:
    text = shown(3)
    assert "Plan: read the order, then the policy, then decide." in text
    assert "→ order_lookup  call_1" in text
    assert "Stop reason   tool_calls" in text
    assert "812 in · 0 cached · 41 out" in text


def test_results_errors_and_silence() -> None:
    assert '"refund_id": "R-00001"' in shown(13)
    assert "ConnectionError" in shown(14)
    assert "queue full" in shown(14)
    assert "no output" in shown(9)
    crashed = Session(refund_run(crash=True, status=RunStatus.LOST))
    assert "the intent stands alone" in text_of(output_tab(crashed))


def test_unknown_shapes_point_to_the_response_as_recorded() -> None:
    source = run_of([])
    source.add(replace(plain_steps(1)[0], kind=Kind.MODEL, result=source.put({"strange": True})))
    text = text_of(output_tab(Session(source)))
    assert "in no known shape: see Response below" in text
    assert '{"strange": true}' in text


class _Streaming(MemorySource):
    """A source that keeps the records of its steps."""

    def events(self, step):
        return [b'{"e":"intent"}']

    def chunks(self, step):
        return [self.put([[1, {"choices": [{"delta": {"content": "half an ans"}}]}]])]


def test_an_unfinished_stream_shows_what_had_come() -> None:
    source = _Streaming(run_of([]).run)
    source.add(replace(plain_steps(1)[0], kind=Kind.MODEL, status=StepStatus.OPEN))
    assert "half an ans" in text_of(output_tab(Session(source)))

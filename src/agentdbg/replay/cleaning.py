"""What a replay's child says, made fit to be kept and shown: redacted, and harmless to a terminal.

The program's own output, the effects that were stopped and the frames they came from are nobody's recorded values:
they pass the gate here.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from agentdbg.model.safe_text import safe_block, safe_line
from agentdbg.redaction.gate import Gate
from agentdbg.replay.child_process import ChildReport


def cleaned(report: ChildReport, gate: Gate) -> ChildReport:
    """The same report without secrets and control characters."""
    messages = [{name: _clean(value, gate) for name, value in message.items()} for message in report.messages]
    return replace(report, messages=messages, log=safe_block(gate.text(report.log)))


def _clean(value: Any, gate: Gate) -> Any:
    if isinstance(value, str):
        return str(safe_line(gate.text(value)))
    if isinstance(value, list):
        return [_clean(item, gate) for item in value]
    return value

"""OpenTelemetry beside the recorder: each knows the other's id, and baggage goes on to whoever gets any."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path

import pytest

from tests.support.environments import environment
from tests.support.recorded import SRC, only_run
from tests.support.server_lab import recorded_command, surroundings

pytestmark = pytest.mark.wide

PROGRAM = """
import json, sys
from opentelemetry import baggage, context, propagate, trace
from opentelemetry.sdk.trace import TracerProvider
import agentdbg

trace.set_tracer_provider(TracerProvider())
tracer = trace.get_tracer("t")

def sent():
    carrier = {}
    propagate.inject(carrier)
    return carrier.get("baggage")

@agentdbg.agent
def desk():
    agentdbg.checkpoint("a", {})
    token = context.attach(baggage.set_baggage("user", "ann"))
    try:
        return sent()
    finally:
        context.detach(token)

before = sent()
with tracer.start_as_current_span("request") as span:
    inside = desk()
    shown = {"before": before, "inside": inside, "attributes": dict(span.attributes)}
    shown["trace"] = f"{span.get_span_context().trace_id:032x}"
print(json.dumps(shown))
"""


def test_span_run_and_baggage_name_each_other(tmp_path: Path) -> None:
    python = environment("opentelemetry-sdk")
    (tmp_path / "program.py").write_text(PROGRAM, encoding="utf-8")
    variables = surroundings(tmp_path / "store", {"PYTHONPATH": str(SRC)})
    command = recorded_command(python, "program.py")
    done = subprocess.run(
        command, cwd=tmp_path, env=variables, capture_output=True, encoding="utf-8", timeout=60, check=False
    )
    assert done.returncode == 0, done.stderr
    shown = json.loads(done.stdout)
    summary = only_run(tmp_path / "store").source.summary()
    assert shown["attributes"] == {"agentdbg.run_id": summary.run_id}
    assert summary.meta["trace_id"] == shown["trace"]
    assert shown["before"] is None
    assert sorted(shown["inside"].split(",")) == [f"agentdbg.run={summary.run_id}", "user=ann"]

"""Effects become steps of the run that they belong to."""

from __future__ import annotations

from pathlib import Path

from agentdbg.model.records import Effect, Kind, StepStatus
from agentdbg.recording.effect_steps import write
from agentdbg.recording.sightings import Sighting
from tests.support.effects import seen
from tests.support.recorded import only_run, recording


def sighting(event: str = "open", detail: str = "/p/a", group: str = "file", weight: str = "") -> Sighting:
    return Sighting(event, detail, "/p/x.py:3 f", group, weight)


def test_an_effect_is_placed_under_the_call_that_covers_it(tmp_path: Path) -> None:
    with recording(tmp_path / "store") as recorder:
        run = recorder.implicit_run()
        assert run is not None
        top = run.scope()
        agent = run.begin(top, Kind.AGENT, "desk")
        tool = run.begin(top.below(agent.id), Kind.TOOL, "look", effect=Effect.READ)
        nested = run.begin(top.below(tool.id, tool=True), Kind.AGENT, "inner")
        inner = top.below(nested.id, tool=True)
        write(run, inner, sighting(), False)
        write(run, inner, sighting(weight="temporary", detail="/tmp/x"), False)
        write(run, inner, sighting("socket.connect", "h:1", "network"), False)
        for step in (nested, tool):
            run.end(top, step, StepStatus.OK)
        write(run, inner, sighting(detail="/p/later"), False)
        write(run, top.below(agent.id), sighting(), False)
        write(run, top.below(agent.id), sighting(), False)
        run.end(top, agent, StepStatus.OK)
        write(run, top, sighting(), True)
        run.finish("ok", None)
    told = [
        (e.under, e.covered, e.contradicts, e.count, e.step.attrs.get("ambient"))
        for e in seen(only_run(tmp_path / "store"))
    ]
    assert told == [
        ("tool", True, "read", 1, None),
        ("tool", True, "", 1, None),
        ("tool", True, "", 1, None),
        ("tool", True, "", 1, None),  # its call has ended; it runs on behind it
        ("agent", False, "", 2, None),
        ("", False, "", 1, True),
    ]

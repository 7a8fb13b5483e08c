"""Tools that ran in a regression replay because of what they declare, and did more than that: named, not undone.

A dry run is believed, and may send whatever it wants; of what is no HTTP nobody knows what it does. Whoever reads the
outcome has to know.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from agentdbg.model.records import Effect, Kind, Step
from agentdbg.replay.drift import was_stopped
from agentdbg.store.protocols import RunSource

_STANDS_FOR = {"dry_run": "its dry run", "status": "its status look-up"}
_HARMLESS = (Effect.NONE, Effect.READ)


def belied(replayed: RunSource, sent: Sequence[dict[str, Any]]) -> Iterator[dict[str, object]]:
    """A finding for each thing that such a tool did.

    Args:
        replayed: The replay's own record.
        sent: What the child told of requests that change something, let through: ``step`` and ``what``.
    """
    tools: dict[str, Step] = {}
    for step in replayed.steps():
        above = tools.get(step.parent or "")
        if step.kind is Kind.TOOL and above is None and "served_from" not in step.attrs:
            tools[step.id] = step
        elif above is not None:
            tools[step.id] = above  # what is inside of what is inside
            went_out = "served_from" not in step.attrs and not was_stopped(step)
            if step.kind is Kind.HTTP and above.effect is Effect.NONE and went_out:
                yield _finding(above, f"declared none, and sent {step.name}")
    for each in sent:
        if (tool := tools.get(str(each.get("step")))) is not None:
            yield _finding(tool, f"{_role(tool) or 'it was run'}, and sent {each.get('what')}")


def spoken(replayed: RunSource, told: Sequence[dict[str, Any]]) -> Iterator[str]:
    """A note for each place that a tool reached and where nobody knows what it did there.

    Args:
        replayed: The replay's own record.
        told: What the child told of connections without HTTP: ``step`` and ``address``.
    """
    for each in told:
        tool = replayed.step_by_id(str(each.get("step")))
        name = "a read" if tool is None else f"{tool.name}, {_role(tool) or 'which was run'},"
        yield f"{name} spoke to {each.get('address')} in no HTTP: what it did there is not known"


def redeclared(recorded: RunSource, replayed: RunSource) -> Iterator[str]:
    """A note for each tool that ran as one without effects and was declared to have some when it was recorded."""
    before = {
        step.name: step.effect
        for step in recorded.steps()
        if step.kind is Kind.TOOL and step.attrs.get("effect_declared") is not False
    }
    for step in replayed.steps():
        was = before.get(step.name)
        if step.kind is not Kind.TOOL or "served_from" in step.attrs or step.effect not in _HARMLESS:
            continue
        if was is not None and was not in _HARMLESS and step.effect is not None:
            yield f"{step.name} ran as declared now, {step.effect.value}: it was declared {was.value} when recorded"


def _finding(tool: Step, what: str) -> dict[str, object]:
    return {"step": tool.n, "name": tool.name, "key": None, "deed": "live", "reason": f"{what}: it was let through"}


def _role(tool: Step) -> str:
    """Why its body runs; empty where it may do what it does."""
    for name, words in _STANDS_FOR.items():
        if tool.attrs.get(name) is True:
            return f"{words} was run"
    return f"declared {tool.effect.value}" if tool.effect is not None and tool.effect in _HARMLESS else ""


__all__ = ["belied", "redeclared", "spoken"]

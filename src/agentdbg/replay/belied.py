"""Tools that ran in a regression replay because of what they declare, and did more than that: named, not undone.

A declared read may send whatever it wants: many an interface is asked by POST. Whoever reads the outcome has to know.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from agentdbg.model.records import Effect, Kind, Step
from agentdbg.store.protocols import RunSource

_STANDS_FOR = {"dry_run": "its dry run", "status": "its status look-up"}
_HARMLESS = (Effect.NONE, Effect.READ)


def belied(replayed: RunSource, reached: Sequence[dict[str, Any]]) -> Iterator[dict[str, object]]:
    """A finding for each thing that such a tool did, in the order of the record.

    Args:
        replayed: The replay's own record.
        reached: What the child told of connections that were let through for a tool's sake: ``step`` and ``address``.
    """
    tools: dict[str, Step] = {}
    for step in replayed.steps():
        above = tools.get(step.parent or "")
        if step.kind is Kind.TOOL and above is None and "served_from" not in step.attrs:
            tools[step.id] = step
        elif above is not None:
            tools[step.id] = above  # what is inside of what is inside
            if step.kind is Kind.HTTP and (role := _role(above)) and _is_more(step, above):
                yield _finding(above, f"{role}, and sent {step.name}")
    for each in reached:
        tool = replayed.step_by_id(str(each.get("step")))
        if tool is not None and tool.kind is Kind.TOOL and tool.effect is Effect.NONE:
            yield _finding(tool, f"declared none, and connected to {each.get('address')}")


def _finding(tool: Step, what: str) -> dict[str, object]:
    return {"step": tool.n, "name": tool.name, "key": None, "deed": "live", "reason": f"{what}: it was let through"}


def _role(tool: Step) -> str:
    """Why its body runs; empty where it may do what it does."""
    for name, words in _STANDS_FOR.items():
        if tool.attrs.get(name) is True:
            return f"{words} was run"
    return f"declared {tool.effect.value}" if tool.effect is not None and tool.effect in _HARMLESS else ""


def _is_more(sent: Step, tool: Step) -> bool:
    """Whether a request is more than the declaration says."""
    return "served_from" not in sent.attrs and (sent.effect is not Effect.READ or tool.effect is Effect.NONE)


__all__ = ["belied"]

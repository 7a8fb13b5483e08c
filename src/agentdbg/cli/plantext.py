"""What a replay will do, for people and as JSON."""

from __future__ import annotations

from typing import TYPE_CHECKING

from agentdbg.cli.invocation import Invocation
from agentdbg.cli.output import print_document, print_facts, print_table
from agentdbg.i18n.catalogue import message
from agentdbg.i18n.phrases import phrase

if TYPE_CHECKING:
    from agentdbg.replay.plan import Plan, Row


def print_plan(invocation: Invocation, plan: Plan) -> None:
    """Print a plan: what stands in the way and what to know, then what happens to every recorded call."""
    if invocation.json:
        print_document("replay", plan.members())
        return
    facts = [(message("replay.mode"), plan.mode.upper()), (message("plan.runs"), phrase(plan.command))]
    facts.append((message("replay.guard"), phrase(plan.guard)))
    for remark in plan.remarks:
        where = f"{message('column.step')} {remark.step}: " if remark.step is not None else ""
        facts.append((message(f"plan.{remark.weight}"), f"{where}{phrase(remark.text)}"))
    counted = ", ".join(f"{phrase(what)} {count}" for what, count in plan.counts.items())
    if plan.counts_then:
        later = ", ".join(f"{phrase(what)} {count}" for what, count in plan.counts_then.items())
        counted = message("plan.then", first=counted, later=later)
    print_facts(invocation, [*facts, (message("plan.calls"), counted)])
    columns = [message(f"column.{name}") for name in ("step", "kind", "name", "effect", "will", "why")]
    rows = [
        (row.step, row.kind, row.name, row.effect, " → ".join(map(phrase, _fates(row))), phrase(row.why))
        for row in plan.rows
    ]
    if rows:
        print_table(invocation, columns, rows, right=[columns[0]])


def _fates(row: Row) -> tuple[str, ...]:
    """What happens to a call, and what once a model input differs."""
    return (row.what, row.then) if row.then else (row.what,)

"""``agentdbg demo``: the recorded incident that ships with agentdbg, offline."""

from __future__ import annotations

from collections.abc import Iterable
from contextlib import closing

import click

from agentdbg.cli import brief
from agentdbg.cli.commands import Verb
from agentdbg.cli.describe import run_members
from agentdbg.cli.errors import Status, Trouble
from agentdbg.cli.invocation import Invocation, complain, on_terminal
from agentdbg.cli.output import print_document, print_table
from agentdbg.config.resources import demo_runs_dir
from agentdbg.demo.cases import ORDER
from agentdbg.i18n.catalogue import message
from agentdbg.model.records import RunSummary

INCIDENT = "incident"
_LAST = len(ORDER)


@click.command("demo", cls=Verb)
@click.argument("case", required=False)
@click.option("--list", "only_list", is_flag=True, help="List the cases.")
@click.pass_obj
def command(invocation: Invocation, case: str | None, only_list: bool) -> Status:
    """Open the shipped incident, or another shipped CASE."""
    address = str(demo_runs_dir())
    runs = in_order(invocation.open_store(address).summaries())
    if only_list:
        _print_cases(invocation, runs)
        return Status.SAME
    chosen = find_case(runs, case)
    if on_terminal():
        from agentdbg.cli.open import open_run

        return open_run(invocation, chosen.run_id, store_address=address)
    store = invocation.open_store(address)
    with closing(invocation.resolve(chosen.run_id, store)) as source:
        if invocation.json:
            print_document("demo", {"run": run_members(source.summary())})
            return Status.SAME
        brief.print_brief(invocation, source)
    complain(message("demo.no_terminal"))
    return Status.SAME


def find_case(runs: list[RunSummary], case: str | None) -> RunSummary:
    """The run of a case: by its name, its run id or a part of that; without a name, the incident.

    Raises:
        Trouble: There is no such case.
    """
    wanted = case or INCIDENT
    for run in runs:
        if wanted in (case_name(run), run.run_id):
            return run
    for run in runs:
        if wanted in run.run_id or (case is None and run.flag):
            return run
    if case is None and runs:
        return runs[0]
    names = ", ".join(case_name(run) for run in runs) or "none"
    raise Trouble(message("error.no_case", case=wanted, cases=names), Status.NOTHING)


def case_name(run: RunSummary) -> str:
    """What a demo run is called."""
    return run.tags.get("case") or run.run_id


def in_order(runs: Iterable[RunSummary]) -> list[RunSummary]:
    """The runs with the incident first, then the other cases as they are told; what is no case comes last."""
    return sorted(runs, key=lambda run: (ORDER.get(case_name(run), _LAST), run.started_at or 0.0))


def about(run: RunSummary) -> str:
    """What there is to find in a run, in one line."""
    return run.tags.get("about") or run.flag or ""


def _print_cases(invocation: Invocation, runs: list[RunSummary]) -> None:
    if invocation.json:
        cases = [{"case": case_name(run), "about": about(run), **run_members(run)} for run in runs]
        print_document("demo", {"cases": cases})
        return
    columns = [message(f"column.{name}") for name in ("case", "status", "steps", "about")]
    rows = [[case_name(run), run.status, run.steps, about(run)] for run in runs]
    print_table(invocation, columns, rows, right=[columns[2]])

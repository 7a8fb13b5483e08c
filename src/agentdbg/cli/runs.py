"""``agentdbg runs``: the recorded runs, newest first."""

from __future__ import annotations

import click

from agentdbg.cli import parameters
from agentdbg.cli.commands import Verb
from agentdbg.cli.describe import matches, run_members
from agentdbg.cli.invocation import Invocation
from agentdbg.cli.output import NOTHING, console, local_time, print_document, print_table, text
from agentdbg.i18n.catalogue import message
from agentdbg.model.lineage import mode_words
from agentdbg.model.records import RunStatus, RunSummary


@click.command("runs", cls=Verb)
@click.option(
    "--status", "statuses", multiple=True, type=click.Choice([s.value for s in RunStatus]), help="Only these."
)
@click.option("--thread", metavar="ID", help="Only runs of this thread.")
@click.option(
    "--tag",
    "tags",
    multiple=True,
    metavar="K=V",
    callback=parameters.tags,
    help="Only runs with this tag; several: with all of them.",
)
@click.option("--since", metavar="T", callback=parameters.since, help="Only runs started since then (2h, 7d, a date).")
@click.pass_obj
def command(
    invocation: Invocation,
    statuses: tuple[str, ...],
    thread: str | None,
    tags: tuple[tuple[str, str], ...],
    since: float | None,
) -> None:
    """List the runs of the store, newest first."""
    store = invocation.open_store()
    found = (run for run in store.summaries() if matches(run, statuses, thread, tags))
    if since is not None:
        found = (run for run in found if run.started_at is None or run.started_at >= since)
    if invocation.json:
        print_document("runs", {"store": store.location(), "runs": (run_members(run) for run in found)})
        return
    print_runs(invocation, list(found), store.location())


def print_runs(invocation: Invocation, runs: list[RunSummary], location: str) -> None:
    """Print runs as a table, or say that there are none."""
    if not runs:
        console(invocation, stderr=True).print(text(message("runs.none", store=location)))
        return
    columns = [message(f"column.{name}") for name in ("run", "status", "agent", "started", "steps", "mode", "about")]
    rows = [_row(run) for run in runs]
    print_table(invocation, columns, rows, right=[columns[4]])


def _row(run: RunSummary) -> list[object]:
    return [
        run.run_id,
        run.status,
        run.agent,
        local_time(run.started_at),
        run.steps or NOTHING,
        mode_words(run),
        _about(run),
    ]


def _about(run: RunSummary) -> str:
    """What else deserves a place in the row: verdict, error, flag, holes, tags."""
    parts = [run.verdict or "", f"{run.error.type}: {run.error.message}" if run.error else ""]
    parts += [f"flag: {run.flag}" if run.flag else "", *run.holes]
    parts += [f"{key}={value}" for key, value in run.tags.items()]
    return " · ".join(part for part in parts if part)

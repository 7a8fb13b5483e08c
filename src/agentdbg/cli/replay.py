"""``agentdbg replay``: run the agent's own code again on what was recorded."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from contextlib import closing
from typing import TYPE_CHECKING, TypeVar

import click

from agentdbg.cli import outcometext
from agentdbg.cli.commands import Verb
from agentdbg.cli.errors import Status, Trouble
from agentdbg.cli.invocation import Invocation
from agentdbg.cli.output import console, print_document, text
from agentdbg.cli.run_names import complete_run
from agentdbg.cli.verdicts import exit_status
from agentdbg.config.paths import data_dir
from agentdbg.config.resources import demo_runs_dir
from agentdbg.i18n.catalogue import message

if TYPE_CHECKING:
    from agentdbg.store.protocols import RunSource, RunStore
    from agentdbg.store.reader import DirectoryRunSource

T = TypeVar("T")


@click.command("replay", cls=Verb)
@click.argument("run", shell_complete=complete_run)
@click.option("--exact", is_flag=True, help="The agent's own code; models and tools answer from the record.")
@click.option("--guard", type=click.Choice(["auto", "audit"]), default="auto", help="Which layers keep effects out.")
@click.option("--timeout", type=click.FloatRange(min=0, min_open=True), metavar="S", help="Longest time it may take.")
@click.option("--trust", is_flag=True, help="Run code that you did not record yourself without asking.")
@click.option("--plan", "only_plan", is_flag=True, help="Print what would happen to every call, and stop.")
@click.pass_obj
def command(
    invocation: Invocation, run: str, exact: bool, guard: str, timeout: float | None, trust: bool, only_plan: bool
) -> Status:
    """Replay RUN and say whether anything differs."""
    if not exact:
        raise click.UsageError("say which replay: --exact")
    from agentdbg.replay import run as engine

    store = invocation.open_store()
    seconds = timeout or invocation.settings.seconds("replay.timeout")
    tolerate = invocation.settings.items("replay.tolerate")
    with closing(invocation.resolve(run, store)) as opened:
        source = _own_format(opened)
        options = engine.ReplayOptions(guard, seconds, trust, tolerate, _target(invocation, store))
        try:
            if only_plan:
                _print_plan(invocation, engine.plan(source, options))
                return Status.SAME
            outcome = _waiting(invocation, lambda: engine.exact(source, options))
        except engine.ReplayRefused as error:
            raise Trouble(str(error), Status.REFUSED) from error
        except engine.NotReplayable as error:
            raise Trouble(str(error), Status.NOTHING) from error
    invocation.status = exit_status(outcome.verdict)
    if invocation.json:
        print_document("replay", outcome.members())
    else:
        outcometext.print_outcome(invocation, outcome)
    return invocation.status


def _own_format(source: RunSource) -> DirectoryRunSource:
    from agentdbg.store.reader import DirectoryRunSource

    if not isinstance(source, DirectoryRunSource):
        raise Trouble(message("error.not_own_format", run=source.summary().run_id), Status.NOTHING)
    return source


def _target(invocation: Invocation, store: RunStore) -> RunStore:
    """Where the replay goes: the run's own store, or the user's where that is shipped or read-only."""
    location = store.location()
    shipped = os.path.realpath(location) == os.path.realpath(demo_runs_dir())
    if shipped or (os.path.exists(location) and not os.access(location, os.W_OK)):
        return invocation.open_store(str(data_dir() / "store"))
    return store


def _waiting(invocation: Invocation, work: Callable[[], T]) -> T:
    """Do the work; on a terminal a sign of life shows that it goes on."""
    out = console(invocation, stderr=True)
    if not out.is_terminal:
        return work()
    with out.status(message("replay.running")):
        return work()


def _print_plan(invocation: Invocation, lines: Sequence[str]) -> None:
    if invocation.json:
        print_document("replay", {"plan": list(lines)})
        return
    for line in lines:
        console(invocation).print(text(line))

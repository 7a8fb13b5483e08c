"""``agentdbg open`` and the bare program: the debugger and the run list."""

from __future__ import annotations

from contextlib import ExitStack, closing

import click

from agentdbg.cli.addresses import is_outside
from agentdbg.cli.commands import Verb
from agentdbg.cli.errors import Status, Trouble
from agentdbg.cli.invocation import Invocation, on_terminal
from agentdbg.cli.run_names import complete_run
from agentdbg.cli.twins import TWIN, home_of
from agentdbg.i18n.catalogue import message


@click.command("open", cls=Verb)
@click.argument("run", shell_complete=complete_run)
@click.option("--step", "number", type=click.IntRange(min=1), metavar="N", help="Start at this step.")
@click.option(
    "--with",
    "against",
    metavar="RUN2",
    shell_complete=complete_run,
    help="Compare with this run; @twin: with the nearest good run.",
)
@click.option("--theme", metavar="NAME", help="Theme of the debugger.")
@click.option("--follow", is_flag=True, help="Stay at the end while the run grows.")
@click.pass_obj
def command(
    invocation: Invocation, run: str, number: int | None, against: str | None, theme: str | None, follow: bool
) -> Status:
    """Open RUN in the debugger, at the point of failure."""
    return open_run(invocation, run, number=number, against=against, theme=theme, follow=follow)


def open_run(
    invocation: Invocation,
    address: str,
    *,
    store_address: str | None = None,
    number: int | None = None,
    against: str | None = None,
    theme: str | None = None,
    follow: bool = False,
) -> Status:
    """Open the debugger on a run.

    Raises:
        Trouble: There is no such run or step, or no terminal to show it on.
    """
    store = invocation.open_store(store_address)
    with ExitStack() as closed:
        opened = [closed.enter_context(closing(invocation.resolve(address, store)))]
        source = opened[0]
        if number is not None:
            from agentdbg.cli.show import find_step

            find_step(source, number)
        named = address if is_outside(source) else source.summary().run_id
        if against is not None and against != TWIN:
            invocation.resolve(against, store, source).close()
        if not on_terminal():
            raise Trouble(message("error.no_terminal", run=named))
        from agentdbg.ui.app import run_app

        run_app(
            home_of(source) or store,
            address,
            opener=lambda wanted: opened.pop() if opened and wanted == address else invocation.resolve(wanted, store),
            against=against,
            step=number,
            theme=theme or invocation.settings.text("theme") or None,
            follow=follow,
        )
    return Status.SAME


def open_runs(invocation: Invocation) -> Status:
    """The run list; without a terminal the same list as text."""
    store = invocation.open_store()
    if not on_terminal():
        from agentdbg.cli.runs import print_runs

        print_runs(invocation, list(store.summaries()), store.location())
        return Status.SAME
    from agentdbg.ui.app import run_app

    run_app(store, None, theme=invocation.settings.text("theme") or None)
    return Status.SAME

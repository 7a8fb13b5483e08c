"""``agentdbg flag``: mark a run as bad, hours later too."""

from __future__ import annotations

from contextlib import closing

import click

from agentdbg.cli.commands import Verb
from agentdbg.cli.invocation import Invocation
from agentdbg.cli.output import console, print_document, text
from agentdbg.cli.run_names import complete_run
from agentdbg.i18n.catalogue import message


@click.command("flag", cls=Verb)
@click.argument("run", shell_complete=complete_run)
@click.option("--reason", required=True, help="Why; shown in lists.")
@click.pass_obj
def command(invocation: Invocation, run: str, reason: str) -> None:
    """Mark RUN as bad; flagged runs keep their bodies."""
    from agentdbg.redaction.gate import Gate
    from agentdbg.store.notes import set_flag_of

    store = invocation.open_store()
    reason = Gate(enabled=invocation.settings.flag("recording.redaction")).text(reason)
    with closing(invocation.resolve(run, store)) as source:
        run_id = source.summary().run_id
        set_flag_of(source, store, reason)
    if invocation.json:
        print_document("flag", {"run_id": run_id, "flag": reason})
    else:
        console(invocation).print(text(message("flag.done", run=run_id, reason=reason)))

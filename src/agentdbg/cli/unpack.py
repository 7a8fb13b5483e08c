"""``agentdbg unpack``: put the run of a pack into a store."""

from __future__ import annotations

import click

from agentdbg.cli.addresses import STDIN, open_pack
from agentdbg.cli.commands import Verb
from agentdbg.cli.errors import Status, Trouble
from agentdbg.cli.invocation import Invocation
from agentdbg.cli.output import console, print_document, text
from agentdbg.i18n.catalogue import message


@click.command("unpack", cls=Verb)
@click.argument("file")
@click.pass_obj
def command(invocation: Invocation, file: str) -> None:
    """Put the run of the pack FILE (- for stdin) into the store."""
    from agentdbg.store.directory import DirectoryStore
    from agentdbg.store.files import StoreError
    from agentdbg.store.packs import unpack

    store = invocation.open_store()
    if not isinstance(store, DirectoryStore):
        raise Trouble(message("error.store_takes_no_packs", store=store.location()))
    try:
        with open_pack(file) as stream:
            manifest = unpack(stream, store)
    except StoreError as problem:
        named = "stdin" if file == STDIN else file
        raise Trouble(f"{named}: {problem}", Status.NOTHING) from problem
    if invocation.json:
        members = {"run_id": manifest.run_id, "store": store.location(), "skeleton": manifest.skeleton}
        print_document("unpack", {**members, "files": len(manifest.entries), "packed_by": manifest.tool})
    else:
        console(invocation).print(text(message("unpack.done", run=manifest.run_id, store=store.location())))

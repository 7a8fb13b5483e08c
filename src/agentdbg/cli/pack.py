"""``agentdbg pack``: a run as one file."""

from __future__ import annotations

from contextlib import closing

import click

from agentdbg.cli.commands import Verb
from agentdbg.cli.errors import Status, Trouble
from agentdbg.cli.invocation import Invocation
from agentdbg.cli.output import console, print_document, text
from agentdbg.cli.run_names import complete_run
from agentdbg.cli.version import tool_version
from agentdbg.cli.writing import STDOUT, output_file
from agentdbg.i18n.catalogue import message


@click.command("pack", cls=Verb)
@click.argument("run", shell_complete=complete_run)
@click.option("-o", "path", metavar="FILE", required=True, help="The pack; - for stdout.")
@click.option("--skeleton", is_flag=True, help="Leave the bodies out: structure, hashes and times stay.")
@click.option("--with-secrets", is_flag=True, help="Pack a run in which secrets were found, as it is.")
@click.pass_obj
def command(invocation: Invocation, run: str, path: str, skeleton: bool, with_secrets: bool) -> None:
    """Write RUN as one file, which every command opens and 'agentdbg unpack' puts into a store."""
    from agentdbg.redaction.gate import Gate
    from agentdbg.store.files import StoreError
    from agentdbg.store.packs import HoldsSecrets, pack
    from agentdbg.store.reader import DirectoryRunSource

    if path == STDOUT and invocation.json:
        raise Trouble(message("error.json_and_stdout"))
    with closing(invocation.resolve(run)) as source:
        if not isinstance(source, DirectoryRunSource):
            raise Trouble(message("error.not_packed", run=source.summary().run_id), Status.NOTHING)
        gate = None if with_secrets else Gate()
        try:
            with output_file(path, binary=True) as out:
                packed = pack(source, out, skeleton=skeleton, tool=tool_version(), gate=gate)
        except HoldsSecrets as problem:
            raise Trouble(message("error.holds_secrets", reason=problem), Status.REFUSED) from problem
        except StoreError as problem:
            raise Trouble(f"{run}: {problem}") from problem
        damage = source.problems()
    invocation.warn([f"{packed.run_id}: {name} is not part of a run; it was left out" for name in packed.left_out])
    invocation.warn([f"{packed.run_id}: {problem}" for problem in damage])
    if invocation.json:
        members = {"run_id": packed.run_id, "path": path, "skeleton": skeleton}
        print_document("pack", {**members, "files": packed.files, "bytes": packed.size, "left_out": packed.left_out})
    elif path != STDOUT:
        console(invocation).print(text(message("pack.done", run=packed.run_id, path=path, files=packed.files)))

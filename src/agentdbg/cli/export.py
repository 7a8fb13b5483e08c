"""``agentdbg export``: a run for people and programs that have no agentdbg."""

from __future__ import annotations

from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING

import click

from agentdbg.cli.commands import Verb
from agentdbg.cli.errors import Trouble
from agentdbg.cli.invocation import Invocation
from agentdbg.cli.output import console, print_document, text
from agentdbg.cli.run_names import complete_run
from agentdbg.cli.writing import STDOUT, output_file
from agentdbg.i18n.catalogue import message

if TYPE_CHECKING:
    from agentdbg.sharing.evidence import Evidence


@click.command("export", cls=Verb)
@click.argument("run", shell_complete=complete_run)
@click.option("--to", "form", type=click.Choice(["dir", "md"]), required=True, help="Folders, or a page.")
@click.option("-o", "path", metavar="PATH", help="Where to; for a page, - is stdout, which is the default.")
@click.option("--skeleton", is_flag=True, help="Leave the bodies out.")
@click.pass_obj
def command(invocation: Invocation, run: str, form: str, path: str | None, skeleton: bool) -> None:
    """Write RUN as folders to read with cat and jq, or as one Markdown page."""
    from agentdbg.redaction.gate import Gate
    from agentdbg.sharing.evidence import Evidence

    if form == "dir" and path in (None, STDOUT):
        raise click.UsageError("a folder needs a place: -o PATH")
    path = path or STDOUT
    if path == STDOUT and invocation.json:
        raise Trouble(message("error.json_and_stdout"))
    with closing(invocation.resolve(run)) as source:
        evidence = Evidence(source, Gate(), skeleton=skeleton)
        files = _write_folder(evidence, path) if form == "dir" else _write_page(evidence, path)
        run_id = source.summary().run_id
        count = len(source.steps())
        invocation.warn([f"{run_id}: {problem}" for problem in source.problems()])
    if evidence.redacted:
        invocation.warn([message("export.redacted", run=run_id, count=evidence.redacted)])
    if invocation.json:
        members = {"run_id": run_id, "to": form, "path": path, "skeleton": skeleton, "steps": count, "files": files}
        print_document("export", {**members, "redacted": evidence.redacted, "missing": evidence.missing})
    elif path != STDOUT:
        console(invocation).print(text(message("export.done", run=run_id, path=path, count=count)))


def _write_folder(evidence: Evidence, path: str) -> int:
    from agentdbg.sharing.folder import write_folder
    from agentdbg.store.files import StoreError

    try:
        return write_folder(evidence, Path(path)).files
    except StoreError as problem:
        raise Trouble(str(problem)) from problem


def _write_page(evidence: Evidence, path: str) -> int:
    from agentdbg.sharing.markdown import write_markdown

    with output_file(path) as out:
        for piece in write_markdown(evidence):
            out.write(piece.encode("utf-8", "backslashreplace"))
    return 1

"""What a shell offers where a run is to be named: the store's runs, the labels, else files."""

from __future__ import annotations

import os
from typing import Final

import click
from click.shell_completion import CompletionItem

from agentdbg.cli.errors import Trouble
from agentdbg.cli.invocation import Invocation
from agentdbg.store.files import StoreError

LABELS: Final = ("@", "@failed", "@flagged", "@twin")


def complete_run(ctx: click.Context, param: click.Parameter, incomplete: str) -> list[CompletionItem]:
    """The runs that begin as what was typed; a path, or what no run begins with, is left to the shell."""
    named = [] if os.sep in incomplete else [*_run_ids(ctx), *LABELS]
    found = [CompletionItem(name) for name in named if name.startswith(incomplete)]
    return found or [CompletionItem(incomplete, type="file")]


def _run_ids(ctx: click.Context) -> list[str]:
    from agentdbg.store.directory import DirectoryStore

    try:
        store = ctx.ensure_object(Invocation).open_store()
        return store.run_ids() if isinstance(store, DirectoryStore) else [row.run_id for row in store.summaries()]
    except (Trouble, StoreError, OSError):
        return []  # a shell has no place for complaints; the command itself will make them

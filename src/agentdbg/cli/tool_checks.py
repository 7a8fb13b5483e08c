"""Tools of which nobody said whether they change anything outside, as recorded runs show."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from contextlib import closing
from itertools import islice

from agentdbg.cli.checks import WARN, Check
from agentdbg.cli.errors import Trouble
from agentdbg.cli.invocation import Invocation
from agentdbg.i18n.catalogue import message
from agentdbg.model.records import Kind
from agentdbg.store.protocols import RunStore

LATEST = 50
"""So many of the newest runs are looked at."""
_BARE_KEY = re.compile(r"[A-Za-z0-9_-]+\Z")


def tool_checks(invocation: Invocation) -> list[Check]:
    """A row for each undeclared tool of the latest runs, with the line that declares it."""
    declared = invocation.settings.table("tools")
    try:
        store = invocation.open_store()
    except (Trouble, OSError):
        return []
    names = dict.fromkeys(name for name in _undeclared(store) if name not in declared)
    return [
        Check("tools", name, WARN, "external", message("doctor.declare_tool", line=declaration(name))) for name in names
    ]


def declaration(name: str) -> str:
    """The line of ``agentdbg.toml`` that declares a tool."""
    key = name if _BARE_KEY.match(name) else json.dumps(name)
    return f'{key} = "read"'


def _undeclared(store: RunStore) -> Iterator[str]:
    for run in islice(store.summaries(), LATEST):
        try:
            source = store.open(run.run_id)
        except (KeyError, OSError, ValueError):
            continue  # the list of runs says what is wrong with it
        with closing(source):
            for step in source.steps():
                if step.kind is Kind.TOOL and step.attrs.get("effect_declared") is False:
                    yield step.name

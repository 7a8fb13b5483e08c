"""Somebody else's run: what would be started is shown first; on a terminal a typed yes starts it, else ``--trust``."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

from agentdbg.cli.invocation import Invocation, on_terminal
from agentdbg.cli.output import block, console
from agentdbg.i18n.catalogue import message

if TYPE_CHECKING:
    from agentdbg.store.reader import DirectoryRunSource

_LINES = 80


def leave_given(invocation: Invocation, source: DirectoryRunSource, *, trust: bool, code: str) -> bool:
    """Whether somebody gives leave to start the run's code, by ``trust`` or now; a run of one's own needs none."""
    from agentdbg.replay.placed import RECORDED
    from agentdbg.replay.recorded_code import is_own_code
    from agentdbg.replay.spec import mapping
    from agentdbg.replay.trust import is_trusted

    entry = mapping(source.summary().meta.get("entry"))
    if trust or not (mapping(entry.get("callable")) or mapping(entry.get("launch"))):
        return trust
    if is_trusted(source) and (code != RECORDED or is_own_code(source)):
        return False
    _show(invocation, source)
    if invocation.json or not on_terminal():
        return False
    print(message("replay.ask_trust"), end="", file=sys.stderr, flush=True)
    return sys.stdin.readline().strip() == "yes"


def _show(invocation: Invocation, source: DirectoryRunSource) -> None:
    from agentdbg.replay.starting import starting

    found = starting(source)
    out = console(invocation, stderr=True)
    lines = [f"{name}: {value}" for name, value in found.facts if value]
    lines += [f"argv[{place}]: {word}" for place, word in enumerate(found.argv[:_LINES])]
    if (more := len(found.argv) - _LINES) > 0:
        lines.append(message("plan.more_words", count=more))
    out.print(block(message("plan.would_start")))
    for line in lines:
        out.print(block(f"  {line}"))
    changes = found.difference.splitlines()
    count = message("plan.difference_lines", count=len(changes)) if changes else message("plan.no_difference")
    out.print(block(f"{message('plan.difference')}: {count}"))
    for line in changes[:_LINES]:
        out.print(block(f"  {line}"))
    if (more := len(changes) - _LINES) > 0:
        out.print(block(message("replay.more_lines", count=more)))


__all__ = ["leave_given"]

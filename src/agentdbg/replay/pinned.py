"""Tools that a record answers in a regression replay, whatever the policy says of them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from agentdbg.model.records import Kind
from agentdbg.replay import cassette as cassettes
from agentdbg.replay.cassette import Cassette
from agentdbg.store.reader import DirectoryRunSource


class BadPin(Exception):
    """A record that cannot answer a tool; the message says what it could."""


@dataclass(frozen=True, slots=True)
class Pin:
    """One tool that a record answers.

    Attributes:
        source: Another run's record; ``None``: the replayed run's own.
    """

    tool: str
    source: DirectoryRunSource | None = None


def tapes(source: DirectoryRunSource, own: Cassette, pins: Sequence[Pin]) -> dict[str, Cassette]:
    """What answers each pinned tool.

    Args:
        source: The run that is replayed.
        own: Its tape, edits made.

    Raises:
        BadPin: A record has no call of that tool.
    """
    found: dict[str, Cassette] = {}
    for pin in pins:
        tape, run = own, source
        if pin.source is not None:
            pin.source.index(None)
            tape, run = cassettes.build(pin.source), pin.source
        names = dict.fromkeys(call.name for call in tape.calls if call.kind == Kind.TOOL.value)
        if pin.tool not in names:
            there = f"; there are {', '.join(names)}" if names else ""
            raise BadPin(f"--pin {pin.tool}: run {run.summary().run_id} has no call of that tool{there}")
        found[pin.tool] = tape
    return found

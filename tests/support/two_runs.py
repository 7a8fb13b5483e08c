"""Pairs of small runs that differ in one thing, for tests of what compares them."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path

from agentdbg.compare.parting import RunDifference, part
from agentdbg.store.directory import DirectoryStore
from tests.support.run_records import RunRecords

Script = Callable[[RunRecords], object]
SYSTEM = {"role": "system", "content": "You decide about refunds."}
ASK = {"role": "user", "content": "Please refund order A-1042."}


def said(found: RunDifference) -> tuple[str, str, str]:
    assert found.parting is not None
    return found.parting.divergence.name, found.parting.divergence.path, found.parting.divergence.cause


def call(*messages: Mapping[str, object], output: object = None, name: str = "m") -> Script:
    return lambda run: run.model(name, messages or (SYSTEM, ASK), output or {"id": "chatcmpl-123456", "text": "ok"})


def tool(arguments: dict[str, object], result: object = None, **how: object) -> Script:
    return lambda run: run.tool("look", arguments, result, **how)  # type: ignore[arg-type]  # test brevity


def note(kind: str, name: str, value: object) -> Script:
    return lambda run: run.note(kind, name, value)


def both(*scripts: Script) -> Script:
    def run(records: RunRecords) -> None:
        for script in scripts:
            script(records)

    return run


def compared(store_path: Path, first: Script, second: Script, **meta: str) -> RunDifference:
    """Record two runs, ``a`` and ``b``, and compare them; ``meta`` goes to the second."""
    store = DirectoryStore(store_path)
    for run_id, script in (("a", first), ("b", second)):
        records = RunRecords(store_path, run_id, **(meta if run_id == "b" else {}))
        script(records)
        records.end()
    return part(store.open("a"), store.open("b"))

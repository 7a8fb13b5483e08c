"""Notes on steps."""

from __future__ import annotations

from pathlib import Path

from agentdbg.debugging.noting import read_notes, write_note
from agentdbg.model.records import RunSummary
from tests.support.memory_source import MemoryStore
from tests.support.refund_run import refund_run


class Packed:
    """A run that lies outside every store."""

    notes_location = "pack:somewhere"

    def summary(self) -> RunSummary:
        return refund_run().summary()


def test_a_note_is_there_when_the_run_is_opened_again() -> None:
    source = refund_run()
    store = MemoryStore({source.run.run_id: source})
    assert read_notes(store, source) == {}
    write_note(store, source, "w:1", "  read the policy here ")
    write_note(store, source, "w:1", "and again")
    assert read_notes(store, refund_run()) == {"w:1": ("read the policy here", "and again")}
    assert read_notes(store, refund_run("other")) == {}


def test_a_secret_in_a_note_is_not_written(isolated_user: Path) -> None:
    source = refund_run()
    store = MemoryStore({source.run.run_id: source})
    key = "sk-proj-" + "a1B2c3D4e5F6" * 4
    written = write_note(store, source, "w:1", f"used {key}")
    assert key not in written
    assert not any(key.encode() in path.read_bytes() for path in isolated_user.rglob("*.jsonl"))


def test_a_run_outside_the_store_has_its_own_notes() -> None:
    store = MemoryStore()
    packed = Packed()
    write_note(store, packed, "w:2", "from the pack")  # type: ignore[arg-type]  # all that is asked for
    assert read_notes(store, packed) == {"w:2": ("from the pack",)}  # type: ignore[arg-type]
    assert read_notes(store, refund_run()) == {}

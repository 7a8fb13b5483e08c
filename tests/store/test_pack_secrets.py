"""What the gate would redact is found wherever it stands in a run."""

from __future__ import annotations

from pathlib import Path

from agentdbg.redaction.gate import Gate
from agentdbg.store.notes import append
from agentdbg.store.pack_secrets import places_with_secrets
from tests.support.run_records import RunRecords
from tests.support.secret_samples import secrets

SECRET = secrets()["openai"]


def found(directory: Path, **meta: object) -> list[str]:
    paths = [
        str(p.relative_to(directory)) for p in sorted(directory.rglob("*")) if p.is_file() and p.name != "run.json"
    ]
    return places_with_secrets(directory, paths, meta, Gate())  # type: ignore[arg-type]


def test_bodies_large_bodies_events_notes_and_metadata_are_looked_at(tmp_path: Path) -> None:
    records = RunRecords(tmp_path / "store", "r-1")
    records.tool("login", {"api_key": SECRET}, "x" * 300_000 + f" {SECRET}")
    records.tool("fail", {}, status="error", error={"type": "Denied", "message": f"bad key {SECRET}"})
    directory = records.end()
    append("", "r-1", directory, {"e": "flag", "reason": f"leaks {SECRET}"})
    places = found(directory, tags={"key": SECRET})
    assert [place.split()[0].split("/")[0] for place in places] == ["run.json", "body", "event", "large", "event"]


def test_a_run_without_secrets_has_none(tmp_path: Path) -> None:
    records = RunRecords(tmp_path / "store", "r-1")
    records.tool("read", {"id": 17}, {"at": 1_770_000_000, "hash": "0123456789abcdef" * 4})
    assert found(records.end(), tags={"ticket": "T-1"}, agent="desk") == []

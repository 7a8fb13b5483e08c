"""The cached run list gives back what was put in, or nothing."""

from __future__ import annotations

import sqlite3
import stat
from pathlib import Path

import pytest

from agentdbg.model.records import ErrorInfo, Mode, RunStatus, RunSummary
from agentdbg.store.listing import ListingCache, pack_summary, unpack_summary

FULL = RunSummary(
    "r",
    RunStatus.FAILED,
    "desk",
    Mode.EXACT,
    "src",
    "t",
    {"k": "v\ud800"},
    "bad",
    7,
    1.5,
    2.5,
    ("m", "n"),
    "w:1",
    ErrorInfo("E", "m"),
    "diverged",
    ("h",),
)


@pytest.mark.parametrize("summary", [FULL, RunSummary("r", RunStatus.OK)])
def test_a_row_survives_the_cache(tmp_path: Path, summary: RunSummary) -> None:
    back = unpack_summary("r", pack_summary(summary), str(tmp_path))
    assert back is not None
    assert {**{name: getattr(back, name) for name in RunSummary.__slots__}, "meta": {}} == {
        name: getattr(summary, name) for name in RunSummary.__slots__
    }


@pytest.mark.parametrize("row", ["", "{}", "[1]", "[]", "null", '["odd"' + ",0" * 14 + "]"])
def test_a_damaged_row_is_none(row: str) -> None:
    assert unpack_summary("r", row, "/nowhere") is None


def test_rows_are_saved_replaced_and_removed(tmp_path: Path) -> None:
    cache = ListingCache(str(tmp_path))
    assert cache.load() == {}
    cache.save({"a": ("1", "x"), "b": ("1", "y")}, [])
    cache.save({"a": ("2", "z")}, ["b"])
    assert ListingCache(str(tmp_path)).load() == {"a": ("2", "z")}
    assert ListingCache("another store").load() == {}
    assert stat.S_IMODE(cache.path.stat().st_mode) == 0o600


def test_an_index_of_another_version_or_locked_is_not_used(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("agentdbg.store.listing._BUSY_S", 0.01)
    cache = ListingCache(str(tmp_path))
    cache.save({"a": ("1", "x")}, [])
    other = sqlite3.connect(cache.path)
    other.execute("BEGIN EXCLUSIVE")
    assert cache.load() == {}
    cache.save({"b": ("1", "x")}, [])
    other.rollback()
    assert cache.load() == {"a": ("1", "x")}
    other.execute("PRAGMA user_version=99")
    other.commit()
    other.close()
    assert cache.load() == {}
    cache.save({"b": ("1", "x")}, [])
    assert cache.load() == {"b": ("1", "x")}

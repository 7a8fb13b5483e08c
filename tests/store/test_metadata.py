"""``run.json`` comes from outside: every member is checked, and a newer format is refused."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agentdbg.model.records import RunStatus, RunSummary
from agentdbg.store.files import StoreError
from agentdbg.store.metadata import (
    Facts,
    LazyMeta,
    NewerFormat,
    check_format,
    end_status,
    read_run_json,
    run_status,
    summarise,
)
from tests.support.records import run_json, write_private, write_run

values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=4),
    lambda inner: st.lists(inner, max_size=2) | st.dictionaries(st.text(max_size=4), inner, max_size=2),
    max_leaves=4,
)
NAMES = [name for name in RunSummary.__slots__ if name != "meta"]


@given(st.dictionaries(st.sampled_from(NAMES), values))
def test_any_members_give_a_row(meta: dict[str, Any]) -> None:
    row = summarise("r", meta, Facts())
    assert row.run_id == "r"
    assert isinstance(row.agent, str)
    assert row.steps >= 0
    assert all(isinstance(key, str) and isinstance(value, str) for key, value in row.tags.items())
    assert all(isinstance(text, str) for text in (*row.models, *row.holes))
    assert row.started_at is None or row.started_at == row.started_at


@pytest.mark.parametrize(
    ("stated", "ended", "alive", "shown"),
    [
        ("ok", None, False, "ok"),
        ("failed", RunStatus.OK, True, "failed"),
        ("waiting", None, False, "waiting"),
        ("running", None, True, "running"),
        ("running", None, False, "lost"),
        ("running", RunStatus.FAILED, False, "failed"),
        ("lost", None, True, "running"),
        (None, RunStatus.OK, False, "ok"),
        (["x"], None, False, "lost"),
    ],
)
def test_status_rules(stated: Any, ended: RunStatus | None, alive: bool, shown: str) -> None:
    assert run_status(stated, ended, alive).value == shown


def test_anything_but_a_good_end_is_a_failure() -> None:
    stated: list[Any] = ["ok", "waiting", "failed", "error", "running", None, []]
    assert [end_status(value).value for value in stated] == ["ok", "waiting", *["failed"] * 5]


@pytest.mark.parametrize("value", ["0.1", "0.99", "0", None, 7, "x", "", "1.x.y"])
def test_formats_that_are_read(value: Any) -> None:
    check_format(value, "run r")


@pytest.mark.parametrize("value", ["1", "1.0", "27.3"])
def test_formats_that_are_not(value: str) -> None:
    with pytest.raises(NewerFormat, match="newer agentdbg is needed"):
        check_format(value, "run r")


@pytest.mark.parametrize("content", [b"", b"{", b"[]", b"\xff\xfe", b"[" * 5000, b'{"a": ' * 3000])
def test_an_unreadable_run_json_is_one_line(tmp_path: Path, content: bytes) -> None:
    root = write_run(tmp_path)
    write_private(root / "run.json", content)
    with pytest.raises(StoreError) as refused:
        read_run_json(root)
    assert "\n" not in str(refused.value)
    assert dict(LazyMeta(root)) == {}


def test_a_run_json_beyond_all_bounds_is_not_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("agentdbg.store.metadata.MAX_RUN_JSON", 10)
    with pytest.raises(StoreError, match="larger than 10 bytes"):
        read_run_json(write_run(tmp_path))


def test_a_copied_run_says_that_it_was_another(tmp_path: Path) -> None:
    assert summarise("copy", run_json("original"), Facts()).holes == ("run.json names another run: original",)

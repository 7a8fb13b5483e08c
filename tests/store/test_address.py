"""A run is found by whatever people have at hand, and what is not found is said in one line."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from agentdbg.store.address import AddressError, open_store, resolve
from agentdbg.store.directory import DirectoryStore
from agentdbg.store.files import StoreError
from agentdbg.store.notes import set_flag
from tests.support.records import START, run_json, write_run


@pytest.fixture
def store(tmp_path: Path) -> DirectoryStore:
    runs: list[tuple[str, dict[str, Any]]] = [
        ("7f3a-old", {"status": "failed", "thread_id": "t-1", "tags": {"env": "prod"}}),
        ("7f9b-mid", {"status": "failed", "thread_id": "t-1", "tags": {"env": "prod", "a": "b=c"}, "trace_id": "tr-1"}),
        ("8000-new", {"status": "ok", "thread_id": "t-2", "flag": "recorded as bad"}),
    ]
    for i, (name, members) in enumerate(runs):
        write_run(tmp_path / "store", name, meta=run_json(name, started_at=START + i, **members))
    return DirectoryStore(tmp_path / "store")


@pytest.mark.parametrize(
    ("address", "run_id"),
    [
        ("7f3a-old", "7f3a-old"),
        ("7f9", "7f9b-mid"),
        ("8", "8000-new"),
        ("@", "8000-new"),
        ("@failed", "7f9b-mid"),
        ("@flagged", "8000-new"),
        ("thread:t-1", "7f9b-mid"),
        ("trace:tr-1", "7f9b-mid"),
        ("tag:env=prod", "7f9b-mid"),
        ("tag:a=b=c", "7f9b-mid"),
    ],
)
def test_a_run_is_found(store: DirectoryStore, address: str, run_id: str) -> None:
    assert resolve(store, address).summary().run_id == run_id


def test_a_flag_set_later_counts(store: DirectoryStore) -> None:
    set_flag(store, "8000-new", "")
    set_flag(store, "7f3a-old", "refunded twice")
    assert resolve(store, "@flagged").summary().run_id == "7f3a-old"


def test_a_prefix_of_several_runs_names_them(store: DirectoryStore) -> None:
    with pytest.raises(AddressError, match="beginning of 2 runs: 7f3a-old, 7f9b-mid"):
        resolve(store, "7f")


def test_five_candidates_are_enough(store: DirectoryStore) -> None:
    for i in range(9):
        write_run(store.path, f"many-{i}")
    with pytest.raises(AddressError, match="many-4 and 4 more"):
        resolve(store, "many")


@pytest.mark.parametrize(
    "address",
    [
        "",
        "nope",
        "@nope",
        "tag:env",
        "tag:env=dev",
        "thread:",
        "odd:x",
        "thread:t-9",
        "./nope",
        "/nope/x",
        "~/nope",
        "a\nb",
        "\x1b[2J",
    ],
)
def test_what_is_not_found_is_one_clear_line(store: DirectoryStore, address: str) -> None:
    with pytest.raises(AddressError) as missing:
        resolve(store, address)
    assert "\n" not in str(missing.value)


def test_not_found_says_where_it_looked(store: DirectoryStore, tmp_path: Path) -> None:
    with pytest.raises(AddressError, match="which does not exist") as missing:
        resolve(store, "nope", also=[DirectoryStore(tmp_path / "none")])
    assert str(store.path) in str(missing.value)


def test_further_stores_are_searched_in_order(store: DirectoryStore, tmp_path: Path) -> None:
    write_run(tmp_path / "demo", "incident")
    assert resolve(store, "inc", also=[DirectoryStore(tmp_path / "demo")]).summary().run_id == "incident"


def test_a_run_directory_is_opened_where_it_lies(
    store: DirectoryStore, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    lone = write_run(tmp_path / "s", "x").rename(tmp_path / "handed over")
    monkeypatch.chdir(tmp_path)
    for address in (str(lone), "handed over", "./handed over"):
        assert resolve(store, address).summary().run_id == "handed over"
    inside = store.path / "runs" / "7f3a-old"
    set_flag(store, "7f3a-old", "bad")
    assert resolve(store, str(inside)).summary().flag == "bad"
    (tmp_path / "link").symlink_to(lone)
    assert resolve(store, "./link").summary().run_id == "handed over"


def test_a_path_that_is_no_run_is_refused(store: DirectoryStore, tmp_path: Path) -> None:
    with pytest.raises(AddressError, match="is a store, not a run"):
        resolve(store, str(store.path))
    (tmp_path / "file.txt").write_text("x")
    with pytest.raises(AddressError, match="not a run directory"):
        resolve(store, str(tmp_path / "file.txt"))
    with pytest.raises(StoreError, match="no run directory"):
        resolve(store, str(tmp_path) + "/")


def test_the_store_is_the_named_one_or_the_default(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    assert open_store(str(tmp_path / "x")).location() == str(tmp_path / "x")
    assert open_store(f"file://{tmp_path}/x").location() == str(tmp_path / "x")
    assert open_store(None).location().endswith("store")
    (tmp_path / ".agentdbg").mkdir()
    assert open_store(None).location() == str(tmp_path / ".agentdbg")
    monkeypatch.setenv("AGENTDBG_STORE", str(tmp_path / "env"))
    assert open_store(None).location() == str(tmp_path / "env")


@pytest.mark.parametrize("url", ["sqlite:///x.db", "postgresql://host/db", "s3://bucket"])
def test_a_store_of_another_kind_is_refused_in_one_line(url: str) -> None:
    with pytest.raises(AddressError, match="only directories"):
        open_store(url)


@pytest.mark.parametrize(("address", "said"), [("@", "no runs in"), ("@failed", "no failed run in")])
def test_an_empty_store_is_said_to_be_empty(tmp_path: Path, address: str, said: str) -> None:
    with pytest.raises(AddressError, match=said):
        resolve(DirectoryStore(tmp_path), address)


def test_a_file_url_with_a_machine_is_no_path() -> None:
    with pytest.raises(AddressError, match="file:///PATH"):
        open_store("file://host/x")

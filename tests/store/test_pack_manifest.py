"""A manifest says what a pack holds, and names nothing but files of a run."""

from __future__ import annotations

import pytest

from agentdbg.store.pack_manifest import Entry, Manifest, belongs_in_pack, folder_of, parse
from agentdbg.store.pack_stream import Member, PackError


def test_what_is_encoded_is_parsed() -> None:
    made = Manifest(
        "r-1", "0.1", "agentdbg 1", True, (Entry("run.json", 3, "a" * 64), Entry("events/a.jsonl", 0, "b" * 64))
    )
    assert parse(made.encode(), "r-1") == made


@pytest.mark.parametrize(
    "path", ["run.json", "events/0aF.jsonl", "bodies/x_y-z.jsonl", f"large/{'0' * 64}", "work/notes.jsonl"]
)
def test_files_of_a_run_belong_in_a_pack(path: str) -> None:
    assert belongs_in_pack(path)


@pytest.mark.parametrize(
    "path",
    [
        "",
        "/run.json",
        "../run.json",
        "events/../x.jsonl",
        "events/.x.jsonl",
        "events/a",
        "work/a/b",
        "work/.x",
        "large/0",
        "run.json\n",
        "Run.json",
        "events\\a.jsonl",
    ],
)
def test_anything_else_does_not(path: str) -> None:
    assert not belongs_in_pack(path)


@pytest.mark.parametrize(
    "name", ["manifest.json", "/manifest.json", "../manifest.json", "a/b/manifest.json", "a/run.json"]
)
def test_a_pack_begins_with_a_manifest_below_a_run_id(name: str) -> None:
    with pytest.raises(PackError, match="it does not begin with a manifest"):
        folder_of(Member(name, 1))


def test_a_manifest_beyond_all_bounds_is_refused() -> None:
    with pytest.raises(PackError, match="beyond all bounds"):
        folder_of(Member("a/manifest.json", 1 << 40))

"""Paths are written without the machine, and no two places are mixed up."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agentdbg.recording.paths import neutral_path, printable, project_root

PLACES = {"root": "/home/ann/desk", "venv": "/home/ann/desk/.venv", "home": "/home/ann"}


@pytest.mark.parametrize(
    ("path", "written"),
    [
        ("/home/ann/desk", "{root}"),
        ("/home/ann/desk/agent.py", "{root}/agent.py"),
        ("/home/ann/desk/.venv/bin/python", "{venv}/bin/python"),
        ("/home/ann/desktop/x", "{home}/desktop/x"),
        ("/home/anna/x", "/home/anna/x"),
        ("/usr/bin/python3", "/usr/bin/python3"),
        ("relative/x", "relative/x"),
        ("", ""),
    ],
)
def test_the_most_specific_place_is_named(path: str, written: str) -> None:
    assert neutral_path(path, **PLACES) == written


def test_a_place_that_is_the_whole_file_system_or_absent_is_not_used() -> None:
    assert neutral_path(Path("/srv/x"), root="/", venv=None, home="") == "/srv/x"


@given(st.text(st.characters(exclude_characters="/\0", exclude_categories=["Cs"]), min_size=1))
def test_below_a_place_the_rest_is_kept(name: str) -> None:
    assert neutral_path(f"/home/ann/desk/{name}", root="/home/ann/desk", venv=None, home=None) == "{root}/" + name
    beside = f"/home/ann/desk{name}"
    assert neutral_path(beside, root="/home/ann/desk", venv=None, home=None) == beside


@given(st.text(st.sampled_from("aä\ud800\udc80\udcff\udfff\x00")))
def test_text_of_the_system_becomes_valid_unicode(text: str) -> None:
    assert printable(text).encode("utf-8").startswith(text[:1].encode("utf-8", "ignore"))


def test_undecodable_bytes_stay_readable() -> None:
    assert printable(os.fsdecode(b"a\xffb")) == "a\\xffb"


def test_the_project_root_is_the_nearest_repository(tmp_path: Path) -> None:
    inner = tmp_path / "a" / "b"
    inner.mkdir(parents=True)
    (tmp_path / ".git").mkdir()
    assert project_root(str(inner)) == str(tmp_path)
    (tmp_path / "a" / ".git").write_text("gitdir: elsewhere")
    assert project_root(str(inner)) == str(tmp_path / "a")

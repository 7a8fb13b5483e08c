"""Paths of a record, mapped to this machine."""

from __future__ import annotations

from pathlib import Path

import pytest

from agentdbg.replay.moved_run import BadMapping, moved, parse_map


def test_the_longest_beginning_that_fits_is_mapped(tmp_path: Path) -> None:
    moves = [("/home/ann", "/srv"), ("/home/ann/shop", "/opt/shop")]
    assert moved("/home/ann/shop/a.py", moves) == "/opt/shop/a.py"
    assert moved("/home/ann/shop", moves) == "/opt/shop"
    assert moved("/home/ann/other", moves) == "/srv/other"
    assert moved("/home/anna/x", moves) == "/home/anna/x"
    assert moved("relative", moves) == "relative"
    assert moved("/x", [("/", "/y")]) == "/y/x"


def test_what_a_mapping_says(tmp_path: Path) -> None:
    assert parse_map(f"/home/ann/shop/={tmp_path}") == ("/home/ann/shop", str(tmp_path))
    assert parse_map(f"{{root}}={tmp_path}") == ("{root}", str(tmp_path))


@pytest.mark.parametrize("text", ["", "x", "=y", "/a=", "rel=/tmp", "{nothing}=/tmp", "/a=/does/not/exist"])
def test_what_is_no_mapping_is_said(text: str) -> None:
    with pytest.raises(BadMapping):
        parse_map(text)

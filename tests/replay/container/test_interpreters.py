"""Whether the packages of one Python run on another, and what a Python says of itself."""

from __future__ import annotations

import platform
import sys
from dataclasses import replace
from pathlib import Path

import pytest

from agentdbg.replay.container.interpreters import Interpreter, ask, lacking, misfit, parsed

SRC = str(Path(__file__).resolve().parents[3] / "src")
HERE = Interpreter("3.11.7", "cpython-311", "x86_64", ("glibc", "2.36"), {"httpx": "0.28.1", "h11": "0.16.0"})


def test_a_python_says_what_it_is() -> None:
    found = ask(sys.executable, SRC)
    assert found is not None
    assert found.version == platform.python_version()
    assert found.is_new_enough
    assert "pytest" in found.packages
    assert any(place.endswith("site-packages") for place in found.places)
    assert not any(place.endswith("lib-dynload") for place in found.places)
    assert ask("/no/such/python", SRC) is None


@pytest.mark.parametrize(
    ("there", "words"),
    [
        (replace(HERE, libc=("glibc", "2.41"), version="3.11.9"), ""),
        (replace(HERE, tag="cpython-312"), "cpython-312"),
        (replace(HERE, machine="aarch64"), "aarch64"),
        (replace(HERE, libc=("", "")), "another one"),
        (replace(HERE, libc=("glibc", "2.9")), "2.9"),
    ],
    ids=["newer libc", "version", "machine", "musl", "older libc"],
)
def test_packages_are_used_only_where_they_run(there: Interpreter, words: str) -> None:
    assert (misfit(HERE, there) == "") == (words == "")
    assert words in misfit(HERE, there)


def test_missing_packages_are_named() -> None:
    there = replace(HERE, packages={"httpx": "0.27.0"})
    assert lacking({"httpx": "0.28.1", "h11": "0.16.0"}, there) == (["h11 0.16.0"], ["httpx 0.27.0 (recorded: 0.28.1)"])


@pytest.mark.parametrize("text", ["", "not json", "[]", "{}", '{"version": "3.11", "packages": 3}', '{"libc": 1}'])
def test_what_is_no_answer_is_none(text: str) -> None:
    assert parsed(text) is None


def test_an_old_python_says_its_version_alone() -> None:
    found = parsed('{"version": "3.6.9"}')
    assert found is not None
    assert not found.is_new_enough

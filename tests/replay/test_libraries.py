"""Where shared libraries are is looked up without the process that the standard library would start for it."""

from __future__ import annotations

import ctypes.util
import os
import re
import subprocess
from pathlib import Path

import pytest

from agentdbg.replay.libraries import CACHE, Libraries, entries
from tests.support.kernel import needs_kernel_layers
from tests.support.replay_lab import ReplayLab

needs_cache = pytest.mark.skipif(
    not (os.path.exists(CACHE) and os.path.exists("/sbin/ldconfig")), reason="the loader has no cache here"
)

LOOKS = """\
import ctypes.util
import agentdbg

KNOWN = ctypes.util.find_library("c")

@agentdbg.tool(effect="read")
def look(order):
    return {"order": order}

@agentdbg.agent
def run(order):
    agentdbg.checkpoint("known", {"c": KNOWN, "none": ctypes.util.find_library("there_is_no_such_thing")})
    return look(order)

if __name__ == "__main__":
    run("o-1")
"""


@needs_cache
@pytest.mark.parametrize("name", ["c", "pthread", "m", "there_is_no_such_thing"])
def test_the_answer_is_that_of_the_standard_library(name: str) -> None:
    assert Libraries().before(ctypes.util.find_library)(name) == ctypes.util.find_library(name)


@needs_cache
def test_every_library_of_the_cache_is_known_in_its_order() -> None:
    listed = subprocess.run(["/sbin/ldconfig", "-p"], capture_output=True, encoding="utf-8", check=True).stdout
    paths = [path for _, path in entries(Path(CACHE).read_bytes(), os.uname().machine)]
    assert [path for path in re.findall(r"=> (\S+)", listed) if path in paths] == paths
    assert paths


@pytest.mark.parametrize("data", [b"", b"glibc-ld.so.cache1.1", b"another" * 9, b"glibc-ld.so.cache1.1" + b"\xff" * 28])
def test_a_file_that_is_no_cache_gives_nothing(data: bytes, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "cache").write_bytes(data)
    monkeypatch.setattr("agentdbg.replay.libraries.CACHE", str(tmp_path / "cache"))
    assert Libraries().name_of("c") is None


@needs_cache
@needs_kernel_layers
def test_a_program_that_looks_for_libraries_replays(lab: ReplayLab) -> None:
    lab.record(LOOKS)
    outcome = lab.replay(guard="auto")
    assert outcome.verdict == "identical", (outcome.reason, outcome.log)

"""A Python is looked at from outside, whatever its libraries do when they are imported."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from agentdbg.recording.launch import examine as examining
from agentdbg.recording.launch.examine import SeamState, examine
from agentdbg.recording.launch.interpreter import Interpreter
from tests.support.environments import NoInterpreter, environment, interpreter


def look(tmp_path: Path, python: Path | None = None, *options: str, **modules: str) -> examining.Examination:
    for name, text in modules.items():
        (tmp_path / f"{name}.py").write_text(text)
    env = {**os.environ, "PYTHONPATH": str(tmp_path)}
    return examine(Interpreter((str(python or environment()),), options), env, {name: name for name in modules})


def test_each_library_is_tried_and_none_spoils_the_others(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(examining, "IMPORT_S", 1.0)
    seen = look(
        tmp_path,
        good="print('noise'); import sys; print('noise', file=sys.stderr)",
        raises="raise ValueError('why')",
        leaves="import sys; sys.exit(3)",
        lacks="import something_missing",
        dies="import os; os._exit(9)",
        hangs="import time; time.sleep(60)",
        last="",
    )
    states = {seam.module: (seam.state, seam.reason) for seam in seen.seams}
    assert states == {
        "good": ("patched", ""),
        "raises": ("unpatched", "cannot be imported: ValueError: why"),
        "leaves": ("unpatched", "cannot be imported: SystemExit: 3"),
        "lacks": ("unpatched", "cannot be imported: No module named 'something_missing'"),
        "dies": ("unpatched", "its import ended the program with status 9"),
        "hangs": ("unpatched", "its import took more than 1 s"),
        "last": ("patched", ""),
    }
    assert seen.loaded
    assert seen.supported
    assert not seen.orjson


def test_what_is_not_there_and_what_has_changed(tmp_path: Path) -> None:
    (tmp_path / "httpx.py").write_text("")
    packages = tmp_path / "some-1.0.dist-info"
    packages.mkdir()
    (packages / "METADATA").write_text("Metadata-Version: 2.1\nName: some\nVersion: 1.0\n")
    env = {**os.environ, "PYTHONPATH": str(tmp_path)}
    asked = {"httpx": "httpx", "not_there": "not-there", "some.part": "some"}
    seams = examine(Interpreter((str(environment()),)), env, asked).seams
    assert seams[0].state == "unpatched"
    assert seams[0].reason.startswith("httpx is not covered: ")
    assert seams[1:] == (
        SeamState("not_there", "not-there", "", "absent"),
        SeamState("some.part", "some", "1.0", "unpatched", "this version has no module some.part"),
    )


@pytest.mark.parametrize("option", ["-I", "-E", "-S"])
def test_options_that_keep_the_bootstrap_out(option: str, tmp_path: Path) -> None:
    seen = look(tmp_path, None, option)
    assert seen.version
    assert not seen.loaded


def test_an_old_python(tmp_path: Path) -> None:
    try:
        old = interpreter("2.7")
    except NoInterpreter as missing:
        pytest.skip(str(missing))
    seen = look(tmp_path, old, json5="")
    assert seen.version.startswith("2.7.")
    assert not seen.supported
    assert "older than 3.11" in seen.problem
    assert seen.seams == ()


def test_what_is_no_python(tmp_path: Path) -> None:
    assert look(tmp_path, Path("/no/such")).problem == "/no/such cannot be run: no such file or directory"
    fake = tmp_path / "python"
    fake.write_text("#!/bin/sh\necho no module named encodings >&2\nexit 1\n")
    fake.chmod(0o755)
    seen = look(tmp_path, fake, anything="")
    assert (seen.version, seen.problem) == ("", "no module named encodings")

"""The key behind placeholder digests: where it comes from, whatever is in the way."""

from __future__ import annotations

import os
import stat
import subprocess
import sys
from pathlib import Path

import pytest

from agentdbg.redaction import keys


@pytest.fixture(autouse=True)
def own_state(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.delenv(keys.ENV_KEY, raising=False)
    monkeypatch.delenv(keys.ENV_KEY_FILE, raising=False)
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    return tmp_path


def test_a_key_is_made_once_private_and_found_again(own_state: Path) -> None:
    old = os.umask(0)
    try:
        first = keys.load_key()
    finally:
        os.umask(old)
    path = own_state / "state" / "agentdbg" / "redaction.key"
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert keys.load_key() == first
    assert len(first.kid) == 8
    assert [p.name for p in path.parent.iterdir()] == ["redaction.key"]


def test_the_environment_goes_first(own_state: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    named = own_state / "key"
    named.write_text("from a file, long enough\n")
    monkeypatch.setenv(keys.ENV_KEY_FILE, str(named))
    assert keys.load_key().secret == b"from a file, long enough"
    monkeypatch.setenv(keys.ENV_KEY, " from the environment ")
    assert keys.load_key().secret == b"from the environment"


def test_the_name_of_a_key_is_not_its_hash(monkeypatch: pytest.MonkeyPatch) -> None:
    import hashlib

    monkeypatch.setenv(keys.ENV_KEY, "abc")
    assert not hashlib.sha256(b"abc").hexdigest().startswith(keys.load_key().kid)
    assert "abc" not in repr(keys.load_key())


def test_a_fifo_or_an_unwritable_place_gives_a_key_for_this_process(
    own_state: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    blocker = own_state / "file"
    blocker.write_text("in the way")
    monkeypatch.setenv("XDG_STATE_HOME", str(blocker))
    fifo = own_state / "fifo"
    os.mkfifo(fifo)
    monkeypatch.setenv(keys.ENV_KEY_FILE, str(fifo))
    key = keys.load_key()
    assert key.kid == "ephemeral"
    assert keys.load_key() == key


def test_processes_that_start_together_agree(own_state: Path) -> None:
    code = "from agentdbg.redaction.keys import load_key; print(load_key().kid)"
    running = [subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE) for _ in range(6)]
    kids = {process.communicate()[0] for process in running}
    assert len(kids) == 1
    assert b"ephemeral" not in kids.pop()

"""What a launch tells its processes and what they tell it; nothing is left behind."""

from __future__ import annotations

import json
import os
import tempfile
from pathlib import Path

import pytest

from agentdbg.recording.launch import directory


@pytest.fixture(autouse=True)
def temporary(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    return tmp_path


def test_it_is_private_and_says_what_is_wanted() -> None:
    place = Path(directory.make("r-1", "/store", {"a,\n b": "read"}))
    assert place.stat().st_mode & 0o777 == 0o700
    assert {path.stat().st_mode & 0o777 for path in place.iterdir()} == {0o600}
    told = json.loads((place / "launch.json").read_bytes())
    assert (told["run_id"], told["store"], told["tools"]) == ("r-1", "/store", {"a,\n b": "read"})
    assert Path(told["root"], "agentdbg", "recording").is_dir()
    assert len((place / "launch.json").read_text().splitlines()) == len(told) + 2


def test_events_are_read_whatever_is_between_them(temporary: Path) -> None:
    (temporary / "events.jsonl").write_bytes(
        b'{"event": "started", "pid": 5, "python": "3.12.1"}\n\xff\xfe\n[1]\n{"event": "run", "run_id": "a"}\n'
        b'{"event": "started", "pid": 5}\n{"event": "started"}\n{"event": "run", "run_id": "b"}\n{"event": "new"}\n'
        b'{"event": "failed", "reason": "x"}\n{"event": "failed", "reason": "x"}\n{"event": "warned", "reason": "y"}\n'
        b'{"ev'
    )
    assert directory.read(str(temporary)) == directory.Told((5,), ("a", "b"), ("x",), ("y",))
    assert directory.read(str(temporary / "none")) == directory.Told()


def test_it_stays_while_the_program_left_something_behind() -> None:
    place = directory.make(None, None, {})
    directory.remove(place, directory.Told((os.getpid(),)))
    assert os.path.isdir(place)
    directory.remove(place, directory.Told((2**22 + 1,)))
    assert not os.path.exists(place)


def test_old_ones_are_swept_away(temporary: Path) -> None:
    old, busy, young = (directory.make(None, None, {}) for _ in range(3))
    Path(busy, "events.jsonl").write_text(f'{{"event": "started", "pid": {os.getpid()}}}\n')
    (temporary / "agentdbg-launch-file").write_text("")
    for place in (old, busy):
        os.utime(place, (0, 0))
    new = directory.make(None, None, {})
    assert sorted(map(str, temporary.iterdir())) == sorted([busy, young, new, str(temporary / "agentdbg-launch-file")])

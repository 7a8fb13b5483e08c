"""Files are known by what is in them, and several runs in one place are told apart."""

from __future__ import annotations

import os
import pickle
from pathlib import Path

import pytest

from agentdbg.importing import json_files as reading
from agentdbg.importing import open_one, open_path
from agentdbg.store.files import StoreError
from tests.support.mini_swe import REAL, answer, real, said, write


def test_the_name_of_a_file_says_nothing(tmp_path: Path) -> None:
    path = write(tmp_path / "holiday.png", [said("user", "Go.")])
    assert [(run.run_id, run.format) for run in open_path(path)] == [("holiday.png", "mini-swe-agent")]
    liar = tmp_path / "x.traj.json"
    liar.write_text('{"trajectory": [], "history": [], "info": {}}', encoding="utf-8")
    with pytest.raises(StoreError, match="no known format"):
        open_path(liar)


def test_a_folder_holds_several_runs(tmp_path: Path) -> None:
    (tmp_path / "sub").mkdir()
    write(tmp_path / "a.json", [said("user", "Go.")])
    write(tmp_path / "sub" / "a.json", [answer("c1", "ls")])
    (tmp_path / "notes.txt").write_text("nothing of ours")
    assert [run.run_id for run in open_path(tmp_path)] == ["a", "a.2"]
    assert len(open_one(tmp_path, "a.2").steps()) == 3
    with pytest.raises(StoreError, match=r"holds 2 runs: name one as .*::RUN_ID \(a, a\.2\)"):
        open_one(tmp_path)
    with pytest.raises(StoreError, match=r"holds no run 'b'; it holds a, a\.2"):
        open_one(tmp_path, "b")


def test_the_real_files_are_a_folder_of_five_runs() -> None:
    real("django-11999.gpt5-mini.traj.json")
    assert len(open_path(REAL)) == 5


@pytest.mark.parametrize(
    "content",
    [b"", b"\x00\x01", b"{", b"[1, 2]", b'{"messages": 3}', b'[{"role": "wizard", "content": ""}]', b"{}{}", b"\xff["],
)
def test_what_is_no_run_is_one_line(content: bytes, tmp_path: Path) -> None:
    path = tmp_path / "x.json"
    path.write_bytes(content)
    with pytest.raises(StoreError) as caught:
        open_path(path)
    assert "\n" not in str(caught.value)


def test_a_pickle_is_never_loaded(tmp_path: Path) -> None:
    canary = tmp_path / "canary"

    class Trap:
        def __reduce__(self) -> tuple[object, tuple[str]]:
            return os.mkdir, (str(canary),)

    path = tmp_path / "x.json"
    path.write_bytes(pickle.dumps(Trap()))
    with pytest.raises(StoreError, match="no known format"):
        open_path(path)
    assert not canary.exists()


def test_a_link_in_a_folder_is_not_followed(tmp_path: Path) -> None:
    folder = tmp_path / "folder"
    folder.mkdir()
    (folder / "x.json").symlink_to(write(tmp_path / "x.json", [said("user", "Go.")]))
    with pytest.raises(StoreError, match="holds no run of a known format"):
        open_path(folder)


def test_a_fifo_is_refused_at_once(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "x.json")
    with pytest.raises(StoreError, match="is a FIFO"):
        open_path(tmp_path / "x.json")


def test_a_file_beyond_all_bounds_is_one_line(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(reading, "MAX_JSON", 100)
    path = write(tmp_path / "x.json", [said("user", "Go." * 100)])
    with pytest.raises(StoreError, match="JSON files are read up to 100"):
        open_path(path)


def test_a_file_that_is_gone_is_one_line(tmp_path: Path) -> None:
    with pytest.raises(StoreError, match="cannot be read: no such file"):
        open_path(tmp_path / "nothing.json")

"""Wherever a run is named, a pack or another tool's file may stand."""

from __future__ import annotations

import io
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from agentdbg.cli.addresses import Outside
from agentdbg.store.directory import DirectoryStore
from agentdbg.store.files import StoreError
from agentdbg.store.packs import pack
from tests.support.mini_swe import answer, real, said, write
from tests.support.pack_files import HOSTILE
from tests.support.program import agentdbg, document

ENDED = """
import os, sys
from agentdbg.cli.addresses import Outside
from agentdbg.store.directory import DirectoryStore

Outside().open(sys.argv[1], DirectoryStore("none"))
print(len(os.listdir(os.environ["TMPDIR"])), flush=True)
os.kill(os.getpid(), int(sys.argv[2]))
"""


@pytest.fixture
def outside(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Outside]:
    """Opens addresses, with a place for scratch files that is empty again at the end."""
    scratch = tmp_path / "scratch"
    scratch.mkdir()
    monkeypatch.setattr("tempfile.tempdir", str(scratch))
    made = Outside()
    yield made
    made.close()
    assert list(scratch.iterdir()) == []


@pytest.fixture
def runs(store: Path) -> DirectoryStore:
    return DirectoryStore(store)


@pytest.fixture
def packed(runs: DirectoryStore) -> bytes:
    out = io.BytesIO()
    pack(runs.open("refund-7"), out)
    return out.getvalue()


def test_addresses_of_the_store_are_left_to_it(outside: Outside, runs: DirectoryStore, store: Path) -> None:
    for address in ("refund-7", "@", "thread:t-1", str(store / "runs" / "refund-7"), str(store), "nothing"):
        assert outside.open(address, runs) is None


def test_a_pack_is_unpacked_once_and_opened_often(
    outside: Outside, runs: DirectoryStore, packed: bytes, tmp_path: Path
) -> None:
    path = tmp_path / "anything.png"
    path.write_bytes(packed)
    first = outside.open(str(path), runs)
    path.unlink()
    path.write_bytes(b"")
    assert first is not None
    assert first.summary().run_id == "refund-7"


def test_a_pack_from_a_pipe_can_be_opened_twice(
    outside: Outside, runs: DirectoryStore, packed: bytes, tmp_path: Path
) -> None:
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    with subprocess.Popen([sys.executable, "-c", f"open({str(pipe)!r}, 'wb').write({packed!r})"]):
        first = outside.open(str(pipe), runs)
    second = outside.open(str(pipe), runs)
    assert first is not None
    assert second is not None
    first.close()
    assert len(second.steps()) == 6


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP])
def test_a_closed_terminal_leaves_nothing_behind(number: int, packed: bytes, tmp_path: Path) -> None:
    (tmp_path / "r.pack").write_bytes(packed)
    (tmp_path / "scratch").mkdir()
    done = subprocess.run(
        [sys.executable, "-c", ENDED, str(tmp_path / "r.pack"), str(int(number))],
        env={**os.environ, "TMPDIR": str(tmp_path / "scratch")},
        capture_output=True,
        encoding="utf-8",
        check=False,
    )
    assert (done.returncode, done.stdout, done.stderr) == (-number, "1\n", "")
    assert list((tmp_path / "scratch").iterdir()) == []


@pytest.mark.parametrize("what", HOSTILE)
def test_a_hostile_pack_names_the_file_and_leaves_nothing(
    what: str, outside: Outside, runs: DirectoryStore, tmp_path: Path
) -> None:
    path = tmp_path / "bad.pack"
    path.write_bytes(HOSTILE[what])
    with pytest.raises(StoreError, match=r"bad\.pack") as caught:
        outside.open(str(path), runs)
    assert "\n" not in str(caught.value)


def test_a_run_of_that_very_id_is_meant_before_a_file(
    outside: Outside, runs: DirectoryStore, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    write(tmp_path / "refund-7", [said("user", "Go.")])
    write(tmp_path / "refund", [said("user", "Go.")])
    assert outside.open("refund-7", runs) is None
    for address in ("./refund-7", "refund"):
        source = outside.open(address, runs)
        assert source is not None
        assert source.summary().agent == "mini-swe-agent"


def test_one_of_several_runs_is_named_behind_two_colons(outside: Outside, runs: DirectoryStore, tmp_path: Path) -> None:
    write(tmp_path / "a.json", [said("user", "Go.")])
    write(tmp_path / "b.json", [answer("c1", "ls")])
    write(tmp_path / "c::d.json", [said("user", "Go.")])
    source = outside.open(f"{tmp_path}::b", runs)
    assert source is not None
    assert len(source.steps()) == 3
    assert outside.open(f"{tmp_path}/c::d.json", runs) is not None
    for address in (str(tmp_path), f"{tmp_path}::z", f"{tmp_path}/no.json::z"):
        with pytest.raises(StoreError):
            outside.open(address, runs)


@pytest.mark.parametrize("command", [["show"], ["show", "--brief"], ["show", "--step", "4"], ["show", "--effects"]])
def test_every_command_shows_a_real_foreign_file(command: list[str]) -> None:
    path = real("generated_v2_toolcalls.traj.json")
    done = agentdbg(command[0], path, *command[1:])
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout


def test_what_was_rebuilt_says_so(tmp_path: Path) -> None:
    path = write(tmp_path / "x.json", [said("user", "Go."), answer("c1", "ls")])
    assert "message user (rebuilt, not recorded)" in agentdbg("show", path, "--step", "3").stdout
    origins = document("show", path, "--step", "3")["steps"][0]["origins"]
    assert (origins["input"], origins["input_hash"], origins["result"]) == ("rebuilt", "derived", "recorded")
    effects = agentdbg("show", path, "--effects").stdout
    assert effects == "unknown: 1 tool calls do not say whether they change anything outside\n"


def test_a_foreign_run_is_flagged_where_it_lies_and_stays_as_it_is(tmp_path: Path) -> None:
    path = write(tmp_path / "x.json", [said("user", "Go.")])
    before = path.read_bytes()
    assert agentdbg("flag", path, "--reason", "looks wrong").returncode == 0
    assert document("show", path)["run"]["flag"] == "looks wrong"
    path.rename(tmp_path / "x.json.moved")
    assert path.with_name("x.json.moved").read_bytes() == before


def test_a_foreign_run_is_not_replayed(tmp_path: Path) -> None:
    path = write(tmp_path / "x.json", [said("user", "Go.")])
    done = agentdbg("replay", path, "--exact")
    assert (done.returncode, done.stderr.count("\n")) == (5, 1)


def test_without_a_terminal_the_address_is_named(tmp_path: Path) -> None:
    path = write(tmp_path / "x.json", [said("user", "Go.")])
    done = agentdbg(path)
    assert done.stderr == f"agentdbg: the debugger needs a terminal; 'agentdbg show {path}' prints the run\n"

"""The script really records the runs that ship, and they say nothing about the machine."""

from __future__ import annotations

import getpass
import json
import os
import platform
import socket
from pathlib import Path
from typing import Any

import pytest

from agentdbg.demo import make_demo_runs
from tests.support.scripted_server import Reply, ScriptedServer

MODEL = (
    Reply(tool_calls=(("get_order", {"order_id": "A-1042"}),)),
    Reply(tool_calls=(("days_left", {"days_ago": 12}),)),
    Reply(text="Headphones, 18 days."),
)


@pytest.fixture(scope="module")
def out(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A store recorded by the script; the real model is a scripted one here."""
    place: Path = tmp_path_factory.mktemp("made") / "demo_runs"
    with ScriptedServer() as server:
        server.script(*MODEL)
        assert make_demo_runs.main(["--out", str(place), "--real-model", server.openai_url]) == 0
    return place


def meta(out: Path, run_id: str) -> dict[str, Any]:
    content: dict[str, Any] = json.loads((out / "runs" / run_id / "run.json").read_text())
    return content


def test_the_store_holds_the_runs_under_readable_ids(out: Path) -> None:
    assert sorted(path.name for path in (out / "runs").iterdir()) == [
        "refund-before-policy-change",
        "refund-incident",
        "smollm2-tool-loop",
    ]
    assert (out / "store.json").is_file()


def test_the_incident_looks_successful_and_its_twin_waits(out: Path) -> None:
    assert meta(out, "refund-incident")["status"] == "ok"
    assert meta(out, "refund-before-policy-change")["status"] == "waiting"


def test_the_real_models_run_is_labelled(out: Path) -> None:
    assert meta(out, "smollm2-tool-loop")["tags"]["model"] == "real"


def test_nothing_tells_where_it_was_recorded(out: Path) -> None:
    written = b"".join(path.read_bytes() for path in out.rglob("*") if path.is_file()).decode()
    boot = Path("/proc/sys/kernel/random/boot_id")
    tells = [socket.gethostname(), platform.release(), str(out), os.getcwd(), "/tmp/"]
    tells += [boot.read_text().strip()] if boot.exists() else []
    tells += [f"/{getpass.getuser()}/"]

    assert [tell for tell in tells if len(tell) > 3 and tell in written] == []


@pytest.mark.parametrize("run_id", ["refund-incident", "refund-before-policy-change", "smollm2-tool-loop"])
def test_the_shipped_runs_are_whole_and_neutral(run_id: str) -> None:
    run = Path(__file__).parents[2] / "demo_runs" / "runs" / run_id
    written = b"".join(path.read_bytes() for path in run.rglob("*") if path.is_file()).decode()

    assert json.loads((run / "run.json").read_text())["ended_at"] > 0
    assert "roots" not in json.loads((run / "run.json").read_text())
    assert [place for place in ("/home/", "/root/", "/tmp/", "/Users/", "/work/") if place in written] == []


def test_recording_again_replaces_the_run(out: Path, tmp_path: Path) -> None:
    run = out / "runs" / "refund-incident"
    target = tmp_path / "again"
    for _ in range(2):
        make_demo_runs.publish([run], target)

    assert [path.name for path in (target / "runs").iterdir()] == ["refund-incident"]


def test_a_program_that_records_nothing_is_no_success(tmp_path: Path) -> None:
    for command, complaint in (("this", "was not recorded"), ("no_such_module", "ended with 1")):
        with pytest.raises(make_demo_runs.NotRecordedError, match=f"{command} .*{complaint}"):
            make_demo_runs.record(make_demo_runs.Recording(command, (command,)), tmp_path, "key")

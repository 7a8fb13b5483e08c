"""The script really records the runs that ship, and they say nothing about the machine."""

from __future__ import annotations

import getpass
import json
import os
import platform
import shutil
import socket
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from agentdbg.demo import make_demo_runs
from agentdbg.demo.cases import CASES, INCIDENT, Case, Ending
from agentdbg.model.records import RunStatus
from agentdbg.store.address import open_store
from tests.support.scripted_server import Reply, ScriptedServer

MODEL = (
    Reply(tool_calls=(("get_order", {"order_id": "A-1042"}),)),
    Reply(tool_calls=(("days_left", {"days_ago": 12}),)),
    Reply(text="Headphones, 18 days."),
)


ONLY = ("twin", "incident", "crash", "replay", "real-model")


@pytest.fixture(scope="module")
def out(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A store recorded by the script; the real model is a scripted one here."""
    place: Path = tmp_path_factory.mktemp("made") / "demo_runs"
    only = [word for name in ONLY for word in ("--only", name)]
    with ScriptedServer() as server:
        server.script(*MODEL)
        options = ["--out", str(place), "--real-model", server.openai_url, "--pause", "0", *only]
        assert make_demo_runs.main(options) == 0
    return place


def meta(out: Path, run_id: str) -> dict[str, Any]:
    content: dict[str, Any] = json.loads((out / "runs" / run_id / "run.json").read_text())
    return content


def test_the_store_holds_the_runs_under_readable_ids(out: Path) -> None:
    assert sorted(path.name for path in (out / "runs").iterdir()) == [
        "refund-before-policy-change",
        "refund-crash",
        "refund-incident",
        "refund-incident.exact-1",
        "smollm2-tool-loop",
    ]
    assert (out / "store.json").is_file()


def test_the_incident_looks_successful_and_its_twin_waits(out: Path) -> None:
    assert meta(out, "refund-incident")["status"] == "ok"
    assert meta(out, "refund-before-policy-change")["status"] == "waiting"


def test_the_killed_run_is_lost_everywhere_at_once(out: Path) -> None:
    status = {run.run_id: run.status for run in open_store(str(out)).summaries()}

    assert status["refund-crash"] is RunStatus.LOST


def test_the_replay_is_a_run_of_its_own(out: Path) -> None:
    found = meta(out, "refund-incident.exact-1")

    assert (found["replay_of"], found["verdict"]) == ("refund-incident", "identical")


def test_every_run_is_tagged_with_its_case(out: Path) -> None:
    told = [meta(out, path.name)["tags"] for path in (out / "runs").iterdir()]

    assert {tags["case"] for tags in told} == set(ONLY)
    assert all(tags["about"] for tags in told)


def test_the_real_models_run_is_labelled(out: Path) -> None:
    assert meta(out, "smollm2-tool-loop")["tags"]["model"] == "real"


def test_nothing_tells_where_it_was_recorded(out: Path) -> None:
    written = b"".join(path.read_bytes() for path in out.rglob("*") if path.is_file()).decode()
    boot = Path("/proc/sys/kernel/random/boot_id")
    tells = [socket.gethostname(), platform.release(), str(out), os.getcwd(), "/tmp/"]
    tells += [boot.read_text().strip()] if boot.exists() else []
    tells += [f"/{getpass.getuser()}/"]

    assert [tell for tell in tells if len(tell) > 3 and tell in written] == []


def test_recording_again_replaces_the_run(out: Path, tmp_path: Path) -> None:
    studio = make_demo_runs.Studio(tmp_path, "key")
    shutil.copytree(out / "runs" / INCIDENT.run_id, studio.run(INCIDENT))
    target = tmp_path / "again"
    for _ in range(2):
        make_demo_runs.publish([INCIDENT], studio, target)

    assert [path.name for path in (target / "runs").iterdir()] == ["refund-incident"]


@pytest.mark.parametrize(
    ("case", "complaint"),
    [
        (Case("a", "quiet", "", module="this"), "quiet ran, but was not recorded"),
        (Case("b", "broken", "", module="no_such_module"), "broken ended with 1"),
    ],
)
def test_a_program_that_records_nothing_is_no_success(tmp_path: Path, case: Case, complaint: str) -> None:
    with pytest.raises(make_demo_runs.NotRecordedError, match=complaint):
        make_demo_runs.record(case, make_demo_runs.Studio(tmp_path, "key"))


def test_a_run_that_ends_otherwise_than_meant_is_no_success(out: Path, tmp_path: Path) -> None:
    studio = make_demo_runs.Studio(tmp_path, "key")
    shutil.copytree(out / "runs" / INCIDENT.run_id, studio.run(INCIDENT))

    with pytest.raises(make_demo_runs.NotRecordedError, match="recorded as ok, not as waiting"):
        make_demo_runs.checked(replace(INCIDENT, ending=Ending.WAITING), studio, 0, "")


@pytest.mark.wide
def test_every_case_can_be_recorded(tmp_path: Path) -> None:
    assert make_demo_runs.main(["--out", str(tmp_path / "all"), "--pause", "0"]) == 0
    assert len(list((tmp_path / "all" / "runs").iterdir())) == len(CASES)

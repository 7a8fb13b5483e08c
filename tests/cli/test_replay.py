"""A replay from the command line: verdict, exit status, and where its run goes."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.support.program import agentdbg, document


def test_the_kind_of_replay_must_be_said(store: Path) -> None:
    done = agentdbg("replay", "refund-8", "--store", store)
    assert done.returncode == 2
    assert done.stderr.count("\n") == 1


def test_somebody_elses_run_is_not_started(store: Path) -> None:
    file = store / "runs" / "refund-8" / "run.json"
    entry = {"callable": {"module": "json", "qualname": "dumps", "file": ""}}
    file.write_text(json.dumps({**json.loads(file.read_text()), "entry": entry, "seal": "0" * 64}))
    done = agentdbg("replay", "refund-8", "--exact", "--guard", "audit", "--store", store)
    assert (done.returncode, done.stdout) == (3, "")
    assert "--trust" in done.stderr


def test_a_run_without_an_entry_point_is_not_replayable(store: Path) -> None:
    options: list[str | Path] = ["--exact", "--guard", "audit", "--trust", "--store", store]
    assert document("replay", "refund-8", *options)["verdict"] == "not_replayable"
    done = agentdbg("replay", "refund-8", *options)
    assert done.returncode == 5
    assert done.stdout.splitlines()[0] == "verdict     not_replayable"


def test_the_plan_is_shown_without_running_anything(store: Path) -> None:
    found = document("replay", "refund-8", "--exact", "--plan", "--store", store)
    assert found["schema"] == "agentdbg.replay/1"
    assert any("order" in row["name"] for row in found["plan"])
    assert "order" in agentdbg("replay", "refund-8", "--exact", "--plan", "--store", store).stdout


def test_the_shipped_incident_replays_identically_into_the_users_store(isolated_user: Path) -> None:
    done = agentdbg("replay", "refund-incident", "--store", "demo", "--exact", "--guard", "audit")
    assert done.returncode == 0, done.stdout + done.stderr
    lines = done.stdout.splitlines()
    assert lines[0].split() == ["verdict", "identical"]
    replays = document("runs", "--store", isolated_user / ".local/share/agentdbg/store")["runs"]
    assert [run["replay_of"] for run in replays] == ["refund-incident"]
    assert replays[0]["mode"] == "exact"
    assert replays[0]["verdict"] == "identical"


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (["--regression", "--in", "python:3.11"], "--in needs --exact"),
        (["--exact", "--guard", "audit", "--in", "python:3.11"], "leave --guard audit out"),
        (["--exact", "--in", ""], "say the name of an image"),
        (["--exact", "--in", "-v"], "say the name of an image"),
    ],
)
def test_an_image_is_for_an_exact_replay_with_all_layers(store: Path, options: list[str], words: str) -> None:
    done = agentdbg("replay", "refund-8", *options, "--store", store)
    assert (done.returncode, done.stdout) == (2, "")
    assert words in done.stderr
    assert done.stderr.count("\n") == 1


def test_without_an_engine_nothing_is_run_in_a_container(isolated_user: Path, tmp_path: Path) -> None:
    for command, wanted, words in (
        (["replay", "refund-incident", "--exact"], "", "there is no container engine on PATH"),
        (["verify", "--trust"], "podman", "podman is not there"),
    ):
        environ = {"PATH": str(tmp_path), "AGENTDBG_CONTAINER_ENGINE": wanted}
        done = agentdbg(*command, "--store", "demo", "--in", "python:3.11", env=environ)
        assert (done.returncode, done.stdout) == (2, ""), done.stderr
        assert words in done.stderr.splitlines()[-1]
    assert not (isolated_user / ".local/share/agentdbg/store").exists()


def test_the_plan_names_the_container_and_what_keeps_it_from_being_had(store: Path, tmp_path: Path) -> None:
    options: list[str | Path] = ["--exact", "--plan", "--in", "python:3.11", "--store", store]
    found = document("replay", "refund-8", *options, env={"PATH": str(tmp_path)})
    assert found["guard"] == "container of python:3.11, without network"
    assert any("no container engine" in remark["text"] for remark in found["remarks"] if remark["about"] == "guard")

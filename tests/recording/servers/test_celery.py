"""Celery for real, with a broker made of files: tasks are runs that name their sender, and steps in eager mode."""

from __future__ import annotations

import subprocess
import time
from pathlib import Path

import pytest

from agentdbg.model.records import Kind, RunStatus, StepStatus
from agentdbg.replay.run import ReplayOptions, exact
from agentdbg.store.address import open_store, resolve
from agentdbg.store.reader import DirectoryRunSource
from tests.support.environments import environment
from tests.support.recorded import SRC, only_run, runs
from tests.support.server_lab import recorded_command, surroundings

pytestmark = pytest.mark.wide

TASKS = """
import os, sys, uuid
from celery import Celery
import agentdbg

here = os.path.dirname(os.path.abspath(__file__))
app = Celery("tasks", broker="filesystem://", backend="cache+memory://")
app.conf.update(
    broker_transport_options={
        "data_folder_in": here + "/queue", "data_folder_out": here + "/queue", "control_folder": here + "/queue"
    },
    task_always_eager=bool(os.environ.get("EAGER")),
)

@agentdbg.tool(effect="write")
def work(what):
    with open(here + "/done", "a") as file:
        file.write(what + "\\n")
    return what.upper()

@app.task(bind=True)
def good(self, what, times=1):
    ticket = str(uuid.uuid4())
    return [work(f"{what} {ticket}") for _ in range(times)]

@app.task
def bad(what):
    work(what)
    raise ValueError("no " + what)

@app.task
def idle():
    with open(here + "/done", "a") as file:
        file.write("idle\\n")

@agentdbg.agent
def desk():
    agentdbg.checkpoint("sending", {})
    good.delay("a", times=2)
    bad.delay("b")
    idle.delay()

if __name__ == "__main__":
    desk()
"""


@pytest.fixture(scope="module")
def python() -> Path:
    return environment("celery>=5")


def started(folder: Path, python: Path, **env: str) -> None:
    (folder / "queue").mkdir()
    (folder / "tasks.py").write_text(TASKS, encoding="utf-8")
    variables = surroundings(folder / "store", {"PYTHONPATH": str(SRC), **env})
    subprocess.run(recorded_command(python, "tasks.py"), cwd=folder, env=variables, check=True, timeout=60)


@pytest.mark.parametrize("pool", ["prefork", "threads", "solo"])
def test_tasks_are_runs_that_name_their_sender(
    tmp_path: Path, python: Path, pool: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    started(tmp_path, python)
    command = [str(python), "-m", "celery", "-A", "tasks", "worker", "-P", pool, "-c", "2", "-l", "WARNING"]
    variables = surroundings(tmp_path / "store", {"PYTHONPATH": str(SRC)})
    with (tmp_path / "log").open("wb") as log:
        worker = subprocess.Popen(recorded_command(*command), cwd=tmp_path, env=variables, stdout=log, stderr=log)
        try:
            done, deadline = tmp_path / "done", time.monotonic() + 60
            while time.monotonic() < deadline and not (done.exists() and len(done.read_text().splitlines()) == 4):
                time.sleep(0.1)
        finally:
            worker.terminate()
            worker.wait(30)
    by_name = {run.source.summary().agent: run for run in runs(tmp_path / "store")}
    assert set(by_name) == {"desk", "tasks.good", "tasks.bad"}, (tmp_path / "log").read_text()
    sender = by_name["desk"].source.summary().run_id
    for name, status in (("tasks.good", RunStatus.OK), ("tasks.bad", RunStatus.FAILED)):
        summary = by_name[name].source.summary()
        assert (summary.status, summary.meta["continues"], summary.tags["task"]) == (status, sender, name)
        assert {"task_id", "queue", "pid"} <= set(summary.tags)
    good = by_name["tasks.good"]
    assert good.arguments(good.steps[0]) == {"args": ["a"], "kwargs": {"times": 2}}
    assert [step.name for step in good.steps if step.kind is Kind.TOOL] == ["work", "work"]
    monkeypatch.setenv("AGENTDBG_REDACTION_KEY", "k" * 32)
    before = (tmp_path / "done").read_text()
    store = open_store(str(tmp_path / "store"))
    for name in ("tasks.good", "tasks.bad"):
        source = resolve(store, by_name[name].source.summary().run_id)
        assert isinstance(source, DirectoryRunSource)
        for _ in range(2):
            outcome = exact(source, ReplayOptions("audit", 60, False, (), store))
            assert outcome.verdict == "identical", (name, outcome.reason, outcome.log)
    assert (tmp_path / "done").read_text() == before


def test_an_eager_task_is_a_step_of_the_run_that_sent_it(tmp_path: Path, python: Path) -> None:
    started(tmp_path, python, EAGER="1")
    run = only_run(tmp_path / "store")
    found = [(step.name, step.depth, step.status) for step in run.steps if step.kind in (Kind.AGENT, Kind.TOOL)]
    assert found == [
        ("desk", 0, StepStatus.OK),
        ("tasks.good", 1, StepStatus.OK),
        ("work", 2, StepStatus.OK),
        ("work", 2, StepStatus.OK),
        ("tasks.bad", 1, StepStatus.ERROR),
        ("work", 2, StepStatus.OK),
        ("tasks.idle", 1, StepStatus.OK),
    ]

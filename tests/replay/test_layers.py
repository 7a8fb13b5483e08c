"""The kernel layers of a replay: which held is said, and without one nothing is run."""

from __future__ import annotations

import os
import subprocess

import pytest

from tests.support.kernel import needs_kernel_layers, without_landlock
from tests.support.replay_lab import SRC, ReplayLab

PROGRAM = """\
import os
import agentdbg

print("loaded")
open(os.environ["OUTSIDE"] + "/loaded", "a").write("x")

@agentdbg.agent
def run(order):
    return order

if __name__ == "__main__":
    run("o-1")
"""


@pytest.mark.parametrize("guard", ["auto", "audit"])
def test_without_landlock_nothing_is_run_unless_the_audit_hook_is_accepted(lab: ReplayLab, guard: str) -> None:
    lab.record(PROGRAM)
    told = ["--store", str(lab.store), "replay", "run-1", "--exact", "--guard", guard, "--json"]
    command = without_landlock("-m", "agentdbg.cli.main", *told)
    environ = {**os.environ, **lab.environment(), "PYTHONPATH": str(SRC)}
    with lab.untouched():
        done = subprocess.run(command, env=environ, capture_output=True, text=True, check=False)
    if guard == "audit":
        assert done.returncode == 3, "the file that it writes while it is loaded is refused by name"
        assert '"refused"' in done.stdout
        return
    assert (done.returncode, done.stdout) == (3, "")
    assert "nothing was run" in done.stderr
    assert "--guard audit" in done.stderr
    assert "--in" in done.stderr
    assert done.stderr.count("\n") == 1
    assert {each.name for each in (lab.store / "runs").iterdir()} == {"run-1"}


@needs_kernel_layers
def test_the_layers_that_held_are_named(lab: ReplayLab) -> None:
    lab.record(PROGRAM)
    outcome = lab.replay(guard="auto")
    assert outcome.verdict == "identical", outcome.reason
    assert outcome.guard[0] == "audit"
    assert {"seccomp", "network namespace", "copy-on-write view"} <= set(outcome.guard)
    assert any(layer.startswith("landlock ") for layer in outcome.guard)
    assert [each["detail"] for each in outcome.contained] == [str(lab.outside / "loaded")]


ASKS_THE_MACHINE = """\
import platform
import uuid
import agentdbg

@agentdbg.agent
def run():
    by_library = getattr(uuid, "_generate_time_safe", lambda: [bytes(16)])
    return {"node": uuid.getnode(), "length": len(by_library()[0]), "processor": platform.processor()}

if __name__ == "__main__":
    run()
"""


@needs_kernel_layers
def test_asking_for_the_machine_is_no_effect(lab: ReplayLab) -> None:
    lab.record(ASKS_THE_MACHINE)
    outcome = lab.replay(guard="auto")
    assert outcome.verdict == "identical", outcome.reason

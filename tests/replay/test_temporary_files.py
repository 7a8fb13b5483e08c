"""Names of temporary files that the agent's code asks for are noted, and come again in a replay."""

from __future__ import annotations

import pytest

from agentdbg.recording.tempfile_pins import _checked
from tests.support.kernel import needs_kernel_layers
from tests.support.replay_lab import ReplayLab

PLACES = """\
import os, tempfile
import agentdbg

@agentdbg.tool(effect="read")
def look(path):
    return os.path.basename(path)

@agentdbg.agent
def run(order):
    folder = tempfile.mkdtemp(prefix="work-")
    with open(os.path.join(folder, "a.txt"), "w") as file:
        file.write("a")
    file = tempfile.NamedTemporaryFile("w", suffix=".csv", delete=False)
    file.write("1,2")
    file.close()
    with tempfile.TemporaryDirectory() as short:
        look(short)
    agentdbg.checkpoint("made", {"folder": folder, "holds": os.listdir(folder), "file": file.name})
    return look(file.name)

if __name__ == "__main__":
    run("o-1")
"""


@needs_kernel_layers
def test_paths_of_temporary_files_are_those_of_the_record(
    lab: ReplayLab, tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch
) -> None:
    usual = tmp_path_factory.mktemp("usual")
    monkeypatch.setenv("TMPDIR", str(usual))
    monkeypatch.setattr("tempfile.tempdir", None)
    lab.record(PLACES)
    left = sorted(path.name for path in usual.rglob("*"))
    assert len(left) == 3
    for _ in range(2):
        with lab.untouched(usual):
            outcome = lab.replay(guard="auto")
        assert outcome.verdict == "identical", (outcome.reason, outcome.log)
        assert not outcome.notes


@pytest.mark.parametrize("name", ["", "../x", "a/b", "a" * 65, 7, None])
def test_what_is_no_such_name_is_not_given_back(name: object) -> None:
    with pytest.raises(ValueError):
        _checked(name)
    assert _checked("a_b9") == "a_b9"

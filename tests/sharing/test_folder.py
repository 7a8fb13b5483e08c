"""A run as folders: one for each step, every file JSON, nothing written twice."""

from __future__ import annotations

import json
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest

from agentdbg.model.records import Kind, RunStatus, RunSummary, Segment, Step
from agentdbg.redaction.gate import Gate
from agentdbg.sharing import folder as folders
from agentdbg.sharing.evidence import Evidence
from agentdbg.sharing.folder import write_folder
from agentdbg.store.files import StoreError
from tests.support.hostile import attacks, hostile_strings
from tests.support.memory_source import MemorySource
from tests.support.refund_run import refund_run


def load(path: Path) -> Any:
    return json.loads(path.read_text(encoding="utf-8"))


def test_every_step_has_a_folder_with_what_it_held(tmp_path: Path) -> None:
    source = refund_run()
    done = write_folder(Evidence(source, Gate()), tmp_path / "out")
    found = sorted(path for path in (tmp_path / "out").iterdir() if path.is_dir())
    assert done.steps == len(found) == len(source.steps())
    assert load(tmp_path / "out" / "run.json")["run_id"] == source.summary().run_id
    for path, step in zip(found, source.steps(), strict=True):
        members = load(path / "step.json")
        assert (members["step"], members["id"], members["kind"]) == (step.n, step.id, step.kind.value)
        for name, ref in (("arguments", step.arguments), ("result", step.result)):
            if ref is not None:
                assert members[name]["file"] == f"{name}.json"
                assert load(path / f"{name}.json") == json.loads(source.body(ref))
        listed = load(path / "input.json")["segments"] if source.segments(step) else []
        assert [entry["sha256"] for entry in listed] == [segment.ref.sha256 for segment in source.segments(step)]
        for entry, segment in zip(listed, source.segments(step), strict=True):
            assert entry["file"].startswith(f"{path.name}/input/")
            assert load(tmp_path / "out" / entry["file"]) == json.loads(source.body(segment.ref))


@pytest.mark.skipif(shutil.which("jq") is None, reason="jq is not on this machine")
def test_jq_reads_every_file(tmp_path: Path) -> None:
    write_folder(Evidence(refund_run(), Gate()), tmp_path / "out")
    files = [str(path) for path in (tmp_path / "out").rglob("*.json")]
    assert subprocess.run(["jq", "empty", *files], check=False).returncode == 0


def test_what_is_there_is_not_written_over(tmp_path: Path) -> None:
    (tmp_path / "out").mkdir()
    (tmp_path / "out" / "mine").write_text("x")
    (tmp_path / "link").symlink_to(tmp_path / "elsewhere")
    for target in (tmp_path / "out", tmp_path / "out" / "mine", tmp_path / "link"):
        with pytest.raises(StoreError, match="is there already"):
            write_folder(Evidence(refund_run(), Gate()), target)
    assert [path.name for path in (tmp_path / "out").iterdir()] == ["mine"]
    assert not (tmp_path / "elsewhere").exists()


def test_a_skeleton_has_no_bodies(tmp_path: Path) -> None:
    write_folder(Evidence(refund_run(), Gate(), skeleton=True), tmp_path / "out")
    assert {path.name for path in (tmp_path / "out").rglob("*.json")} == {"run.json", "step.json", "input.json"}


@pytest.mark.parametrize("text", [*hostile_strings()[:40], "../../x", "/etc/passwd", "a" * 5000, "..", ""])
def test_no_text_leaves_its_place(text: str, tmp_path: Path) -> None:
    source = MemorySource(RunSummary("r", RunStatus.OK, agent=text, tags={text: text}))
    part = Segment("message", text, source.put({"role": text, "content": text}))
    source.add(Step(0, "w:0", Kind.TOOL, text, arguments=source.put({text: text}), attrs={text: text}), [part])
    write_folder(Evidence(source, Gate()), tmp_path / "out")
    assert [path.name for path in tmp_path.iterdir()] == ["out"]
    for path in (tmp_path / "out").rglob("*"):
        assert not attacks(str(path.relative_to(tmp_path)))
        assert not path.is_file() or not attacks(path.read_text(encoding="utf-8").replace("\n", ""))


def test_a_long_run_stays_linear(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(folders, "MAX_LINKS", 20)
    source = MemorySource(RunSummary("r", RunStatus.OK))
    sent: list[Segment] = []
    for number in range(60):
        sent.append(Segment("message", "user", source.put({"content": number})))
        source.add(Step(0, f"w:{number}", Kind.MODEL, "m", input_hash="x"), list(sent))
    write_folder(Evidence(source, Gate()), tmp_path / "out")
    segments = list((tmp_path / "out").rglob("input/*.json"))
    assert len(segments) == 60 + 20
    last = load(tmp_path / "out" / "0060-model-m" / "input.json")["segments"]
    assert [load(tmp_path / "out" / entry["file"])["content"] for entry in last] == list(range(60))

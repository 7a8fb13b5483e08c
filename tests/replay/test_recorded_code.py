"""The recorded code put together again from a real repository, which is left alone."""

from __future__ import annotations

import hashlib
import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from agentdbg.replay.recorded_code import (
    CannotRestore,
    RecordedCode,
    is_own_code,
    read_recorded_code,
    restore,
)
from agentdbg.replay.spec import recorded_environment
from agentdbg.store.journal import encode_record
from tests.support.git_lab import below_git, commit, git, repository, say
from tests.support.replay_lab import SRC, ReplayLab


def _restored(lab: ReplayLab, target: Path) -> list[str]:
    source = lab.run()
    found = read_recorded_code(source)
    source.close()
    assert found.obstacles == ()
    target.mkdir()
    return restore(found, target)


def _files(place: Path) -> dict[str, str]:
    found = (path for path in place.rglob("*") if path.is_file() and not path.is_symlink())
    return {str(path.relative_to(place)): path.read_text(errors="replace") for path in found}


def test_commit_differences_and_untracked_sources_come_back(lab: ReplayLab, tmp_path: Path) -> None:
    place = repository(lab)
    (place / "gone.py").write_text("old = 1\n")
    (place / "run.sh").write_text("#!/bin/sh\n")
    (place / "run.sh").chmod(0o755)
    (place / "link").symlink_to("run.sh")
    (place / "data.bin").write_bytes(bytes(range(256)))
    commit(place)
    say(place, "staged")
    (place / "new.py").write_text("new = 1\n")
    git(place, "add", "lib", "new.py")
    say(place, "unstaged")
    (place / "gone.py").unlink()
    (place / "data.bin").write_bytes(bytes(range(255, -1, -1)))
    (place / "extra.py").write_text("extra = 'ü'\n")
    (place / "notes.bin").write_bytes(b"\xff\x00" * 50)
    lab.record()
    say(place, "later")
    (place / "extra.py").unlink()
    commit(place)
    before = below_git(place)
    notes = _restored(lab, tmp_path / "code")
    assert below_git(place) == before
    found = _files(tmp_path / "code")
    assert found["lib/helper.py"] == 'def word():\n    return "unstaged"\n'
    assert (found["new.py"], found["extra.py"]) == ("new = 1\n", "extra = 'ü'\n")
    assert "gone.py" not in found
    assert (tmp_path / "code" / "data.bin").read_bytes()[0] == 255
    assert (tmp_path / "code" / "notes.bin").read_bytes() == b"\xff\x00" * 50
    assert os.access(tmp_path / "code" / "run.sh", os.X_OK)
    assert os.readlink(tmp_path / "code" / "link") == "run.sh"
    assert notes == []


def test_binary_and_unrecorded_files_that_are_gone_are_named(lab: ReplayLab, tmp_path: Path) -> None:
    place = repository(lab)
    (place / "data.bin").write_bytes(bytes(range(256)))
    commit(place)
    (place / "data.bin").write_bytes(b"\x00changed")
    (place / "more.bin").write_bytes(b"\xff\x00")
    (place / "deploy.key").write_text("k")
    lab.record()
    (place / "data.bin").write_bytes(b"\x00again")
    (place / "more.bin").unlink()
    notes = _restored(lab, tmp_path / "code")
    assert [note for note in notes if "data.bin" in note]
    assert [note for note in notes if "more.bin" in note]
    assert [note for note in notes if "deploy.key" in note and "secret" in note]


def test_nothing_of_the_repositorys_runs(lab: ReplayLab, tmp_path: Path) -> None:
    place = repository(lab)
    marker = tmp_path / "ran"
    evil = f"sh -c 'touch {marker}; cat'"
    sub = tmp_path / "sub"
    sub.mkdir()
    git(sub, "init", "-q")
    git(sub, "commit", "-q", "--allow-empty", "-m", "x")
    git(place, "submodule", "add", "-q", str(sub), "sub")
    pointer = f"version https://git-lfs.github.com/spec/v1\noid sha256:{'0' * 64}\nsize 5\n"
    (place / "big.dat").write_text(pointer)
    (place / ".gitattributes").write_text("*.py filter=evil diff=evil\n*.dat filter=lfs\n* export-ignore\n")
    commit(place)
    say(place, "changed")
    lab.record()
    for name, value in (
        ("filter.evil.smudge", evil),
        ("filter.evil.clean", evil),
        ("filter.evil.required", "true"),
        ("filter.lfs.process", evil),
        ("diff.evil.command", evil),
        ("diff.evil.textconv", evil),
        ("core.fsmonitor", evil),
        ("core.pager", evil),
        ("core.sshCommand", evil),
    ):
        git(place, "config", name, value)
    for hook in ("post-checkout", "post-index-change", "pre-applypatch", "reference-transaction", "post-rewrite"):
        file = place / ".git" / "hooks" / hook
        file.write_text(f"#!/bin/sh\ntouch {marker}\n")
        file.chmod(0o755)
    before = below_git(place)
    notes = _restored(lab, tmp_path / "code")
    assert not marker.exists()
    assert below_git(place) == before
    assert any("submodule" in note for note in notes)
    assert any("big.dat" in note for note in notes)
    assert "changed" in (tmp_path / "code" / "lib" / "helper.py").read_text()


def test_killed_in_the_middle_it_leaves_nothing_in_the_repository(lab: ReplayLab, tmp_path: Path) -> None:
    place = repository(lab)
    for number in range(600):
        (place / f"f{number}.txt").write_text(str(number) * 2000)
    commit(place)
    lab.record()
    before = below_git(place)
    (tmp_path / "code").mkdir()
    program = (
        "import sys\nfrom pathlib import Path\nfrom agentdbg.replay.recorded_code import read_recorded_code, restore\n"
        "from agentdbg.store.address import open_store, resolve\n"
        "found = read_recorded_code(resolve(open_store(sys.argv[1]), 'run-1'))\n"
        "print('go', flush=True)\nrestore(found, Path(sys.argv[2]))\nprint('done', flush=True)\n"
    )
    child = subprocess.Popen(
        [sys.executable, "-c", program, str(lab.store), str(tmp_path / "code")],
        stdout=subprocess.PIPE,
        env={**os.environ, "PYTHONPATH": str(SRC)},
    )
    assert child.stdout is not None
    assert child.stdout.readline() == b"go\n"
    while not any((tmp_path / "code").iterdir()):
        time.sleep(0.001)
    child.send_signal(signal.SIGKILL)
    assert child.communicate()[0] == b""
    assert below_git(place) == before
    assert git(place, "worktree", "list").count("\n") == 0
    assert git(place, "status", "--porcelain") == "?? code/"


def _change_state(lab: ReplayLab, recorded: Mapping[str, Any], **changes: Any) -> RecordedCode:
    """What is read of a record whose git state says something else."""
    run = lab.store / "runs" / "run-1"
    data = json.dumps({**recorded, "git": {**recorded["git"], **changes}}, ensure_ascii=False).encode()
    digest = hashlib.sha256(data).hexdigest()
    (run / "large").mkdir(exist_ok=True)
    (run / "large" / digest).write_bytes(data)
    _replace_event(run, {"body": {"sha256": digest, "size": len(data), "file": f"large/{digest}", "offset": 0}})
    source = lab.run()
    try:
        assert not is_own_code(source)
        return read_recorded_code(source)
    finally:
        source.close()


def _replace_event(run: Path, members: dict[str, object]) -> None:
    for file in (run / "events").iterdir():
        records = [json.loads(line) for line in file.read_bytes().split(b"\n") if line]
        changed = [{**each, **(members if each["e"] == "environment" else {})} for each in records]
        file.write_bytes(b"".join(encode_record({k: v for k, v in each.items() if k != "_c"}) for each in changed))


OBSTACLES: list[tuple[dict[str, Any], str]] = [
    ({"commit": "0" * 40}, "commit 000000000000 is not in the repository"),
    ({"commit": "HEAD; rm -rf /"}, "no commit"),
    ({"commit": "--output=x"}, "no commit"),
    ({"diff_staged": {"text": "", "size": 9, "cut": True}}, "cut"),
    ({"diff_unstaged": {"text": "+⟦R:email:9:0123456789ab⟧", "size": 9, "cut": False}}, "redacted"),
    ({"untracked": {"a.py": {"text": "⟦R:email:9:0123456789ab⟧", "size": 9}}}, "redacted"),
    ({"error": "git is not installed"}, "git is not installed"),
    ({"diff_staged": {"error": "no time left"}}, "no time left"),
]


def test_what_stands_in_the_way_is_named_and_what_was_changed_is_not_its_recorders(lab: ReplayLab) -> None:
    place = repository(lab)
    lab.record()
    source = lab.run()
    assert is_own_code(source)
    recorded = recorded_environment(source)
    source.close()
    for changes, words in OBSTACLES:
        found = _change_state(lab, recorded, **changes)
        assert any(words in obstacle for obstacle in found.obstacles), (changes, found.obstacles)
    _replace_event(lab.store / "runs" / "run-1", {"seal": "0" * 64})
    source = lab.run()
    assert not is_own_code(source)
    source.close()
    (place / ".git").rename(place / ".git-elsewhere")
    assert any("--map" in obstacle for obstacle in _change_state(lab, recorded).obstacles)


def test_a_program_outside_a_repository_has_no_recorded_code(lab: ReplayLab) -> None:
    lab.record("import agentdbg\n@agentdbg.agent\ndef a():\n    return 1\na()\n")
    source = lab.run()
    assert any("repository" in obstacle for obstacle in read_recorded_code(source).obstacles)
    source.close()


@pytest.mark.parametrize("name", ["../out.py", "/etc/x", ".git/hooks/post-checkout", "a/../../x", ""])
def test_a_recorded_name_never_leads_out_of_the_scratch_directory(lab: ReplayLab, tmp_path: Path, name: str) -> None:
    place = repository(lab)
    code = RecordedCode(str(place), None, (), {name: {"text": "x"}})
    (tmp_path / "code").mkdir()
    with pytest.raises(CannotRestore):
        restore(code, tmp_path / "code")


def test_a_difference_never_leads_out_of_the_scratch_directory(lab: ReplayLab, tmp_path: Path) -> None:
    place = repository(lab)
    diff = "diff --git a/../out b/../out\nnew file mode 100644\n--- /dev/null\n+++ b/../out\n@@ -0,0 +1 @@\n+x\n"
    (tmp_path / "code").mkdir()
    with pytest.raises(CannotRestore):
        restore(RecordedCode(str(place), None, (diff,), {}), tmp_path / "code")
    assert not (tmp_path / "out").exists()


def test_nothing_is_written_through_a_link(lab: ReplayLab, tmp_path: Path) -> None:
    place = repository(lab)
    (place / "door").symlink_to(tmp_path)
    made = commit(place)
    (tmp_path / "code").mkdir()
    with pytest.raises(CannotRestore, match="link"):
        restore(RecordedCode(str(place), made, (), {"door/x.py": {"text": "x"}}), tmp_path / "code")
    assert not (tmp_path / "x.py").exists()

"""The work tree is described completely, within bounds, and without running anything of the repository's."""

from __future__ import annotations

import hashlib
import os
import subprocess
from pathlib import Path

import pytest

from agentdbg.recording import git_state as module
from agentdbg.recording.git_state import git_state


def git(folder: Path, *args: str) -> str:
    identity = ["-c", "user.name=a", "-c", "user.email=a@example.org", "-c", "init.defaultBranch=main"]
    command = ["git", *identity, *args]
    return subprocess.run(command, cwd=folder, check=True, capture_output=True, text=True).stdout


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    """A repository with one commit."""
    root = tmp_path / "tree"
    root.mkdir()
    git(root, "init", "-q")
    (root / "agent.py").write_text("one = 1\n")
    git(root, "add", ".")
    git(root, "commit", "-q", "-m", "first")
    return root


def state(root: Path) -> dict:
    return dict(git_state(str(root)))


def test_a_clean_tree_is_its_commit(tree: Path) -> None:
    assert state(tree) == {
        "commit": git(tree, "rev-parse", "HEAD").strip(),
        "dirty": False,
        "status_porcelain": "",
        "diff_staged": {"text": "", "size": 0, "cut": False},
        "diff_unstaged": {"text": "", "size": 0, "cut": False},
        "untracked": {},
        "untracked_left_out": 0,
    }


def test_a_dirty_tree_has_both_differences_and_the_untracked_sources(tree: Path) -> None:
    (tree / "agent.py").write_text("one = 2\n")
    git(tree, "add", ".")
    (tree / "agent.py").write_text("one = 3\n")
    (tree / "new dir").mkdir()
    (tree / "new dir" / "tool ä.py").write_text("two = 2\n")
    found = state(tree)
    assert found["dirty"] is True
    assert found["status_porcelain"].splitlines() == ["MM agent.py", "?? new dir/tool ä.py"]
    assert "-one = 1\n+one = 2\n" in found["diff_staged"]["text"]
    assert "-one = 2\n+one = 3\n" in found["diff_unstaged"]["text"]
    assert found["untracked"] == {"new dir/tool ä.py": {"text": "two = 2\n", "size": 8}}


def test_the_recorded_differences_rebuild_the_tree(tree: Path, tmp_path: Path) -> None:
    (tree / "agent.py").write_text("one = 2\n")
    git(tree, "config", "diff.noprefix", "true")
    git(tree, "config", "color.ui", "always")
    found = state(tree)
    copy = tmp_path / "copy"
    git(tmp_path, "clone", "-q", str(tree), str(copy))
    subprocess.run(["git", "apply"], cwd=copy, input=found["diff_unstaged"]["text"].encode(), check=True)
    assert (copy / "agent.py").read_text() == "one = 2\n"


def test_a_repository_without_a_commit(tmp_path: Path) -> None:
    git(tmp_path, "init", "-q")
    assert state(tmp_path)["commit"] is None


def test_a_large_difference_is_cut_after_a_line_and_carries_size_and_hash(tree: Path) -> None:
    (tree / "agent.py").write_text("x = '0123456789'\n" * 40_000)
    found = state(tree)["diff_unstaged"]
    whole = subprocess.run(["git", "diff", "--full-index"], cwd=tree, check=True, capture_output=True).stdout
    assert found["cut"] is True
    assert (found["size"], found["sha256"]) == (len(whole), hashlib.sha256(whole).hexdigest())
    assert 250_000 < len(found["text"]) <= module.MAX_DIFF
    assert found["text"].endswith("'\n")


def test_untracked_files_are_bounded_and_secrets_by_name_left_out(tree: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "MAX_HASHED", 200_000)
    (tree / "big.txt").write_text("a" * 70_000)
    (tree / "huge.bin").write_bytes(b"a" * 300_000)
    (tree / "binary").write_bytes(b"\xff\xfe")
    (tree / ".env").write_text("KEY=planted-secret")
    (tree / "server.pem").write_text("planted-secret")
    (tree / "link").symlink_to("/etc/passwd")
    (tree / os.fsdecode(b"bad\xff.py")).write_text("x")
    os.mkfifo(tree / "fifo")
    found = state(tree)
    assert found["untracked"] == {
        "big.txt": {"sha256": hashlib.sha256(b"a" * 70_000).hexdigest(), "size": 70_000},
        "huge.bin": {"size": 300_000, "left_out": "too large"},
        "binary": {"sha256": hashlib.sha256(b"\xff\xfe").hexdigest(), "size": 2},
        ".env": {"size": 18, "left_out": "named like a secret"},
        "server.pem": {"size": 14, "left_out": "named like a secret"},
        "link": {"link": "/etc/passwd"},
        "bad\\xff.py": {"text": "x", "size": 1},
    }
    assert "planted-secret" not in str(found)


def test_many_untracked_files_are_counted(tree: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "MAX_UNTRACKED", 3)
    monkeypatch.setattr(module, "MAX_TEXT_TOTAL", 10)
    for n in range(5):
        (tree / f"n{n}.py").write_text("12345678")
    found = state(tree)
    assert found["untracked_left_out"] == 2
    assert ["text" in entry for entry in found["untracked"].values()] == [True, False, False]


def plant(tree: Path, mark: Path) -> None:
    """Configure everything that makes git run a command, and a file that sets it off."""
    (tree / ".gitattributes").write_text("*.py filter=evil diff=evil\n*.txt filter=a=b\n")
    (tree / "note.txt").write_text("one\n")
    git(tree, "add", ".")
    git(tree, "commit", "-q", "-m", "attributes")
    hook = tree / ".git" / "hooks" / "post-index-change"
    hook.write_text(f"#!/bin/sh\ntouch {mark}.hook\n")
    hook.chmod(0o755)
    for name, value in {
        "core.fsmonitor": f"touch {mark}.fsmonitor; false",
        "core.pager": f"touch {mark}.pager",
        "diff.external": f"touch {mark}.external",
        "diff.evil.command": f"touch {mark}.command",
        "diff.evil.textconv": f"touch {mark}.textconv; cat",
        "filter.evil.clean": f"touch {mark}.clean; cat",
        "filter.a=b.process": f"touch {mark}.process",
        "filter.a=b.required": "true",
    }.items():
        git(tree, "config", name, value)
    (tree / "agent.py").write_text("one = 2\n")
    (tree / "note.txt").write_text("two\n")


def test_nothing_that_the_repository_configures_is_run(tree: Path, tmp_path: Path) -> None:
    plant(tree, tmp_path / "ran")
    found = state(tree)
    assert "+one = 2" in found["diff_unstaged"]["text"]
    assert "+two" in found["diff_unstaged"]["text"]
    assert list(tmp_path.glob("ran*")) == []
    subprocess.run(["git", "diff"], cwd=tree, capture_output=True, check=False)
    assert list(tmp_path.glob("ran*")) != []


def test_a_missing_object_is_not_fetched(tree: Path, tmp_path: Path) -> None:
    blob = git(tree, "rev-parse", "HEAD:agent.py").strip()
    (tree / ".git" / "objects" / blob[:2] / blob[2:]).unlink()
    for name, value in {
        "extensions.partialClone": "origin",
        "core.repositoryFormatVersion": "1",
        "protocol.ext.allow": "always",
        "remote.origin.url": f"ext::sh -c touch% {tmp_path}/ran",
        "remote.origin.promisor": "true",
    }.items():
        git(tree, "config", name, value)
    (tree / "agent.py").write_text("one = 2\n")
    found = state(tree)
    assert "error" in found["diff_unstaged"]
    assert found["status_porcelain"] == " M agent.py"
    assert not (tmp_path / "ran").exists()
    subprocess.run(["git", "diff"], cwd=tree, capture_output=True, check=False)
    assert (tmp_path / "ran").exists()


def test_a_repository_cannot_point_at_other_peoples_files(tree: Path, tmp_path: Path) -> None:
    (tmp_path / "private").mkdir()
    (tmp_path / "private" / "diary").write_text("dear diary")
    git(tree, "config", "core.worktree", str(tmp_path / "private"))
    found = state(tree)
    assert found["untracked"] == {}
    assert found["dirty"] is False


def test_a_git_inside_the_repository_is_not_run(tree: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tree / "bin").mkdir()
    fake = tree / "bin" / "git"
    fake.write_text(f"#!/bin/sh\ntouch {tmp_path}/ran\n")
    fake.chmod(0o755)
    monkeypatch.setenv("PATH", f"{tree}/bin{os.pathsep}.{os.pathsep}{os.environ['PATH']}")
    monkeypatch.chdir(tree / "bin")
    assert state(tree)["dirty"] is True
    assert not (tmp_path / "ran").exists()


def test_the_callers_git_variables_do_not_redirect_it(tree: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GIT_DIR", "/nowhere")
    monkeypatch.setenv("GIT_INDEX_FILE", "/nowhere/index")
    assert state(tree)["dirty"] is False


def test_without_git_it_says_so(tree: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", "")
    assert state(tree) == {"error": "GitError: git is not installed"}


@pytest.mark.parametrize(
    ("script", "words"),
    [
        ("sleep 60", "more than 0.2 s"),
        ("(sleep 60; echo) & sleep 60", "more than 0.2 s"),
        ("echo broken >&2; exit 128", "ended with 128: broken"),
        ("exit 0", "too old"),
    ],
)
def test_a_git_that_hangs_or_fails_is_an_error_in_its_place(
    tree: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, script: str, words: str
) -> None:
    (tmp_path / "bin").mkdir()
    fake = tmp_path / "bin" / "git"
    fake.write_text(f"#!/bin/sh\n{script}\n")
    fake.chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}/bin{os.pathsep}{os.environ['PATH']}")
    monkeypatch.setattr(module, "SECONDS", 0.2)
    assert words in state(tree)["error"]


def test_it_writes_nothing_into_the_repository(tree: Path) -> None:
    os.utime(tree / "agent.py", (1, 1))  # a plain status would refresh the index
    assert state(tree)["diff_unstaged"]["text"] == ""
    (tree / "other.py").write_text("x")
    git(tree, "add", "-N", "other.py")
    before = (tree / ".git" / "index").read_bytes()
    os.utime(tree / "agent.py", (2, 2))
    assert "agent.py" not in state(tree)["diff_unstaged"]["text"]
    assert (tree / ".git" / "index").read_bytes() == before

"""Real repositories with a program in them that records itself."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

from tests.support.replay_lab import ReplayLab, tree

PROGRAM = """
import agentdbg, os, sys
sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "lib"))
import helper

@agentdbg.tool(effect="write")
def put(word):
    return {"word": word}

@agentdbg.agent
def agent(q):
    return put(helper.word() + q)

if __name__ == "__main__":
    agent("!")
"""


def git(place: Path, *words: str, check: bool = True) -> str:
    """Run git as a person would."""
    environ = {
        **os.environ,
        "GIT_AUTHOR_NAME": "a",
        "GIT_AUTHOR_EMAIL": "a@example.org",
        "GIT_COMMITTER_NAME": "a",
        "GIT_COMMITTER_EMAIL": "a@example.org",
        "GIT_CONFIG_GLOBAL": os.devnull,
        "GIT_CONFIG_NOSYSTEM": "1",
    }
    done = subprocess.run(
        ["git", "-c", "protocol.file.allow=always", *words], cwd=place, env=environ, capture_output=True, text=True
    )
    assert not check or done.returncode == 0, done.stderr
    return done.stdout.strip()


def say(place: Path, word: str) -> None:
    """Let the program's helper say a word."""
    (place / "lib").mkdir(exist_ok=True)
    (place / "lib" / "helper.py").write_text(f'def word():\n    return "{word}"\n')


def repository(lab: ReplayLab, word: str = "committed") -> Path:
    """The laboratory's place as a repository, everything committed."""
    lab.write(PROGRAM)
    say(lab.place, word)
    (lab.place / ".gitignore").write_text(".agentdbg\noutside\n__pycache__\n")
    git(lab.place, "init", "-q")
    commit(lab.place)
    return lab.place


def commit(place: Path) -> str:
    """Commit everything; returns the commit."""
    git(place, "add", "-A")
    git(place, "commit", "-q", "-m", "work")
    return git(place, "rev-parse", "HEAD")


def below_git(place: Path) -> dict[str, str]:
    """Every file of the repository itself, with its hash."""
    return tree(place / ".git")

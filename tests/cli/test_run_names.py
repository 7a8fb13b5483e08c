"""A shell completes the names of runs."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.support.program import agentdbg


def offered(words: str, store: Path) -> list[str]:
    asked = {
        "_AGENTDBG_COMPLETE": "bash_complete",
        "COMP_WORDS": words,
        "COMP_CWORD": str(len(words.split(" ")) - 1),
        "AGENTDBG_STORE": str(store),
    }
    done = agentdbg(env=asked)
    assert done.stderr == ""
    return done.stdout.splitlines()


@pytest.mark.parametrize(
    "words", ["agentdbg show refund", "agentdbg diff mail-9 refund", "agentdbg open @ --with refund"]
)
def test_runs_are_offered(store: Path, words: str) -> None:
    assert offered(words, store) == ["plain,refund-7", "plain,refund-8"]


def test_labels_are_offered_and_paths_are_left_to_the_shell(store: Path) -> None:
    assert "plain,@failed" in offered("agentdbg show @", store)
    assert offered("agentdbg show ./x", store) == ["file,./x"]


def test_a_store_that_cannot_be_opened_is_no_noise(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    assert offered("agentdbg show x", tmp_path / "file") == ["file,x"]

"""``agentdbg verify``: exit status and what it prints."""

from __future__ import annotations

from pathlib import Path

import pytest

from agentdbg.cli.main import main
from agentdbg.replay import run as engine
from agentdbg.replay.outcome import Outcome
from tests.support.run_records import RunRecords


@pytest.fixture
def store(tmp_path: Path) -> Path:
    path = tmp_path / "store"
    entry = {"callable": {"module": "m", "qualname": "f", "file": ""}}
    for number in (1, 2):
        RunRecords(path, f"run-{number}", entry=entry).end()
    return path


@pytest.mark.parametrize(
    ("verdicts", "status", "words"),
    [
        (["identical", "identical"], 0, "passed: 2 of 2 runs identical; 100.0% of their calls served"),
        (["identical", "diverged"], 1, "failed: 1 of 2 runs identical"),
        (["refused", "crashed"], 1, "failed: 0 of 2"),
    ],
)
def test_exit_status(
    store: Path,
    verdicts: list[str],
    status: int,
    words: str,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    left = list(verdicts)

    def exact(source: object, options: engine.ReplayOptions) -> Outcome:
        assert options.tags == {"verify": "exact"}
        return Outcome("run", left.pop(), "because", served=2, total=2)

    monkeypatch.setattr("agentdbg.replay.verify.exact", exact)
    assert main(["verify", "--trust", "--guard", "audit", "--store", str(store)]) == status
    assert words in capsys.readouterr().out
    if status == 0:
        left.extend(verdicts)
        main(["verify", "--trust", "--guard", "audit", "--store", str(store)])
        assert "100.0% the last time" in capsys.readouterr().out


def test_nothing_to_verify(store: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["verify", "--store", str(store)]) == 5
    assert "left out: run-1" in capsys.readouterr().out
    assert main(["verify", "--json", "--store", str(tmp_path / "empty")]) == 5
    assert '"runs": []' in capsys.readouterr().out


def test_a_guard_that_does_not_hold_refuses(
    store: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def exact(source: object, options: engine.ReplayOptions) -> Outcome:
        raise engine.ReplayRefused("the kernel does not hold a replay here: --guard audit, or --in IMAGE")

    monkeypatch.setattr("agentdbg.replay.verify.exact", exact)
    assert main(["verify", "--trust", "--store", str(store)]) == 3
    assert "--guard audit" in capsys.readouterr().err

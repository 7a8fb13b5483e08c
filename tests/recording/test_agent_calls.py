"""A run's entry point is written so that a replay can start it again."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import agentdbg
from agentdbg.model.canonical import loads
from agentdbg.model.records import BodyRef
from tests.support.recorded import Recorded, only_run, recording, run


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Path]:
    with recording(tmp_path / "store"):
        yield tmp_path / "store"


def entry(found: Recorded) -> dict[str, Any]:
    made: Any = found.source.summary().meta["entry"]
    return dict(made)


def test_the_entry_names_the_function_its_arguments_and_where_it_ran(tmp_path: Path) -> None:
    run(tmp_path, "import agentdbg\n@agentdbg.agent\ndef desk(a, b=2):\n    return a\n\ndesk(1)\n", "--ticket", "7")
    found = only_run(tmp_path / "store")
    made = entry(found)
    assert made["callable"] == {"module": "__main__", "qualname": "desk", "file": "{root}/agent.py"}
    assert made["argv"][1:] == ["--ticket", "7"]
    assert made["cwd"] == "{root}"
    assert os.path.isabs(str(tmp_path)) and str(tmp_path) not in str(made["path"])
    args = made["args"]
    assert loads(found.source.body(BodyRef(args["sha256"], args["size"], offset=args["offset"]))) == {
        "a": 1,
        "b": 2,
    }


def test_an_argument_that_a_factory_makes_again_is_not_written(store: Path) -> None:
    @agentdbg.agent(factories={"client": object})
    def desk(client: object, ticket: int) -> None: ...

    desk(object(), 4)
    found = only_run(store)
    assert found.arguments(found.steps[0]) == {"ticket": 4}
    assert entry(found)["factories"] == ["client"]
    assert "not_replayable" not in entry(found)


def test_an_argument_that_cannot_be_written_is_named(store: Path) -> None:
    @agentdbg.agent
    def desk(client: object) -> None: ...

    desk(object())
    assert entry(only_run(store))["not_replayable"] == ["argument cannot encode $.client: builtins.object"]


def test_an_odd_program_path_is_no_obstacle(store: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    import sys

    @agentdbg.agent
    def desk() -> str:
        return "fine"

    monkeypatch.setattr(sys, "path", [*sys.path, None, Path("/x"), ".."])
    monkeypatch.setattr(sys, "argv", [Path("prog"), 5])
    assert desk() == "fine"
    assert entry(only_run(store))["argv"] == ["prog", "5"]

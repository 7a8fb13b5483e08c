"""Record runs in this process or in programs of their own, and read back what stands in the store."""

from __future__ import annotations

import os
import subprocess
import sys
import textwrap
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from agentdbg.model.canonical import loads
from agentdbg.model.records import RunStatus, Step
from agentdbg.recording import process
from agentdbg.recording.process import Recorder
from agentdbg.store.address import open_store, resolve
from agentdbg.store.protocols import RunSource

SRC = Path(__file__).resolve().parents[2] / "src"


@contextmanager
def recording(store: Path) -> Iterator[Recorder]:
    """Record into a store in this process, without pins and environment."""
    before = os.environ.get("AGENTDBG_STORE")
    os.environ["AGENTDBG_STORE"] = str(store)
    kept, process._recorder = process._recorder, None
    made = Recorder()
    made.capture_environment = False
    process._recorder = made
    try:
        yield made
    finally:
        process._recorder = kept
        for path in list(made.disk._files):
            made.disk.close(path)
        if before is None:
            del os.environ["AGENTDBG_STORE"]
        else:
            os.environ["AGENTDBG_STORE"] = before


def program(folder: Path, source: str) -> Path:
    """Write a program that records into ``folder/store``."""
    path = folder / "agent.py"
    path.write_text(textwrap.dedent(source), encoding="utf-8")
    return path


def environment(folder: Path, env: Mapping[str, str] | None = None) -> dict[str, str]:
    """What a program needs to record into ``folder/store``."""
    return {
        **os.environ,
        "PYTHONPATH": str(SRC),
        "PYTHONDONTWRITEBYTECODE": "1",
        "AGENTDBG_STORE": str(folder / "store"),
        "AGENTDBG_REDACTION_KEY": "k" * 32,
        **(env or {}),
    }


def run(
    folder: Path,
    source: str,
    *arguments: str,
    env: Mapping[str, str] | None = None,
    flags: tuple[str, ...] = (),
    **options: Any,
) -> subprocess.CompletedProcess[str]:
    """Run a program that records into ``folder/store``."""
    path = program(folder, source)
    return subprocess.run(
        [sys.executable, *flags, str(path), *arguments],
        **{
            "cwd": folder,
            "env": environment(folder, env),
            "capture_output": True,
            "encoding": "utf-8",
            "timeout": 120,
            "check": False,
            **options,
        },
    )


@dataclass(frozen=True)
class Recorded:
    """One run as it stands in the store."""

    source: RunSource

    @property
    def status(self) -> RunStatus:
        return self.source.summary().status

    @property
    def steps(self) -> list[Step]:
        return list(self.source.steps())

    def named(self, name: str) -> Step:
        """The only step of that name."""
        (found,) = [step for step in self.steps if step.name == name]
        return found

    def arguments(self, step: Step) -> Any:
        assert step.arguments is not None
        return loads(self.source.body(step.arguments))

    def result(self, step: Step) -> Any:
        assert step.result is not None
        return loads(self.source.body(step.result))

    def events(self, kind: str) -> list[Mapping[str, Any]]:
        """Events that are no steps."""
        return [event.members for event in self.source.extra_events(kind)]  # type: ignore[attr-defined]


def runs(store: Path) -> list[Recorded]:
    """All runs of a store, opened as the debugger does."""
    opened = open_store(str(store))
    return [Recorded(resolve(opened, summary.run_id)) for summary in opened.summaries()]


def only_run(store: Path) -> Recorded:
    """The only run of a store."""
    (found,) = runs(store)
    assert list(found.source.problems()) == []
    return found

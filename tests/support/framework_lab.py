"""Records programs on other people's frameworks, in environments of their own, and replays them.

    lab = FrameworkLab(tmp_path, environment("openai-agents"))
    lab.server.default = refund_desk
    lab.record(PROGRAM)
    lab.replay_five_times()

A program finds the scripted server in ``OPENAI_BASE_URL``. What its tools do outside goes to files in ``OUTSIDE``.
"""

from __future__ import annotations

import subprocess
from pathlib import Path
from typing import Any

import pytest

from agentdbg.model.records import Kind, Step
from agentdbg.replay.outcome import Outcome
from agentdbg.replay.regression import RegressionOptions, regression
from agentdbg.replay.run import ReplayOptions
from agentdbg.store.address import open_store
from tests.support.http_lab import HttpLab
from tests.support.replay_lab import tree


class FrameworkLab(HttpLab):
    """A laboratory with a Python of its own."""

    def __init__(self, place: Path, python: Path | str, server: Any = None) -> None:
        super().__init__(place, server)
        self.python = str(python)

    def environment(self) -> dict[str, str]:
        """Where the model is."""
        return {
            **super().environment(),
            "OPENAI_BASE_URL": self.provider.openai_url,
            "OPENAI_API_KEY": "sk-not-a-key",
            "PYTHONDONTWRITEBYTECODE": "1",
            "PYTHONHASHSEED": "0",
        }

    def record(self, *arguments: Any, **options: Any) -> subprocess.CompletedProcess[str]:
        """Record, and expect no word from the recorder."""
        done = super().record(*arguments, **options)
        assert "agentdbg:" not in done.stderr, done.stderr
        return done

    def replay_five_times(self, address: str = "run-1") -> None:
        """The server is dead, and every replay says that it is the same."""
        for _ in range(5):
            outcome = self.replay_without_server(address)
            assert outcome.verdict == "identical", f"{outcome.reason}\n{outcome.log}"

    def replay(self, address: str = "run-1", **options: Any) -> Outcome:
        """Replay where the model's address is known, as in the terminal that the program was started in."""
        with pytest.MonkeyPatch.context() as patch:
            for name in ("OPENAI_BASE_URL", "OPENAI_API_KEY"):
                patch.setenv(name, self.environment()[name])
            return super().replay(address, **options)

    def regress(self, address: str = "run-1", *, guard: str = "audit", **options: Any) -> Outcome:
        """Replay as a regression; the model is there, and nothing changes but the store."""
        source = self.run(address)
        common = ReplayOptions(guard, 60, False, (), open_store(str(self.store)))
        with pytest.MonkeyPatch.context() as patch:
            for name in ("OPENAI_BASE_URL", "OPENAI_API_KEY", "OUTSIDE", "PORT"):
                patch.setenv(name, self.environment()[name])
            before = tree(self.outside), tree(Path(source.root))
            try:
                return regression(source, RegressionOptions(common, **options))
            finally:
                assert (tree(self.outside), tree(Path(source.root))) == before
                source.close()

    def outline(self, address: str = "run-1") -> list[str]:
        """Kind and name of every step but of effects that no seam saw, indented by its depth."""
        steps = [step for step in self.steps(address=address) if step.kind is not Kind.EFFECT]
        return [f"{'  ' * step.depth}{step.kind.value} {step.name}" for step in steps]

    def tools(self, address: str = "run-1") -> dict[str, Step]:
        """The tool steps by name."""
        return {step.name: step for step in self.steps(Kind.TOOL, address=address)}

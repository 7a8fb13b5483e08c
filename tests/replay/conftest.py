"""A laboratory for replays: real programs, recorded and run again in processes of their own."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.support.regression_lab import RegressionLab
from tests.support.replay_lab import SRC, EffectServer, ReplayLab

_WARM = (
    "import agentdbg.replay.child, agentdbg.recording.agent_calls, agentdbg.recording.http_seam, asyncio, httpx, runpy"
)


@pytest.fixture(scope="session")
def byte_code(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A place for compiled modules, filled once, so that the many processes of these tests start quickly."""
    place = tmp_path_factory.mktemp("pyc")
    env = {"PYTHONPYCACHEPREFIX": str(place), "PYTHONPATH": str(SRC)}
    subprocess.run([sys.executable, "-c", _WARM], env=env, check=True)
    return place


@pytest.fixture(scope="session")
def effect_server() -> Iterator[EffectServer]:
    """A server that no replay may reach."""
    server = EffectServer()
    yield server
    server.close()


@pytest.fixture
def lab(tmp_path: Path, byte_code: Path, effect_server: EffectServer, monkeypatch: pytest.MonkeyPatch) -> ReplayLab:
    """An empty laboratory."""
    monkeypatch.setenv("PYTHONPYCACHEPREFIX", str(byte_code))
    return ReplayLab(tmp_path, effect_server)


@pytest.fixture
def world_lab(
    tmp_path: Path, byte_code: Path, effect_server: EffectServer, monkeypatch: pytest.MonkeyPatch
) -> Iterator[RegressionLab]:
    """An empty laboratory with a model and a world that a test tells what to say."""
    monkeypatch.setenv("PYTHONPYCACHEPREFIX", str(byte_code))
    found = RegressionLab(tmp_path, effect_server)
    yield found
    found.world.close()

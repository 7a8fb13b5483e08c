"""The cache of other people's packages: built once, whoever asks, and never half."""

from __future__ import annotations

import subprocess
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from tests.support import environments
from tests.support.environments import EnvironmentFailed, NoInterpreter


@pytest.fixture(autouse=True)
def empty_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setitem(environments._ENVIRONMENT, "AGENTDBG_TEST_ENVS", str(tmp_path / "envs"))
    return tmp_path / "envs"


def test_it_is_an_environment_of_its_own_that_is_built_once(empty_cache: Path) -> None:
    assert not environments.cached()
    python = environments.environment()
    assert environments.cached()
    asked = "import importlib.util as u, sys; print(sys.prefix != sys.base_prefix, u.find_spec('agentdbg'))"
    done = subprocess.run([python, "-c", asked], capture_output=True, encoding="utf-8", check=True)
    assert done.stdout == "True None\n"
    before = python.parent.stat().st_mtime_ns
    assert environments.environment() == python
    assert python.parent.stat().st_mtime_ns == before


def test_all_who_ask_at_once_wait_for_the_one_that_builds(monkeypatch: pytest.MonkeyPatch) -> None:
    built: list[Path] = []
    build = environments._build

    def counted(place: Path, requirements: tuple[str, ...], python: Path) -> None:
        built.append(place)
        build(place, requirements, python)

    monkeypatch.setattr(environments, "_build", counted)
    with ThreadPoolExecutor(4) as pool:
        pythons = list(pool.map(lambda _: environments.environment(), range(4)))
    assert len(built) == 1
    assert len(set(pythons)) == 1


def test_what_failed_is_said_in_pips_words_and_leaves_nothing_behind(empty_cache: Path) -> None:
    with pytest.raises(EnvironmentFailed, match=r"no such|not exist|looks like a path|Invalid"):
        environments.environment("./no-such-project")
    assert not environments.cached("./no-such-project")
    assert not list(empty_cache.glob("*/env"))


def test_a_half_built_environment_is_built_again() -> None:
    python = environments.environment()
    marker = python.parents[2] / "complete"
    marker.unlink()
    (python.parent / "left-over").touch()
    assert environments.environment() == python
    assert not (python.parent / "left-over").exists()
    assert marker.exists()


def test_a_python_that_is_not_here_is_named() -> None:
    with pytest.raises(NoInterpreter, match=r"no Python 3\.99 here"):
        environments.environment(python="3.99")

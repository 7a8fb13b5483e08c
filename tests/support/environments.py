"""Virtual environments with other people's packages, built once and kept in the user's cache.

    python = environment("langgraph==0.2.76", "langchain-openai<1")
    subprocess.run([python, "agent.py"])

An environment is named by a hash over its requirements and its interpreter; there is neither agentdbg nor orjson in it
(unless a requirement brings orjson along). Any number of processes may ask for the same one at once: one builds, the
others wait. ``AGENTDBG_TEST_ENVS`` names another directory than ``$XDG_CACHE_HOME/agentdbg-tests/envs``. Every test has
an empty home of its own, so the place is looked up when this module is imported.
"""

from __future__ import annotations

import fcntl
import hashlib
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from importlib.metadata import distributions
from pathlib import Path

_SCHEME = "1"
_ENVIRONMENT = dict(os.environ)
_PIP = ("-m", "pip", "--no-input", "--disable-pip-version-check", "--quiet")
_LONGEST_INSTALL = 900
_UNREACHABLE = re.compile(
    r"NewConnectionError|ConnectTimeoutError|NameResolutionError|name resolution|Network is unreachable|"
    r"Connection refused|ProxyError|Failed to establish a new connection|connection broken",
    re.IGNORECASE,
)


class EnvironmentFailed(Exception):
    """An environment could not be built; the message holds pip's last lines."""


class IndexUnreachable(EnvironmentFailed):
    """It could not be built because the package index did not answer. The one reason to skip a test."""


class NoInterpreter(EnvironmentFailed):
    """There is no Python of the version asked for on this machine. A reason to skip too."""


def environment(*requirements: str, python: str | None = None) -> Path:
    """The Python executable of an environment with these requirements; builds it when it is not there yet.

    Args:
        requirements: As pip takes them.
        python: ``3.13`` or ``3.13.0``; the interpreter of the tests when left out.

    Raises:
        EnvironmentFailed: It could not be built.
    """
    place = _place(requirements, python)
    if not _is_complete(place):
        with _locked(place):
            if not _is_complete(place):
                _build(place, requirements, interpreter(python))
    return _executable(place)


def cached(*requirements: str, python: str | None = None) -> bool:
    """Whether `environment` would have nothing to build."""
    return _is_complete(_place(requirements, python))


def versions(executable: Path) -> dict[str, str]:
    """What is installed beside a Python executable of `environment`: normalised name to version."""
    (packages,) = executable.parent.parent.glob("[Ll]ib/**/site-packages")
    found = distributions(path=[str(packages)])
    return {re.sub(r"[-_.]+", "-", dist.metadata["Name"]).lower(): dist.version for dist in found}


@cache
def interpreter(version: str | None = None) -> Path:
    """A Python of this version: the one that runs the tests, else from pyenv, else from PATH.

    Raises:
        NoInterpreter: There is none.
    """
    own = ".".join(map(str, sys.version_info[:3]))
    if version is None or f"{own}.".startswith(f"{version}."):
        return Path(sys.executable)
    pyenv = Path(_ENVIRONMENT.get("PYENV_ROOT") or Path(_ENVIRONMENT.get("HOME", "/")) / ".pyenv")
    known = [path for path in pyenv.glob("versions/*/bin/python") if f"{path.parts[-3]}.".startswith(f"{version}.")]
    if known:
        return max(known, key=lambda path: [int(part) for part in re.findall(r"\d+", path.parts[-3])])
    if (found := shutil.which(f"python{version}", path=_ENVIRONMENT.get("PATH"))) is not None:
        return Path(found)
    raise NoInterpreter(f"no Python {version} here")


def root() -> Path:
    """The directory that holds all environments."""
    if named := _ENVIRONMENT.get("AGENTDBG_TEST_ENVS"):
        return Path(named)
    base = _ENVIRONMENT.get("XDG_CACHE_HOME") or os.path.join(_ENVIRONMENT.get("HOME", tempfile.gettempdir()), ".cache")
    return Path(base) / "agentdbg-tests" / "envs"


def _place(requirements: tuple[str, ...], python: str | None) -> Path:
    chosen = interpreter(python)
    named = [_SCHEME, os.path.realpath(chosen), *sorted(requirements)]
    return root() / hashlib.sha256("\n".join(named).encode()).hexdigest()[:16]


def _executable(place: Path) -> Path:
    return place / "env" / ("Scripts/python.exe" if os.name == "nt" else "bin/python")


def _is_complete(place: Path) -> bool:
    return (place / "complete").is_file()


@contextmanager
def _locked(place: Path) -> Iterator[None]:
    """Hold the environment's lock file; it goes when the process ends, however it ends."""
    place.mkdir(parents=True, exist_ok=True)
    with open(place / "lock", "w", encoding="utf-8") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield


def _build(place: Path, requirements: tuple[str, ...], python: Path) -> None:
    """Build in place, as an environment cannot be moved; the marker comes last."""
    shutil.rmtree(place / "env", ignore_errors=True)
    made = _run(python, "-I", "-m", "venv", "--without-pip", str(place / "env"))
    if made.returncode != 0:
        raise _failure(requirements, made)
    executable = _executable(place)
    pip = [sys.executable, "-I", *_PIP, "--python", str(executable)]
    if _run(*pip, "--version").returncode != 0:
        _run(executable, "-I", "-m", "ensurepip")
        pip = [str(executable), "-I", *_PIP]
    done = _run(*pip, "install", *requirements) if requirements else made
    if done.returncode != 0:
        done = _run(*pip, "install", *requirements)
    if done.returncode != 0:
        shutil.rmtree(place / "env", ignore_errors=True)
        raise _failure(requirements, done)
    facts = {"requirements": requirements, "python": str(python), "versions": versions(executable)}
    written = place / "complete.new"
    written.write_text(json.dumps(facts, indent=1), encoding="utf-8")
    written.replace(place / "complete")


def _run(*command: str | Path) -> subprocess.CompletedProcess[str]:
    """Run a command as the user who started the tests would."""
    hidden = ("PYTHONPATH", "PYTHONHOME", "PIP_TARGET", "PIP_PREFIX", "PIP_USER", "PIP_REQUIRE_VIRTUALENV")
    words = [str(word) for word in command]
    try:
        return subprocess.run(
            words,
            env={name: value for name, value in _ENVIRONMENT.items() if name not in hidden},
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            encoding="utf-8",
            errors="replace",
            timeout=_LONGEST_INSTALL,
            check=False,
        )
    except subprocess.TimeoutExpired as error:
        said = error.output.decode(errors="replace") if isinstance(error.output, bytes) else error.output or ""
        return subprocess.CompletedProcess(words, 124, f"{said}\nnot done after {_LONGEST_INSTALL} s")


def _failure(requirements: tuple[str, ...], done: subprocess.CompletedProcess[str]) -> EnvironmentFailed:
    kind = IndexUnreachable if _UNREACHABLE.search(done.stdout) else EnvironmentFailed
    last = "\n".join(done.stdout.strip().splitlines()[-12:])
    return kind(f"no environment for {' '.join(requirements) or 'nothing'} (status {done.returncode}):\n{last}")

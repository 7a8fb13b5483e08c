"""What a run was recorded on: complete, neutral, without a secret, and never an exception."""

from __future__ import annotations

import hashlib
import hmac
import importlib.util
import json
import os
import subprocess
import sys
import threading
import time
import types
from importlib.metadata import version
from pathlib import Path

import pytest

from agentdbg.recording import environment
from agentdbg.recording.environment import capture, dependencies, module_hashes, path_case_sensitive, variables

PARTS = [
    "cwd",
    "dependencies",
    "runtime",
    "platform",
    "locale",
    "time_zone",
    "path_case_sensitive",
    "hash_seed",
    "env",
    "image",
    "git",
]


def test_every_part_is_there_and_is_plain_json(tmp_path: Path) -> None:
    found = capture(b"key", cwd=str(tmp_path))
    assert list(found) == [*PARTS, "modules"]
    assert json.loads(json.dumps(found, allow_nan=False)) == found
    assert [name for name, part in found.items() if isinstance(part, dict) and "error" in part] == []
    assert found["cwd"] == "{root}"
    assert found["git"] is None


def test_in_a_repository_the_commit_stands_for_the_modules(tmp_path: Path) -> None:
    for command in (["init", "-q"], ["commit", "-q", "--allow-empty", "-m", "x"]):
        identity = ["-c", "user.name=a", "-c", "user.email=a@example.org"]
        subprocess.run(["git", *identity, *command], cwd=tmp_path, check=True)
    (tmp_path / "sub").mkdir()
    found = capture(b"key", cwd=str(tmp_path / "sub"))
    assert found["cwd"] == "{root}/sub"
    assert isinstance(found["git"], dict)
    assert "modules" not in found
    assert "modules" in capture(b"key", git=False, cwd=str(tmp_path / "sub"))


def test_no_value_of_a_variable_is_recorded(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MY_API_KEY", "planted-secret")
    monkeypatch.setenv("LC_TIME", "de_DE.UTF-8")
    monkeypatch.setenv("TZ", "x" * 300)
    monkeypatch.setenv("GIT_COMMIT", "planted-secret")
    monkeypatch.setenv("PYTHONPATH", "/planted-secret")
    found = capture(b"key", cwd=str(tmp_path))
    assert "planted-secret" not in json.dumps({**found, "dependencies": None})
    mac = hmac.new(b"key", b"planted-secret", hashlib.sha256).hexdigest()[:12]
    names = variables(b"key")
    assert names["MY_API_KEY"] == {"present": True, "mac": mac}
    assert names["LC_TIME"] == {
        "present": True,
        "mac": hmac.new(b"key", b"de_DE.UTF-8", hashlib.sha256).hexdigest()[:12],
        "value": "de_DE.UTF-8",
    }
    assert "value" not in str(names["TZ"])
    assert found["image"] is None


def test_without_a_key_there_is_no_hash_to_guess_from(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PIN", "1234")
    assert variables(b"")["PIN"] == {"present": True}


def test_commit_and_digest_of_an_image(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    digest = "registry.example.org/desk@sha256:" + "a" * 64
    monkeypatch.setenv("SOURCE_COMMIT", "0123456789abcdef")
    monkeypatch.setenv("IMAGE_DIGEST", digest)
    assert capture(b"key", cwd=str(tmp_path))["image"] == {
        "commit": {"variable": "SOURCE_COMMIT", "value": "0123456789abcdef"},
        "digest": {"variable": "IMAGE_DIGEST", "value": digest},
    }


def test_dependencies_have_their_installed_version() -> None:
    found = dependencies()
    assert list(found) == sorted(found)
    for name in ("pytest", "hypothesis", "httpx"):
        assert found[name] == version(name)


def test_a_broken_distribution_hides_no_other(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name, text in {
        "odd": None,
        "bad": b"\xff\xfe",
        "my_tool": b"Name: My_Tool\nVersion: 1.2\n\nName: no\n",
    }.items():
        (tmp_path / f"{name}-1.dist-info").mkdir()
        if text is not None:
            (tmp_path / f"{name}-1.dist-info" / "METADATA").write_bytes(text)
    monkeypatch.syspath_prepend(str(tmp_path))
    found = dependencies()
    assert found["my-tool"] == "1.2"
    assert found["pytest"] == version("pytest")


def test_a_part_that_fails_is_an_error_in_its_place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail() -> None:
        raise RuntimeError("broken")

    monkeypatch.setattr(environment, "dependencies", fail)
    monkeypatch.setattr(environment, "_platform", fail)
    found = capture(b"key", cwd=str(tmp_path))
    assert found["dependencies"] == found["platform"] == {"error": "RuntimeError: broken"}
    assert found["hash_seed"]


def test_a_working_directory_that_is_gone_raises_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "gone").mkdir()
    monkeypatch.chdir(tmp_path / "gone")
    (tmp_path / "gone").rmdir()
    found = capture(b"key")
    assert "error" in str(found["cwd"])
    assert found["runtime"]


def test_own_modules_are_hashed_and_others_are_not(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "desk_agent.py").write_text("x = 1\n")
    monkeypatch.syspath_prepend(str(tmp_path))
    spec = importlib.util.find_spec("desk_agent")
    assert spec is not None
    monkeypatch.setitem(sys.modules, "desk_agent", importlib.util.module_from_spec(spec))
    found = module_hashes(root=str(tmp_path), venv=None, home=None)
    expected = {"path": "{root}/desk_agent.py", "sha256": hashlib.sha256(b"x = 1\n").hexdigest()}
    assert found["desk_agent"] == expected
    assert not {"json", "pytest", "agentdbg.recording.environment"} & set(found)


def test_the_program_itself_is_hashed_when_it_has_run_to_its_end(monkeypatch: pytest.MonkeyPatch) -> None:
    gone = types.ModuleType("__main__")  # the interpreter takes the file's name away behind the last line
    monkeypatch.setitem(sys.modules, "__main__", gone)
    assert "__main__" not in module_hashes(root=None, venv=None, home=None)
    assert module_hashes(root=None, venv=None, home=None, main=__file__)["__main__"]


def test_a_lazy_module_is_not_imported_by_looking_at_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "lazy_agent.py").write_text("raise RuntimeError('imported')\n")
    monkeypatch.syspath_prepend(str(tmp_path))
    spec = importlib.util.find_spec("lazy_agent")
    assert spec is not None and spec.loader is not None
    spec.loader = importlib.util.LazyLoader(spec.loader)
    lazy = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(lazy)
    monkeypatch.setitem(sys.modules, "lazy_agent", lazy)
    assert "lazy_agent" in module_hashes(root=None, venv=None, home=None)


def test_case_sensitivity_is_found_without_writing(tmp_path: Path) -> None:
    probe = tmp_path / "Probe"
    probe.mkdir()
    before = probe.stat().st_mtime_ns
    told_apart = not (tmp_path / "pROBE").exists()
    assert path_case_sensitive(str(probe)) is told_apart
    (probe / "a").touch()
    assert path_case_sensitive(str(probe)) is told_apart
    (probe / "A").touch()
    assert path_case_sensitive(str(probe)) is told_apart
    assert sorted(os.listdir(probe)) in (["A", "a"], ["a"])
    assert probe.stat().st_mtime_ns >= before


@pytest.mark.parametrize(
    ("flags", "seed", "expected"), [([], "0", "0"), ([], "42", "42"), ([], None, "random"), (["-I"], "42", "random")]
)
def test_the_hash_seed(flags: list[str], seed: str | None, expected: str) -> None:
    probe = "from agentdbg.recording.environment import _hash_seed; print(_hash_seed())"
    env = {name: value for name, value in os.environ.items() if name != "PYTHONHASHSEED"}
    env |= {} if seed is None else {"PYTHONHASHSEED": seed}
    done = subprocess.run([sys.executable, *flags, "-c", probe], env=env, capture_output=True, text=True, check=True)
    assert done.stdout.strip() == expected


@pytest.mark.skipif(not hasattr(time, "tzset"), reason="this system reads TZ once")
def test_the_time_zone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TZ", "XYZ-5:30")
    time.tzset()
    try:
        found = capture(b"key", cwd=str(tmp_path))["time_zone"]
    finally:
        monkeypatch.undo()
        time.tzset()
    assert isinstance(found, dict)
    assert (found["name"], found["utc_offset_s"], found["TZ"]) == ("XYZ", 19800, "XYZ-5:30")


def test_it_runs_beside_a_program_that_changes_its_environment(tmp_path: Path) -> None:
    found: list[dict] = []
    thread = threading.Thread(target=lambda: found.append(capture(b"key", cwd=str(tmp_path))))
    thread.start()
    for n in range(2000):
        os.environ[f"CHANGING_{n % 50}"] = "x"
        os.environ.pop(f"CHANGING_{(n + 25) % 50}", None)
    thread.join()
    for n in range(50):
        os.environ.pop(f"CHANGING_{n}", None)
    assert "error" not in found[0]["env"]


def test_the_import_loads_no_subprocess_and_no_asyncio() -> None:
    probe = "import sys, agentdbg.recording.environment; print({'asyncio', 'subprocess', 'email'} & set(sys.modules))"
    done = subprocess.run([sys.executable, "-c", probe], capture_output=True, text=True, check=True)
    assert done.stdout == "set()\n"

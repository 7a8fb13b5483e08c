"""Functions that wait for a module are called once it is there, and never stand in the way of its import."""

from __future__ import annotations

import importlib
import importlib.util
import subprocess
import sys
from pathlib import Path

import pytest

from agentdbg.recording import hooks
from tests.support.recorded import environment, run


def test_a_loaded_module_is_handed_over_at_once() -> None:
    seen: list[object] = []
    hooks.on_import("sys", seen.append)
    assert seen == [sys]


def test_several_functions_wait_for_one_module(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "late_module.py").write_text("value = 7\n")
    monkeypatch.syspath_prepend(tmp_path)
    seen: list[int] = []
    hooks.on_import("late_module", lambda module: seen.append(module.value))
    hooks.on_import("late_module", lambda module: 1 / 0)
    hooks.on_import("late_module", lambda module: seen.append(module.value + 1))
    import late_module  # type: ignore[import-not-found]

    assert seen == [7, 8]
    assert "late_module is not covered: ZeroDivisionError: division by zero" in hooks.problems
    assert type(late_module.__loader__).__name__ == "SourceFileLoader"
    assert late_module.__spec__.loader is late_module.__loader__


def test_a_module_that_does_not_exist_or_fails_fails_as_before(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "broken_module.py").write_text("1 / 0\n")
    monkeypatch.syspath_prepend(tmp_path)
    for name in ("no_such_module", "broken_module"):
        hooks.on_import(name, lambda module: None)
    with pytest.raises(ModuleNotFoundError, match="No module named 'no_such_module'"):
        import no_such_module  # type: ignore[import-not-found]  # noqa: F401
    with pytest.raises(ZeroDivisionError):
        import broken_module  # type: ignore[import-not-found]  # noqa: F401


def test_imports_in_two_threads_do_not_wait_for_each_other(tmp_path: Path) -> None:
    source = """
        import agentdbg, threading

        @agentdbg.agent
        def desk():
            import importlib.metadata, threading
            names = ["concurrent.futures", "concurrent.futures.thread", "asyncio", "multiprocessing.pool", "zipfile"]
            threads = [threading.Thread(target=__import__, args=(name,)) for name in names]
            for thread in threads:
                thread.start()
            for thread in threads:
                thread.join()
            return "done"

        print(desk())
    """
    assert run(tmp_path, source, timeout=60).stdout == "done\n"


def test_importing_and_decorating_loads_next_to_nothing(tmp_path: Path) -> None:
    probe = """
import sys
before = set(sys.modules)
import agentdbg
agentdbg.tool(effect="read")(lambda: 1)
agentdbg.agent(lambda: 1)
heavy = {"typing", "inspect", "dataclasses", "re", "json", "asyncio", "random", "hashlib", "socket", "orjson",
         "agentdbg.recording.process", "agentdbg.redaction.gate", "agentdbg.recording.http_seam"}
print(sorted((set(sys.modules) - before) & heavy))
"""
    flags = [sys.executable, "-S", "-c", probe]
    done = subprocess.run(flags, env=environment(tmp_path), capture_output=True, text=True, check=False)
    assert (done.stdout, done.stderr) == ("[]\n", "")


def test_a_module_that_is_only_looked_for_or_fails_at_first_is_still_waited_for(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "waited_for.py").write_text("import builtins\nassert builtins.waited_for_is_fine\n", encoding="utf-8")
    monkeypatch.syspath_prepend(str(tmp_path))
    found: list[object] = []
    hooks.on_import("waited_for", found.append)
    assert importlib.util.find_spec("waited_for") is not None
    monkeypatch.setattr("builtins.waited_for_is_fine", False, raising=False)
    with pytest.raises(AssertionError):
        importlib.import_module("waited_for")
    monkeypatch.setattr("builtins.waited_for_is_fine", True)
    assert found == []
    assert [importlib.import_module("waited_for")] == found

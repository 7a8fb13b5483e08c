"""Plain functions of an unmodified program, declared as tools from outside."""

from __future__ import annotations

import asyncio
import inspect
import os
import subprocess
import sys
from pathlib import Path

import pytest

from agentdbg.model.records import Kind
from agentdbg.recording import plain_tools
from agentdbg.recording.openers import REGISTRY
from agentdbg.store.address import open_store, resolve

PROGRAM = '''
import asyncio, json, sys
from helpers import Desk, lookup as look

REGISTERED = {}
def register(function):
    REGISTERED[function.__name__] = function
    return function

@register
def save_note(text, *, urgent=False):
    """Save a note."""
    return {"saved": text, "urgent": urgent}

if True:
    async def ask(question: str = "why") -> str:
        return question.upper()

def count(upto):
    for number in range(upto):
        yield number
    return "end"

def other():
    return "not a tool"

def run():
    print(save_note("a"), REGISTERED["save_note"]("b", urgent=True))
    print(asyncio.run(ask()), list(count(3)), other(), look("x"), Desk().close(7))
    print(save_note.__name__, save_note.__doc__, __name__, sorted(k for k in globals() if "agentdbg" in k))

if __name__ == "__main__":
    run()
'''
HELPERS = """
def lookup(key):
    return key * 2

class Desk:
    def close(self, number):
        return number + 1
"""
BEGIN = """
import os
from agentdbg.recording import launched, outset, plain_tools, start
launched.active = True
launched.main_pid = os.getpid()
start.install()
outset.install()
plain_tools.install({
    "save_note": "write", "ask": "read", "count": "none",
    "lookup": "read", "helpers:Desk.close": "external", "gone": "read",
})
"""


def _run(tmp_path: Path, *, recorded: bool) -> subprocess.CompletedProcess[str]:
    (tmp_path / "program.py").write_text(PROGRAM, encoding="utf-8")
    (tmp_path / "helpers.py").write_text(HELPERS, encoding="utf-8")
    (tmp_path / "begin").mkdir(exist_ok=True)
    (tmp_path / "begin" / "sitecustomize.py").write_text(BEGIN, encoding="utf-8")
    source = str(Path(plain_tools.__file__).parents[2])
    environ = {**os.environ, "AGENTDBG_STORE": str(tmp_path / "store")}
    if recorded:
        environ["PYTHONPATH"] = os.pathsep.join([str(tmp_path / "begin"), source])
    command = [sys.executable, "-W", "error", "program.py"]
    return subprocess.run(command, cwd=tmp_path, env=environ, capture_output=True, text=True, check=False)


def test_declared_functions_are_tools_and_the_program_does_the_same(tmp_path: Path) -> None:
    bare, recorded = _run(tmp_path, recorded=False), _run(tmp_path, recorded=True)
    assert (recorded.stdout, recorded.stderr, recorded.returncode) == (bare.stdout, "", 0)
    source = resolve(open_store(str(tmp_path / "store")), "@")
    steps = [(step.name, str(step.effect)) for step in source.steps() if step.kind is Kind.TOOL]
    assert steps == [
        ("save_note", "write"),
        ("save_note", "write"),
        ("ask", "read"),
        ("count", "none"),
        ("lookup", "read"),
        ("close", "external"),
    ]


@pytest.fixture
def forgotten():
    before = dict(REGISTRY)
    yield
    REGISTRY.clear()
    REGISTRY.update(before)


def _plain(first: int, second: str = "b", *, third: float = 0.5) -> tuple[int, str, float]:
    return first, second, third


async def _slow(first: int) -> int:
    await asyncio.sleep(0)
    return first


def test_a_wrapped_function_looks_like_itself(forgotten: None) -> None:
    before = inspect.signature(_plain)
    assert plain_tools._wrap(_plain, "_plain", "read")
    assert inspect.signature(_plain) == before
    assert _plain(1, third=2.0) == (1, "b", 2.0)
    with pytest.raises(TypeError, match="first"):
        _plain()  # type: ignore[call-arg]
    assert plain_tools._wrap(_slow, "_slow", "read")
    assert inspect.iscoroutinefunction(_slow)
    assert asyncio.run(_slow(3)) == 3
    assert not plain_tools._wrap(_slow, "_slow", "read"), "once is enough"


def test_what_is_no_plain_function_is_left_alone(forgotten: None) -> None:
    hidden = 3

    def closure() -> int:
        return hidden

    assert not plain_tools._wrap(closure, "closure", "read")
    assert not plain_tools._wrap(len, "len", "read")
    assert not plain_tools._wrap(None, "none", "read")

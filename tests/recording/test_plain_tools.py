"""Plain functions of an unmodified program, declared as tools from outside."""

from __future__ import annotations

import asyncio
import inspect
import os
import subprocess
import sys
from collections.abc import AsyncIterator, Callable, Iterator
from pathlib import Path

import pytest

from agentdbg.model.records import Kind
from agentdbg.recording import plain_tools
from agentdbg.recording.openers import REGISTRY
from agentdbg.store.address import open_store, resolve
from tests.support import launching
from tests.support.environments import NoInterpreter, environment

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
    body = _slow.__code__
    assert plain_tools._wrap(_slow, "_slow", "read")
    assert _slow.__code__ is body, "once is enough"


def test_what_is_no_plain_function_is_left_alone(forgotten: None) -> None:
    assert not plain_tools._wrap(len, "len", "read")
    assert not plain_tools._wrap(None, "none", "read")


def test_a_closure_is_wrapped_with_its_cells(forgotten: None) -> None:
    first, second = 3, [4]

    def plain(more: int) -> int:
        nonlocal first
        first += 1
        return first + second[0] + more

    async def slow(more: int) -> int:
        return first + more

    def each(more: int) -> Iterator[int]:
        yield from (first, second[0], more)

    async def slowly(more: int) -> AsyncIterator[int]:
        yield first + more

    async def gathered() -> list[int]:
        return [item async for item in slowly(1)]

    for function in (plain, slow, each, slowly):
        assert plain_tools._wrap(function, function.__name__, "read")
    assert (plain(1), first) == (9, 4)
    assert asyncio.run(slow(1)) == 5
    assert list(each(9)) == [4, 4, 9]
    assert asyncio.run(gathered()) == [5]


ODD = """
import functools

def again(x): return "first"
def again(x): return "second"

anonymous = lambda x: x

def without_wraps(function):
    def inner(x): return function(x)
    return inner

def counted(function):
    calls = []
    @functools.wraps(function)
    def inner(x):
        calls.append(x)
        return function(x)
    return inner

@without_wraps
def lost_its_name(x): return x

@counted
def kept_its_name(x): return x

@functools.cache
def cached(x): return x

try:
    import nowhere
except ImportError:
    def fallback(x): return x

def made():
    n = 1
    def closure(x): return x + n
    return closure
closure = made()

class Callable:
    def __call__(self, x): return x
instance = Callable()

import one, two
print(again(1), anonymous(2), lost_its_name(3), kept_its_name(4), cached(5), cached(5), fallback(6), closure(7))
print(instance(8), one.send(9), two.send(10))
def last(x): return x
"""
ODD_CALLS = [
    *("again", "anonymous", "lost_its_name", "kept_its_name", "cached", "fallback", "closure"),
    *("send", "send"),
]


@pytest.mark.wide
@pytest.mark.parametrize("version", ["3.12", "3.13"])
def test_functions_of_every_make_are_tools_where_python_monitors(version: str, tmp_path: Path) -> None:
    try:
        python = environment(python=version)
    except NoInterpreter as missing:
        pytest.skip(str(missing))
    test_functions_of_every_make_are_tools_and_what_is_none_is_said(tmp_path, str(python))


def test_functions_of_every_make_are_tools_and_what_is_none_is_said(
    tmp_path: Path, python: str = sys.executable
) -> None:
    (tmp_path / "program.py").write_text(ODD, encoding="utf-8")
    for name in ("one", "two"):
        (tmp_path / f"{name}.py").write_text(f"def send(x): return '{name}'\n", encoding="utf-8")
    names = [*dict.fromkeys(ODD_CALLS), "last", "instance", "mistyped", "one:gone", "nowhere:at_all"]
    tools = [word for name in names for word in ("--tool", f"{name}=read")]
    words = [python, "program.py"]
    bare, recorded = launching.run(words, tmp_path), launching.record(words, tmp_path, *tools)
    assert (recorded.status, recorded.stdout) == (bare.status, bare.stdout)
    said = recorded.stderr.decode()
    assert said.endswith(": instance, mistyped, one:gone, nowhere:at_all\n"), said
    source = resolve(open_store(str(tmp_path / ".store")), "@")
    assert [step.name for step in source.steps() if step.kind is Kind.TOOL] == ODD_CALLS


SHADOWING = ("ast", "inspect", "json", "hmac", "dataclasses", "subprocess", "tomllib", "base64", "threading")


def test_the_programs_own_files_are_not_taken_for_the_standard_library(tmp_path: Path) -> None:
    """Only as long as the recorder has nothing to write: from then on it needs the real ones, and says so."""
    (tmp_path / "program.py").write_text("def look(x): return x\nprint('done')\n", encoding="utf-8")
    for name in SHADOWING:
        (tmp_path / f"{name}.py").write_text("print('not to be imported')\nraise RuntimeError\n", encoding="utf-8")
    recorded = launching.record([sys.executable, "program.py"], tmp_path, "--tool", "look=read")
    assert (recorded.status, recorded.stdout) == (0, b"done\n")


def _every_kind(first, /, second=2, *rest, third, fourth=4, **others):
    return first, second, rest, third, fourth, others


def _by_position(first, second=[], /):  # noqa: B006
    return first, second


def _by_name(*, first, second=2):
    return first, second


@pytest.mark.parametrize("function", [_every_kind, _by_position, _by_name])
def test_parameters_of_every_kind_are_kept(function: Callable[..., object], forgotten: None) -> None:
    calls: list[tuple[tuple[object, ...], dict[str, object]]] = [
        ((), {}),
        ((1,), {}),
        ((1, 2), {}),
        ((1, 2, 3), {"third": 5, "first": 6}),
        ((), {"first": 1}),
        ((1,), {"third": 3, "fourth": 9, "else": 0}),
    ]
    signature, before = inspect.signature(function), [_called(function, *call) for call in calls]
    assert plain_tools._wrap(function, function.__name__, "read")
    assert inspect.signature(function) == signature
    assert [_called(function, *call) for call in calls] == before


def _called(function: Callable[..., object], args: tuple[object, ...], kwargs: dict[str, object]) -> object:
    try:
        return function(*args, **kwargs)
    except TypeError as error:
        return str(error)

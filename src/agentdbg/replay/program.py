"""A launched program, started again inside the replay's child: as its own ``__main__``, with its own ``argv``."""

from __future__ import annotations

import os
import random
import sys
from collections.abc import Mapping
from importlib.machinery import SourceFileLoader
from types import ModuleType
from typing import Any

from agentdbg.recording import plain_tools
from agentdbg.replay.entry import CannotStart, where_it_may_be


def run(launch: Mapping[str, Any]) -> None:
    """Run the program to its end; what it raises, ``SystemExit`` included, comes through.

    Args:
        launch: The launch of ``run.json``, its paths expanded.

    Raises:
        CannotStart: The program is not there any more.
    """
    seed = launch.get("random_seed")
    if isinstance(seed, str) and seed.isdigit():
        random.seed(int(seed))
    declare_tools(launch.get("tools"))
    kind, target = str(launch["kind"]), str(launch["target"])
    arguments = [str(word) for word in launch.get("arguments") or []]
    if kind == "script":
        _script(target, str(launch.get("file") or target), arguments)
    elif kind == "module":
        _module(target, arguments)
    elif kind == "code":
        sys.argv = ["-c", *arguments]
        _prepend("")
        exec(compile(target + "\n", "<string>", "exec", dont_inherit=True), vars(_main()))
    else:
        raise CannotStart(f"a program that was started as {kind!r} cannot be started again")


def declare_tools(tools: object) -> None:
    """Take the functions for tools that were declared from outside when it was recorded."""
    if isinstance(tools, dict) and tools:
        plain_tools.install({str(name): str(effect) for name, effect in tools.items()})


def _script(typed: str, file: str, arguments: list[str]) -> None:
    sys.argv = [typed, *arguments]
    if os.path.isdir(file) or file.endswith((".zip", ".pyz")):
        import runpy

        _prepend(file)
        runpy.run_path(file, run_name="__main__")
        return
    try:
        with open(file, "rb") as source:
            text = source.read()
    except OSError as problem:
        words = f"{file} ({problem.strerror}){where_it_may_be(file)}"
        raise CannotStart(f"the recorded program is not there: {words}") from problem
    shown = os.path.join(os.getcwd(), typed)  # as the interpreter calls it: "bin/../main.py" stays that
    file = shown if os.path.normpath(shown) == os.path.normpath(file) else file
    code = compile(text, file, "exec", dont_inherit=True)
    module = _main()
    module.__file__ = file
    module.__loader__ = SourceFileLoader("__main__", file)
    vars(module)["__cached__"] = None
    _prepend(os.path.dirname(os.path.realpath(file)))
    exec(code, vars(module))


def _module(name: str, arguments: list[str]) -> None:
    import runpy

    sys.argv = ["-m", *arguments]
    _prepend(os.getcwd())
    try:
        runpy._run_module_as_main(name)  # type: ignore[attr-defined]  # what ``python -m`` itself calls
    except ImportError as problem:
        if problem.name is not None and (name + ".").startswith(problem.name + "."):
            raise CannotStart(f"the recorded program is not there: no module {problem.name}") from problem
        raise


def _main() -> ModuleType:
    """An empty ``__main__``; the child's own is kept from the program."""
    module = ModuleType("__main__")
    vars(module)["__builtins__"] = sys.modules["builtins"]
    vars(module)["__annotations__"] = {}
    sys.modules["__main__"] = module
    return module


def _prepend(place: str) -> None:
    sys.path[:] = [place, *(each for each in sys.path if each != place)]

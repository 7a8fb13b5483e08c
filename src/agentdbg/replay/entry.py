"""The recorded entry point, found again in the program as it is now, and called with the recorded arguments."""

from __future__ import annotations

import importlib
import inspect
import os
import sys
from collections.abc import Callable, Mapping
from types import ModuleType
from typing import Any

from agentdbg.model.canonical import Opaque, loads
from agentdbg.replay.main_module import MAIN, WORKER, compiled


class CannotStart(Exception):
    """The recorded entry point cannot be called here."""


def load(entry: Mapping[str, Any], file: str | None) -> Callable[..., Any]:
    """Import the program and look the agent up.

    Raises:
        CannotStart: The program or the agent is not there any more.
    """
    name = str(entry["module"])
    module = _script(file) if name == MAIN else _module(name)
    found: Any = module
    for part in str(entry["qualname"]).split("."):
        found = getattr(found, part, None)
        if found is None:
            raise CannotStart(f"{file or name} has no {entry['qualname']} any more: the program has changed")
    if not callable(found):
        raise CannotStart(f"{entry['qualname']} is no function any more")
    target: Callable[..., Any] = found
    return target


def start(target: Callable[..., Any], arguments_path: str, items: int | None) -> object:
    """Call the agent and see it through; of a generator that was given up, take as many items as then.

    Raises:
        CannotStart: The recorded arguments do not fit it.
    """
    with open(arguments_path, "rb") as file:
        arguments = loads(file.read())
    if not isinstance(arguments, dict):
        raise CannotStart("the recorded arguments are no mapping")
    agent = getattr(getattr(target, "__wrapped__", target), "__agentdbg_agent__", None)
    for name, make in (agent.factories if agent is not None else {}).items():
        arguments[name] = make()
    thaw = getattr(agent, "thaw", None)  # a framework's method says itself what its arguments were made of
    if thaw is not None:
        args, kwargs = thaw(arguments)
        return see_through(target(*args, **kwargs), items)
    bound = bind_arguments(target, arguments)
    return see_through(target(*bound.args, **bound.kwargs), items)


def _module(name: str) -> ModuleType:
    try:
        module = importlib.import_module(name)
    except ModuleNotFoundError as problem:
        if problem.name is None or not (name + ".").startswith(problem.name + "."):
            raise
        raise CannotStart(f"the recorded program is not there: no module {problem.name}") from problem
    sys.modules["__main__"] = module  # recorded exceptions of a program run with -m are named after __main__
    return module


def where_it_may_be(file: str | None) -> str:
    """What to do about a path whose root nobody knows here, as of a run out of a pack; empty for another."""
    root = (file or "").partition("/")[0]
    return f"; say where it is here with --map {root}=DIRECTORY" if root.startswith("{") else ""


def _script(file: str | None) -> ModuleType:
    """Run a script, but not what it does when it is started."""
    if not file or not os.path.isfile(file):
        raise CannotStart(f"the recorded program is not there: {file}{where_it_may_be(file)}")
    with open(file, "rb") as source:
        code, name = compiled(source.read(), file)
    module = ModuleType(name)
    module.__file__ = file
    sys.modules[MAIN] = sys.modules[WORKER] = module
    sys.path[0:0] = [os.path.dirname(file)]
    exec(code, vars(module))
    return module


def bind_arguments(target: Callable[..., Any], arguments: dict[str, Any]) -> inspect.BoundArguments:
    """Recorded arguments as a call takes them.

    Raises:
        CannotStart: They do not fit the function.
    """
    signature = inspect.signature(target)
    parameters = signature.parameters
    if set(arguments) == {"args", "kwargs"} and not set(arguments) <= set(parameters):
        return signature.bind(*arguments["args"], **arguments["kwargs"])
    unknown = sorted(set(arguments) - set(parameters))
    if unknown:
        raise CannotStart(f"{name_of(target)} has no parameter {unknown[0]!r} any more")
    optional = (inspect.Parameter.VAR_POSITIONAL, inspect.Parameter.VAR_KEYWORD)
    for name, parameter in parameters.items():
        if isinstance(arguments.get(name), Opaque):
            raise CannotStart(f"argument {name} of {name_of(target)} could not be recorded")
        if name not in arguments and parameter.default is parameter.empty and parameter.kind not in optional:
            raise CannotStart(_lacking(target, name))
    bound = inspect.BoundArguments(signature, {})
    bound.arguments.update({name: arguments[name] for name in parameters if name in arguments})
    return bound


def _lacking(target: Callable[..., Any], name: str) -> str:
    if name in ("self", "cls"):
        return (
            f"{name_of(target)} is a method, and its object is not in the record: "
            f"declare how to make one, @agentdbg.agent(factories={{{name!r}: …}})"
        )
    return f"{name_of(target)} has a new parameter {name!r} that the record has no value for"


def name_of(target: Callable[..., Any]) -> str:
    """A function's name within its module."""
    return str(getattr(target, "__qualname__", target))


def see_through(made: Any, items: int | None) -> object:
    """What a call comes to: coroutines and generators run to their end."""
    if inspect.iscoroutine(made):
        import asyncio

        return asyncio.run(made)
    if inspect.isgenerator(made):
        return _take(made, items)
    if inspect.isasyncgen(made):
        import asyncio

        return asyncio.run(_take_async(made, items))
    return made


def _take(source: Any, items: int | None) -> list[object]:
    taken: list[object] = []
    while items is None or len(taken) < items:
        try:
            taken.append(next(source))
        except StopIteration:
            return taken
    source.close()
    return taken


async def _take_async(source: Any, items: int | None) -> list[object]:
    taken: list[object] = []
    while items is None or len(taken) < items:
        try:
            taken.append(await anext(source))
        except StopAsyncIteration:
            return taken
    await source.aclose()
    return taken

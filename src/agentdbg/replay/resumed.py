"""The agent of a run, gone on from a checkpoint's state instead of started: runs in the replay's child."""

from __future__ import annotations

import inspect
import json
import sys
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

from agentdbg.model.canonical import loads
from agentdbg.recording import pins
from agentdbg.recording.calls import ReplayStop
from agentdbg.recording.decorators import wrapped
from agentdbg.recording.revive import CannotRevive, thaw
from agentdbg.replay.clock import DrawsOfTheStart, RecordedDraws
from agentdbg.replay.entry import CannotStart, bind_arguments, name_of, see_through

if TYPE_CHECKING:
    from agentdbg.recording.active import ActiveCall
    from agentdbg.recording.openers import AgentOpener
    from agentdbg.replay.answers import ExactAnswers

OBJECTS = ("self", "cls")


class CannotRestore(ReplayStop):
    """The checkpoint cannot be gone on from here."""


class RestoredRoot:
    """Opens the agent's root call, with its recorded arguments, around the function that goes on from the state."""

    def __init__(self, opener: AgentOpener, bound: inspect.BoundArguments, restore: Mapping[str, Any]) -> None:
        self._opener, self._bound, self._restore = opener, bound, restore

    def open(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> ActiveCall | None:
        """Write the intent as that of the recorded call; lanes and events are counted on."""
        active = self._opener.open(self._bound.args, self._bound.kwargs)
        if active is not None:
            lane = active.scope.lane
            lane.number_from(int(self._restore["first_lane"]))
            lane.events = int(self._restore["events"])
        return active


def seed(restore: Mapping[str, Any], answers: ExactAnswers, draws: RecordedDraws) -> None:
    """Have the wanted call of a graph of LangGraph go on from its recorded checkpoint.

    Until the graph has the checkpoint it draws what it drew when it was called; behind it, what was drawn behind it.
    """
    from agentdbg.recording.frameworks import langgraph_seeding

    with open(str(restore["draws"]), "rb") as file:
        first = DrawsOfTheStart(json.load(file), draws)

    def refuse(reason: str) -> BaseException:
        return answers.latch(CannotRestore(reason), {"event": "cannot_restore", "reason": reason})

    def began() -> None:
        pins.drawer = first

    def restored() -> None:
        pins.drawer = draws
        draws.time.to(float(restore["at"]))

    langgraph_seeding.plan = langgraph_seeding.Plan(
        graph=str(restore["graph"]),
        call=int(restore["call"]),
        seed=str(restore["seed"]),
        values=restore["values"],
        items=restore["items"],
        first_lane=int(restore["first_lane"]),
        events=int(restore["events"]),
        refuse=refuse,
        began=began,
        restored=restored,
    )


def check_seeded() -> None:
    """End the replay with a reason if the graph was not called that was to go on."""
    from agentdbg.recording.frameworks import langgraph_seeding

    wanted = langgraph_seeding.plan
    if wanted is not None and wanted.met < wanted.call:
        wanted.refuse(f"the program no longer comes to call {wanted.call} of graph {wanted.graph}")


def go_on(target: Callable[..., Any], arguments_path: str, restore: Mapping[str, Any]) -> object:
    """Call the agent's resume entry with the checkpoint's state, and see it through.

    Raises:
        CannotStart: There is no such entry any more, or the state cannot be made again.
    """
    inner = getattr(target, "__wrapped__", target)
    opener: AgentOpener | None = getattr(inner, "__agentdbg_agent__", None)
    options = getattr(opener, "options", None)
    entry = getattr(options, "resume", None)
    if opener is None or entry is None:
        raise CannotStart(f"{name_of(target)} has no resume entry any more: @agentdbg.agent(resume=…)")
    if inspect.isgeneratorfunction(inner) or inspect.isasyncgenfunction(inner):
        raise CannotStart(f"{name_of(target)} is a generator: what it had yielded before the checkpoint is not there")
    with open(arguments_path, "rb") as file:
        arguments = loads(file.read())
    if not isinstance(arguments, dict):
        raise CannotStart("the recorded arguments are no mapping")
    for name, make in opener.factories.items():
        arguments[name] = make()
    bound = bind_arguments(target, arguments)
    resume = _function(entry, inner, arguments)
    call = wrapped(resume, RestoredRoot(opener, bound, restore))
    return see_through(call(_state(str(restore["state"])), str(restore["node"])), None)


def _function(entry: str | Callable[..., Any], agent: Any, arguments: Mapping[str, Any]) -> Callable[..., Any]:
    """The resume entry itself: a method of the agent's object, or a function of its module."""
    holder = next((arguments[name] for name in OBJECTS if name in arguments), None)
    if not isinstance(entry, str):
        found: Any = entry
        if holder is not None:  # a function of the class body: it takes the object first
            found = entry.__get__(holder) if hasattr(entry, "__get__") else entry
    elif holder is not None:
        found = getattr(holder, entry, None)
    else:
        module = sys.modules.get(str(getattr(agent, "__module__", "")))
        found = getattr(agent, "__globals__", vars(module) if module is not None else {}).get(entry)
    if not callable(found):
        raise CannotStart(f"the resume entry {entry!r} of {name_of(agent)} is not there any more")
    function: Callable[..., Any] = found
    return function


def _state(path: str) -> object:
    with open(path, "rb") as file:
        raw = file.read()
    try:
        return thaw(loads(raw))
    except CannotRevive as problem:
        raise CannotStart(f"the checkpoint's state cannot be made again: {problem}") from problem

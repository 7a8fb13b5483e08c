"""A graph of LangGraph that goes on from one of its recorded checkpoints instead of from its input: in replays alone.

The graph runs as the program made it and calls it. Where it would ask its saver for the thread's latest checkpoint, it
gets the recorded one, from memory; its input is then left out, as when a graph is called to go on. No saver is asked.
"""

from __future__ import annotations

import copy
import functools
import sys
from collections.abc import AsyncGenerator, Callable, Generator, Mapping
from contextlib import suppress
from contextvars import ContextVar
from dataclasses import dataclass
from types import ModuleType, SimpleNamespace
from typing import Any

from agentdbg.model.canonical import loads
from agentdbg.recording.active import ActiveCall
from agentdbg.recording.frameworks.langchain_values import CODEC
from agentdbg.recording.frameworks.langgraph_frames import resumed, waiting
from agentdbg.recording.frameworks.langgraph_seeds import unpacked
from agentdbg.recording.frameworks.patches import replace_method

_CONF = "configurable"
_RESUMING, _REPLAY_STATE, _HIDDEN = "__pregel_resuming", "__pregel_replay_state", "agentdbg_seed"
_ROOT_LANE = "0"


@dataclass(slots=True)
class Plan:
    """Which call of a graph goes on from where.

    Attributes:
        graph: Its name.
        call: Which of the calls of graphs of that name in the run's own line of execution, from 1.
        seed: File with the recorded checkpoint.
        values: File with the edited values, by channel.
        items: File with what its stream had given before the checkpoint.
        first_lane: Number of the first lane that is forked behind it.
        events: Number of events before it.
        refuse: Ends the replay with a reason; returns what to raise.
        began: Called when the graph is called.
        restored: Called when it has the checkpoint, and goes on.
        met: How many of the calls were made.
    """

    graph: str
    call: int
    seed: str
    values: str | None
    items: str | None
    first_lane: int
    events: int
    refuse: Callable[[str], BaseException]
    began: Callable[[], None]
    restored: Callable[[], None]
    met: int = 0


@dataclass(frozen=True, slots=True)
class Seed:
    """What a graph goes on from; see `langgraph_seeds.members`."""

    told: Mapping[str, Any]
    values: Mapping[str, Any]
    sends: list[Any]
    streamed: bool
    items: tuple[Any, ...] = ()


plan: Plan | None = None
_pending: ContextVar[Seed | None] = ContextVar("agentdbg_langgraph_seed", default=None)
_given: ContextVar[tuple[Any, ...]] = ContextVar("agentdbg_langgraph_given", default=())


def install(loop: ModuleType) -> None:
    """Patch the classes that run a graph, where a checkpoint is to be restored."""
    if plan is None:
        return
    replace_method(loop.SyncPregelLoop, "__enter__", _entering)
    replace_method(loop.AsyncPregelLoop, "__aenter__", _entering_async)
    replace_method(loop.PregelLoop, "_first", _beginning)


def met(active: ActiveCall, name: str, graph: Any) -> None:
    """A graph is called: it is given the checkpoint if it is the one.

    Raises:
        BaseException: The checkpoint cannot be made again here: the replay is over.
    """
    wanted, lane = plan, active.scope.lane
    if wanted is None or lane.path != _ROOT_LANE or name != wanted.graph:
        return
    wanted.met += 1
    if wanted.met != wanted.call:
        return
    lane.number_from(wanted.first_lane)
    lane.events = wanted.events
    try:
        seed = _read(wanted)
    except (OSError, ValueError) as problem:
        raise wanted.refuse(f"the checkpoint of {wanted.graph} cannot be made again: {problem}") from problem
    if unknown := sorted(set(seed.values) - set(map(str, graph.channels))):
        raise wanted.refuse(f"{wanted.graph} has no channel {', '.join(unknown)} any more")
    active.run.waiting = bool(seed.told["waits"])
    waiting.pop(active.run, None)
    if seed.told["waiting"]:
        waiting[active.run] = set(seed.told["waiting"])
    _pending.set(seed)
    _given.set(seed.items)
    resumed.set(False)
    wanted.began()


def _read(wanted: Plan) -> Seed:
    told = _loaded(wanted.seed)
    values = {name: CODEC.thaw(value) for name, value in told["values"].items()}
    if wanted.values is not None:
        values |= {str(name): CODEC.thaw(value) for name, value in _loaded(wanted.values).items()}
    items = () if wanted.items is None else tuple(CODEC.thaw(item) for item in _loaded(wanted.items))
    sends = [CODEC.thaw(each) for each in told["sends"]]
    return Seed(told, values, sends, told.get("given") is not None, items)


def _loaded(path: str) -> Any:
    with open(path, "rb") as file:
        return loads(file.read())


# -- what the stream had given ------------------------------------------------------------------------


def after_given(original: Callable[..., Any]) -> Callable[..., Any]:
    """A graph's ``stream`` with what it had given before the checkpoint ahead."""

    @functools.wraps(original)
    def stream(*args: Any, **kwargs: Any) -> Generator[Any, Any, Any]:
        yield from _taken()
        return (yield from original(*args, **kwargs))

    return stream


def after_given_async(original: Callable[..., Any]) -> Callable[..., Any]:
    """The same of ``astream``."""

    @functools.wraps(original)
    async def stream(*args: Any, **kwargs: Any) -> AsyncGenerator[Any, None]:
        for item in _taken():
            yield item
        source = original(*args, **kwargs)
        try:
            async for item in source:
                yield item
        finally:
            await source.aclose()

    return stream


def _taken() -> tuple[Any, ...]:
    found = _given.get()
    _given.set(())
    return found


# -- the loop -----------------------------------------------------------------------------------------


class SeededSaver:
    """Holds one checkpoint, and saves nothing."""

    def __init__(self, loop: Any, seed: Seed) -> None:
        told = seed.told
        place = {"checkpoint_ns": "", "checkpoint_id": told["id"]}
        thread = loop.config.get(_CONF, {}).get("thread_id")
        if thread is not None:
            place["thread_id"] = str(thread)
        before = None if told["before"] is None else {_CONF: {**place, "checkpoint_id": told["before"]}}
        checkpoint = {
            "v": told["v"],
            "ts": told["ts"],
            "id": told["id"],
            "channel_values": dict(seed.values),
            "channel_versions": unpacked(told["versions"]),
            "versions_seen": {name: unpacked(seen) for name, seen in told["seen"].items()},
            "pending_sends": list(seed.sends),
            "updated_channels": told["updated"],
        }
        metadata = {"source": "loop", "step": told["step"], "parents": {}}
        made = sys.modules["langgraph.checkpoint.base"].CheckpointTuple
        self._tuple = made({_CONF: place}, checkpoint, metadata, before, [])

    def get_tuple(self, config: object) -> Any:
        """The recorded checkpoint."""
        return self._tuple

    async def aget_tuple(self, config: object) -> Any:
        """The recorded checkpoint."""
        return self._tuple


def _entering(original: Callable[..., Any]) -> Callable[..., Any]:
    def enter(self: Any) -> Any:
        seed = _seed_for(self)
        if seed is None:
            return original(self)
        saver = _seeded(self, seed)
        try:
            return original(self)
        finally:
            _entered(self, seed, saver)

    return enter


def _entering_async(original: Callable[..., Any]) -> Callable[..., Any]:
    async def enter(self: Any) -> Any:
        seed = _seed_for(self)
        if seed is None:
            return await original(self)
        saver = _seeded(self, seed)
        try:
            return await original(self)
        finally:
            _entered(self, seed, saver)

    return enter


def _seed_for(loop: Any) -> Seed | None:
    seed = _pending.get()
    if seed is None or loop.is_nested:
        return None
    _pending.set(None)
    return seed


def _seeded(loop: Any, seed: Seed) -> Any:
    """Put the seeded saver in the place of the graph's own, which is returned."""
    saver = loop.checkpointer
    loop.input = None
    loop.checkpointer = SeededSaver(loop, seed)
    loop.config, loop.checkpoint_config = _unaddressed(loop.config), _unaddressed(loop.checkpoint_config)
    for name, value in (("_addressed", False), ("skip_done_tasks", True)):
        if hasattr(loop, name):
            setattr(loop, name, value)
    setattr(loop, _HIDDEN, seed)
    return saver


def _unaddressed(config: Mapping[str, Any]) -> dict[str, Any]:
    """A configuration that names no checkpoint."""
    held = {name: value for name, value in config.get(_CONF, {}).items() if name != "checkpoint_id"}
    return {**config, _CONF: held}


def _entered(loop: Any, seed: Seed, saver: Any) -> None:
    loop.checkpointer = saver
    loop.stop = seed.told["stop"]
    if saver is None:
        loop.checkpoint_config = _unaddressed(loop.checkpoint_config)
        loop.prev_checkpoint_config = None


def _beginning(original: Callable[..., Any]) -> Callable[..., Any]:
    """Let the graph begin as one that goes on does, and then take back what only that does."""

    def first(self: Any, *args: Any, **kwargs: Any) -> Any:
        seed: Seed | None = vars(self).get(_HIDDEN)
        if seed is None:
            return original(self, *args, **kwargs)
        _fill(self, seed)
        seen = copy.deepcopy(self.checkpoint["versions_seen"])
        stream = self.stream
        if seed.streamed:
            self.stream = None  # these values had been given at the checkpoint
        try:
            original(self, *args, **kwargs)
        finally:
            self.stream = stream
        self.checkpoint["versions_seen"] = seen
        held = {name: value for name, value in self.config[_CONF].items() if name not in (_RESUMING, _REPLAY_STATE)}
        if seed.told["resuming"] is not None and not _forgets(type(self)):
            held[_RESUMING] = seed.told["resuming"]
        self.config = {**self.config, _CONF: held}
        if plan is not None:
            plan.restored()
        if not hasattr(self, "after_tick"):  # called by the first tick
            stop_again(self)
        return None if seed.told["updated"] is None else set(seed.told["updated"])

    return first


def _fill(loop: Any, seed: Seed) -> None:
    """Some versions take a saved ``None`` for nothing at all."""
    for name in [name for name, value in seed.values.items() if value is None]:
        channel = loop.channels[name]
        try:
            channel.get()
        except Exception:  # it is empty
            with suppress(Exception):
                channel.update([None])


def _forgets(kind: Any) -> bool:
    """Whether this version's super-steps take back, at their end, that the graph was called to go on."""
    found: Any = getattr(kind, "after_tick", None)
    code = getattr(getattr(found, "__wrapped__", found), "__code__", None)
    return code is not None and "CONFIG_KEY_RESUMING" in code.co_names


def stop_again(loop: Any) -> None:
    """Stop where the recorded run stopped behind the checkpoint's nodes, as the graph is told to (``interrupt_after``).

    Raises:
        GraphInterrupt: It stops.
    """
    seed: Seed | None = vars(loop).pop(_HIDDEN, None)
    if seed is None or not loop.interrupt_after:
        return
    algorithm: Any = sys.modules.get("langgraph.pregel._algo") or sys.modules["langgraph.pregel.algo"]
    ran = {name: SimpleNamespace(name=name, config=None) for name in seed.told["ran"]}
    if algorithm.should_interrupt(loop.checkpoint, loop.interrupt_after, ran.values()):
        loop.status, loop.tasks = "interrupt_after", ran
        if hasattr(loop, "_prepare_tasks_and_emit_checkpoint"):
            loop._prepare_tasks_and_emit_checkpoint()
        raise sys.modules["langgraph.errors"].GraphInterrupt

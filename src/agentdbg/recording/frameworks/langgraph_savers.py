"""Checkpointers and stores of LangGraph as a seam: what is read is a step, and is served in a replay.

Whatever saver it is (in memory, SQLite, Postgres, an own one): its class is patched when it is made, so that a replay
gets the recorded tuples and items and touches no database.

- Reads (``get_tuple``, ``list``, a store's ``get``, ``search``, ``list_namespaces``) are read steps inside a run.
- Writes of a checkpointer are no steps: the states are the run's checkpoints already. In a replay they are swallowed.
- Writes of a store are steps of effect *write*: they are served, and so not done again, in a replay.
- Outside every run nothing is recorded; a replay then finds nothing saved.
"""

from __future__ import annotations

import functools
from collections.abc import AsyncGenerator, Callable, Generator, Mapping
from types import FunctionType, ModuleType
from typing import Any

from agentdbg.model.records import Kind
from agentdbg.recording import drive
from agentdbg.recording import scope as scopes
from agentdbg.recording.arguments import Binder
from agentdbg.recording.framework_calls import FrameworkTool, ToolDescription
from agentdbg.recording.frameworks.langchain_values import CODEC
from agentdbg.recording.frameworks.patches import MARK, replace_method
from agentdbg.recording.process import recorder

Wrap = Callable[[Callable[..., Any]], Callable[..., Any]]
_CONFIGURABLE = ("thread_id", "checkpoint_ns", "checkpoint_id")
_STORE_READS = ("get", "search", "list_namespaces")
_STORE_WRITES = ("put", "delete")


def install(module: ModuleType) -> None:
    """Patch the savers' base class, of ``langgraph.checkpoint.base``, and every class made of it."""
    wraps: dict[str, Wrap] = {}
    for name in ("get_tuple", "get_delta_channel_history"):
        nothing: Any = None if name == "get_tuple" else {}
        wraps[name] = _read(f"checkpointer.{name}", drive.function, _giving(nothing))
        wraps[f"a{name}"] = _read(f"checkpointer.{name}", drive.coroutine, _giving_async(nothing))
    wraps["list"] = _read("checkpointer.list", drive.generator, _none)
    wraps["alist"] = _read("checkpointer.list", drive.async_generator, _none_async)
    wraps["put"] = lambda original: _swallowing(original, _saved)
    wraps["aput"] = lambda original: _swallowing_async(original, _saved)
    for name in ("put_writes", "delete_thread", "delete_for_runs", "copy_thread", "prune", "setup"):
        wraps[name] = wraps[f"a{name}"] = _swallowing_any
    watch(module.BaseCheckpointSaver, wraps)


def watch(base: Any, wraps: Mapping[str, Wrap]) -> None:
    """Patch the methods that the classes below ``base`` define, of those that exist and of those to come."""
    if MARK in vars(base):
        return
    setattr(base, MARK, True)
    before = vars(base).get("__init_subclass__")

    def init_subclass(cls: Any, /, **kwargs: Any) -> None:
        if before is None:
            super(base, cls).__init_subclass__(**kwargs)
        else:
            before.__get__(None, cls)(**kwargs)
        _patch(cls, wraps)

    base.__init_subclass__ = classmethod(init_subclass)
    waiting = [base]
    while waiting:
        kind = waiting.pop()
        _patch(kind, wraps)
        waiting.extend(type.__subclasses__(kind))


def _patch(kind: Any, wraps: Mapping[str, Wrap]) -> None:
    for name, wrap in wraps.items():
        if isinstance(vars(kind).get(name), FunctionType):
            replace_method(kind, name, wrap)


def replaying() -> bool:
    """Whether this process replays a run."""
    found = recorder()
    return found is not None and found.answerer is not None


# -- reads ------------------------------------------------------------------------------------------


class Reads(FrameworkTool):
    """Opens the reads of one method; outside a run there is nothing to open."""

    def open(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """Write the intent; ``None`` when nothing is recorded."""
        return None if scopes.current() is None else super().open(args, kwargs)


def _read(name: str, form: Any, idle: Callable[..., Any]) -> Wrap:
    """Reads are recorded inside a run, and served; outside a run they are done, but not in a replay."""

    def wrap(original: Callable[..., Any]) -> Callable[..., Any]:
        binder = Binder(original)

        def describe(args: tuple[Any, ...], kwargs: dict[str, Any]) -> ToolDescription:
            return ToolDescription(name, _shown(binder(args, kwargs)), "read")

        driven = form(Reads(describe, CODEC, Kind.READ), original)

        def read(*args: Any, **kwargs: Any) -> Any:
            done = idle if scopes.current() is None and replaying() else driven
            return done(*args, **kwargs)

        return read

    return wrap


def _shown(arguments: dict[str, Any]) -> dict[str, Any]:
    return {
        name: _place(value) if name in ("config", "before") else CODEC.freeze(value)
        for name, value in arguments.items()
        if value is not None
    }


def _place(config: Any) -> Any:
    """What a configuration says of where to look; the rest of it is the running graph's."""
    configurable = config.get("configurable") if isinstance(config, Mapping) else None
    if not isinstance(configurable, Mapping):
        return None
    return {name: configurable[name] for name in _CONFIGURABLE if configurable.get(name) is not None}


def _giving(value: Any) -> Callable[..., Any]:
    return lambda *args, **kwargs: value


def _giving_async(value: Any) -> Callable[..., Any]:
    async def give(*args: Any, **kwargs: Any) -> Any:
        return value

    return give


def _none(*args: Any, **kwargs: Any) -> Generator[Any, None, None]:
    yield from ()


async def _none_async(*args: Any, **kwargs: Any) -> AsyncGenerator[Any, None]:
    nothing: tuple[Any, ...] = ()
    for item in nothing:
        yield item


# -- writes of a checkpointer -------------------------------------------------------------------------


def _swallowing(original: Callable[..., Any], answer: Callable[..., Any]) -> Callable[..., Any]:
    def write(*args: Any, **kwargs: Any) -> Any:
        return answer(*args, **kwargs) if replaying() else original(*args, **kwargs)

    return write


def _swallowing_async(original: Callable[..., Any], answer: Callable[..., Any]) -> Callable[..., Any]:
    async def write(*args: Any, **kwargs: Any) -> Any:
        return answer(*args, **kwargs) if replaying() else await original(*args, **kwargs)

    return write


def _swallowing_any(original: Callable[..., Any]) -> Callable[..., Any]:
    """``setup`` is a coroutine function in some classes and a plain one in others."""
    flags = original.__code__.co_flags if isinstance(original, FunctionType) else 0
    swallowing = _swallowing_async if flags & 0x80 else _swallowing
    return swallowing(original, _giving(None))


def _saved(self: Any, config: Any, checkpoint: Any, metadata: Any = None, new_versions: Any = None) -> dict[str, Any]:
    """What a saver's ``put`` gives: where the checkpoint can be found."""
    configurable = config["configurable"]
    return {
        "configurable": {
            "thread_id": configurable.get("thread_id"),
            "checkpoint_ns": configurable.get("checkpoint_ns", ""),
            "checkpoint_id": checkpoint["id"],
        }
    }


# -- stores -------------------------------------------------------------------------------------------


def install_store(module: ModuleType) -> None:
    """Patch the stores' base class, of ``langgraph.store.base``, and every class made of it."""
    wraps: dict[str, Wrap] = {}
    for name in (*_STORE_READS, *_STORE_WRITES):
        effect = "read" if name in _STORE_READS else "write"
        wraps[name] = functools.partial(_stored, name, effect, drive.function)
        wraps[f"a{name}"] = functools.partial(_stored, name, effect, drive.coroutine)
    wraps["batch"] = functools.partial(_stored, "batch", "", drive.function)
    wraps["abatch"] = functools.partial(_stored, "batch", "", drive.coroutine)
    for name in ("setup", "asetup"):
        wraps[name] = _swallowing_any
    watch(module.BaseStore, wraps)


def _stored(name: str, effect: str, form: Any, original: Callable[..., Any]) -> Callable[..., Any]:
    """One method of a store. The others come through ``batch``, which is a step only when it is called by itself."""
    binder = Binder(original)

    def describe(args: tuple[Any, ...], kwargs: dict[str, Any]) -> ToolDescription | None:
        here = scopes.current()
        if name == "batch" and here is not None and here.tool_name.startswith("store."):
            return None
        arguments = binder(args, kwargs)
        said = effect or ("write" if _writes(arguments) else "read")
        given = {key: each for key, each in arguments.items() if each is not None and not _is_left_out(each)}
        return ToolDescription(f"store.{name}", {key: CODEC.freeze(each) for key, each in given.items()}, said)

    made: Callable[..., Any] = form(Reads(describe, CODEC, Kind.READ if effect == "read" else Kind.TOOL), original)
    return made


def _is_left_out(value: object) -> bool:
    return type(value).__name__ == "NotProvided"


def _writes(arguments: Mapping[str, Any]) -> bool:
    operations = arguments.get("ops")
    return not isinstance(operations, list | tuple) or any(type(op).__name__ == "PutOp" for op in operations)

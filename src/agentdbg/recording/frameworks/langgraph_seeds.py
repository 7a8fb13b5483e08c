"""A checkpoint of LangGraph's as a saver keeps it: written down where the nodes before it declare that a run may go on.

    graph.add_node("plan", plan, metadata={"agentdbg": {"can_resume": True}})

A whole graph declares it by ``graph.with_config(metadata=…)``, programs that cannot be changed by the setting
``langgraph.can_resume``. Nothing is guessed: a checkpoint behind several nodes needs the word of each.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from fnmatch import fnmatchcase
from typing import Any

from agentdbg.model.canonical import narrowed_paths
from agentdbg.recording.frameworks.langchain_values import CODEC
from agentdbg.recording.frameworks.langgraph_frames import given_so_far, waiting
from agentdbg.recording.run import RunRecording

_DECLARATION = "agentdbg"
_RESUMING = "__pregel_resuming"
_PADDED = re.compile(r"0*(\d{1,31})\.\d.*")
_UNSAVED = {
    "UntrackedValue": "which LangGraph does not save either",
    "DeltaChannel": "which is made of the writes of many checkpoints",
}


def declared(loop: Any, allowed: Sequence[str]) -> dict[str, object]:
    """What the nodes that just ran say of going on from here, as attributes of the checkpoint.

    Args:
        loop: The running graph.
        allowed: Patterns of the nodes that the settings allow it for.
    """
    around = _declaration(loop.config) if loop.is_nested else None  # of the node that the graph is called in
    said = [_said(task, allowed, around) for task in loop.tasks.values()]
    if any(can is False for can, _ in said):
        reasons = [reason for can, given in said if can is False for reason in given]
        return {"can_resume": False, **({"unsafe_reasons": reasons} if reasons else {})}
    return {"can_resume": True} if said and all(can for can, _ in said) else {}


def _said(task: Any, allowed: Sequence[str], around: object) -> tuple[bool | None, list[str]]:
    found = _declaration(task.config)
    can = found.get("can_resume") if isinstance(found, Mapping) and found != around else None
    if isinstance(found, Mapping) and isinstance(can, bool):
        reasons = found.get("unsafe_reasons") or ()
        return can, [reasons] if isinstance(reasons, str) else [str(each) for each in reasons]
    return True if any(fnmatchcase(str(task.name), pattern) for pattern in allowed) else None, []


def _declaration(config: object) -> object:
    metadata = config.get("metadata") if isinstance(config, Mapping) else None
    return metadata.get(_DECLARATION) if isinstance(metadata, Mapping) else None


def members(run: RunRecording, loop: Any, step: str | None) -> dict[str, object]:
    """The member ``seed`` of a checkpoint's record: what a restored run is given.

    Args:
        run: The run that is recorded.
        loop: The running graph, behind a super-step.
        step: The graph's own step.
    """
    lost: list[str] = []
    values = dict(_values(loop, lost.append))
    frozen = {name: CODEC.freeze(value) for name, value in values.items()}
    lost += [f"a restored run gets the base type: {place}" for place in narrowed_paths(frozen)]
    checkpoint = loop.checkpoint
    before = (loop.prev_checkpoint_config or {}).get("configurable", {}).get("checkpoint_id")
    updated = checkpoint.get("updated_channels")
    seed = {
        "id": checkpoint["id"],
        "ts": checkpoint["ts"],
        "v": checkpoint.get("v"),
        "step": loop.step - 1,
        "stop": loop.stop,
        "values": frozen,
        "versions": _packed(checkpoint["channel_versions"], lost.append),
        "seen": {str(name): _packed(seen, lost.append) for name, seen in checkpoint["versions_seen"].items()},
        "updated": sorted(map(str, updated)) if updated is not None else None,
        "sends": [CODEC.freeze(each) for each in checkpoint.get("pending_sends") or ()],
        "before": before,
        "resuming": loop.config.get("configurable", {}).get(_RESUMING),
        "ran": sorted({str(task.name) for task in loop.tasks.values()}),
        "waits": run.waiting,
        "waiting": sorted(waiting.get(run) or ()),
        "given": given_so_far(loop, step),
    }
    encoded = run.encode({**seed, "lost": lost})
    found: dict[str, object] = {"seed": run.body(encoded.data)}
    return {**found, "seed_holes": list(encoded.holes)} if encoded.holes else found


def _values(loop: Any, lose: Callable[[str], None]) -> Iterator[tuple[str, Any]]:
    """What each channel would be saved as; those that hold nothing are left out."""
    for name, channel in loop.channels.items():
        kinds = {kind.__name__ for kind in type(channel).__mro__}
        if why := next((why for kind, why in _UNSAVED.items() if kind in kinds), None):
            if _holds(channel):
                lose(f"channel {name} is a {type(channel).__name__}, {why}")
            continue
        with suppress(Exception):  # an empty channel raises in some versions
            value = channel.checkpoint()
            if type(value) is not object and name in loop.checkpoint["channel_versions"]:
                yield str(name), value


def _holds(channel: Any) -> bool:
    try:
        channel.get()
    except Exception:  # an empty channel raises
        return False
    return True


def _packed(versions: Mapping[Any, Any], lose: Callable[[str], None]) -> dict[str, object]:
    """Versions without the random digits that savers put behind them, which only keep concurrent writers apart."""
    found: dict[str, object] = {}
    for name, version in versions.items():
        padded = _PADDED.fullmatch(version) if isinstance(version, str) else None
        if padded is not None:
            found[str(name)] = f"n{int(padded[1])}"
        elif type(version) in (int, float):
            found[str(name)] = version
        else:
            lose(f"channel {name} has a version of a form that is not known: {type(version).__name__}")
    return found


def unpacked(versions: Mapping[str, Any]) -> dict[str, Any]:
    """Versions as a saver makes them."""
    return {
        name: f"{int(version[1:]):032}.{0:016}" if isinstance(version, str) else version
        for name, version in versions.items()
    }

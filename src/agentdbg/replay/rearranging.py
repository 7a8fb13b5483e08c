"""Tool calls with other arguments than the program gave them: an edit's, or those of a person who holds the call.

What is left as it was shown stays the object that it is: values that were redacted, and those that cannot be encoded.
Runs in the child process, on the standard library.
"""

from __future__ import annotations

import copy
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from agentdbg.model.canonical import loads
from agentdbg.model.json_text import json_bytes
from agentdbg.model.records import Json, StepStatus
from agentdbg.recording import scope as scopes
from agentdbg.recording.calls import Call, Rearranged
from agentdbg.recording.revive import thaw

NOT_MADE = (ValueError, LookupError, TypeError, AttributeError, RecursionError)
"""What is raised when a value of the record's encoding cannot be made."""


class CannotRearrange(ValueError):
    """The call cannot be made with these arguments; the message says why."""


def shown_arguments(call: Call) -> Any:
    """A tool's arguments as they are recorded; ``None`` where they cannot be replaced."""
    here = scopes.current()
    if not call.rebinds or call.given is None or here is None:
        return None
    return here.run.encode(dict(call.given)).tree


def rearranged(call: Call, wanted: Json) -> tuple[Call, Rearranged]:
    """The call that is made instead, and what makes it.

    Args:
        call: The program's call.
        wanted: Arguments by name, as they are recorded; those that are left out stay as they are.

    Raises:
        CannotRearrange: It cannot be made.
    """
    here, shown = scopes.current(), shown_arguments(call)
    if here is None or not isinstance(shown, dict) or call.given is None:
        raise CannotRearrange(f"the arguments of {call.name} cannot be replaced: it is no function of the program's")
    if not isinstance(wanted, dict):
        raise CannotRearrange("arguments are a mapping, by name")
    if unknown := [name for name in wanted if name not in shown]:
        raise CannotRearrange(f"{call.name} has no argument {unknown[0]!r}: there is {', '.join(shown)}")
    try:
        given = {
            name: _merged(value, shown[name], wanted[name]) if name in wanted and name in shown else value
            for name, value in call.given.items()
        }
    except NOT_MADE as problem:  # no such class, or it is not what it was
        raise CannotRearrange(f"these arguments cannot be made here: {problem}") from problem
    run = here.run
    encoded = run.encode(given)
    plain = run.identity.fingerprint(call.kind, call.name, encoded, None)
    alpha = run.identity.alpha(call.kind, call.name, encoded, None)
    made = replace(call, given=given, arguments_hash=encoded.digest, fingerprint=plain, alpha=alpha)
    attrs: dict[str, Json] = {"edited": True, "arguments": run.gate.value(wanted)}
    return made, Rearranged(call.step, StepStatus.OK, attrs=attrs, arguments=given)


def edited_arguments(call: Call, edits: Sequence[Sequence[Any]]) -> Json:
    """A call's arguments with edits made in them: each a path and a value.

    Raises:
        CannotRearrange: A path leads nowhere in them.
    """
    tree = copy.deepcopy(shown_arguments(call))
    for path, value in edits:
        if not path:
            tree = value
            continue
        holder = tree
        try:
            for part in path[:-1]:
                holder = holder[part]
            holder[path[-1]]  # a new member would be a slip of the pen
            holder[path[-1]] = value
        except (LookupError, TypeError) as problem:
            words = ".".join(map(str, path))
            raise CannotRearrange(f"the call that is made now has no arguments.{words}") from problem
    found: Json = tree
    return found


def _merged(value: Any, shown: Any, wanted: Any) -> Any:
    """``wanted`` made, with what is as it was shown left alone."""
    if json_bytes(wanted) == json_bytes(shown):
        return value
    if type(value) is dict and isinstance(shown, Mapping) and isinstance(wanted, dict) and "$" not in wanted:
        return {
            key: _merged(value[key], shown[key], item) if key in value and key in shown else _made(item)
            for key, item in wanted.items()
        }
    if type(value) is list and isinstance(shown, list) and isinstance(wanted, list) and len(wanted) == len(shown):
        return [_merged(*each) for each in zip(value, shown, wanted, strict=True)]
    return _made(wanted)


def _made(tree: Any) -> Any:
    return thaw(loads(json_bytes(tree)))

"""Tools of smolagents: one step for each call, from a tool-calling agent or from the code that an agent has written.

That code itself is the agent's own: a replay runs it again. ``final_answer`` is no tool but how an agent ends.
"""

from __future__ import annotations

import functools
import io
import sys
from collections.abc import Iterable
from types import ModuleType
from typing import Any

from agentdbg.model.canonical import Opaque
from agentdbg.recording import drive
from agentdbg.recording.framework_calls import FrameworkTool, ToolDescription
from agentdbg.recording.frameworks.mcp_annotations import effect_of
from agentdbg.recording.frameworks.patches import missing, replace_method
from agentdbg.recording.openers import EFFECTS
from agentdbg.recording.revive import CannotRevive, freeze, thaw

_TYPES = "smolagents.agent_types"
_FINAL = "final_answer"


def install(module: ModuleType) -> None:
    """Patch ``smolagents.tools``. Idempotent."""
    if not replace_method(module.Tool, "__call__", functools.partial(drive.function, _TOOL)):
        missing("smolagents", "Tool.__call__")
    pipeline = getattr(module, "PipelineTool", None)
    if pipeline is not None and "__call__" in vars(pipeline):
        replace_method(pipeline, "__call__", functools.partial(drive.function, _TOOL))


def _described(args: tuple[Any, ...], kwargs: dict[str, Any]) -> ToolDescription | None:
    tool, *given = args
    name = str(getattr(tool, "name", type(tool).__name__))
    if name == _FINAL:
        return None
    named = {key: value for key, value in kwargs.items() if key != "sanitize_inputs_outputs"}
    inputs: Iterable[str] = getattr(tool, "inputs", None) or ()
    if len(given) == 1 and not named and isinstance(given[0], dict) and set(given[0]) <= set(inputs):
        named = dict(given[0])
    else:
        names = [*inputs, *(f"argument {n}" for n in range(len(given)))]
        named = {**dict(zip(names, given, strict=False)), **named}
    said = getattr(tool, "effect", None)
    effect = said if isinstance(said, str) and said in EFFECTS else None
    if effect is None and type(tool).__module__.startswith("mcpadapt."):
        effect = effect_of(name)
    return ToolDescription(name, named, effect)


class AgentTypeCodec:
    """smolagents' own texts and images: subclasses of ``str`` and of pillow's images."""

    @staticmethod
    def covers(value: Any) -> bool:
        """Whether a value is one of them."""
        return type(value).__module__ == _TYPES and type(value).__name__ in ("AgentText", "AgentImage")

    def freeze(self, value: Any) -> object:
        """The text, or the picture as PNG."""
        if not self.covers(value):
            return freeze(value)
        name = f"{_TYPES}.{type(value).__name__}"
        if type(value).__name__ == "AgentText":
            return Opaque(name, {"text": str(value.to_raw())})
        buffer = io.BytesIO()
        value.to_raw().save(buffer, format="PNG")
        return Opaque(name, {"png": buffer.getvalue()})

    def thaw(self, frozen: Any) -> Any:
        """The same again, made by the class's own constructor."""
        if not isinstance(frozen, Opaque) or not frozen.type_name.startswith(f"{_TYPES}.Agent"):
            return thaw(frozen)
        types, members = sys.modules.get(_TYPES), frozen.members
        if types is None or not isinstance(members, dict):
            raise CannotRevive(f"a {frozen.type_name} cannot be made again")
        if frozen.type_name == f"{_TYPES}.AgentText":
            return vars(types)["AgentText"](str(members.get("text")))
        from importlib import import_module

        image, png = import_module("PIL.Image"), members.get("png")
        if frozen.type_name != f"{_TYPES}.AgentImage" or not isinstance(png, bytes):
            raise CannotRevive(f"a {frozen.type_name} cannot be made again")
        return vars(types)["AgentImage"](image.open(io.BytesIO(png), formats=("PNG",)))


_TOOL = FrameworkTool(_described, AgentTypeCodec())

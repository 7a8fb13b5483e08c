"""agentdbg: record an agent's runs, look at them, and replay them.

The names below are what an agent's program uses; each is loaded when it is first asked for.
"""

from __future__ import annotations

TYPE_CHECKING = False  # as typing has it: importing typing takes longer than this module

if TYPE_CHECKING:
    from agentdbg.recording.decorators import agent as agent
    from agentdbg.recording.decorators import tool as tool
    from agentdbg.recording.notes import approval as approval
    from agentdbg.recording.notes import checkpoint as checkpoint
    from agentdbg.recording.notes import config_content as config_content
    from agentdbg.recording.notes import external_read as external_read
    from agentdbg.recording.notes import final_state as final_state
    from agentdbg.recording.notes import flag as flag
    from agentdbg.recording.notes import model_call as model_call
    from agentdbg.recording.notes import retrieved as retrieved
    from agentdbg.recording.notes import run_id as run_id
    from agentdbg.recording.notes import stats as stats
    from agentdbg.recording.notes import tag as tag
    from agentdbg.recording.values import now as now
    from agentdbg.recording.values import random as random
    from agentdbg.recording.values import uuid4 as uuid4

__version__ = "0.1.0"

_HOMES = {
    "agent": "decorators",
    "tool": "decorators",
    **dict.fromkeys(
        (
            "approval",
            "checkpoint",
            "config_content",
            "external_read",
            "final_state",
            "flag",
            "model_call",
            "retrieved",
            "run_id",
            "stats",
            "tag",
        ),
        "notes",
    ),
    **dict.fromkeys(("now", "random", "uuid4"), "values"),
}
__all__ = sorted(_HOMES)  # the lazy names are the public ones


def __getattr__(name: str) -> object:
    home = _HOMES.get(name)
    if home is None:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from importlib import import_module

    import_module("agentdbg.recording.start").install()
    value: object = getattr(import_module(f"agentdbg.recording.{home}"), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted([*globals(), *_HOMES])

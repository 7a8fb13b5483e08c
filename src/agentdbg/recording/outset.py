"""What is in place from the first line of a launched program: its lanes, its draws, its children are of its run.

Nothing but this table and the clocks is loaded for it. Whatever else is patched is patched when the program imports it,
by code that is loaded then: a module of the standard library that the program does not use is not loaded for it, and a
file of the user's that has such a module's name stands in for it as ever.
"""

from __future__ import annotations

from agentdbg.recording import pins
from agentdbg.recording.hooks import on_import, on_standard_import
from agentdbg.recording.scope import enter_program

TYPE_CHECKING = False  # as typing has it: importing typing takes longer than all of this
if TYPE_CHECKING:
    from types import ModuleType

_LANES = (
    ("threading", "propagate", "patch_threads"),
    ("concurrent.futures.thread", "propagate", "patch_pools"),
    ("concurrent.futures._base", "handoff_seams", "patch_waits"),
    ("multiprocessing.pool", "propagate", "patch_thread_pools"),
    ("asyncio.base_events", "propagate", "patch_loops"),
    ("asyncio.tasks", "propagate", "patch_as_completed"),
    ("asyncio.base_events", "hashes", "patch_futures"),
    ("asyncio.tasks", "hashes", "patch_gathered"),
    ("asyncio.base_events", "firings", "patch"),
)
_DRAWS = (
    ("datetime", "datetime_pins", "install"),
    ("random", "random_pins", "install"),
    ("tempfile", "tempfile_pins", "install"),
    ("uuid", "uuid_pins", "install"),
)
_patched = False


def install() -> None:
    """Enter the scope of the process's own run, which its first call begins."""
    from agentdbg.recording import standard_input

    patch()
    standard_input.install()
    from agentdbg.recording import child_places

    enter_program(child_places.lane_of_start())


def patch() -> None:
    """Patch what is loaded, and the rest when it will be. Idempotent."""
    global _patched
    if _patched:
        return
    _patched = True
    pins.install()
    for module, home, function in _LANES + _DRAWS:
        on_standard_import(module, Later(home, function))
    on_import("uvloop", Later("propagate", "patch_uvloop"))
    on_import("anyio._backends._asyncio", Later("hashes", "patch_scopes"))
    from agentdbg.recording import children

    children.install()


class Later:
    """A function of a module of ours, which is loaded when it is called."""

    __slots__ = ("_function", "_home")

    def __init__(self, home: str, function: str) -> None:
        self._home = home
        self._function = function

    def __call__(self, module: ModuleType) -> None:
        from importlib import import_module

        getattr(import_module(f"agentdbg.recording.{self._home}"), self._function)(module)

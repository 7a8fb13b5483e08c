"""Log records carry the run they belong to: ``%(agentdbg_run_id)s`` in a format, empty outside every run."""

from __future__ import annotations

import functools
import sys

TYPE_CHECKING = False  # as typing has it: logging is imported by nearly everything
if TYPE_CHECKING:
    from collections.abc import Callable
    from types import ModuleType
    from typing import Any

NAME = "agentdbg_run_id"
_MARK = "__agentdbg__"


def install(module: ModuleType) -> None:
    """Patch where records are made; a program's own record factory is called as ever. Idempotent."""
    for holder, name in ((module.Logger, "makeRecord"), (module, "makeLogRecord")):
        made = getattr(holder, name)
        if not hasattr(made, _MARK):
            setattr(holder, name, _noting(made))


def _noting(make: Callable[..., Any]) -> Callable[..., Any]:
    @functools.wraps(make)
    def make_record(*args: Any, **kwargs: Any) -> Any:
        record = make(*args, **kwargs)
        try:
            members = record.__dict__
            if NAME not in members:
                members[NAME] = _run_id()
        except Exception:
            return record  # a factory may make anything
        return record

    setattr(make_record, _MARK, True)
    return make_record


def _run_id() -> str:
    modules = sys.modules
    scope = modules.get("agentdbg.recording.scope")
    if scope is None:
        return ""  # nothing has been recorded yet
    here = scope.current()
    if here is None:
        process = modules.get("agentdbg.recording.process")
        recorder = None if process is None else process._recorder
        begun = None if recorder is None else recorder.begun
        return "" if begun is None else begun.facts.run_id
    found: str = here.run.facts.run_id
    return found

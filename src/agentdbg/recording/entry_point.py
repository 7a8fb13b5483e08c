"""Where a replay begins: a function that it can find and call again, or the command that started the process."""

from __future__ import annotations

import inspect
import os
import sys
from collections.abc import Callable, Mapping
from types import ModuleType
from typing import TYPE_CHECKING, Any

from agentdbg.recording.host import working_directory
from agentdbg.recording.launched import launch_entry, unrepeatable

if TYPE_CHECKING:
    from agentdbg.recording.run import RunRecording

IN_TRIO = "it was called in a loop of trio's, and a replay serves in those of asyncio alone"
_LIBRARIES = (f"{os.sep}site-packages{os.sep}", f"{os.sep}dist-packages{os.sep}")


def function_entry(
    run: RunRecording,
    function: Callable[..., Any],
    arguments: Mapping[str, object],
    holes: tuple[str, ...],
    factories: Mapping[str, object],
) -> dict[str, object]:
    """The entry point of a decorated function: the function, its arguments, and how the process was started."""
    inner = inspect.unwrap(getattr(function, "func", function))
    code = getattr(inner, "__code__", None)
    module = str(getattr(inner, "__module__", None) or type(inner).__module__)
    file = run.recorder.neutral(os.path.abspath(code.co_filename)) if code is not None else ""
    qualname = str(getattr(inner, "__qualname__", type(inner).__qualname__))
    entry: dict[str, Any] = {
        "callable": {"module": run_as(module), "qualname": qualname, "file": file},
        "args": arguments,
        **surroundings(run),
    }
    if factories:
        entry["factories"] = sorted(factories)
    if holes:
        entry["not_replayable"] = [hole.replace("not replayable from here: ", "argument ") for hole in holes]
    if _runs_in_trio():
        entry["not_replayable"] = [IN_TRIO, *entry.get("not_replayable", ())]
        return entry
    unstartable = holes or "<locals>" in qualname
    if unstartable and "launch" in entry and run.facts.root == 1:
        return _by_launch(entry)
    return entry


def _runs_in_trio() -> bool:
    """Whether the agent is called in a loop of trio's."""
    trio = sys.modules.get("trio")
    try:
        return trio is not None and trio.lowlevel.current_task() is not None
    except Exception:  # there is none
        return False


def framework_entry(
    run: RunRecording, target: object, method: str, arguments: Mapping[str, object], holes: tuple[str, ...]
) -> dict[str, object]:
    """The entry point of a framework's root call: the whole program where this was its first, else the named object."""
    entry: dict[str, object] = {"args": arguments, **surroundings(run)}
    if "launch" in entry and run.facts.root == 1 and not run.recorder.serving:
        return entry
    place = named(target)
    if place is not None and not holes:
        module, name, file = place
        found = {"module": run_as(module), "qualname": f"{name}.{method}", "file": run.recorder.neutral(file)}
        return {**entry, "callable": found}
    if "launch" in entry and run.facts.root == 1:
        return entry
    entry.pop("launch", None)
    kind = type(target).__name__
    why = f"it was root call {run.facts.root} of its process, and its {kind} is no module-level name"
    reasons = (
        [hole.replace("not replayable from here: ", "argument ") for hole in holes] if place is not None else [why]
    )
    return {**entry, "not_replayable": reasons}


def program_entry(run: RunRecording) -> dict[str, object]:
    """The entry point of a program that is a run itself: its command, or why that cannot be given again."""
    entry = surroundings(run)
    why = unrepeatable()
    if _runs_in_trio():
        entry["not_replayable"] = [IN_TRIO]
    elif "launch" not in entry and why:
        entry["not_replayable"] = [why]
    return entry


def surroundings(run: RunRecording) -> dict[str, object]:
    """What every kind of entry point has: search path, argv, directory, interpreter, how the process was started."""
    recorder = run.recorder
    found: dict[str, object] = {
        "path": [recorder.neutral(place) for place in _program_path()],
        "argv": [run.gate.text(str(word)) for word in sys.argv],
        "cwd": recorder.neutral(working_directory()),
        "python": ".".join(map(str, sys.version_info[:3])),
        "roots": recorder.roots,
        "root": run.facts.root,
    }
    launch = launch_entry(recorder.neutral, run.gate.text)
    if launch is not None and not recorder.child_process:
        found["launch"] = launch
    return found


def _by_launch(entry: dict[str, object]) -> dict[str, object]:
    return {name: value for name, value in entry.items() if name not in ("callable", "not_replayable", "factories")}


def run_as(module: str) -> str:
    """The name to import a module by: of a program run with ``-m``, that of its spec."""
    spec = getattr(sys.modules.get("__main__"), "__spec__", None)
    return str(spec.name) if module == "__main__" and spec is not None else module


def named(target: object) -> tuple[str, str, str] | None:
    """Module, name and file of a module-level variable of the program's own that holds ``target``."""
    if target is None:
        return None
    for name, module in list(sys.modules.items()):
        members: dict[str, object] = ModuleType.__getattribute__(module, "__dict__") if _is_plain(module) else {}
        file = members.get("__file__")
        if not isinstance(file, str) or _is_library(file):
            continue
        for key in [key for key, value in list(members.items()) if value is target]:
            if not str(key).startswith("_"):
                return name, key, os.path.abspath(file)
    return None


def _is_plain(module: object) -> bool:
    return isinstance(module, ModuleType)  # programs put other things into sys.modules as well


def _is_library(file: str) -> bool:
    stdlib = os.path.dirname(os.path.abspath(os.__file__)) + os.sep
    package = os.path.dirname(os.path.dirname(os.path.abspath(__file__))) + os.sep
    demo = os.path.join(package, "demo") + os.sep
    own = file.startswith(package) and not file.startswith(demo)
    return own or file.startswith(stdlib) or any(place in file for place in _LIBRARIES)


def _program_path() -> list[str]:
    """Where the program's own modules are found: the search path without the interpreter's own places."""
    own = tuple({sys.prefix, sys.base_prefix, sys.exec_prefix, sys.base_exec_prefix})
    here = working_directory()
    places = (os.path.normpath(os.path.join(here, entry)) for entry in sys.path if isinstance(entry, str))
    return [place for place in places if not place.startswith(own)]

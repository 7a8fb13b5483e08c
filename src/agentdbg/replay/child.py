"""The replay's child process: the recorded entry point, called again with the recorder in replay mode and the guard armed.

    python -m agentdbg.replay.child SPEC.json

Everything that the parent must know goes over a socket pair as JSON lines; the replay's own record goes to a scratch store.
Runs on the standard library, in the agent's environment.
"""

from __future__ import annotations

import importlib
import inspect
import json
import os
import platform
import runpy
import socket
import sys
import threading
import traceback
from collections.abc import Callable, Mapping
from dataclasses import asdict
from types import ModuleType
from typing import Any

from agentdbg.model.canonical import loads
from agentdbg.recording import pins, scope
from agentdbg.recording.calls import ReplayStop
from agentdbg.recording.process import recorder
from agentdbg.replay import cassette as cassettes
from agentdbg.replay.answers import ExactAnswers, RecordedDraws
from agentdbg.replay.guard import Guard, Refused, Violation


class Stopped(ReplayStop):
    """The guard stopped an effect."""


class Control:
    """The child's end of the control channel."""

    def __init__(self, fd: int) -> None:
        self._socket = socket.socket(fileno=fd)
        self._lock = threading.Lock()

    def tell(self, message: Mapping[str, object]) -> None:
        """Send one message; a parent that is gone is no reason to fail."""
        line = json.dumps(message, default=str).encode() + b"\n"
        with self._lock:
            try:
                self._socket.sendall(line)
            except OSError:
                pass  # the parent ended first


class CannotStart(Exception):
    """The recorded entry point cannot be called here."""


def main(spec_path: str) -> int:
    """Run one replay."""
    with open(spec_path, "rb") as file:
        spec: dict[str, Any] = json.load(file)
    control = Control(int(spec["control_fd"]))
    try:
        entry, answers = _prepare(spec, control)
    except CannotStart as problem:
        control.tell({"event": "cannot_start", "reason": str(problem)})
        return 3
    except (ReplayStop, Refused):
        return 3
    except BaseException as error:
        control.tell({"event": "cannot_start", "reason": _last_line(error), "trace": traceback.format_exc()[-4000:]})
        return 3
    outcome: dict[str, object] = {"event": "done", "error": None}
    try:
        entry()
    except (ReplayStop, Refused):
        outcome["event"] = "stopped"
    except BaseException as error:
        outcome["error"] = _last_line(error)
    control.tell({**outcome, **answers.report()})
    return 0


def _prepare(spec: Mapping[str, Any], control: Control) -> tuple[Callable[[], object], ExactAnswers]:
    found = recorder()
    if found is None:
        raise CannotStart("recording is switched off (AGENTDBG=off)")
    tape = cassettes.read(spec["cassette"])
    answers = ExactAnswers(tape, control.tell)
    draws = RecordedDraws(tape.draws, float(spec.get("started_at") or 0.0))
    found.answerer = answers
    found.capture_environment = False
    found.surrogates = tape.surrogates
    found.run_id = spec["run_id"]
    found.mode_meta = dict(spec["meta"])
    found.roots = dict(spec["roots"])
    pins.drawer = draws
    pins.skip_sleeps(draws.sleep)

    def report(violation: Violation) -> None:
        kind = "tolerated" if violation.tolerated else "refused"
        message = {**asdict(violation), "effect": violation.event, "event": kind}
        if violation.tolerated:
            control.tell(message)
        else:
            answers.latch(Stopped(f"{violation.event} {violation.detail}"), message)

    sys.argv = list(spec["argv"])
    sys.path[:] = [place for place in dict.fromkeys(sys.path) if place != os.path.dirname(os.path.abspath(__file__))]
    guard = Guard(spec["allow_write"], spec["tolerate"], _where, report)
    _ask_platform()
    guard.arm()
    control.tell({"event": "started", "guard": "audit"})
    entry = _entry(spec)
    if found.seen_root:  # the program calls its agent while it is imported: that was the replay
        return _nothing, answers
    return entry, answers


def _nothing() -> None:
    return None


def _ask_platform() -> None:
    """Let ``platform`` ask the machine once, ahead of the guard: SDKs put the answers, which it keeps, into their headers."""
    platform.uname().processor  # noqa: B018  # asks ``uname -p`` on first use
    platform.platform()


def _where() -> str | None:
    here = scope.current()
    return None if here is None else here.parent


def _entry(spec: Mapping[str, Any]) -> Callable[[], object]:
    target = _load(spec["entry"], spec.get("file"))
    with open(spec["arguments"], "rb") as file:
        arguments = loads(file.read())
    if not isinstance(arguments, dict):
        raise CannotStart("the recorded arguments are no mapping")
    agent = getattr(getattr(target, "__wrapped__", target), "__agentdbg_agent__", None)
    for name, make in (agent.factories if agent is not None else {}).items():
        arguments[name] = make()
    bound = _bind(target, arguments)
    items = spec.get("items")
    return lambda: _call(target, bound, items)


def _load(entry: Mapping[str, Any], file: str | None) -> Callable[..., Any]:
    name = entry["module"]
    module = _script(file) if name == "__main__" else importlib.import_module(name)
    found: Any = module
    for part in str(entry["qualname"]).split("."):
        found = getattr(found, part, None)
        if found is None:
            raise CannotStart(f"{name} has no {entry['qualname']}: the program has changed or the function is local")
    if not callable(found):
        raise CannotStart(f"{entry['qualname']} is not callable")
    target: Callable[..., Any] = found
    return target


def _script(file: str | None) -> ModuleType:
    if not file or not os.path.exists(file):
        raise CannotStart(f"the recorded program is not there: {file}")
    module = ModuleType("__mp_main__")
    module.__file__ = file
    sys.modules["__main__"] = sys.modules["__mp_main__"] = module
    sys.path[0:0] = [os.path.dirname(file)]
    vars(module).update(runpy.run_path(file, init_globals=None, run_name="__mp_main__"))
    return module


def _bind(target: Callable[..., Any], arguments: dict[str, Any]) -> inspect.BoundArguments:
    signature = inspect.signature(target)
    if set(arguments) == {"args", "kwargs"} and not set(arguments) <= set(signature.parameters):
        return signature.bind(*arguments["args"], **arguments["kwargs"])
    unknown = set(arguments) - set(signature.parameters)
    if unknown:
        raise CannotStart(f"{target.__qualname__} has no parameter {sorted(unknown)[0]!r} any more")
    bound = inspect.BoundArguments(signature, {})  # type: ignore[arg-type]  # an ordinary dict keeps order
    for name in signature.parameters:
        if name in arguments:
            bound.arguments[name] = arguments[name]
    return bound


def _call(target: Callable[..., Any], bound: inspect.BoundArguments, items: int | None) -> object:
    made = target(*bound.args, **bound.kwargs)
    if inspect.iscoroutine(made):
        import asyncio

        return asyncio.run(made)
    if inspect.isgenerator(made):
        return _take(made, items)
    if inspect.isasyncgen(made):
        import asyncio

        return asyncio.run(_take_async(made, items))
    return made


def _take(source: Any, items: int | None) -> list[object]:
    """Consume a generator as far as it was consumed while recording; ``None``: to its end."""
    taken: list[object] = []
    while items is None or len(taken) < items:
        try:
            taken.append(next(source))
        except StopIteration:
            return taken
    source.close()
    return taken


async def _take_async(source: Any, items: int | None) -> list[object]:
    taken: list[object] = []
    while items is None or len(taken) < items:
        try:
            taken.append(await anext(source))
        except StopAsyncIteration:
            return taken
    await source.aclose()
    return taken


def _last_line(error: BaseException) -> str:
    return traceback.format_exception_only(error)[-1].strip()


if __name__ == "__main__":
    code = main(sys.argv[1])
    sys.stdout.flush()
    os._exit(code)

"""What the bootstrap calls inside a supported Python. Every recorded process pays for what is imported here."""

from __future__ import annotations

import os

from agentdbg.recording import coverage, launched, start
from agentdbg.recording.hooks import on_import, on_standard_import, problems

TYPE_CHECKING = False  # as typing has it: importing typing takes longer than all of this
if TYPE_CHECKING:
    from types import ModuleType

FIRST = "first"
"""In the launch's directory: the process that is the launched program itself."""
_PLAIN_TOOLS = os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))), "plain_tools.py")


def begin() -> bool:
    """Make this process record. ``False`` when recording is switched off."""
    if not start.enabled():
        return False
    directory = os.environ[launched.LAUNCH]
    launched.active = True
    coverage.install()
    told = _told(directory)
    if _is_first(directory):
        launched.main_pid = os.getpid()
        _seed_random(told.get("random_seed", ""))
    start.install()
    _set_out()
    on_import("opentelemetry.instrumentation.auto_instrumentation", _stay_first)
    _wrap_plain_tools(told.get("tools", "{}"))
    return True


def _set_out() -> None:
    from agentdbg.recording import outset

    outset.install()


def _told(directory: str) -> dict[str, str]:
    """The members of ``launch.json``, each as JSON: one stands on a line, so that no parser has to be loaded."""
    try:
        with open(os.path.join(directory, "launch.json"), "rb") as file:
            lines = [line.rstrip(",").partition(": ") for line in file.read().decode().splitlines()]
    except (OSError, ValueError):
        return {}  # the launcher has gone and taken it along; its children are recorded all the same
    return {name.strip('"'): value for name, _, value in lines}


def _is_first(directory: str) -> bool:
    """Whether this is the launched program and no child of it. It stays that when it executes another program."""
    path, mine = os.path.join(directory, FIRST), str(os.getpid())
    try:
        fd = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
    except OSError:
        try:
            with open(path, "rb") as file:
                return file.read().decode() == mine
        except OSError:
            return False
    os.write(fd, mine.encode())
    os.close(fd)
    return True


def _seed_random(seed: str) -> None:
    """Give ``random`` a start that a replay can give it again. Children draw their own, as they would have."""
    if not seed.isdigit():
        return
    launched.random_seed = number = int(seed)
    on_standard_import("random", lambda module: module.seed(number))


def _stay_first(module: ModuleType) -> None:
    """``opentelemetry-instrument`` puts its own bootstrap first, which loads no other: let it come second."""
    execute = module.execl

    def execl(*args: str) -> None:
        from agentdbg.recording.launch.environment import with_bootstrap

        os.environ["PYTHONPATH"] = with_bootstrap(os.environ.get("PYTHONPATH", ""))
        execute(*args)

    module.execl = execl  # type: ignore[attr-defined]  # imported there by name


def _wrap_plain_tools(tools: str) -> None:
    """Wrap the functions that are declared as tools; nothing is loaded when there are none."""
    if tools in ("{}", "null") or not os.path.exists(_PLAIN_TOOLS):
        return
    import json
    from importlib import import_module

    try:
        import_module("agentdbg.recording.plain_tools").install(json.loads(tools))
    except Exception as error:
        problems.append(f"declared tools are not covered: {type(error).__name__}: {error}")

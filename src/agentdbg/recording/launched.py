"""How this process was started: what a replay needs to start it again."""

from __future__ import annotations

import os
import sys

TYPE_CHECKING = False  # as typing has it: importing typing takes longer than all of this
if TYPE_CHECKING:
    from collections.abc import Callable

TAKES_A_VALUE = frozenset(("-W", "-X", "--check-hash-based-pycs"))
LAUNCH = "AGENTDBG_LAUNCH"
"""Names the launcher's private directory, in the environment of everything that it started."""


class Command:
    """A Python command line, taken apart.

    Attributes:
        options: Options of the interpreter.
        kind: ``script``, ``module``, ``code``, ``stdin`` or ``none`` (an interactive session).
        target: Path of the script, name of the module, or the code.
        arguments: What is left for the program.
    """

    __slots__ = ("arguments", "kind", "options", "target")

    def __init__(self, options: tuple[str, ...], kind: str, target: str, arguments: tuple[str, ...]) -> None:
        self.options = options
        self.kind = kind
        self.target = target
        self.arguments = arguments


def parsed(words: list[str]) -> Command:
    """Take the words after the interpreter's name apart, as the interpreter does."""
    options: list[str] = []
    rest = list(words)
    while rest:
        word = rest.pop(0)
        if word == "-":
            return Command(tuple(options), "stdin", "", tuple(rest))
        if not word.startswith("-"):
            return Command(tuple(options), "script", word, tuple(rest))
        for kind, letter in (("code", "c"), ("module", "m")):
            before, found, value = word.partition(letter)
            if found and not word.startswith("--") and not set(before[1:]) & set("WXcm"):
                if before != "-":
                    options.append(before)
                target = value or (rest.pop(0) if rest else "")
                return Command(tuple(options), kind, target, tuple(rest))
        options.append(word)
        if word in TAKES_A_VALUE and rest:
            options.append(rest.pop(0))
    return Command(tuple(options), "none", "", ())


def launch_entry(neutral: Callable[[str], str], redact: Callable[[str], str]) -> dict[str, object] | None:
    """The launch as it stands in ``run.json``.

    ``None`` without ``agentdbg record``, which fixes what a second start needs; when the program was typed or piped in;
    and in a worker process of ``multiprocessing``, which only its parent can start.

    Args:
        neutral: Takes this machine's directories out of a path.
        redact: Takes secrets out of a word.
    """
    if not active or unrepeatable():
        return None
    command = parsed(sys.orig_argv[1:])
    entry: dict[str, object] = {
        "kind": command.kind,
        "target": neutral(command.target) if command.kind == "script" else redact(command.target),
        "options": list(command.options),
        "arguments": [redact(word) for word in command.arguments],
        "cwd": neutral(started_in),
        "hash_seed": hash_seed(),
    }
    if command.kind == "script":
        entry["file"] = neutral(os.path.abspath(os.path.join(started_in, command.target)))
    if tools:
        entry["tools"] = dict(tools)
    if random_seed is not None:
        entry["random_seed"] = str(random_seed)
    return entry


def unrepeatable() -> str:
    """Why the command of this launched process cannot be given again; empty where it can."""
    if not active:
        return ""
    command = parsed(sys.orig_argv[1:])
    if "--multiprocessing-fork" in sys.orig_argv or command.target.startswith("from multiprocessing"):
        return "it was a worker process of multiprocessing, which only its parent can start"
    if command.kind in ("none", "stdin") or sys.flags.interactive or sys.flags.inspect:
        return "it was typed or piped into Python: there is no program to start again"
    return ""


def hash_seed() -> str:
    """What this Python's hashes begin with: a number, or ``random``. With ``-E`` and ``-I`` it looks at no variable."""
    if not sys.flags.hash_randomization:
        return "0"
    return "random" if sys.flags.ignore_environment else os.environ.get("PYTHONHASHSEED") or "random"


def tell(event: str, **members: object) -> None:
    """Add a line to the launch's own journal, for the launcher. Never raises: the program knows nothing of it."""
    place = os.environ.get(LAUNCH)
    if not active or not place:
        return
    import json

    line = json.dumps({"event": event, "pid": os.getpid(), **members}).encode() + b"\n"
    try:
        fd = os.open(os.path.join(place, "events.jsonl"), os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_CLOEXEC, 0o600)
        try:
            os.write(fd, line)
        finally:
            os.close(fd)
    except OSError:
        return  # the launcher is gone and has taken its directory along


def met_tool(name: str) -> None:
    """A function or a framework's tool of a declared name is there: tell the launcher, once."""
    if name in tools and name not in _met:
        _met.add(name)
        tell("tool", name=name)


def wanted_run_id() -> str | None:
    """The run id that was asked for, for the first process of the launch that asks."""
    global _may_name_runs
    place = os.environ.get(LAUNCH)
    if not active or not place or not _may_name_runs:
        return None
    import json

    _may_name_runs = False  # this process takes it now, or nobody gave one, or somebody else has it
    try:
        with open(os.path.join(place, "launch.json"), "rb") as file:
            found = json.load(file).get("run_id")
        if isinstance(found, str):
            os.close(os.open(os.path.join(place, "run-id.taken"), os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600))
            return found
    except (OSError, ValueError, AttributeError):
        pass  # another process was faster, or the launcher has gone
    return None


def has_runs() -> bool:
    """Whether a process of this launch began a run."""
    place = os.environ.get(LAUNCH, "")
    try:
        with open(os.path.join(place, "events.jsonl"), "rb") as file:
            return b'"event": "run"' in file.read()
    except OSError:
        return True  # nobody knows


_may_name_runs = True
active = False
"""Whether ``agentdbg record`` started this process; its bootstrap says so."""
main_pid = 0
"""The launched program itself; children and forks of it are others."""
tools: dict[str, str] = {}
"""Functions that were declared as tools from outside, with their effects."""
_met: set[str] = set()
random_seed: int | None = None
"""What the launched program's ``random`` was seeded with, so that a replay can do the same."""


def _here() -> str:
    try:
        return os.getcwd()
    except OSError:
        return os.sep


started_in = _here()
"""The working directory when this was loaded, which the bootstrap does before the program runs."""
started_with = dict(os.environ)
"""The variables at that time: the program may change them."""

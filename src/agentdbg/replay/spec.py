"""What a replay's child process is told: the entry point, its arguments, its surroundings."""

from __future__ import annotations

import json
import os
import re
import sys
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import cast

from agentdbg.compare.unseen import unseen_in
from agentdbg.model.records import Json, Kind, Step
from agentdbg.recording.launched import TAKES_A_VALUE
from agentdbg.replay.cassette import volatile_rules
from agentdbg.replay.kin import MARKER
from agentdbg.replay.start_state import StartState
from agentdbg.replay.trust import roots_of
from agentdbg.store.journal import ref_from
from agentdbg.store.protocols import BodyMissing
from agentdbg.store.reader import DirectoryRunSource

_SECRET_NAMES = ("KEY", "TOKEN", "SECRET", "PASSWORD", "PASSWD", "CREDENTIAL")
_RESTORED = re.compile(
    r"LANG|LANGUAGE|LC_[A-Z]+|TZ|NO_COLOR|CI|SOURCE_DATE_EPOCH|PYTHON(HASHSEED|UTF8|IOENCODING|OPTIMIZE|DEVMODE)"
)
"""Variables that are restored: they change what a program computes, and cannot make it load code."""
_ADDRESS = re.compile(r"[A-Z0-9_]+_(BASE_URL|API_BASE|ENDPOINT|API_VERSION|MODEL|MODEL_NAME|DEPLOYMENT|REGION)")
"""Restored where nothing is sent: SDKs ask differently by whether such a variable is there."""


_PASSED_ON = "bBdOqsuvx"
"""Letters of interpreter options that a replay repeats."""


def write_spec(
    source: DirectoryRunSource,
    scratch: Path,
    run_id: str,
    *,
    tolerate: Sequence[str],
    control_fd: int,
    start: StartState | None = None,
    control: Mapping[str, object] | None = None,
    regression: Mapping[str, object] | None = None,
    restore: Mapping[str, object] | None = None,
    box: Mapping[str, object] | None = None,
    processes: Mapping[str, object] | None = None,
) -> dict[str, object]:
    """Write ``spec.json`` and ``arguments`` for the child; returns the specification. ``start`` and ``box``: layers."""
    summary = source.summary()
    entry, roots = mapping(summary.meta.get("entry")), roots_of(summary)
    target = mapping(entry.get("callable"))
    spec: dict[str, object] = {
        "cassette": str(scratch / "cassette"),
        "run_id": run_id,
        "meta": {"mode": "exact" if regression is None else "regression", "replay_of": summary.run_id, "from_step": 0},
        "restore": restore,
        "roots": roots or {"root": str(scratch / "cwd"), "venv": sys.prefix, "home": os.path.expanduser("~")},
        "entry": target,
        "launch": launch_of(entry, roots),
        "root": entry.get("root"),
        "asgi": mapping(entry.get("asgi")),
        "celery": mapping(entry.get("celery")),
        "file": expand(str(target.get("file", "")), roots),
        "path": program_path(entry, roots),
        "argv": [str(word) for word in cast("list[Json]", entry.get("argv") or ["agent"])],
        "arguments": _write_arguments(source, entry, scratch),
        "items": _items(source),
        "cwd": working_directory(source, scratch),
        "started_at": summary.started_at if restore is None else restore["started_at"],
        **_several(source, processes, scratch),
        "tolerate": list(tolerate),
        **standard_input(source, scratch),
        "scratch": str(scratch),
        **_layers(start, scratch, box),
        "redacting": mapping(mapping(summary.meta.get("rules")).get("redaction")).get("version") != "off",
        "volatile": _volatile(summary.meta),
        "control_fd": control_fd,
        "control": control,
        "regression": regression,
        "network": regression is not None and regression.get("hosts") is not None,
    }
    (scratch / "spec.json").write_text(json.dumps(spec), encoding="utf-8")
    return spec


def _volatile(meta: Mapping[str, Json]) -> dict[str, object]:
    rules = volatile_rules(meta)
    return {"version": rules.version, "paths": {name: list(paths) for name, paths in rules.paths.items()}}


def _several(source: DirectoryRunSource, processes: Mapping[str, object] | None, scratch: Path) -> dict[str, object]:
    """What the processes of the replay share, where there may be several; where all of them may write."""
    own = cast("Sequence[str]", (processes or {}).get("own", ()))
    started = [each.detail for each in unseen_in(source) if each.event == "subprocess.Popen"]
    launch = mapping(mapping(source.summary().meta.get("entry")).get("launch"))
    shared: dict[str, object] = {"started": started, "tools": mapping(launch.get("tools"))}
    return {"processes": processes, "allow_write": [str(scratch), *own], **shared}


def _layers(start: StartState | None, scratch: Path, box: Mapping[str, object] | None) -> dict[str, object]:
    """What the kernel layers are put in place with."""
    if start is None:
        return {"kernel": False, "views": [], "start_files": []}
    files = start.entries()
    place = tempfile.gettempdir()
    usual = {"folder": os.path.realpath(place), "path": place, "variable": os.environ.get("TMPDIR")}
    views = _views(start, scratch) if box is None else []
    return {"kernel": True, "views": views, "start_files": files, "temporary": usual, "box": box}


def _write_arguments(source: DirectoryRunSource, entry: Mapping[str, Json], scratch: Path) -> str:
    """What the agent was called with, where the child finds it."""
    ref = ref_from(entry.get("args"))
    place = scratch / "arguments"
    place.write_bytes(source.body(ref) if ref is not None else b"{}")
    return str(place)


def _views(start: StartState, scratch: Path) -> list[dict[str, str]]:
    """Each folder with directories for what is written over it."""
    found = []
    for number, folder in enumerate(start.views):
        places = {name: str(scratch / "views" / f"{number}-{name}") for name in ("upper", "work")}
        for place in places.values():
            os.makedirs(place, mode=0o700)
        found.append({"folder": folder, **places})
    return found


def standard_input(source: DirectoryRunSource, scratch: Path) -> dict[str, object]:
    """What the recorded program read from standard input, as a file; nothing where it read nothing."""
    found, terminal = b"", False
    for event in source.extra_events("stdin"):
        ref = ref_from(event.members.get("body"))
        try:
            found += source.body(ref) if ref is not None else b""
        except BodyMissing:
            break  # what follows would come at the wrong place
        terminal = event.members.get("terminal") is True
    if not found:
        return {}
    (scratch / "stdin").write_bytes(found)
    return {"stdin": str(scratch / "stdin"), "terminal": terminal}


def working_directory(source: DirectoryRunSource, scratch: Path) -> str:
    """Where the agent is started: where it was, or an empty directory."""
    entry = mapping(source.summary().meta.get("entry"))
    roots = roots_of(source.summary())
    cwd = expand(str((launch_of(entry, roots) or entry).get("cwd", "")), roots)
    return cwd if os.path.isdir(cwd) else str(scratch / "cwd")


def launch_of(entry: Mapping[str, Json], roots: Mapping[str, str]) -> dict[str, Json] | None:
    """The recorded launch with this machine's paths, where it is the entry point: no function was named."""
    launch = mapping(entry.get("launch"))
    if not launch or mapping(entry.get("callable")):
        return None
    places: dict[str, Json] = {name: expand(str(launch[name]), roots) for name in ("file", "cwd") if name in launch}
    if launch.get("kind") == "script":
        places["target"] = expand(str(launch["target"]), roots)
    return {**launch, **places}


def program_path(entry: Mapping[str, Json], roots: Mapping[str, str]) -> list[str]:
    """Where the recorded program found its own modules, on this machine."""
    return [expand(str(place), roots) for place in cast("list[Json]", entry.get("path") or [])]


def interpreter_options(entry: Mapping[str, Json]) -> list[str]:
    """Options the recorded interpreter was started with, without those that keep the child from being one."""
    words = [str(word) for word in cast("list[Json]", mapping(entry.get("launch")).get("options") or [])]
    found: list[str] = []
    while words:
        word = words.pop(0)
        value = [words.pop(0)] if word in TAKES_A_VALUE and words else []
        letters = "".join(letter for letter in word if letter in _PASSED_ON) if not value else ""
        if word[:2] in ("-W", "-X") or value:
            found += [word, *value]
        elif letters and not word.startswith("--"):
            found.append(f"-{letters}")
    return found


def child_environment(source: DirectoryRunSource, spec: Mapping[str, object], scratch: Path) -> dict[str, str]:
    """The child's variables: this user's, the recorded ones that change results, dummies for absent secrets."""
    recorded = mapping(recorded_environment(source).get("env"))
    environ = {name: value for name, value in os.environ.items() if not name.startswith("AGENTDBG")}
    exact = mapping(spec.get("meta")).get("mode") == "exact"

    def is_restored(name: str) -> bool:
        return bool(_RESTORED.fullmatch(name) or (exact and _ADDRESS.fullmatch(name)))

    for name in [name for name in environ if recorded and is_restored(name)]:
        del environ[name]
    for name, about in recorded.items():
        value = mapping(about).get("value")
        if isinstance(value, str) and is_restored(name):
            environ[name] = value
        elif name not in environ and _is_secret(name):
            environ[name] = "agentdbg-dummy"
    launch = mapping(spec.get("launch"))
    if launch:
        environ.pop("PYTHONHASHSEED", None)
        if str(launch.get("hash_seed")).isdigit():
            environ["PYTHONHASHSEED"] = str(launch["hash_seed"])
    tools = mapping(spec.get("tools"))
    kept = ("AGENTDBG_REDACTION_KEY", "AGENTDBG_REDACTION_KEY_FILE", "AGENTDBG_DEBUG")
    package = str(Path(__file__).resolve().parents[2])
    path = [place for place in cast("list[str]", spec["path"]) if os.path.isdir(place)]
    return {
        **environ,
        **{name: os.environ[name] for name in kept if name in os.environ},
        **({"AGENTDBG_TOOLS": json.dumps(tools)} if tools else {}),
        "AGENTDBG_STORE": str(scratch / "store"),
        "PYTHONDONTWRITEBYTECODE": "1",
        "PYTHONPATH": os.pathsep.join(dict.fromkeys([*path, str(spec["cwd"]), package])),
        "TMPDIR": str(scratch / "tmp"),
        **_of_processes(mapping(spec.get("processes")), scratch),
    }


def _of_processes(processes: Mapping[str, Json], scratch: Path) -> dict[str, str]:
    """What the processes of a replay know each other by, where there may be several."""
    if not processes:
        return {}
    place = str(scratch / "spec.json")
    return {MARKER: f"{processes['address']}|{place}", "TMPDIR": str(cast("list[Json]", processes["own"])[0])}


def recorded_environment(source: DirectoryRunSource) -> dict[str, Json]:
    """What was captured of the recording process; empty when nothing was."""
    for event in source.extra_events("environment"):
        ref = ref_from(event.members.get("body"))
        try:
            found = json.loads(source.body(ref)) if ref is not None else None
        except (BodyMissing, ValueError):
            found = None
        if isinstance(found, dict):
            return cast("dict[str, Json]", found)
    return {}


def interpreter(source: DirectoryRunSource) -> str:
    """The recorded virtual environment's Python, where it is still there."""
    venv = roots_of(source.summary()).get("venv", "")
    own = f"{venv}/bin/python" if venv else ""
    return own if own and os.access(own, os.X_OK) else sys.executable


def expand(path: str, roots: Mapping[str, str]) -> str:
    """A recorded path on this machine."""
    for name, root in roots.items():
        if path == f"{{{name}}}" or path.startswith(f"{{{name}}}/"):
            return root + path[len(name) + 2 :]
    return path


def mapping(value: object) -> dict[str, Json]:
    """A JSON object, or an empty one in place of anything else."""
    return cast("dict[str, Json]", value) if isinstance(value, dict) else {}


def _is_secret(name: str) -> bool:
    return not name.startswith("AGENTDBG") and any(word in name.upper() for word in _SECRET_NAMES)


def _items(source: DirectoryRunSource) -> int | None:
    """How many items of a generator agent were consumed, when it was given up before its end."""
    steps = source.steps()
    root: Step | None = steps[0] if len(steps) else None
    if root is None or root.kind is not Kind.AGENT or root.status.value != "partial" or root.result is None:
        return None
    try:
        found = json.loads(source.body(root.result))
    except (BodyMissing, ValueError):
        return None
    items = found.get("items") if isinstance(found, dict) else None
    return len(items) if isinstance(items, list) else None

"""What is otherwise here than where a run was recorded: Python, packages, code, files read, variables. Runs nothing.

Only git is asked, with everything switched off that a repository could make it run.
"""

from __future__ import annotations

import hashlib
import os
import re
import sys
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Final

from agentdbg.model.records import Json
from agentdbg.replay.spec import expand, interpreter, mapping, recorded_environment
from agentdbg.replay.trust import roots_of
from agentdbg.store.reader import DirectoryRunSource

LISTED: Final = 6
MAX_HASHED: Final = 64 * 1024 * 1024
_OF_A_TERMINAL: Final = re.compile(
    r"AGENTDBG.*|_|PWD|OLDPWD|SHLVL|SHELL|TERM.*|COLORTERM|COLUMNS|LINES|LS_COLORS|LESS.*|EDITOR|VISUAL|PAGER|MAIL"
    r"|SSH_.*|XDG_.*|DBUS_.*|DISPLAY|WAYLAND_.*|WINDOWID|TMUX.*|STY|VTE_.*|GPG_.*|LOGNAME|USER|HOSTNAME|HOME|INVOCATION_ID"
    r"|JOURNAL_STREAM|PYTEST_.*|VIRTUAL_ENV.*|PS1|PYTHON.*|LANG|LANGUAGE|LC_.*|TZ|NO_COLOR|CI|SOURCE_DATE_EPOCH|PATH"
)
"""Variables that come and go with terminals and sessions, and those that a replay restores."""
_SECRET: Final = ("KEY", "TOKEN", "SECRET", "PASSWORD", "PASSWD", "CREDENTIAL")
Difference = tuple[str, str]
"""What it is about (``version``, ``code``, ``file``, ``variable``), and a sentence."""


def differences(source: DirectoryRunSource) -> list[Difference]:
    """Everything that is known to differ."""
    recorded = recorded_environment(source)
    found = [*_python(source, recorded), *_packages(source, recorded)]
    found += [*_code(source, recorded), *_files(source), *_variables(recorded)]
    return found


def _python(source: DirectoryRunSource, recorded: Mapping[str, Json]) -> Iterator[Difference]:
    was = mapping(recorded.get("runtime")).get("version")
    now = _version_of(interpreter(source))
    if isinstance(was, str) and now and was != now:
        yield "version", f"recorded with Python {was}, replayed with {now}"


def _version_of(python: str) -> str:
    """The version of an interpreter, without starting it."""
    if os.path.realpath(python) == os.path.realpath(sys.executable):
        return sys.version.split()[0]
    try:
        text = (Path(python).parent.parent / "pyvenv.cfg").read_text(encoding="utf-8")
    except (OSError, ValueError):
        return ""
    found = re.search(r"(?m)^version(?:_info)?\s*=\s*(\d+\.\d+\.\d+)", text)
    return found[1] if found else ""


def _packages(source: DirectoryRunSource, recorded: Mapping[str, Json]) -> Iterator[Difference]:
    was = {name: value for name, value in mapping(recorded.get("dependencies")).items() if isinstance(value, str)}
    now = _installed(interpreter(source))
    if not was or not now:
        return
    changed = [f"{name} {version} → {now[name]}" for name, version in was.items() if now.get(name, version) != version]
    gone = [f"{name} {version} is not there" for name, version in was.items() if name not in now]
    if changed or gone:
        yield "version", f"packages differ: {_several([*changed, *gone])}"


def _installed(python: str) -> dict[str, str]:
    """Packages that an interpreter finds: name to version."""
    from importlib.metadata import distributions

    places = list(sys.path)
    if os.path.realpath(python) != os.path.realpath(sys.executable) or not python.startswith(sys.prefix):
        places = [str(place) for place in Path(python).parent.parent.glob("lib/python3*/site-packages")]
    found: dict[str, str] = {}
    for each in distributions(path=places):
        try:
            name, version = each.metadata["Name"], each.version
        except (KeyError, OSError, ValueError):
            continue
        if name and version:
            found.setdefault(re.sub(r"[-_.]+", "-", name).lower(), version)
    return found


def _code(source: DirectoryRunSource, recorded: Mapping[str, Json]) -> Iterator[Difference]:
    state, roots = mapping(recorded.get("git")), roots_of(source.summary())
    if state.get("commit") and os.path.isdir(os.path.join(roots.get("root", ""), ".git")):
        yield from _git(state, roots["root"])
    changed = []
    for about in mapping(recorded.get("modules")).values():
        told = mapping(about)
        path, was = expand(str(told.get("path")), roots), told.get("sha256")
        if isinstance(was, str) and os.path.isabs(path) and (words := _changed(path, was)):
            changed.append(words)
    if changed:
        yield "code", f"the program's files differ: {_several(changed)}"


def _git(was: Mapping[str, Json], root: str) -> Iterator[Difference]:
    from agentdbg.recording.git_state import git_state

    now = git_state(root)
    if now.get("error"):
        yield "code", f"whether the code is the recorded one is not known: {now['error']}"
    elif now.get("commit") != was.get("commit"):
        yield "code", f"recorded at commit {str(was['commit'])[:10]}, now at {str(now.get('commit'))[:10]}"
    elif bool(now.get("dirty")) != bool(was.get("dirty")):
        yield (
            "code",
            "recorded with uncommitted changes, now without" if was.get("dirty") else "uncommitted changes now",
        )
    elif _diffs(now) != _diffs(was) and not any("⟦R:" in text for text in _diffs(was)):
        yield "code", "the uncommitted changes are others than the recorded ones"


def _diffs(state: Mapping[str, Json]) -> list[str]:
    parts = [state.get(name) for name in ("diff_staged", "diff_unstaged")]
    return [str(mapping(part).get("text") or mapping(part).get("sha256") or part) for part in parts]


def _files(source: DirectoryRunSource) -> Iterator[Difference]:
    """Files that the program read and that a replay reads again as they are now."""
    roots = roots_of(source.summary())
    written: set[str] = set()
    found: dict[str, str] = {}
    for event in source.extra_events("file"):
        told = event.members
        path = expand(str(told.get("path", "")), roots)
        if told.get("mode") == "write":
            written.add(path)
        elif path not in written and path not in found and os.path.isabs(path) and not told.get("keyed"):
            was = told.get("sha256")
            words = _changed(path, was) if isinstance(was, str) and not told.get("redacted") else ""
            if told.get("absent") and os.path.exists(path):
                words = f"{path} was not there"
            found[path] = words
    if several := [words for words in found.values() if words]:
        yield "file", f"files it read differ: {_several(several)}"


def _changed(path: str, was: str) -> str:
    try:
        if os.path.getsize(path) > MAX_HASHED:
            return ""
        with open(path, "rb") as file:
            now = hashlib.file_digest(file, "sha256").hexdigest()
    except FileNotFoundError:
        return f"{path} is gone"
    except OSError:
        return ""
    return "" if now == was else f"{path} has changed"


def _variables(recorded: Mapping[str, Json]) -> Iterator[Difference]:
    names = [name for name in mapping(recorded.get("env")) if name not in os.environ]
    names = [name for name in names if not _OF_A_TERMINAL.fullmatch(name)]
    secrets = [name for name in names if any(word in name.upper() for word in _SECRET)]
    others = [name for name in names if name not in secrets]
    if secrets:
        yield "variable", f"not set here, so a dummy takes its place: {_several(secrets)}"
    if others:
        yield "variable", f"set while recording, not here: {_several(others)}"


def _several(items: Sequence[str]) -> str:
    more = len(items) - LISTED
    return ", ".join(items[:LISTED]) + (f", and {more:,} more" if more > 0 else "")

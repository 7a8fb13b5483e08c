"""What is not as it was when a run was recorded: interpreter, dependencies, files, variables. Named before step 1."""

from __future__ import annotations

import hashlib
import json
import os
import re
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Final

from agentdbg.model.records import Json
from agentdbg.recording.environment import dependencies
from agentdbg.recording.git_state import Git, GitError
from agentdbg.replay.spec import expand, interpreter, mapping, recorded_environment
from agentdbg.replay.trust import roots_of
from agentdbg.store.reader import DirectoryRunSource

SECONDS: Final = 10.0
LISTED: Final = 20
_MOST_DIFF: Final = 4 * 1024 * 1024
_ASKED: Final = """
import json, sys
sys.path.insert(0, {package!r})
from agentdbg.recording.environment import dependencies
print(json.dumps([sys.version.split()[0], dependencies()]))
"""
_OF_A_SESSION: Final = re.compile(
    r"_|OLDPWD|PWD|SHLVL|TERM.*|COLORTERM|SSH_.*|XDG_.*|DBUS_.*|DISPLAY|WAYLAND.*|LS_COLORS|LESS.*|PS1|TMUX.*|WINDOWID"
    r"|COLUMNS|LINES|HOSTNAME|LOGNAME|MAIL|USER|HOME|PATH|SHELL|LANG|LC_.*|TZ|TMPDIR|AGENTDBG.*|PYTEST.*|PYTHON.*"
    r"|VIRTUAL_ENV.*|GPG_.*|INVOCATION_ID|JOURNAL_STREAM|SYSTEMD_.*|EDITOR|VISUAL|PAGER|COV_.*|DEBUGINFOD.*"
)
"""Variables that belong to a terminal or a login: a program that depends on one is rare."""
_SECTION: Final = re.compile(r"^diff --git a/(.+?) b/\1$", re.MULTILINE)
_INDEX: Final = re.compile(r"^index [0-9a-f]+\.\.([0-9a-f]+)", re.MULTILINE)


def differences_from_record(
    source: DirectoryRunSource, added: Mapping[str, str] | None = None, *, python: bool = True
) -> list[str]:
    """What is not as recorded, one line each; nothing of what the record does not say.

    Args:
        source: The run.
        added: Variables that the replay gets beside this process's own.
        python: Whether it runs on this machine's Python.
    """
    recorded = recorded_environment(source)
    if not recorded:
        return []
    return [
        *(_versions(source, recorded) if python else ()),
        *_listed(list(_files(source, recorded)), "files"),
        *_variables(recorded, {**os.environ, **(added or {})}),
    ]


def files_differ(source: DirectoryRunSource) -> bool:
    """Whether a file of the program, or one that it read, is known not to be as recorded."""
    recorded = recorded_environment(source)
    return bool(recorded) and next(_files(source, recorded), None) is not None


def _versions(source: DirectoryRunSource, recorded: Mapping[str, Json]) -> Iterator[str]:
    was = mapping(recorded.get("runtime"))
    found = _facts_of(interpreter(source))
    if found is None:
        yield f"the interpreter {interpreter(source)} does not say what it has"
        return
    version, packages = found
    if isinstance(was.get("version"), str) and was["version"] != version:
        yield f"Python is {version}, recorded with {was['version']}"
    known = mapping(recorded.get("dependencies"))
    if known and "error" not in known:
        yield from _listed(list(_packages(known, packages)), "packages")


def _packages(known: Mapping[str, Json], now: Mapping[str, Json]) -> Iterator[str]:
    for name, version in known.items():
        if name not in now:
            yield f"package {name} {version} is not installed any more"
        elif now[name] != version:
            yield f"package {name} is {now[name]}, recorded with {version}"
    new = [name for name in now if name not in known]
    if new:
        yield f"installed since: {', '.join(new[:LISTED])}"


def _facts_of(python: str) -> tuple[str, Mapping[str, Json]] | None:
    if os.path.realpath(python) == os.path.realpath(sys.executable) and os.path.dirname(python).startswith(sys.prefix):
        return sys.version.split()[0], dependencies()
    package = str(Path(__file__).resolve().parents[2])
    try:
        done = subprocess.run(
            [python, "-I", "-c", _ASKED.format(package=package)],
            capture_output=True,
            timeout=SECONDS,
            check=True,
            stdin=subprocess.DEVNULL,
        )
        version, packages = json.loads(done.stdout)
    except (OSError, ValueError, subprocess.SubprocessError):
        return None
    return str(version), mapping(packages)


def _files(source: DirectoryRunSource, recorded: Mapping[str, Json]) -> Iterator[str]:
    roots = roots_of(source.summary())
    state = mapping(recorded.get("git"))
    if state.get("commit"):
        yield from _code(roots.get("root", ""), state)
    for about in mapping(recorded.get("modules")).values():
        module = mapping(about)
        yield from _file(str(module.get("path")), expand(str(module.get("path")), roots), module.get("sha256"))
    files = [event.members for event in source.extra_events("file")]
    written = {members.get("path") for members in files if members.get("mode") == "write"}
    for members in files:
        if members.get("path") in written:
            continue  # the run changed it itself; a replay is given what was there
        if members.get("mode") == "read" and not members.get("keyed") and not members.get("redacted"):
            yield from _file(str(members.get("path")), expand(str(members.get("path")), roots), members.get("sha256"))


def _file(shown: str, path: str, digest: Json) -> Iterator[str]:
    if not isinstance(digest, str) or not os.path.isabs(path):
        return
    try:
        with open(path, "rb") as file:
            if hashlib.file_digest(file, "sha256").hexdigest() != digest:
                yield f"{shown} is not as recorded"
    except FileNotFoundError:
        yield f"{shown} is not there any more"
    except OSError as problem:
        yield f"{shown} cannot be read: {problem.strerror}"


def _code(root: str, state: Mapping[str, Json]) -> Iterator[str]:
    """Files under version control that differ from the recorded tree: commit and difference together."""
    commit = str(state["commit"])
    if not os.path.lexists(os.path.join(root, ".git")):
        return
    git = Git(root, time.monotonic() + SECONDS)
    try:
        git.prepare()
        head = git.commit()
        words = ["diff", "--no-ext-diff", "--no-textconv", "--no-color", "--no-renames", "--full-index", commit]
        now = _changed(git.read(words, _MOST_DIFF).kept.decode("utf-8", "replace"))
    except (GitError, OSError):
        yield f"commit {commit[:12]} is not in the repository at {root}: its files cannot be compared"
        return
    if head != commit:
        yield f"the commit is {str(head)[:12]}, recorded with {commit[:12]}"
    texts = [str(mapping(state.get(name)).get("text") or "") for name in ("diff_staged", "diff_unstaged")]
    was = {name: blob for text in texts for name, blob in _changed(text).items()}
    untracked = mapping(state.get("untracked"))
    for name in sorted({*was, *now} - untracked.keys()):
        if was.get(name) != now.get(name):
            yield f"{{root}}/{name} is not as recorded"
    for name, about in untracked.items():
        text = mapping(about).get("text")
        digest = mapping(about).get("sha256")
        if isinstance(text, str):
            digest = hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()
        yield from _file(f"{{root}}/{name}", os.path.join(root, name), digest)


def _changed(diff: str) -> dict[str, str]:
    """Each changed file with the hash of its new content."""
    found: dict[str, str] = {}
    places = [*_SECTION.finditer(diff)]
    for number, place in enumerate(places):
        end = places[number + 1].start() if number + 1 < len(places) else len(diff)
        index = _INDEX.search(diff, place.end(), end)
        found[place[1]] = index[1] if index is not None else diff[place.end() : end]
    return found


def _variables(recorded: Mapping[str, Json], now: Mapping[str, str]) -> Iterator[str]:
    known = mapping(recorded.get("env"))
    if "error" in known and not isinstance(known["error"], dict):
        return
    missing = [name for name in known if name not in now and not _OF_A_SESSION.fullmatch(name)]
    secret = [name for name in missing if re.search(r"KEY|TOKEN|SECRET|PASSWORD|PASSWD|CREDENTIAL", name.upper())]
    plain = [name for name in missing if name not in secret]
    if plain:
        yield f"variables that were set and are not: {', '.join(plain[:LISTED])}; --env-file sets them"
    if secret:
        yield f"secrets that were set and are not, a dummy stands for each: {', '.join(secret[:LISTED])}"


def _listed(lines: list[str], what: str) -> list[str]:
    more = len(lines) - LISTED
    return [*lines[:LISTED], f"and {more:,} more {what}"] if more > 0 else lines

"""The code as it was recorded: commit, difference and untracked sources, put together in a scratch directory.

Files come straight from the repository's object store, so that nothing is written below ``.git``, whatever happens,
and no hook, filter, attribute, submodule or LFS client runs.
"""

from __future__ import annotations

import hashlib
import hmac
import os
import re
import subprocess
import tempfile
import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO, Final

from agentdbg.model.records import Json
from agentdbg.recording.git_state import Git, GitError
from agentdbg.recording.process import seal
from agentdbg.redaction.keys import load_key
from agentdbg.redaction.placeholder import OPEN
from agentdbg.replay.spec import mapping, recorded_environment
from agentdbg.replay.trust import is_shipped, roots_of
from agentdbg.store.journal import ref_from
from agentdbg.store.reader import DirectoryRunSource

SECONDS: Final = 120.0
MOST_FILES: Final = 200_000
_LFS: Final = b"version https://git-lfs.github.com/spec/v1\n"
_OID: Final = re.compile(r"[0-9a-f]{40}([0-9a-f]{24})?")
_BINARY: Final = re.compile(r"^Binary files (?:a/(.*)|/dev/null) and (?:b/(.*)|/dev/null) differ$", re.MULTILINE)
_LINK, _SUBMODULE, _EXECUTABLE = "120000", "160000", "100755"
_LISTED: Final = 20


class CannotRestore(Exception):
    """The recorded code cannot be put together; the message says why."""


@dataclass(frozen=True, slots=True)
class RecordedCode:
    """What the record says about the code.

    Attributes:
        repository: Where the repository should be on this machine.
        commit: The commit; ``None`` before the first one.
        diffs: The staged and the unstaged difference.
        untracked: What was recorded of files that git did not know.
        obstacles: Why it cannot be put together; empty when it can.
        notes: What is missing or different all the same.
    """

    repository: str
    commit: str | None
    diffs: tuple[str, ...]
    untracked: Mapping[str, Mapping[str, Json]]
    obstacles: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()


@dataclass
class _Restored:
    """Notes on what could not be put back."""

    notes: list[str] = field(default_factory=list)


def read_recorded_code(source: DirectoryRunSource) -> RecordedCode:
    """What the record says about the code, and what stands in the way of putting it together here."""
    repository = roots_of(source.summary()).get("root", "")
    state = mapping(recorded_environment(source).get("git"))
    commit = state.get("commit")
    obstacles = list(_state_obstacles(state))
    diffs: list[str] = []
    for name in ("diff_staged", "diff_unstaged"):
        recorded = mapping(state.get(name))
        obstacles += _diff_obstacles(name.removeprefix("diff_"), recorded)
        diffs.append(str(recorded.get("text") or ""))
    untracked = {name: mapping(about) for name, about in mapping(state.get("untracked")).items()}
    obstacles += [
        f"the recorded text of {name} has redacted values"
        for name, about in untracked.items()
        if OPEN in name or OPEN in str(about.get("text"))
    ]
    left_out = state.get("untracked_left_out")
    notes = [f"{left_out} untracked files are not in the record"] if isinstance(left_out, int) and left_out else []
    if not obstacles:
        obstacles += _repository_obstacles(repository, commit)
    known = commit if isinstance(commit, str) else None
    return RecordedCode(repository, known, tuple(diffs), untracked, tuple(obstacles), tuple(notes))


def is_own_code(source: DirectoryRunSource) -> bool:
    """Whether this user recorded the code: the seal of a run covers its entry point alone."""
    if is_shipped(source):
        return True
    for event in source.extra_events("environment"):
        ref, found = ref_from(event.members.get("body")), event.members.get("seal")
        if ref is None or not isinstance(found, str) or not found.isascii():
            return False
        return hmac.compare_digest(found, seal(load_key().secret, source.summary().run_id, ref.sha256))
    return False


def restore(code: RecordedCode, target: Path) -> list[str]:
    """Put the recorded code together in an empty directory.

    Args:
        code: What to put together; without obstacles.
        target: The directory.

    Returns:
        What is missing or different all the same, in words.

    Raises:
        CannotRestore: It cannot be done.
    """
    restored = _Restored([*code.notes])
    git = Git(code.repository, time.monotonic() + SECONDS)
    try:
        git.prepare()
        if code.commit is not None:
            _write_commit(git, code.commit, target, restored)
        for diff in code.diffs:
            _apply(git, diff, target, code.repository, restored)
        for name, about in code.untracked.items():
            _write_untracked(name, about, target, code.repository, restored)
    except GitError as problem:
        raise CannotRestore(str(problem)) from problem
    except OSError as problem:
        raise CannotRestore(f"{problem.strerror or problem}: {problem.filename or target}") from problem
    more = len(restored.notes) - _LISTED
    return [*restored.notes[:_LISTED], *([f"and {more:,} more"] if more > 0 else [])]


def _state_obstacles(state: Mapping[str, Json]) -> Iterator[str]:
    if not state:
        yield "the record says nothing of a repository: the program did not run in one, or nothing was captured"
    elif "error" in state:
        yield f"git could not be asked when this was recorded: {state['error']}"
    commit = state.get("commit")
    if isinstance(commit, str) and not _OID.fullmatch(commit):
        yield f"the recorded commit is no commit: {commit[:80]}"
    for name in ("commit", "untracked"):
        if "error" in mapping(state.get(name)):
            yield f"{name} could not be recorded: {mapping(state[name])['error']}"


def _diff_obstacles(name: str, recorded: Mapping[str, Json]) -> Iterator[str]:
    if "error" in recorded:
        yield f"the {name} difference could not be recorded: {recorded['error']}"
    if recorded.get("cut"):
        yield f"the {name} difference is cut in the record: it has {recorded.get('size')} bytes"
    if OPEN in str(recorded.get("text")):
        yield f"the {name} difference has redacted values"


def _repository_obstacles(repository: str, commit: Json) -> Iterator[str]:
    if not repository or not os.path.lexists(os.path.join(repository, ".git")):
        yield f"there is no repository at {repository or 'an unknown place'}: say --map {{root}}=PLACE"
        return
    git = Git(repository, time.monotonic() + SECONDS)
    try:
        git.prepare()
        if isinstance(commit, str):
            git.read(["cat-file", "-e", f"{commit}^{{commit}}"], 200)
    except (GitError, OSError) as problem:
        missing = "not a valid object" in str(problem).lower() or "ended with" in str(problem)
        yield f"commit {str(commit)[:12]} is not in the repository at {repository}" if missing else str(problem)


def _write_commit(git: Git, commit: str, target: Path, restored: _Restored) -> None:
    listing = git.read(["ls-tree", "-r", "-z", "--full-tree", commit], MOST_FILES * 400)
    entries = [entry for entry in listing.text().split("\0") if entry]
    if listing.cut or len(entries) > MOST_FILES:
        raise CannotRestore(f"the commit has more than {MOST_FILES:,} files")
    blobs: list[tuple[str, str, str]] = []
    for entry in entries:
        head, _, name = entry.partition("\t")
        mode, _, oid = head.split(" ")[:3]
        if mode == _SUBMODULE:
            _place(target, name).mkdir(parents=True, exist_ok=True)
            restored.notes.append(f"submodule {name} is left empty")
        else:
            blobs.append((mode, oid, name))
    links: list[tuple[Path, bytes]] = []
    for (mode, _, name), data in zip(blobs, _contents(git, [oid for _, oid, _ in blobs]), strict=True):
        place = _place(target, name)
        if mode == _LINK:
            links.append((place, data))
            continue
        if data.startswith(_LFS):
            data = _from_lfs(data, name, git.root, restored)
        _write(place, data, executable=mode == _EXECUTABLE)
    for place, data in links:  # at the end: nothing is written through one
        place.parent.mkdir(parents=True, exist_ok=True)
        place.symlink_to(os.fsdecode(data))


def _contents(git: Git, oids: list[str]) -> Iterator[bytes]:
    """The contents of blobs, in order."""
    with tempfile.TemporaryFile() as asked:
        asked.write("".join(f"{oid}\n" for oid in oids).encode())
        asked.seek(0)
        with subprocess.Popen(
            git.command(["cat-file", "--batch", "--buffer"]),
            cwd=git.root,
            env=git.environment(),
            stdin=asked,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            start_new_session=True,
        ) as process:
            try:
                for oid in oids:
                    assert process.stdout is not None
                    yield _content(process.stdout, oid, git.deadline)
            finally:
                process.kill()


def _content(stream: IO[bytes], oid: str, deadline: float) -> bytes:
    if time.monotonic() > deadline:
        raise CannotRestore(f"reading the commit takes more than {SECONDS:g} s")
    head = stream.readline().split()
    if len(head) != 3 or head[1] != b"blob":
        raise CannotRestore(f"the repository lacks object {oid}")
    data = stream.read(int(head[2]))
    stream.read(1)
    if len(data) != int(head[2]):
        raise CannotRestore(f"the repository lacks object {oid}")
    return data


def _apply(git: Git, diff: str, target: Path, repository: str, restored: _Restored) -> None:
    """Apply a difference, but for binary files and submodules, whose contents it does not have."""
    if not diff.strip():
        return
    sections = re.split(r"(?m)^(?=diff --git )", diff)
    kept = [section for section in sections if section.startswith("diff --git ") and not _is_elsewhere(section)]
    for section in sections:
        _note_elsewhere(section, target, repository, restored)
    if not kept:
        return
    with tempfile.TemporaryFile() as patch:
        patch.write("".join(kept).encode("utf-8", "surrogatepass"))
        patch.seek(0)
        environment = {**git.environment(), "GIT_CEILING_DIRECTORIES": str(target.parent), "GIT_DIR": os.devnull}
        words = [git.command([])[0], "apply", "--whitespace=nowarn", "-p1", "-"]
        done = subprocess.run(
            words, cwd=target, env=environment, stdin=patch, capture_output=True, timeout=SECONDS, check=False
        )
    if done.returncode:
        said = done.stderr.decode("utf-8", "replace").strip().splitlines()
        raise CannotRestore(
            f"the recorded difference does not fit the commit: {said[0] if said else 'git apply failed'}"
        )


def _is_elsewhere(section: str) -> bool:
    return bool(_BINARY.search(section)) or ("\nindex " in section and _mode_of(section) == _SUBMODULE)


def _mode_of(section: str) -> str:
    found = re.search(r"^(?:index \S+ |new file mode |deleted file mode |new mode )(\d{6})$", section, re.MULTILINE)
    return found[1] if found is not None else ""


def _note_elsewhere(section: str, target: Path, repository: str, restored: _Restored) -> None:
    binary = _BINARY.search(section)
    if binary is None:
        if section.startswith("diff --git ") and _mode_of(section) == _SUBMODULE:
            restored.notes.append(f"a change of a submodule is left out: {section.splitlines()[0][11:]}")
        return
    name = binary[2] or binary[1] or ""
    place = _place(target, name)
    if not binary[2]:
        place.unlink(missing_ok=True)
        return
    wanted = re.search(r"^index [0-9a-f]+\.\.([0-9a-f]+)", section, re.MULTILINE)
    data = _read(Path(repository, name))
    if data is not None and wanted is not None and _blob_id(data, wanted[1]) == wanted[1]:
        _write(place, data, executable=False)
    else:
        restored.notes.append(f"binary file {name} is not as recorded: its change is not in the record")


def _write_untracked(name: str, about: Mapping[str, Json], target: Path, repository: str, restored: _Restored) -> None:
    place = _place(target, name)
    text, link, digest = about.get("text"), about.get("link"), about.get("sha256")
    if isinstance(text, str):
        _write(place, text.encode("utf-8", "surrogatepass"), executable=os.access(Path(repository, name), os.X_OK))
    elif isinstance(link, str):
        place.parent.mkdir(parents=True, exist_ok=True)
        place.symlink_to(link)
    else:
        data = _read(Path(repository, name)) if isinstance(digest, str) else None
        if data is not None and hashlib.sha256(data).hexdigest() == digest:
            _write(place, data, executable=os.access(Path(repository, name), os.X_OK))
        else:
            why = about.get("left_out") or about.get("error") or "its text is not in the record"
            restored.notes.append(f"untracked file {name} is not there: {why}")


def _from_lfs(pointer: bytes, name: str, repository: str, restored: _Restored) -> bytes:
    """The file that a pointer stands for, should the work tree have it; else the pointer."""
    wanted = re.search(rb"^oid sha256:([0-9a-f]{64})$", pointer, re.MULTILINE)
    data = _read(Path(repository, name))
    if data is not None and wanted is not None and hashlib.sha256(data).hexdigest().encode() == wanted[1]:
        return data
    restored.notes.append(f"{name} is a pointer to large-file storage, whose content is not there")
    return pointer


def _place(target: Path, name: str) -> Path:
    """Where a file goes; never outside the directory, and never through a link."""
    parts = Path(name).parts
    if not parts or name.startswith("/") or ".." in parts or parts[0] == ".git":
        raise CannotRestore(f"{name!r} is no name of a file in a repository")
    place = target
    for part in parts[:-1]:
        place = place / part
        if place.is_symlink():
            raise CannotRestore(f"{name} lies behind a link")
    return place / parts[-1]


def _write(place: Path, data: bytes, *, executable: bool) -> None:
    place.parent.mkdir(parents=True, exist_ok=True)
    place.unlink(missing_ok=True)
    descriptor = os.open(place, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o700 if executable else 0o600)
    with open(descriptor, "wb") as file:
        file.write(data)


def _read(path: Path) -> bytes | None:
    try:
        return path.read_bytes() if path.is_file() else None
    except OSError:
        return None


def _blob_id(data: bytes, like: str) -> str:
    kind = "sha256" if len(like) == 64 else "sha1"
    return hashlib.new(kind, b"blob %d\0" % len(data) + data).hexdigest()

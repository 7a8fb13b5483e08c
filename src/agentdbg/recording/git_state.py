"""The work tree as git sees it: commit, status, differences, untracked sources. Runs git on hostile repositories."""

from __future__ import annotations

import contextlib
import hashlib
import os
import re
import stat
import time
from collections.abc import Callable, Iterable, Iterator
from typing import IO, TYPE_CHECKING

from agentdbg.model.records import Json
from agentdbg.recording.paths import printable

if TYPE_CHECKING:
    from subprocess import Popen

SECONDS = 5.0
MAX_DIFF = 256 * 1024
MAX_STATUS = 64 * 1024
MAX_TEXT = 64 * 1024
MAX_TEXT_TOTAL = 1024 * 1024
MAX_HASHED = 16 * 1024 * 1024
MAX_UNTRACKED = 500
MAX_NAMES = 300

_CHUNK = 64 * 1024
_SECRET_NAME = re.compile(
    r"(?i)(\.env(\..*)?|.*\.(pem|key|p12|pfx|jks|keystore|kdbx|ppk|asc)|id_(rsa|dsa|ecdsa|ed25519)(_.*)?"
    r"|\.(netrc|pgpass|npmrc|pypirc|git-credentials|htpasswd)|.*(credential|secret).*)"
)
# What a repository's own configuration could make git run or reach, switched off. Filters have names: `Git.prepare`.
_OPTIONS = {
    "core.fsmonitor": "false",
    "core.hooksPath": os.devnull,
    "core.untrackedCache": "false",
    "core.pager": "cat",
    "core.quotePath": "true",
    "diff.external": "",
    "diff.autoRefreshIndex": "false",  # it writes, optional locks or not
    "submodule.recurse": "false",
    "protocol.allow": "never",
}
_DIFF = ["diff", "--no-ext-diff", "--no-textconv", "--no-color", "--no-renames", "--no-relative", "--full-index"]
_DIFF += ["-U3", "--src-prefix=a/", "--dst-prefix=b/", "--submodule=short", "--ignore-submodules=dirty"]
_STATUS = ["status", "--porcelain=v1", "-z", "--untracked-files=all", "--no-renames", "--ignore-submodules=dirty"]


class GitError(Exception):
    """Git could not be asked, or did not answer."""


def git_state(root: str) -> dict[str, Json]:
    """Describe the work tree at ``root``; what fails or takes too long becomes ``{"error": …}`` in its place.

    A complete text carries no hash: hashes belong to what the caller redacts, and one over the raw bytes would let
    a redacted value be guessed. What is cut or left out carries the hash of all its bytes.

    Args:
        root: Directory that holds ``.git``. The repository's own idea of its work tree is not believed.
    """
    git = Git(root, time.monotonic() + SECONDS)
    try:
        git.prepare()
        status = git.read(_STATUS, MAX_STATUS)
    except (GitError, OSError) as problem:
        return {"error": _words(problem)}
    entries = [entry for entry in status.text().split("\0") if entry]
    untracked = [entry[3:] for entry in entries if entry.startswith("?? ")]
    return {
        "commit": _attempt(git.commit),
        "dirty": bool(entries),
        "status_porcelain": "\n".join(map(printable, entries)) + ("\n…" if status.cut else ""),
        "diff_staged": _attempt(lambda: git.read([*_DIFF, "--cached"], MAX_DIFF).json()),
        "diff_unstaged": _attempt(lambda: _unstaged(git, entries, every=not status.cut)),
        "untracked": _attempt(lambda: _untracked(root, untracked, git.deadline)),
        "untracked_left_out": max(0, len(untracked) - MAX_UNTRACKED),
    }


def _unstaged(git: Git, entries: list[str], *, every: bool) -> Json:
    """The difference of the files that the status names: others may look touched without a difference."""
    names = [entry[3:] for entry in entries if entry[1] not in " ?!"]
    if every and not names:
        return _Output(0).json()
    return git.read([*_DIFF, "--", *(names if every and len(names) <= MAX_NAMES else ())], MAX_DIFF).json()


def _attempt(read: Callable[[], Json]) -> Json:
    try:
        return read()
    except Exception as problem:
        return {"error": _words(problem)}


def _words(problem: BaseException) -> str:
    return printable(f"{type(problem).__name__}: {problem}")[:400]


class _Output:
    """The beginning of an output, with the size and hash of all of it."""

    def __init__(self, limit: int) -> None:
        self.limit = limit
        self.kept = bytearray()
        self.size = 0
        self._hash = hashlib.sha256()

    def add(self, chunk: bytes) -> None:
        self.size += len(chunk)
        self._hash.update(chunk)
        self.kept += chunk[: max(0, self.limit - len(self.kept))]

    @property
    def cut(self) -> bool:
        return self.size > len(self.kept)

    def digest(self) -> str:
        """Hash of all bytes, kept or not."""
        return self._hash.hexdigest()

    def text(self) -> str:
        """All of it as the system's text, cut after the last complete entry."""
        data = bytes(self.kept)
        return os.fsdecode(data[: data.rfind(b"\0") + 1] if self.cut else data)

    def json(self) -> Json:
        data = bytes(self.kept)
        if not self.cut:
            return {"text": data.decode("utf-8", "backslashreplace"), "size": self.size, "cut": False}
        # After a whole line: half a secret is one that no rule recognises.
        data = data[: data.rfind(b"\n") + 1]
        text = data.decode("utf-8", "backslashreplace")
        return {"text": text, "size": self.size, "cut": True, "sha256": self.digest()}


class Git:
    """Git in one work tree, with everything of the repository's that could run a command switched off."""

    def __init__(self, root: str, deadline: float) -> None:
        """Ask git about a work tree.

        Args:
            root: Directory that holds ``.git``.
            deadline: Monotonic time at which it has to be done.
        """
        self.root = root
        self.deadline = deadline
        self._options = dict(_OPTIONS)
        self._search = self._safe_path()
        self._program = ""

    def prepare(self) -> None:
        """Find git and learn which filters the repository defines, to switch them off."""
        import shutil

        self._program = shutil.which("git", path=self._search) or ""
        if not os.path.isabs(self._program):
            raise GitError("git is not installed")
        query = ["config", "-z", "--show-scope", "--name-only", "--get-regexp", r"^(filter\.|core\.hookspath$)"]
        answer = self.read(query, MAX_STATUS)
        if answer.cut:
            raise GitError("the repository defines too many filters")
        words = answer.text().split("\0")
        settings = list(zip(words[::2], words[1::2], strict=False))
        if ("command", "core.hookspath") not in settings:
            raise GitError("this git is too old to be kept from running a repository's commands")
        for scope, name in settings:
            if not name.startswith("filter."):
                continue
            if scope not in ("system", "global"):
                self._options[name] = "false" if name.endswith(".required") else ""

    def commit(self) -> Json:
        """The commit of HEAD, ``None`` before the first one."""
        return self.read(["rev-parse", "--verify", "-q", "HEAD"], 200, fine=(0, 1)).text().strip() or None

    def read(self, args: list[str], limit: int, fine: tuple[int, ...] = (0,)) -> _Output:
        """Run one command and read its output.

        Raises:
            GitError: It failed, or the time is over.
        """
        import subprocess
        import threading

        left = self.deadline - time.monotonic()
        if left <= 0:
            raise GitError(f"git took more than {SECONDS:g} s")
        output, words = _Output(limit), _Output(2000)
        with subprocess.Popen(
            self.command(args),
            cwd=self.root,
            env=self.environment(),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            start_new_session=True,
        ) as process:
            timer = threading.Timer(left, _kill, [process])
            errors = threading.Thread(target=_drain, args=(process.stderr, words), daemon=True)
            timer.daemon = True
            timer.start()
            errors.start()
            _drain(process.stdout, output)
            errors.join()
            code = process.wait()
            timer.cancel()
        if time.monotonic() >= self.deadline:
            raise GitError(f"git took more than {SECONDS:g} s")
        if code not in fine:
            raise GitError(f"git {args[0]} ended with {code}: {words.kept.decode('utf-8', 'replace').strip()}")
        return output

    def command(self, args: Iterable[str]) -> list[str]:
        """The words that run one command of git; for a process with this object's ``environment``."""
        return [self._program, "--no-pager", f"--work-tree={self.root}", *args]

    def environment(self) -> dict[str, str]:
        """The variables of a git that runs nothing of the repository's."""
        kept = ("HOME", "XDG_CONFIG_HOME", "USERPROFILE", "SYSTEMROOT", "GIT_CONFIG_NOSYSTEM", "GIT_CONFIG_GLOBAL")
        made = {name: os.environ[name] for name in kept if name in os.environ}
        made |= {
            "PATH": self._search,
            "LC_ALL": "C",
            "GIT_OPTIONAL_LOCKS": "0",
            "GIT_TERMINAL_PROMPT": "0",
            "GIT_LITERAL_PATHSPECS": "1",
            "GIT_NO_LAZY_FETCH": "1",
            "GIT_NO_REPLACE_OBJECTS": "1",
            "GIT_ALLOW_PROTOCOL": "none",
            "GIT_CONFIG_COUNT": str(len(self._options)),
        }
        for number, (name, value) in enumerate(self._options.items()):
            made[f"GIT_CONFIG_KEY_{number}"] = name
            made[f"GIT_CONFIG_VALUE_{number}"] = value
        return made

    def _safe_path(self) -> str:
        """``PATH`` without the places that the repository could fill."""
        inside = os.path.realpath(self.root) + os.sep
        places = os.environ.get("PATH", os.defpath).split(os.pathsep)
        safe = (place for place in places if os.path.isabs(place))
        return os.pathsep.join(place for place in safe if not (os.path.realpath(place) + os.sep).startswith(inside))


def _drain(stream: IO[bytes] | None, output: _Output) -> None:
    while stream is not None and (chunk := stream.read1(_CHUNK)):  # type: ignore[attr-defined]
        output.add(chunk)


def _kill(process: Popen[bytes]) -> None:
    import signal

    if process.poll() is not None:
        return
    with contextlib.suppress(ProcessLookupError):
        if os.name == "posix":
            os.killpg(process.pid, signal.SIGKILL)
        else:
            process.kill()


def _untracked(root: str, names: list[str], deadline: float) -> Json:
    found: dict[str, Json] = {}
    room = MAX_TEXT_TOTAL
    for name in sorted(names)[:MAX_UNTRACKED]:
        if time.monotonic() > deadline:
            found[printable(name)] = {"error": "no time left"}
            continue
        try:
            entry = _source(os.path.join(root, name), room)
        except OSError as problem:
            entry = {"error": problem.strerror or type(problem).__name__}
        text = entry.get("text")
        room -= len(text) if isinstance(text, str) else 0
        found[printable(name)] = entry
    return found


def _source(path: str, room: int) -> dict[str, Json]:
    """One untracked file: its text when small, else its hash; of a file that is named like a secret only the size."""
    info = os.lstat(path)
    if stat.S_ISLNK(info.st_mode):
        return {"link": printable(os.readlink(path))}
    if not stat.S_ISREG(info.st_mode):
        return {"error": "not a regular file"}
    if _SECRET_NAME.fullmatch(os.path.basename(path)):
        return {"size": info.st_size, "left_out": "named like a secret"}
    if info.st_size > MAX_HASHED:
        return {"size": info.st_size, "left_out": "too large"}
    output = _Output(MAX_TEXT)
    for chunk in _chunks(path):
        output.add(chunk)
        if output.size > MAX_HASHED:
            return {"size": output.size, "left_out": "too large"}
    if not output.cut and len(output.kept) <= room:
        with contextlib.suppress(UnicodeDecodeError):  # binary: hash only
            return {"text": output.kept.decode("utf-8"), "size": output.size}
    return {"sha256": output.digest(), "size": output.size}


def _chunks(path: str) -> Iterator[bytes]:
    """A regular file's bytes; a link or FIFO put there in the meantime is not opened."""
    fd = os.open(path, os.O_RDONLY | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0))
    with open(fd, "rb", buffering=0) as file:
        if not stat.S_ISREG(os.fstat(fd).st_mode):
            raise OSError("not a regular file")
        while chunk := file.read(_CHUNK):
            yield chunk

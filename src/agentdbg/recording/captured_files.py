"""How files and databases were before the program wrote them, and what it read: path, hash, content within limits.

Written as ``file`` events. Everything is read before the program's own call goes on, and never a database that this
process has opened: closing it again would drop the locks that its connections hold.
"""

from __future__ import annotations

import fnmatch
import hashlib
import hmac
import os
import re
import stat
import sys
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING

from agentdbg.recording.effect_steps import MAX_LISTED

if TYPE_CHECKING:
    from collections.abc import Callable

    from agentdbg.recording.process import Recorder
    from agentdbg.recording.run import RunRecording
    from agentdbg.recording.scope import Scope

    Waiting = list[tuple[object, int, Callable[[RunRecording], None]]]

MAX_STATE = 64 * 1024 * 1024
"""Largest file whose state before the first write is kept, and largest that is hashed when it is read."""
MOST_SEEN = 100_000
"""Files of one run that are remembered as looked at."""
MOST_WAITING = 200
MAX_WAITING = 16 * 1024 * 1024
"""Bytes of content that a process keeps for a run that has not begun."""
MOST_MOVED, MAX_MOVED = 500, 16 * 1024 * 1024
"""Entries, and bytes, of a directory that is moved with what is in it."""
COMPANIONS = ("-wal", "-journal")
_PLACES = ("/proc/", "/sys/", "/dev/", "/usr/share/", "/usr/lib/", "/etc/ssl/", "/etc/pki/", "/etc/ca-certificates")
_SECRET = re.compile(
    r"(\.env(\..*)?|.*\.(env|pem|key|p12|pfx|jks|keystore|kdbx|ppk)|id_(rsa|dsa|ecdsa|ed25519).*|\.netrc|\.pgpass|\.npmrc"
    r"|\.pypirc|\.git-credentials|.*credentials.*|.*secret.*|.*service.?account.*\.json)",
    re.IGNORECASE,
)
_PRINTABLE = re.compile(rb"[\x20-\x7e]{6,}")


@dataclass(frozen=True, slots=True)
class Found:
    """What a file held.

    Attributes:
        data: Its bytes, where they may be kept.
        digest: SHA-256 in hex; keyed where the file is likely to be a secret.
        directory: It is none.
        whole: What is in the directory is told too.
        link: Where a symbolic link leads.
        status: Its permissions and time of change.
    """

    size: int
    data: bytes | None = None
    digest: str = ""
    keyed: bool = False
    absent: bool = False
    directory: bool = False
    problem: str = ""
    whole: bool = False
    link: str = ""
    status: os.stat_result | None = None


class CapturedFiles:
    """Looks at the files of one process."""

    def __init__(self, recorder: Recorder, waiting: Callable[[], Waiting]) -> None:
        """Look for one recorder; ``waiting`` gives the list to be kept for the run that may begin here."""
        self._recorder = recorder
        self._waiting = waiting
        settings = recorder.settings
        self._content = settings.count("recording.file_content_bytes")
        self._ignored = [re.compile(fnmatch.translate(each)) for each in settings.items("recording.ignore_files")]
        prefixes = {os.path.dirname(os.__file__), sys.prefix, sys.base_prefix, recorder.store}
        prefixes |= {os.path.realpath(place) for place in prefixes}
        self._places = (*_PLACES, *(place + os.sep for place in prefixes if len(place) > 1))
        self._held: set[object] = set()
        self._read: dict[tuple[object, ...], Found] = {}
        self._bytes = 0
        self._linked: dict[str, str] = {}

    def interesting(self, path: object) -> bool:
        """Whether a file that is opened for reading may be material of a run. Quick: most files are the library's."""
        text = path if type(path) is str else os.fsdecode(path)  # type: ignore[arg-type]  # as the event has it
        return not (text.endswith((".pyc", ".so")) or text.startswith(self._places))

    def is_news(self, path: object, run: RunRecording | None) -> bool:
        """Whether a file that is opened for reading is not on the run's record as it is now. Quick."""
        status = _status(path)
        if status is None or not stat.S_ISREG(status.st_mode):
            return False  # the program will be told, or it is no file
        return run is None or _version(path, status) not in run.effects.seen_files

    def read(self, path: object, run: RunRecording | None, scope: Scope | None) -> None:
        """A file is about to be read."""
        status = _status(path)
        target = os.path.realpath(os.fsdecode(path))  # type: ignore[arg-type]  # as the event has it
        if status is None or not stat.S_ISREG(status.st_mode):
            return
        key = _version(path, status)
        written = run is not None and target in run.effects.seen_files  # what it wrote itself is no material
        if written or not self.interesting(target) or self._is_ignored(target) or self._is_held(target, status):
            if run is not None and len(run.effects.seen_files) < MOST_SEEN:
                run.effects.seen_files.add(key)
            return
        self._tell("read", target, partial(self._known, key, target, status), run, scope, key)

    def before_write(self, path: str, run: RunRecording | None, scope: Scope | None, *, moves: bool = False) -> None:
        """A file is about to be written or taken away, a directory made, taken away or moved: how it is now."""
        if (original := self._linked.pop(path, None)) is not None:
            self.before_write(original, run, scope)
        if run is not None and path in run.effects.seen_files:
            return
        if self._is_ignored(path):
            return
        link, status = _link(path), _status(path)
        if link is not None:
            self._tell("write", path, partial(Found, 0, link=link), run, scope, path)
        elif status is not None and stat.S_ISDIR(status.st_mode):
            self._before_change(path, run, scope, moves=moves)
        elif status is None or stat.S_ISREG(status.st_mode):
            held = partial(Found, 0, problem="it was open before")
            look = held if self._is_held(path, status) else partial(self._state, path, status)
            self._tell("write", path, look, run, scope, path)

    def before_change(self, event: str, paths: list[str], run: RunRecording | None, scope: Scope | None) -> None:
        """Something is about to be done to files, given as an audit event."""
        if event != "os.link" or len(paths) != 2:
            for path in paths:
                self.before_write(path, run, scope, moves=event == "os.rename")
            return
        self.before_write(paths[1], run, scope)
        if len(self._linked) < MOST_SEEN:
            self._linked[paths[1]] = paths[0]  # who writes under the second name changes the file

    def _before_change(self, path: str, run: RunRecording | None, scope: Scope | None, *, moves: bool) -> None:
        """A directory is about to be taken away, or moved with what is in it."""
        inside = _tree(path) if moves else []
        if inside is None:
            look = partial(Found, 0, problem="a directory, with what is in it")
        else:
            look = partial(Found, 0, directory=True, whole=moves)
        self._tell("write", path, look, run, scope, path)
        for each in inside or ():
            self.before_write(each, run, scope)

    def before_connect(self, path: str, run: RunRecording | None, scope: Scope | None) -> None:
        """A database is about to be opened: how it and its journals are now, if no connection holds it."""
        held = self._is_held(path, _status(path))
        self.before_write(path, run, scope)
        if not held:
            for companion in COMPANIONS:
                if os.path.exists(path + companion):
                    self.before_write(path + companion, run, scope)
        self.hold(path)

    def hold(self, path: str) -> None:
        """A database is opened: from now on only its connections may open and close it."""
        for each in (path, *(path + companion for companion in COMPANIONS)):
            status = _status(each)
            if len(self._held) < 100_000:
                self._held.update((each,) if status is None else (each, _identity(status)))

    def flush(self, run: RunRecording, waiting: Waiting) -> None:
        """Give a run what was seen before it began."""
        for _, size, write in waiting:
            self._bytes -= size
            write(run)

    def forget(self) -> None:
        """Nothing waits in a forked child."""
        self._bytes = 0

    # -- inside -----------------------------------------------------------------------------------

    def _is_held(self, path: str, status: os.stat_result | None) -> bool:
        """Whether a connection may hold locks on a file, which closing it here would drop."""
        return path in self._held or (status is not None and _identity(status) in self._held)

    def _is_ignored(self, path: str) -> bool:
        names = (path, os.path.basename(path), self._recorder.neutral(path))
        return any(pattern.match(name) for pattern in self._ignored for name in names)

    def _tell(
        self,
        mode: str,
        path: str,
        look: Callable[[], Found],
        run: RunRecording | None,
        scope: Scope | None,
        key: object,
    ) -> None:
        """Say it once in a run, and not more than so much; without a run it waits for one."""
        if run is None or scope is None:
            waiting = self._waiting()
            if any(key == known for known, _, _ in waiting) or len(waiting) >= MOST_WAITING:
                return
            found = look()
            if found.data is not None and self._bytes + len(found.data) > MAX_WAITING:
                found = Found(found.size, problem="too much was opened before the run")
            size = len(found.data or b"")
            self._bytes += size
            waiting.append((key, size, lambda begun: self._put(begun, begun.scope(), mode, path, found)))
            return
        effects = run.effects
        if run.recorder is not self._recorder:
            return
        if key in effects.seen_files:
            return
        if effects.files >= MAX_LISTED:
            if effects.files == MAX_LISTED:
                effects.files += 1
                what = f"start state and files read are not recorded from here: more than {MAX_LISTED:,} files"
                run.event(scope, "hole", {"of": None, "what": what})
            return
        effects.seen_files.add(key)
        self._put(run, scope, mode, path, look())

    def _put(self, run: RunRecording, scope: Scope, mode: str, path: str, found: Found) -> None:
        if mode == "write":
            run.effects.seen_files.add(path)
        run.effects.files += 1
        shown = run.gate.text(self._recorder.neutral(path))
        members: dict[str, object] = {"parent": scope.parent, "path": shown, "mode": mode}
        if found.problem:
            if mode == "write":
                what = f"start state not recorded: {shown} ({found.problem})"
                run.event(scope, "hole", {"of": None, "what": what})
            members["problem"] = found.problem
        elif found.absent or found.directory:
            members["absent" if found.absent else "directory"] = True
            members |= {"whole": True} if found.whole else {}
        elif found.link:
            members["link"] = run.gate.text(self._recorder.neutral(found.link))
        else:
            members |= {"size": found.size, "sha256": found.digest}
        if found.keyed:
            members["keyed"] = True
        if mode == "write" and found.status is not None:
            members |= {"permissions": stat.S_IMODE(found.status.st_mode), "modified_ns": found.status.st_mtime_ns}
        if found.data is not None:
            self._put_content(run, scope, shown, mode, found.data, members)
        run.event(scope, "file", members)

    def _put_content(
        self, run: RunRecording, scope: Scope, shown: str, mode: str, data: bytes, members: dict[str, object]
    ) -> None:
        kept = data if not run.gate.enabled else _redacted(run, data)
        if kept is not data:
            members["redacted"] = True
            members["sha256"] = hashlib.sha256(kept).hexdigest()
            if mode == "write":
                what = f"start state is redacted: {shown}"
                run.event(scope, "hole", {"of": None, "what": what})
        members["body"] = run.body(kept)

    def _known(self, key: tuple[object, ...], path: str, status: os.stat_result) -> Found:
        found = self._read.get(key)
        if found is None:
            found = self._look(path, status, self._content)
            if len(self._read) >= 4096:
                self._read.clear()
            self._read[key] = found if found.data is None else Found(found.size, None, found.digest, found.keyed)
        elif found.size <= self._content and not found.keyed and not found.problem:
            return self._look(path, status, self._content)  # another run wants the content too
        return found

    def _state(self, path: str, status: os.stat_result | None) -> Found:
        if status is None:
            return Found(0, absent=True)
        return replace(self._look(path, status, MAX_STATE), status=status)

    def _look(self, path: str, status: os.stat_result, content: int) -> Found:
        """Read a file, as it is."""
        size = status.st_size
        if size == 0:
            return Found(0, b"", hashlib.sha256(b"").hexdigest())
        if size > MAX_STATE:
            return Found(size, problem=f"{size:,} bytes")
        try:
            data = _content(path)
        except FileNotFoundError:
            return Found(0, absent=True)
        except OSError as error:
            return Found(size, problem=type(error).__name__)
        if len(data) > MAX_STATE:
            return Found(len(data), problem="it grew while it was read")
        if _SECRET.fullmatch(os.path.basename(path)):
            digest = hmac.new(self._recorder.key.secret, b"agentdbg file\0" + data, hashlib.sha256).hexdigest()
            return Found(len(data), None, digest, keyed=True)
        digest = hashlib.sha256(data).hexdigest()
        return Found(len(data), data if len(data) <= content else None, digest)


def _content(path: str) -> bytes:
    # A pipe that took the file's place meanwhile must not hold the program up.
    descriptor = os.open(path, os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_BINARY", 0))
    try:
        if not stat.S_ISREG(os.fstat(descriptor).st_mode):
            raise OSError("no regular file")
        parts: list[bytes] = []
        left = MAX_STATE + 1
        while left > 0 and (part := os.read(descriptor, min(left, 1 << 20))):
            parts.append(part)
            left -= len(part)
        return b"".join(parts)
    finally:
        os.close(descriptor)


def _link(path: str) -> str | None:
    """Where a symbolic link leads; ``None`` of everything else."""
    try:
        return os.readlink(path)
    except (OSError, ValueError):
        return None


def _tree(folder: str) -> list[str] | None:
    """What is in a directory, outer things first; ``None`` when it is too much, or nothing that can be kept."""
    found: list[str] = []
    size = 0
    for place, folders, files in os.walk(folder):
        for name in (*folders, *files):
            path = os.path.join(place, name)
            try:
                status = os.lstat(path)
            except OSError:
                return None
            if not (stat.S_ISREG(status.st_mode) or stat.S_ISDIR(status.st_mode) or stat.S_ISLNK(status.st_mode)):
                return None
            size += status.st_size if stat.S_ISREG(status.st_mode) else 0
            if len(found) >= MOST_MOVED or size > MAX_MOVED:
                return None
            found.append(path)
    return found


def _status(path: object) -> os.stat_result | None:
    try:
        return os.stat(path)  # type: ignore[arg-type]  # as the event has it
    except (OSError, ValueError, TypeError):
        return None


def _version(path: object, status: os.stat_result) -> tuple[object, ...]:
    """Tells a file as it is from another, and from itself when it has changed."""
    return (path, status.st_dev, status.st_ino, status.st_mtime_ns, status.st_size)


def _identity(status: os.stat_result) -> tuple[int, int]:
    return (status.st_dev, status.st_ino)


def _redacted(run: RunRecording, data: bytes) -> bytes:
    """Content without secrets: the same object when it holds none. Of binary content its texts are looked at."""
    try:
        data.decode("utf-8")
    except UnicodeDecodeError:
        texts = _PRINTABLE.findall(data)
        joined = b"\n".join(texts).decode("ascii")
        if run.gate.text(joined) == joined:
            return data
        return _PRINTABLE.sub(lambda found: run.gate.text(found.group().decode("ascii")).encode(), data)
    return run.gate.body(data)

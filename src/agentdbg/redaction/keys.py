"""The secret behind placeholder digests: where it comes from, and how it is named."""

from __future__ import annotations

import hashlib
import os
import stat
from dataclasses import dataclass, field
from pathlib import Path

ENV_KEY = "AGENTDBG_REDACTION_KEY"
ENV_KEY_FILE = "AGENTDBG_REDACTION_KEY_FILE"
EPHEMERAL = "ephemeral"
_MIN_FILE_BYTES = 16
_MAX_FILE_BYTES = 4096


@dataclass(frozen=True, slots=True)
class RedactionKey:
    """A keyed-digest secret and its public name (``kid``), which is written into ``run.json``."""

    secret: bytes = field(repr=False)
    kid: str


def kid_of(secret: bytes) -> str:
    """Return the public name of a secret: it identifies the key and reveals nothing useful about it."""
    return hashlib.sha256(b"agentdbg-redaction-kid\0" + secret).hexdigest()[:8]


def default_key_path() -> Path:
    """Return where the user's own key lives, outside every store."""
    base = os.environ.get("XDG_STATE_HOME")
    root = Path(base) if base and os.path.isabs(base) else Path(os.path.expanduser("~")) / ".local" / "state"
    return root / "agentdbg" / "redaction.key"


def load_key() -> RedactionKey:
    """Load the key: environment, then key file, then the user's own file (made on first use). Never raises."""
    text = os.environ.get(ENV_KEY, "").strip()
    if text:
        return _named(text.encode("utf-8", "surrogateescape"))
    named_file = os.environ.get(ENV_KEY_FILE, "").strip()
    try:
        secret = _read(Path(named_file)) if named_file else None
        if secret is None:
            path = default_key_path()
            secret = _read(path) or _create(path)
    except (OSError, RuntimeError, ValueError):
        secret = None
    return _named(secret) if secret else _ephemeral()


def _named(secret: bytes) -> RedactionKey:
    return RedactionKey(secret, kid_of(secret))


_process_key: list[tuple[int, RedactionKey]] = []


def _ephemeral() -> RedactionKey:
    """One throw-away key per process; a forked child makes its own."""
    pid = os.getpid()
    if not _process_key or _process_key[0][0] != pid:
        _process_key[:] = [(pid, RedactionKey(os.urandom(32), EPHEMERAL))]
    return _process_key[0][1]


def _read(path: Path) -> bytes | None:
    """Return the key in a regular file, or None. Never blocks on a FIFO."""
    try:
        handle = os.open(path, os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_CLOEXEC", 0))
    except OSError:
        return None
    try:
        if not stat.S_ISREG(os.fstat(handle).st_mode):
            return None
        content = os.read(handle, _MAX_FILE_BYTES).strip()
    except OSError:
        return None
    finally:
        os.close(handle)
    return content if len(content) >= _MIN_FILE_BYTES else None


def _create(path: Path) -> bytes | None:
    """Write a new key, complete before it is visible; of several processes the first one's key is everybody's."""
    path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    draft = path.with_name(f".{path.name}.{os.getpid()}.{os.urandom(4).hex()}")
    handle = os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_EXCL | getattr(os, "O_CLOEXEC", 0), 0o600)
    try:
        try:
            if hasattr(os, "fchmod"):
                os.fchmod(handle, 0o600)
            os.write(handle, os.urandom(32).hex().encode() + b"\n")
        finally:
            os.close(handle)
        _publish(draft, path)
    finally:
        draft.unlink(missing_ok=True)
    return _read(path)


def _publish(draft: Path, path: Path) -> None:
    try:
        os.link(draft, path)
    except FileExistsError:
        return
    except (OSError, NotImplementedError, AttributeError):
        if not path.exists():
            os.replace(draft, path)

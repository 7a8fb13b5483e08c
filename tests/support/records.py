"""Runs written by hand, byte by byte as FORMAT.md says, without the recorder: for tests of what reads them."""

from __future__ import annotations

import base64
import hashlib
import json
import socket
import zlib
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

WRITER = "0123456789ab"
START = 1_767_225_600.0


def record(members: Mapping[str, Any]) -> bytes:
    """One record: newline, JSON with its checksum last, newline."""
    head = json.dumps(members, separators=(",", ":"), ensure_ascii=False).encode("utf-8", "surrogatepass")[:-1]
    return b'\n%b,"_c":"%08x"}\n' % (head, zlib.crc32(head))


def event(e: str, seq: int, /, *, at: float | None = None, **members: Any) -> dict[str, Any]:
    """An event; ``at`` is its time in seconds after the start (default: one a second)."""
    at = float(seq) if at is None else at
    return {"e": e, "seq": seq, "mono": int(1e12 + at * 1e9), "wall": START + at, **members}


def intent(
    seq: int, kind: str = "tool", name: str = "look_up", *, parent: int | str | None = None, **members: Any
) -> dict[str, Any]:
    """An intent; an integer ``parent`` is a step of ``WRITER``."""
    parent = f"{WRITER}:{parent}" if isinstance(parent, int) else parent
    return event("intent", seq, **{"kind": kind, "name": name, "parent": parent, "lane": "0", "fork": None, **members})


def outcome(seq: int, of: int | str, status: str = "ok", **members: Any) -> dict[str, Any]:
    """The outcome of a step; an integer ``of`` is a step of ``WRITER``."""
    return event("outcome", seq, of=f"{WRITER}:{of}" if isinstance(of, int) else of, status=status, ms=5.0, **members)


def writer(seq: int = 0, name: str = WRITER, **members: Any) -> dict[str, Any]:
    """The first record of a file."""
    own = {
        "writer": name,
        "host": socket.gethostname(),
        "pid": 1,
        "boot": "boot-1",
        "start": 1,
        "python": "3.11.7",
        "parent": None,
    }
    return event("writer", seq, **{**own, **members})


def simple_events(calls: int = 3) -> list[dict[str, Any]]:
    """An agent with that many tool calls, all good."""
    events = [writer(0), intent(1, "agent", "desk")]
    for i in range(calls):
        events += [intent(2 + 2 * i, parent=1), outcome(3 + 2 * i, 2 + 2 * i)]
    seq = 2 + 2 * calls
    return [*events, outcome(seq, 1), event("end", seq + 1, status="ok", error=None, steps=calls + 1)]


def run_json(run_id: str, **members: Any) -> dict[str, Any]:
    """A finished run's ``run.json``."""
    base = {"format": "0.1", "run_id": run_id, "agent": "desk", "status": "ok", "mode": "recorded", "started_at": START}
    return {**base, **members}


def write_run(
    store: Path,
    run_id: str = "run-1",
    events: Iterable[Mapping[str, Any]] | None = None,
    *,
    meta: Mapping[str, Any] | None = None,
    writers: Mapping[str, Iterable[Mapping[str, Any]]] | None = None,
    bodies: Sequence[bytes] = (),
) -> Path:
    """Write a run below ``store/runs`` with the modes of the format; ``meta={}`` leaves ``run.json`` away."""
    root = store / "runs" / run_id
    for folder in (store, store / "runs", root, root / "events", root / "bodies"):
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    for name, listed in (writers or {WRITER: simple_events() if events is None else events}).items():
        write_private(root / "events" / f"{name}.jsonl", b"".join(map(record, listed)))
    if bodies:
        write_private(root / "bodies" / f"{WRITER}.jsonl", b"".join(map(body_record, bodies)))
    meta = run_json(run_id) if meta is None else meta
    if meta:
        write_private(root / "run.json", json.dumps(meta).encode())
    return root


def write_private(path: Path, data: bytes) -> None:
    """Write a file of mode 0600."""
    path.write_bytes(data)
    path.chmod(0o600)


def body_record(data: bytes) -> bytes:
    """The record of a body."""
    digest = hashlib.sha256(data).hexdigest()
    try:
        return record({"h": digest, "n": len(data), "b": data.decode()})
    except UnicodeDecodeError:
        return record({"h": digest, "n": len(data), "x": base64.b64encode(data).decode()})


def ref(data: bytes, file: str = f"bodies/{WRITER}.jsonl", offset: int = -1) -> dict[str, Any]:
    """A reference to a body."""
    return {"sha256": hashlib.sha256(data).hexdigest(), "size": len(data), "file": file, "offset": offset}


def input_hash(segments: Iterable[tuple[str, bytes]]) -> str:
    """The chained hash of a model input, from kinds and contents."""
    digest = ""
    for kind, data in segments:
        digest = hashlib.sha256(f"{digest}{kind}\0{hashlib.sha256(data).hexdigest()}".encode()).hexdigest()
    return digest

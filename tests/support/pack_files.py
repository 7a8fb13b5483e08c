"""Packs as nobody should make them."""

from __future__ import annotations

import gzip
import hashlib
import io
import json
import tarfile
from collections.abc import Callable, Mapping, Sequence
from typing import Any

RUN = "refund-7"
FILES: Mapping[str, bytes] = {
    "run.json": b'{"format": "0.1", "run_id": "refund-7", "status": "ok", "steps": 0}',
    "events/aaaaaaaaaaaa.jsonl": b"",
}


def manifest(files: Mapping[str, bytes] = FILES, **changes: Any) -> bytes:
    """A manifest that fits the files, but for the changes."""
    listed = [
        {"path": path, "size": len(data), "sha256": hashlib.sha256(data).hexdigest()} for path, data in files.items()
    ]
    given = {"schema": "agentdbg.pack/1", "run_id": RUN, "format": "0.1", "tool": "t", "members": listed}
    return json.dumps({**given, **changes}).encode()


def member(name: str, data: bytes = b"", **changes: Any) -> tuple[tarfile.TarInfo, bytes]:
    """A member of an archive."""
    info = tarfile.TarInfo(name)
    info.size = len(data)
    for key, value in changes.items():
        setattr(info, key, value)
    return info, data


def archive(members: Sequence[tuple[tarfile.TarInfo, bytes]]) -> bytes:
    """A gzipped ustar archive."""
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode="w", format=tarfile.USTAR_FORMAT) as tar:
        for info, data in members:
            tar.addfile(info, io.BytesIO(data))
    return gzip.compress(out.getvalue(), mtime=0)


def pack_of(
    files: Mapping[str, bytes] = FILES,
    *,
    listed: bytes | None = None,
    more: Sequence[tuple[tarfile.TarInfo, bytes]] = (),
    change: Callable[[bytes], bytes] = lambda raw: raw,
) -> bytes:
    """A pack with these files, and more members at its end."""
    given = listed if listed is not None else manifest(files)
    members = [member(f"{RUN}/manifest.json", given)]
    members += [member(f"{RUN}/{path}", data) for path, data in files.items()]
    return change(archive([*members, *more]))


TARGET = "/etc/passwd"
HOSTILE: Mapping[str, bytes] = {
    "an absolute path": pack_of(more=[member("/tmp/agentdbg-was-here", b"x")]),
    "a path upwards": pack_of(more=[member(f"{RUN}/../../escaped", b"x")]),
    "a path upwards that is listed": pack_of({**FILES, "../escaped": b"x"}),
    "an absolute path that is listed": pack_of({**FILES, "/tmp/agentdbg-was-here": b"x"}),
    "a symbolic link": pack_of(more=[member(f"{RUN}/events/link", type=tarfile.SYMTYPE, linkname=TARGET)]),
    "a symbolic link for a listed file": archive(
        [
            member(f"{RUN}/manifest.json", manifest()),
            member(f"{RUN}/run.json", type=tarfile.SYMTYPE, linkname=TARGET),
        ]
    ),
    "a hard link": pack_of(more=[member(f"{RUN}/events/link", type=tarfile.LNKTYPE, linkname=TARGET)]),
    "a device": pack_of(more=[member(f"{RUN}/events/zero", type=tarfile.CHRTYPE, devmajor=1, devminor=5)]),
    "a block device": pack_of(more=[member(f"{RUN}/events/sda", type=tarfile.BLKTYPE)]),
    "a FIFO": pack_of(more=[member(f"{RUN}/events/pipe", type=tarfile.FIFOTYPE)]),
    "a directory": pack_of(more=[member(f"{RUN}/events", type=tarfile.DIRTYPE)]),
    "a member twice": pack_of(more=[member(f"{RUN}/run.json", FILES["run.json"])]),
    "a member that is not listed": pack_of(more=[member(f"{RUN}/events/bbbbbbbbbbbb.jsonl", b"x")]),
    "a file listed twice": pack_of(listed=manifest(members=json.loads(manifest())["members"] * 2)),
    "names that differ in case only": pack_of({**FILES, "events/AAAAAAAAAAAA.jsonl": b""}),
    "another length than listed": pack_of(listed=manifest({**FILES, "run.json": b"{}"})),
    "another run than its folder": pack_of(listed=manifest(run_id="other")),
    "a run id that is a path": archive([member("../manifest.json", manifest(run_id=".."))]),
    "a newer major format": pack_of(listed=manifest(schema="agentdbg.pack/2")),
    "a run of a newer major format": pack_of(listed=manifest(format="3.0")),
    "no manifest first": archive([member(f"{RUN}/run.json", b"{}"), member(f"{RUN}/manifest.json", manifest())]),
    "a manifest that is none": pack_of(listed=b"\x00\x01"),
    "a manifest of another kind": pack_of(listed=b'{"schema": "pack"}'),
    "a manifest without members": pack_of(listed=b'{"schema": "agentdbg.pack/1", "members": [1]}'),
    "sizes that are none": pack_of(listed=manifest(members=[{"path": "run.json", "size": -1, "sha256": "0" * 64}])),
    "more bytes than any disk": pack_of(
        listed=manifest(members=[{"path": "run.json", "size": 2**62, "sha256": "0" * 64}])
    ),
    "an empty archive": archive([]),
    "no archive": gzip.compress(b"hello" * 1000, mtime=0),
    "nothing": b"",
    "no gzip": b"PK\x03\x04" + bytes(100),
}

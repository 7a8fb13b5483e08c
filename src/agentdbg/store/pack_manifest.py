"""What a pack says it holds: the first file in it, and the measure for all that follow."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Final

from agentdbg.model.canonical import loads_json
from agentdbg.model.records import Json
from agentdbg.store.files import is_run_id
from agentdbg.store.metadata import check_format
from agentdbg.store.pack_stream import MAX_TOTAL, Member, PackError

NAME: Final = "manifest.json"
MAX_SIZE: Final = 32 << 20
MAJOR: Final = 1
_SCHEMA = re.compile(r"agentdbg\.pack/(\d{1,9})", re.ASCII)
_SHA = re.compile(r"[0-9a-f]{64}", re.ASCII)
_PATH = re.compile(
    r"run\.json|(?:events|bodies)/[0-9A-Za-z][0-9A-Za-z_-]{0,63}\.jsonl|large/[0-9a-f]{64}"
    r"|work/[0-9A-Za-z][0-9A-Za-z._-]{0,63}",
    re.ASCII,
)
_MAX_MEMBERS = 500_000


@dataclass(frozen=True, slots=True)
class Entry:
    """A file of the run: path below the run's directory, length, hash."""

    path: str
    size: int
    sha256: str


@dataclass(frozen=True, slots=True)
class Manifest:
    """Attributes:
    run_id: The run.
    run_format: Version of the run format.
    tool: Program that packed it.
    skeleton: Whether the bodies were left out.
    entries: Every file of the run, in the order in which they stand in the pack.
    """

    run_id: str
    run_format: str
    tool: str
    skeleton: bool
    entries: tuple[Entry, ...] = field(repr=False)

    def encode(self) -> bytes:
        """The manifest as it stands in the pack."""
        members = [{"path": entry.path, "size": entry.size, "sha256": entry.sha256} for entry in self.entries]
        document = {
            "schema": f"agentdbg.pack/{MAJOR}",
            "run_id": self.run_id,
            "format": self.run_format,
            "tool": self.tool,
            "skeleton": self.skeleton,
            "members": members,
        }
        return json.dumps(document, ensure_ascii=True, indent=1).encode() + b"\n"

    def expected(self) -> dict[str, Entry]:
        """The files by their names in the archive."""
        return {f"{self.run_id}/{entry.path}": entry for entry in self.entries}


def belongs_in_pack(path: str) -> bool:
    """Whether a file of a run directory may be packed, and one of a pack unpacked."""
    return _PATH.fullmatch(path) is not None


def folder_of(member: Member) -> str:
    """The run id that the first file of a pack says its files lie below.

    Raises:
        PackError: It is no manifest.
    """
    folder, _, name = member.name.partition("/")
    if name != NAME or not is_run_id(folder):
        raise PackError(f"this is no pack: it does not begin with a manifest but with {member.name[:80]!r}")
    if member.size > MAX_SIZE:
        raise PackError("the manifest of the pack is beyond all bounds; it is refused")
    return folder


def parse(raw: bytes, folder: str) -> Manifest:
    """Read a manifest.

    Raises:
        PackError: It is not readable, of a newer format, or names files that no run has.
        StoreError: The run is of a newer format.
    """
    try:
        value = loads_json(raw)
    except ValueError:
        value = None
    members = value if isinstance(value, dict) else {}
    stated = members.get("schema")
    schema = _SCHEMA.fullmatch(stated) if isinstance(stated, str) else None
    if schema is None:
        raise PackError("this is no pack: its manifest is not readable")
    if int(schema[1]) > MAJOR:
        raise PackError(f"the pack has format {schema[1]}, this agentdbg reads {MAJOR}: a newer agentdbg is needed")
    if members.get("run_id") != folder:
        raise PackError("the manifest of the pack names another run than its files; it is refused")
    check_format(members.get("format"), f"run {folder}")
    listed = members.get("members")
    entries = _entries(listed if isinstance(listed, list) else [])
    return Manifest(
        folder, _text(members.get("format")), _text(members.get("tool")), members.get("skeleton") is True, entries
    )


def _entries(listed: Sequence[Json]) -> tuple[Entry, ...]:
    if len(listed) > _MAX_MEMBERS:
        raise PackError(f"the pack lists {len(listed):,} files; it is refused")
    entries = tuple(_entry(item) for item in listed)
    if len({entry.path.lower() for entry in entries}) != len(entries):
        raise PackError("the pack lists a file twice; it is refused")
    if sum(entry.size for entry in entries) > MAX_TOTAL:
        raise PackError(f"the pack holds more than {MAX_TOTAL:,} bytes; it is refused")
    return entries


def _entry(item: Json) -> Entry:
    members = item if isinstance(item, dict) else {}
    path, size, digest = members.get("path"), members.get("size"), members.get("sha256")
    if not isinstance(path, str) or not belongs_in_pack(path):
        raise PackError(f"the pack lists {str(path)[:80]!r}, which is no file of a run; it is refused")
    if type(size) is not int or size < 0 or not isinstance(digest, str) or not _SHA.fullmatch(digest):
        raise PackError(f"the pack lists {path} without size or hash; it is refused")
    return Entry(path, size, digest)


def _text(value: Json) -> str:
    return value if isinstance(value, str) else ""

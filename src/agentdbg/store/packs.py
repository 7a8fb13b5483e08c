"""A run as one file that can be mailed, piped and opened as it is.

A pack is a gzipped ustar archive of one run directory: it can be written to and read from a pipe without seeking, any
``tar`` can look into it, and a strict reader of its one kind of member is small. (A zip needs a seek to its end, and
says twice, not always alike, what is in it.) The first member is a manifest with the hash of every other one. Equal
runs give equal packs.
"""

from __future__ import annotations

import hashlib
import json
import os
import secrets
import shutil
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from agentdbg.model.records import Json, RunStatus
from agentdbg.redaction.gate import Gate
from agentdbg.store import notes
from agentdbg.store import pack_manifest as manifests
from agentdbg.store.directory import DirectoryStore
from agentdbg.store.files import StoreError, create_private_file, list_below, make_private_dir, open_below, read_at
from agentdbg.store.journal import FORMAT
from agentdbg.store.metadata import number, read_run_json
from agentdbg.store.pack_manifest import Entry, Manifest
from agentdbg.store.pack_secrets import places_with_secrets
from agentdbg.store.pack_stream import PIECE, ByteSink, ByteSource, Member, PackError, PackReader, PackTorn, PackWriter
from agentdbg.store.reader import DirectoryRunSource

FOLDERS: Final = ("events", "bodies", "large", "work")
_BODIES: Final = ("bodies", "large")
_READABLE_IN_PART: Final = ("events/", "bodies/")
_LEFT_OUT: Final = "bodies were left out when this run was packed"
_UNFINISHED: Final = "this run was packed while it was still being recorded"
_NAMED: Final = 3
_LONG_AGO_S: Final = 3600


class HoldsSecrets(StoreError):
    """A run that should not leave this machine as it is."""


@dataclass(frozen=True, slots=True)
class Packed:
    """What was packed: number of files and their bytes, and what was passed over."""

    run_id: str
    files: int
    size: int
    left_out: tuple[str, ...]


def pack(
    source: DirectoryRunSource, out: ByteSink, *, skeleton: bool = False, tool: str = "", gate: Gate | None = None
) -> Packed:
    """Write a run as a pack.

    Machine paths (``roots``) stay behind. What is being recorded meanwhile is packed as far as it was when looked at.

    Args:
        source: The run.
        out: Where the pack goes.
        skeleton: Leave the bodies out.
        tool: Name and version of this program.
        gate: A fresh gate, to refuse a run that still holds secrets; ``None`` packs it as it is.

    Raises:
        HoldsSecrets: The gate would redact something in it.
        StoreError: A file cannot be packed, or changed meanwhile.
        OSError: A file cannot be read.
    """
    root, run_id = source.root, source.run_id
    sizes, left_out = _files(root, FOLDERS[:1] + FOLDERS[3:] if skeleton else FOLDERS)
    meta = _run_json(source, skeleton=skeleton)
    if gate is not None:
        _refuse_secrets(places_with_secrets(root, list(sizes), meta, gate))
    head = json.dumps(meta, ensure_ascii=False, indent=1).encode("utf-8", "surrogatepass") if meta else b""
    entries = [Entry("run.json", len(head), hashlib.sha256(head).hexdigest())] if head else []
    entries += [Entry(path, size, _digest(root, path, size)) for path, size in sizes.items()]
    manifest = Manifest(run_id, str(meta.get("format") or FORMAT), tool, skeleton, tuple(entries))
    writer = PackWriter(out, mtime=_time_of(meta))
    listed = manifest.encode()
    writer.add(f"{run_id}/{manifests.NAME}", len(listed), [listed])
    for entry in entries:
        pieces = iter([head]) if entry.path == "run.json" else _pieces(root, entry.path, entry.size)
        writer.add(f"{run_id}/{entry.path}", entry.size, pieces)
    writer.close()
    return Packed(run_id, len(entries), sum(entry.size for entry in entries), tuple(left_out))


@dataclass(frozen=True, slots=True)
class Unpacked:
    """A pack's run in a directory.

    Attributes:
        directory: The run's directory.
        manifest: What the pack said it holds.
        problems: What of it is damaged or missing, one line each.
        digest: Hash of the manifest, which identifies the pack.
    """

    directory: Path
    manifest: Manifest
    problems: tuple[str, ...]
    digest: str


class PackedRunSource(DirectoryRunSource):
    """The run of a pack, read from where it was unpacked.

    Attributes:
        unpacked: The pack.
        notes_location: What stands for the place of the run where notes on it are kept.
    """

    def __init__(self, unpacked: Unpacked) -> None:
        """Open it.

        Raises:
            StoreError: It is of a newer major format, or nothing in it can be read.
        """
        self.unpacked = unpacked
        self.notes_location = f"pack:{unpacked.digest}"
        try:
            super().__init__(unpacked.directory, flag=self._noted_flag)
        except StoreError as problem:
            raise StoreError("; ".join([*unpacked.problems, _without_place(problem, unpacked)])) from problem

    def _noted_flag(self) -> str | None:
        run_id = self.unpacked.manifest.run_id
        flag = notes.noted_flag(self.notes_location, run_id, None)
        return notes.noted_flag("", run_id, self.unpacked.directory) if flag is None else flag

    def problems(self) -> list[str]:
        """As of any run directory, with what was wrong with the pack first."""
        return [*self.unpacked.problems, *super().problems()]


def extract(source: ByteSource, into: Path) -> Unpacked:
    """Unpack into ``into/RUN_ID``, as far as the pack is intact.

    Args:
        source: The pack.
        into: A private directory in which nothing else is going on.

    Raises:
        PackError: The pack is refused, or nothing in it is readable.
        StoreError: The run is of a newer major format.
        OSError: It cannot be written.
    """
    reader = PackReader(source)
    try:
        members = reader.members()
        first = next(members, None)
        if first is None:
            raise PackError("this is no pack: it is empty")
        folder = manifests.folder_of(first)
        raw = b"".join(reader.pieces())
    except PackTorn as problem:
        raise PackError(f"{problem} before its manifest: nothing in it can be read") from problem
    manifest = manifests.parse(raw, folder)
    directory = into / manifest.run_id
    make_private_dir(directory)
    problems = _take(reader, members, manifest, directory)
    return Unpacked(directory, manifest, tuple(problems), hashlib.sha256(raw).hexdigest())


def unpack(source: ByteSource, store: DirectoryStore) -> Manifest:
    """Put the run of a pack into a store; it appears there as a whole or not at all.

    Raises:
        PackError: The pack is refused or damaged.
        StoreError: The run is of a newer major format, or the store has a run of that id.
        OSError: It cannot be written.
    """
    runs = store.path / "runs"
    make_private_dir(runs)
    if not os.path.lexists(store.path / "store.json"):
        with open(create_private_file(store.path / "store.json"), "wb") as file:
            file.write(b'{"format":"%b"}\n' % FORMAT.encode())
    draft = runs / f".unpack-{secrets.token_hex(6)}"
    make_private_dir(draft)
    try:
        unpacked = extract(source, draft)
        if unpacked.problems:
            raise PackError(f"{unpacked.problems[0]}; nothing was unpacked, 'agentdbg show PACK' prints what is left")
        target = runs / unpacked.manifest.run_id
        if os.path.lexists(target):
            raise StoreError(f"there is a run {target.name} in {store.location()} already")
        DirectoryRunSource(unpacked.directory).close()
        os.rename(unpacked.directory, target)
    finally:
        shutil.rmtree(draft, ignore_errors=True)
    return unpacked.manifest


def _take(reader: PackReader, members: Iterator[Member], manifest: Manifest, directory: Path) -> list[str]:
    """Write the members of a pack; returns what is wrong with them."""
    expected = manifest.expected()
    missing = dict(expected)
    problems: list[str] = []
    whole = 0
    try:
        for member in members:
            entry = missing.pop(member.name, None)
            if entry is None:
                how = "twice" if member.name in expected else "and its manifest does not list it"
                raise PackError(f"{member.name[:80]!r} is in the pack {how}; it is refused")
            if member.size != entry.size:
                raise PackError(f"{entry.path} in the pack is not as long as its manifest says; it is refused")
            if _write(reader, directory, entry, member.mtime):
                whole += 1
            else:
                problems.append(f"{entry.path} does not have the hash that the pack's manifest names; it is left out")
    except PackTorn as problem:
        problems.append(f"{problem}: {whole} of {len(expected)} files are whole")
    else:
        problems.extend(f"{entry.path} is not in the pack" for entry in list(missing.values())[:_NAMED])
        if len(missing) > _NAMED:
            problems.append(f"{len(missing) - _NAMED} more files are not in the pack")
    return problems


def _write(reader: PackReader, directory: Path, entry: Entry, mtime: int) -> bool:
    """Write one file; false, and no file, when it does not have its hash.

    Of a torn pack the beginning of a journal is kept: each of its records has a checksum of its own.
    """
    path = directory / entry.path
    make_private_dir(path.parent)
    digest = hashlib.sha256()
    keep = False
    try:
        with open(create_private_file(path), "wb") as file:
            for piece in reader.pieces():
                digest.update(piece)
                file.write(piece)
        os.utime(path, (mtime, mtime))
        keep = digest.hexdigest() == entry.sha256
        return keep
    except PackTorn:
        keep = entry.path.startswith(_READABLE_IN_PART)
        raise
    except FileExistsError:
        raise PackError(f"{entry.path} is in the pack twice; it is refused") from None
    finally:
        if not keep:
            path.unlink(missing_ok=True)


def _files(root: Path, folders: tuple[str, ...]) -> tuple[dict[str, int], list[str]]:
    """Sizes of the files that are packed, events looked at before bodies, and the names of others."""
    sizes: dict[str, int] = {}
    left_out: list[str] = []
    for folder in folders:
        for name, kind in list_below(root, folder):
            path = f"{folder}/{name}"
            if kind != "file" or not manifests.belongs_in_pack(path):
                left_out.append(path)
                continue
            fd = open_below(root, folder, name)
            sizes[path] = os.fstat(fd).st_size
            os.close(fd)
    return sizes, left_out


def _run_json(source: DirectoryRunSource, *, skeleton: bool) -> dict[str, Json]:
    """The run's metadata without the machine's paths; empty when it cannot be read."""
    try:
        meta = read_run_json(source.root)
    except (FileNotFoundError, StoreError):
        return {}
    meta.pop("roots", None)
    entry = meta.get("entry")
    if isinstance(entry, dict):
        meta["entry"] = {key: value for key, value in entry.items() if key != "roots"}
    summary = source.summary()
    notes = [_LEFT_OUT] if skeleton else []
    if summary.status is RunStatus.RUNNING:
        notes.append(_UNFINISHED)
        meta.pop("owner", None)
    if summary.flag is not None:
        meta["flag"] = summary.flag
    if notes:
        holes = meta.get("holes")
        known = holes if isinstance(holes, list) else []
        meta["holes"] = [*known, *(note for note in notes if note not in known)]
    return meta


def _time_of(meta: dict[str, Json]) -> int:
    """When the run ended; of one that has not, long enough ago that nobody takes its copy for a living one."""
    ended, started = number(meta.get("ended_at")), number(meta.get("started_at"))
    return int(ended if ended is not None else max((started or 0) - _LONG_AGO_S, 0))


def _refuse_secrets(places: list[str]) -> None:
    if places:
        named = ", ".join(places[:_NAMED]) + (", …" if len(places) > _NAMED else "")
        raise HoldsSecrets(f"what looks like secrets stands in {len(places)} places of the run ({named})")


def _digest(root: Path, path: str, size: int) -> str:
    digest = hashlib.sha256()
    for piece in _pieces(root, path, size):
        digest.update(piece)
    return digest.hexdigest()


def _pieces(root: Path, path: str, size: int) -> Iterator[bytes]:
    fd = open_below(root, *path.split("/"))
    try:
        done = 0
        while done < size:
            piece = read_at(fd, min(PIECE, size - done), done)
            if not piece:
                raise StoreError(f"{path} became shorter while it was packed")
            done += len(piece)
            yield piece
    finally:
        os.close(fd)


def _without_place(problem: StoreError, unpacked: Unpacked) -> str:
    return str(problem).replace(str(unpacked.directory), "the pack")

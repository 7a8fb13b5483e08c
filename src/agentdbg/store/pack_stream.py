"""The outer layer of a pack: plain files in a gzipped ustar archive, written and read as a stream.

The reader takes ustar headers of regular files and nothing else: no links, devices, directories, long names, extended
headers or sparse files, so that nothing in an archive can be understood in two ways. What it inflates is bounded, in
total and by the ratio to what it was given.
"""

from __future__ import annotations

import re
import zlib
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Final, Protocol

from agentdbg.store.files import StoreError

MAX_TOTAL: Final = 8 << 30
"""Most bytes that a pack may inflate to."""
MAX_RATIO: Final = 250
"""Most bytes that one byte of a pack may inflate to, once ``FREE`` bytes have come out of it."""
FREE: Final = 64 << 20
PIECE: Final = 1 << 16
_BLOCK: Final = 512
_MAGIC: Final = b"ustar\x0000"
_GZIP: Final = b"\x1f\x8b\x08"
_MAX_MEMBER: Final = 8**11 - 1
_OCTAL = re.compile(rb" *[0-7]{1,12}[ \0]*")
_KINDS: Final = {
    b"1": "a hard link",
    b"2": "a symbolic link",
    b"3": "a device",
    b"4": "a device",
    b"5": "a directory entry",
    b"6": "a FIFO",
    b"S": "a sparse file",
    b"L": "a long name",
    b"K": "a long name",
    b"x": "an extended header",
    b"g": "an extended header",
}


class PackError(StoreError):
    """A pack that is refused; the message is one clear line."""


class PackTorn(PackError):
    """A pack that ends early or is damaged; what came before is as it was packed."""


class ByteSource(Protocol):
    """What a pack is read from."""

    def read(self, size: int, /) -> bytes:
        """Up to ``size`` bytes; none at the end."""


class ByteSink(Protocol):
    """What a pack is written to."""

    def write(self, data: bytes, /) -> object:
        """Take all of the bytes."""


@dataclass(frozen=True, slots=True)
class Member:
    """A file in a pack.

    Attributes:
        name: Its path, folder included.
        size: Its length.
        mtime: When it last changed, in seconds since the epoch.
    """

    name: str
    size: int
    mtime: int = 0


def is_pack(head: bytes) -> bool:
    """Whether a file that begins so may be a pack."""
    return head.startswith(_GZIP)


class PackWriter:
    """Writes members one after the other; equal members give equal bytes."""

    def __init__(self, out: ByteSink, *, mtime: int = 0) -> None:
        self._out = out
        self._mtime = max(0, min(mtime, _MAX_MEMBER))
        self._deflate = zlib.compressobj(6, zlib.DEFLATED, 31)

    def add(self, name: str, size: int, pieces: Iterable[bytes]) -> None:
        """Write one file.

        Raises:
            PackError: Its name or size does not fit, or ``pieces`` are not ``size`` bytes.
        """
        self._write(_header(name, size, self._mtime))
        written = 0
        for piece in pieces:
            written += len(piece)
            self._write(piece)
        if written != size:
            raise PackError(f"{name} changed while it was packed")
        self._write(bytes(-size % _BLOCK))

    def close(self) -> None:
        """Write the end."""
        self._write(bytes(2 * _BLOCK))
        self._out.write(self._deflate.flush())

    def _write(self, data: bytes) -> None:
        packed = self._deflate.compress(data)
        if packed:
            self._out.write(packed)


class PackReader:
    """Reads members one after the other. Each is to be read before the next is asked for."""

    def __init__(
        self, source: ByteSource, *, max_total: int = MAX_TOTAL, max_ratio: int = MAX_RATIO, free: int = FREE
    ) -> None:
        self._source = source
        self._inflate = zlib.decompressobj(31)
        self._limits = (max_total, max_ratio, free)
        self._ready = bytearray()
        self._pending = b""
        self._taken = 0
        self._given = 0
        self._left = 0
        self._padding = 0

    def members(self) -> Iterator[Member]:
        """The files in the order in which they were packed.

        Raises:
            PackError: Something in it is no plain file, or it inflates beyond all bounds.
            PackTorn: It ends early or is damaged.
        """
        while True:
            self._skip()
            block = self._exactly(_BLOCK)
            if not any(block):
                self._finish()
                return
            member = _parse(block)
            self._left, self._padding = member.size, -member.size % _BLOCK
            yield member

    def pieces(self) -> Iterator[bytes]:
        """The content of the member that was yielded last."""
        while self._left:
            piece = self._some(min(self._left, PIECE))
            self._left -= len(piece)
            yield piece

    def _finish(self) -> None:
        """Read on to where the pack ends, so that its own checksum is looked at, too."""
        while not self._inflate.eof:
            self._ready.clear()
            self._fill()
        if self._inflate.unused_data or self._source.read(1):
            raise PackTorn("something follows the end of the pack")

    def _skip(self) -> None:
        for _ in self.pieces():
            pass
        self._exactly(self._padding)
        self._padding = 0

    def _exactly(self, size: int) -> bytes:
        data = bytearray()
        while len(data) < size:
            data += self._some(size - len(data))
        return bytes(data)

    def _some(self, size: int) -> bytes:
        while not self._ready:
            self._fill()
        data = bytes(self._ready[:size])
        del self._ready[:size]
        return data

    def _fill(self) -> None:
        if self._inflate.eof:
            raise PackTorn("the pack ends early")
        data = self._pending or self._source.read(PIECE)
        if not data:
            raise PackTorn("the pack ends early")
        try:
            inflated = self._inflate.decompress(data, PIECE)
        except zlib.error:
            damage = "the pack is damaged" if self._given else "this is no pack: it is not gzipped"
            raise (PackTorn if self._given else PackError)(damage) from None
        self._pending = self._inflate.unconsumed_tail
        self._taken += len(data) - len(self._pending)
        self._given += len(inflated)
        self._ready += inflated
        total, ratio, free = self._limits
        if self._given > total:
            raise PackError(f"the pack inflates to more than {total:,} bytes; it is refused")
        if self._given > free and self._given > ratio * self._taken:
            raise PackError(f"each byte of the pack inflates to more than {ratio}; it is refused")


def _header(name: str, size: int, mtime: int) -> bytes:
    if size > _MAX_MEMBER:
        raise PackError(f"{name} is larger than a pack can hold")
    prefix, _, base = name.rpartition("/") if len(name) > 100 else ("", "", name)
    if len(prefix) > 155 or len(base) > 100 or not name.isascii():
        raise PackError(f"{name!r} is a name that a pack cannot hold")
    fields = [
        base.encode().ljust(100, b"\0"),
        b"0000600\0" + b"0000000\0" * 2,
        b"%011o\0%011o\0" % (size, mtime),
        b" " * 8,
        b"0" + bytes(100) + _MAGIC + bytes(64) + b"0000000\0" * 2,
        prefix.encode().ljust(155, b"\0") + bytes(12),
    ]
    fields[3] = b"%06o\0 " % sum(b"".join(fields))
    return b"".join(fields)


def _parse(block: bytes) -> Member:
    if sum(block) - sum(block[148:156]) + 8 * 32 != _octal(block[148:156]):
        raise PackTorn("the pack is damaged: the header of a file has a wrong checksum")
    if block[257:265] != _MAGIC:
        raise PackError("this is no pack: its archive was made by another program")
    name = _text(block[345:500]), _text(block[:100])
    path = "/".join(part for part in name if part)
    kind = block[156:157]
    if kind not in (b"0", b"\0") or any(block[157:257]):
        raise PackError(f"{path!r} in the pack is {_KINDS.get(kind, 'no plain file')}; it is refused")
    return Member(path, _octal(block[124:136]), _octal(block[136:148]))


def _octal(field: bytes) -> int:
    if not _OCTAL.fullmatch(field):
        raise PackError("the pack has a number that is none; it is refused")
    return int(field.strip(b" \0"), 8)


def _text(field: bytes) -> str:
    text, _, rest = field.partition(b"\0")
    if any(rest) or not text.isascii():
        raise PackError("the pack has a name that is no plain text; it is refused")
    return text.decode("ascii")

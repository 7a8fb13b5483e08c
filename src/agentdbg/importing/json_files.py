"""A foreign file as a JSON document, and what can be read of one that is broken."""

from __future__ import annotations

import hashlib
import json
import os
import re
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Final, cast

from agentdbg.model.canonical import loads_json
from agentdbg.model.records import Json
from agentdbg.store.files import StoreError, open_regular, read_at

HEAD: Final = 4096
MAX_JSON: Final = 512 << 20
_SPACE = re.compile(r"[ \t\r\n]*")


class ForeignFile:
    """A file that another tool wrote. Opened once, never written to, never executed.

    Attributes:
        path: As it was named.
        head: Its first bytes.
        size: Its length.
    """

    def __init__(self, path: Path) -> None:
        """Open a file.

        Raises:
            StoreError: It is no regular file.
            OSError: It cannot be read.
        """
        self.path = path
        fd = open_regular(os.path.realpath(path))
        try:
            self.size = os.fstat(fd).st_size
            self.head = read_at(fd, HEAD, 0)
        finally:
            os.close(fd)

    @cached_property
    def raw(self) -> bytes:
        """All of it.

        Raises:
            StoreError: It is larger than what is read.
        """
        if self.size > MAX_JSON:
            raise StoreError(f"{self.path} has {self.size:,} bytes; JSON files are read up to {MAX_JSON:,}")
        fd = open_regular(os.path.realpath(self.path))
        try:
            return read_at(fd, self.size, 0)
        finally:
            os.close(fd)

    @cached_property
    def digest(self) -> str:
        """Its hash, which identifies it wherever it lies."""
        return hashlib.sha256(self.raw).hexdigest()

    @cached_property
    def document(self) -> Document:
        """Its content as JSON."""
        return read_document(self.raw)

    def looks_like_json(self) -> bool:
        """Whether it may be one JSON document."""
        return self.head.removeprefix(b"\xef\xbb\xbf").lstrip()[:1] in (b"{", b"[")


@dataclass(frozen=True, slots=True)
class Document:
    """A JSON document.

    Attributes:
        value: Its value; of a broken one, the members and items that stand before the damage.
        problem: What is wrong with it, in one line; empty when it is whole.
    """

    value: Json
    problem: str = ""


def read_document(raw: bytes) -> Document:
    """Read a document, or as much of its two outer levels as stands before the place where it breaks."""
    raw = raw.removeprefix(b"\xef\xbb\xbf")
    try:
        return Document(loads_json(raw))
    except ValueError as problem:
        if "deep" in str(problem):
            return Document(None, "it is nested too deeply to be read")
    text = raw.decode("utf-8", "replace")
    salvage = _Salvage(text)
    value = salvage.outer()
    left = len(text) - salvage.at
    return Document(value, f"it is damaged or breaks off {left:,} characters before its end; what precedes is shown")


class _Salvage:
    """Reads members of the outermost value, and items of the lists among them, one by one."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.at = 0
        self._decoder = json.JSONDecoder()

    def outer(self) -> Json:
        if self._take("["):
            return self._items()[0]
        return self._members() if self._take("{") else None

    def _members(self) -> dict[str, Json]:
        found: dict[str, Json] = {}
        while not self._take("}"):
            name = self._value()
            if not isinstance(name, str) or not self._take(":"):
                break
            value, whole = self._items() if self._take("[") else (self._value(), True)
            if value is _BROKEN:
                break
            found[name] = value
            if not whole:
                break
            self._take(",")
        return found

    def _items(self) -> tuple[Json, bool]:
        found: list[Json] = []
        while not self._take("]"):
            value = self._value()
            if value is _BROKEN:
                return found, False
            found.append(value)
            self._take(",")
        return found, True

    def _value(self) -> Json:
        self._skip()
        try:
            value, end = self._decoder.raw_decode(self.text, self.at)
        except (ValueError, RecursionError):
            return _BROKEN
        if end == len(self.text) and isinstance(value, int | float):
            return _BROKEN  # a number at the very end may be the beginning of a longer one
        self.at = end
        return cast(Json, value)

    def _take(self, char: str) -> bool:
        self._skip()
        there = self.text.startswith(char, self.at)
        self.at += there
        return there

    def _skip(self) -> None:
        space = _SPACE.match(self.text, self.at)
        self.at = space.end() if space else self.at


_BROKEN: Json = {"broken": True}
"""Stands for a value that cannot be read; known by identity."""

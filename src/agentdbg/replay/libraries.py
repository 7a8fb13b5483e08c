"""Where shared libraries are, for a replay's child: ``ctypes.util.find_library`` starts ``ldconfig`` to ask.

Many packages look for a library while they are imported. The answer is in the loader's cache, which is read instead.
Only a name that may be found otherwise is left to the compiler and the linker, and the guard stops those.
"""

from __future__ import annotations

import functools
import glob
import os
import re
import shutil
import struct
from collections.abc import Callable
from types import ModuleType

from agentdbg.recording.hooks import on_standard_import

CACHE = "/etc/ld.so.cache"
_MAGIC = b"glibc-ld.so.cache1.1"
_HEADER, _ENTRY = struct.Struct("<20sIIB3xI12x"), struct.Struct("<iIIIQ")
_LIBC6 = 3
_ABIS = {"x86_64": 0x0303, "ppc64": 0x0503, "ppc64le": 0x0503, "s390x": 0x0403, "aarch64": 0x0A03}
_FOLDERS = ("/lib", "/usr/lib", "/usr/local/lib", "/lib64", "/usr/lib64", "/usr/local/lib64")


def answer_from_cache() -> None:
    """Have ``find_library`` look there, once its module is loaded."""
    on_standard_import("ctypes.util", _patch)


def track_nothing() -> None:
    """Have ``multiprocessing`` start no process that sees after shared memory: a replay's own ends with it."""
    on_standard_import("multiprocessing.resource_tracker", _untracked)


def _untracked(module: ModuleType) -> None:
    for name in ("register", "unregister"):
        setattr(module, name, lambda name, rtype: None)
        setattr(module.ResourceTracker, name, lambda self, name, rtype: None)


def _patch(module: ModuleType) -> None:
    if hasattr(module, "_findSoname_ldconfig") and os.path.exists(CACHE):
        found = Libraries()
        members = vars(module)
        members["_findSoname_ldconfig"] = found.name_of
        members["find_library"] = found.before(module.find_library)


class Libraries:
    """The loader's cache, read when it is first asked."""

    @functools.cached_property
    def _known(self) -> list[tuple[str, str]]:
        try:
            with open(CACHE, "rb") as file:
                return entries(file.read(), os.uname().machine)
        except (OSError, ValueError, struct.error):
            return []

    def name_of(self, name: str) -> str | None:
        """The file name of a library, as ``ldconfig -p`` gives it."""
        wanted = re.compile(rf"lib{re.escape(name)}\.\S+")
        return next((each for each, _ in self._known if wanted.fullmatch(each)), None)

    def before(self, original: Callable[[str], str | None]) -> Callable[[str], str | None]:
        """``find_library`` that starts nothing for a library of which there is no file at all."""

        @functools.wraps(original)
        def find_library(name: str) -> str | None:
            found = self.name_of(name)
            return found if found is not None or not self._may_be_found(name) else original(name)

        return find_library

    def _may_be_found(self, name: str) -> bool:
        """Whether the compiler or the linker, which are asked next, could know it."""
        if not any(shutil.which(tool) for tool in ("gcc", "cc", "ld")):
            return False
        told = (part for key in ("LD_LIBRARY_PATH", "LIBRARY_PATH") for part in os.environ.get(key, "").split(":"))
        folders = {*_FOLDERS, *(os.path.dirname(path) for _, path in self._known), *filter(None, told)}
        return any(glob.glob(os.path.join(glob.escape(folder), f"lib{glob.escape(name)}.*")) for folder in folders)


def entries(data: bytes, machine: str) -> list[tuple[str, str]]:
    """File name and path of every library for a machine, in the cache's order.

    Raises:
        ValueError: It is no such cache.
        struct.error: It is cut.
    """
    start = data.find(_MAGIC)  # older systems have a list in another form in front
    if start < 0:
        raise ValueError("no loader cache")
    _, count, _, _, _ = _HEADER.unpack_from(data, start)
    wanted, found = _ABIS.get(machine), []
    for number in range(count):
        flags, key, value, _, _ = _ENTRY.unpack_from(data, start + _HEADER.size + number * _ENTRY.size)
        if flags == wanted or (wanted is None and flags & 0xFF == _LIBC6):
            found.append((_text(data, start + key), _text(data, start + value)))
    return found


def _text(data: bytes, at: int) -> str:
    return os.fsdecode(data[at : data.index(b"\0", at)])

"""A container engine for tests that need one, and an image made of this machine's own Python: nothing is fetched."""

from __future__ import annotations

import functools
import io
import os
import re
import subprocess
import sys
import sysconfig
import tarfile
from pathlib import Path

from agentdbg.replay.container.engines import Engine, NoContainer, find_engine

ENGINE = "AGENTDBG_TEST_ENGINE"
"""Names the engine; else the first one on PATH that runs."""
IMPORT = "AGENTDBG_TEST_ENGINE_IMPORT"
"""Further options of its ``import``."""
IMAGE = "localhost/agentdbg-test:python"
BARE = "localhost/agentdbg-test:bare"
_LEFT_OUT = re.compile(
    r"/(site-packages|test|tests|idlelib|__pycache__|config-[^/]+|ensurepip|tkinter|turtledemo)(/|$)"
)


@functools.cache
def engine() -> Engine | str:
    """The engine, or why there is none."""
    if sys.platform != "linux":
        return "the image is made of this machine's Python, which is not for Linux"
    try:
        return find_engine(os.environ.get(ENGINE, ""))
    except NoContainer as problem:
        return f"{problem} ({ENGINE} names an engine)"


def made_image() -> Engine:
    """An engine that has both images."""
    found = engine()
    assert isinstance(found, Engine)
    path = f"ENV PATH={Path(sys.base_prefix) / 'bin'}:/usr/bin:/bin"
    _import(found, IMAGE, _archive(_python()), path)
    _import(found, BARE, _archive([]), path)
    return found


def _import(engine: Engine, image: str, archive: bytes, change: str) -> None:
    policy = os.environ.get(IMPORT, "").split()
    words = [engine.command, "import", *policy, "--change", change, "-", image]
    done = subprocess.run(words, input=archive, capture_output=True, check=False)
    assert done.returncode == 0, done.stderr.decode()


def _archive(files: list[str]) -> bytes:
    """A file system with these files, at their own paths, and what a container needs to be started."""
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode="w", dereference=True) as archive:
        for name in ("etc", "tmp", "proc", "sys", "dev", "usr/bin"):
            folder = tarfile.TarInfo(name)
            folder.type, folder.mode = tarfile.DIRTYPE, 0o755
            archive.addfile(folder)
        for path in dict.fromkeys(files):
            archive.add(path, path.lstrip("/"), recursive=False)
        if files:
            name = f"{Path(sys.base_prefix) / 'bin' / 'python3'}".lstrip("/")
            link = tarfile.TarInfo(name)
            link.type, link.linkname = tarfile.SYMTYPE, os.path.basename(os.path.realpath(sys.executable))
            archive.addfile(link)
    return out.getvalue()


def _python() -> list[str]:
    """This interpreter, its standard library, and the libraries that these load."""
    program = os.path.realpath(sys.executable)
    own = [program]
    for place in {sysconfig.get_path("stdlib"), sysconfig.get_path("platstdlib")}:
        own += [str(each) for each in Path(place).rglob("*") if not _LEFT_OUT.search(str(each)) and each.is_file()]
    loads = [path for path in own if path == program or path.endswith(".so")]
    told = subprocess.run(["ldd", *loads], capture_output=True, text=True, check=False).stdout
    return [*own, *sorted(set(re.findall(r"(?:=> |^\t)(/\S+) \(", told, re.MULTILINE)))]

"""What of this machine a replay sees in its container, and where: at the same paths, nothing of it writable.

What the program may change is a view of its own over its directories: an overlay that the engine lays (what is written
goes to the scratch directory), or where the engine cannot, a copy in the scratch directory.
"""

from __future__ import annotations

import csv
import io
import os
import shutil
import stat
import tempfile
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from agentdbg.replay.container.engines import Engine, NoContainer

OVERLAY, COPY = "copy-on-write view", "copy of the files"
MOST_BYTES: Final = 1024 * 1024 * 1024
MOST_FILES: Final = 100_000
MOST_READ: Final = 100
_LEFT_OUT: Final = (".git", ".agentdbg", "node_modules", "__pycache__", ".tox", ".nox")
_OF_THE_IMAGE: Final = (
    *("/", "/bin", "/boot", "/dev", "/etc", "/lib", "/lib32", "/lib64", "/opt", "/proc", "/run", "/sbin", "/sys"),
    *("/usr", "/usr/bin", "/usr/lib", "/usr/lib64", "/usr/local", "/usr/local/bin", "/usr/local/lib", "/usr/sbin"),
    *("/usr/share", "/var", "/var/lib", "/var/run"),
)
"""Places that are the image's own: nothing of this machine is put over them as a whole."""
_WITHIN_IMAGE: Final = ("/usr/", "/lib", "/opt/", "/bin/", "/sbin/", "/etc/", "/proc/", "/sys/", "/dev/", "/run/")
_NEVER: Final = ("/proc/", "/sys/", "/dev/")
_TEMPORARY: Final = ("/tmp", "/var/tmp")
SHARED_MEMORY: Final = "/dev/shm"
OWN: Final = "/agentdbg-own"
"""Where agentdbg is in a container, beside being where it is here."""


@dataclass(frozen=True, slots=True)
class Folder:
    """A directory that the program may change, in a view of its own.

    Attributes:
        place: The directory, resolved; it has the same path in the container.
        upper: Where an overlay puts what is written.
        work: An overlay's own directory beside it.
        copy: Where its copy is, if there is one.
    """

    place: str
    upper: str
    work: str
    copy: str


@dataclass(slots=True)
class Mounts:
    """Attributes:
    folders: Views.
    read: What is seen read-only: place here, place there.
    scratch: The replay's own directory.
    way: `OVERLAY` or `COPY`.
    left_out: What a copy goes without.
    """

    folders: tuple[Folder, ...]
    read: tuple[tuple[str, str], ...]
    scratch: str
    way: str = OVERLAY
    left_out: list[str] = field(default_factory=list)

    @property
    def writable(self) -> list[str]:
        """Places in the container that the program may change, beside the scratch directory."""
        return [*(folder.place for folder in self.folders), *self.temporary, SHARED_MEMORY]

    @property
    def temporary(self) -> list[str]:
        """Directories for temporary files: empty ones, of the container's own."""
        views = [folder.place for folder in self.folders]
        return [place for place in dict.fromkeys([*_TEMPORARY, temporary()]) if place not in views]

    def copied(self) -> Mounts:
        """The same by copies, which are made now.

        Raises:
            NoContainer: That would be too much.
        """
        found = Mounts(self.folders, self.read, self.scratch, COPY)
        inside = [self.scratch, *(there for _, there in self.read), *(folder.place for folder in self.folders)]
        left = [MOST_BYTES, MOST_FILES]
        for folder in self.folders:
            _copy(folder, found.left_out, left)
            for place in inside:
                if _is_within(place, folder.place) and place != folder.place:
                    _mount_point(folder, place)
        return found

    def changed(self) -> list[str]:
        """Files that differ from this machine's since the container ran: what the program wrote in its views."""
        if self.way == OVERLAY:
            return [place for folder in self.folders for place in _written(folder)]
        return [place for folder in self.folders for place in _differing(folder)]


def temporary() -> str:
    """This user's directory for temporary files."""
    return os.path.realpath(tempfile.gettempdir())


def gather(
    scratch: Path,
    folders: Iterable[str],
    packages: Iterable[str],
    program: str,
    files: Iterable[str],
    scripts: Iterable[str] = (),
) -> Mounts:
    """Decide what is seen.

    Args:
        scratch: The replay's own directory.
        folders: Directories of the program.
        packages: Directories of installed packages: read-only.
        program: agentdbg's own directory.
        files: Files that the recorded program read elsewhere.
        scripts: What was started, wherever it is.
    """
    packages = [os.path.realpath(place) for place in packages if os.path.isdir(place)]
    own = [*packages, str(scratch)]
    places = _outermost(place for place in folders if _may_be_mounted(place, own))
    views = [
        Folder(place, *(str(scratch / "views" / f"{number}-{name}") for name in ("upper", "work", "copy")))
        for number, place in enumerate(places)
    ]
    for view in views:
        for directory in (view.upper, view.work):
            os.makedirs(directory, mode=0o700, exist_ok=True)
    read = [(place, _target(place, number)) for number, place in enumerate(packages)]
    read.append((program, f"{OWN}/agentdbg"))
    if not any(_is_within(program, place) for place in packages):
        read.append((program, program))
    seen = [*places, *(there for _, there in read), str(scratch)]
    found = dict.fromkeys(os.path.realpath(place) for place in files)
    single = [place for place in found if _is_plain(place) and not place.startswith(_WITHIN_IMAGE)]
    started = [place for place in map(os.path.realpath, scripts) if _is_plain(place)]
    needed = [place for place in (*started, *single) if not any(_is_within(place, other) for other in seen)]
    read += [(place, place) for place in list(dict.fromkeys(needed))[:MOST_READ]]
    return Mounts(tuple(views), tuple(read), str(scratch))


def options(mounts: Mounts, engine: Engine) -> list[str]:
    """The engine's options for all of it."""
    words: list[str] = []
    for place in mounts.temporary:
        words += ["--tmpfs", f"{place}:rw,nosuid,nodev,mode=1777,size=1g"]
    for folder in mounts.folders:
        words += _bind(folder.copy, folder.place) if mounts.way == COPY else _overlay(folder, engine)
    for here, there in mounts.read:
        words += _bind(here, there, "readonly")
    return [*words, *_bind(mounts.scratch, mounts.scratch)]


def can_overlay(mounts: Mounts, engine: Engine, platform: str) -> bool:
    """Whether it is worth asking the engine for overlays: the machine is its own, and the paths can be said."""
    odd = any(set(path) & set(',:"\\\n') for each in mounts.folders for path in (each.place, each.upper))
    return engine.name in ("docker", "podman") and platform == "linux" and not odd


def _overlay(folder: Folder, engine: Engine) -> list[str]:
    places = f"upperdir={folder.upper},workdir={folder.work}"
    if engine.name == "podman":
        return ["--volume", f"{folder.place}:{folder.place}:O,{places}"]
    extra = ",userxattr" if engine.rootless else ""
    members = ["type=volume", f"dst={folder.place}", "volume-driver=local", "volume-opt=type=overlay"]
    members += ["volume-opt=device=overlay", f"volume-opt=o=lowerdir={folder.place},{places}{extra}"]
    return ["--mount", _row(members)]


def _bind(here: str, there: str, *more: str) -> list[str]:
    return ["--mount", _row(["type=bind", f"src={here}", f"dst={there}", *more])]


def _row(members: Sequence[str]) -> str:
    """Members as engines read them: comma-separated, quoted where a path holds a comma."""
    out = io.StringIO()
    csv.writer(out, lineterminator="").writerow(members)
    return out.getvalue()


def _target(place: str, number: int) -> str:
    """Where packages are seen: at the same path, unless that is within what the image has of its own."""
    return f"/agentdbg-packages-{number}" if place.startswith(_WITHIN_IMAGE) else place


def _may_be_mounted(place: str, own: Sequence[str]) -> bool:
    real = os.path.realpath(place)
    return os.path.isdir(real) and real not in (*_OF_THE_IMAGE, *own) and not real.startswith(_NEVER)


def _outermost(places: Iterable[str]) -> list[str]:
    found: list[str] = []
    for place in sorted({os.path.realpath(each) for each in places}, key=lambda each: (len(each), each)):
        if not any(_is_within(place, other) for other in found):
            found.append(place)
    return found


def _is_plain(place: str) -> bool:
    if not os.path.isabs(place):
        return False
    try:
        return stat.S_ISREG(os.stat(place).st_mode)
    except OSError:
        return False


def _is_within(path: str, folder: str) -> bool:
    return path == folder or path.startswith(folder.rstrip("/") + "/")


# -- copies ---------------------------------------------------------------------------------------


def _copy(folder: Folder, left_out: list[str], left: list[int]) -> None:
    """Copy a directory; what nobody edits by running is left out, and sockets and devices are."""

    def ignored(place: str, names: list[str]) -> list[str]:
        found = [name for name in names if _is_left_out(os.path.join(place, name))]
        left_out.extend(os.path.join(place, name) for name in found if name != "__pycache__")
        for name in set(names) - set(found):
            with_size = os.lstat(os.path.join(place, name))
            left[0] -= with_size.st_size if stat.S_ISREG(with_size.st_mode) else 0
            left[1] -= 1
        if min(left) < 0:
            raise NoContainer(
                f"{folder.place} is too large to be copied, and the engine lays no view over it: "
                "start the agent in a smaller directory, or say --guard audit"
            )
        return found

    try:
        shutil.copytree(folder.place, folder.copy, symlinks=True, ignore=ignored, dirs_exist_ok=True)
    except shutil.Error as problem:
        left_out.extend(str(each[0]) for each in problem.args[0][:MOST_READ])
    except OSError as problem:
        raise NoContainer(f"{folder.place} cannot be copied: {problem.strerror}") from problem


def _is_left_out(path: str) -> bool:
    if os.path.basename(path) in _LEFT_OUT or os.path.isfile(os.path.join(path, "pyvenv.cfg")):
        return True
    mode = os.lstat(path).st_mode
    return not (stat.S_ISREG(mode) or stat.S_ISDIR(mode) or stat.S_ISLNK(mode))


def _mount_point(folder: Folder, place: str) -> None:
    """Make in a copy what something is mounted on, so that the engine does not make it as its own user."""
    there = os.path.join(folder.copy, os.path.relpath(place, folder.place))
    if os.path.lexists(there):
        return
    if os.path.isfile(place):
        os.makedirs(os.path.dirname(there), exist_ok=True)
        Path(there).touch()
    else:
        os.makedirs(there)


# -- what was written -----------------------------------------------------------------------------


def _written(folder: Folder) -> list[str]:
    """Files in an overlay's upper directory, and those that it hides."""
    return [os.path.join(folder.place, name) for name in _files(folder.upper)]


def _differing(folder: Folder) -> list[str]:
    return [
        os.path.join(folder.place, name)
        for name in _files(folder.copy)
        if _state(os.path.join(folder.copy, name)) != _state(os.path.join(folder.place, name))
    ]


def _files(top: str) -> list[str]:
    return [
        os.path.relpath(os.path.join(place, name), top) for place, _, names in os.walk(top) for name in sorted(names)
    ]


def _state(path: str) -> tuple[int, int] | None:
    try:
        found = os.lstat(path)
    except OSError:
        return None
    return found.st_size, found.st_mtime_ns

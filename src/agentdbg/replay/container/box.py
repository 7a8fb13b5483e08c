"""A container for one exact replay: prepared, started, ended, and gone afterwards.

The engine's daemon inherits no descriptors, and may be on the far side of a virtual machine: the child is spoken to
over the client's standard input and output, and the rest is in the scratch directory, which the container has too.
Inside, `inside.py` starts the child that a replay without a container starts directly.
"""

from __future__ import annotations

import json
import os
import platform
import secrets
import signal
import subprocess
import sys
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Final

from agentdbg.replay.child_report import ChildReport
from agentdbg.replay.container import interpreters, mounts
from agentdbg.replay.container.engines import Engine, NoContainer, find_engine, image_of, trouble_of, user_of
from agentdbg.replay.container.interpreters import Interpreter
from agentdbg.replay.container.mounts import Mounts

CHANNEL: Final = 64
"""The child's number of the control channel, which has none from here."""
PROCESSES: Final = 2048
SECONDS: Final = 60.0
"""So long an engine may take to start or end a container."""
LISTED: Final = 20
_PYTHONS: Final = ("python3", "python")
_NO_PROGRAM: Final = ("executable file", "no such file or directory", "command not found")
_START: Final = """\
import sys
sys.path.insert(0, sys.argv[1])
from agentdbg.replay.container import inside
inside.main(sys.argv[2])
"""
_OF_THE_MACHINE: Final = ("PATH", "PYTHONHOME", "PYTHONEXECUTABLE", "PYTHONPYCACHEPREFIX", "VIRTUAL_ENV")
_LOADER: Final = ("LD_", "DYLD_", "DOCKER_", "CONTAINER", "BUILDAH", "NERDCTL_")


@dataclass(frozen=True, slots=True)
class Wish:
    """What is to be put into a container.

    Attributes:
        image: The image's name.
        engine: The engine's name or path; empty: the first that answers.
        folders: Directories of the program.
        files: Files that the recorded program read.
        python: The interpreter that the program has on this machine.
        scripts: What was started.
        recorded: Packages of the record, with their versions.
    """

    image: str
    engine: str
    folders: Sequence[str]
    files: Sequence[str]
    python: str
    recorded: Mapping[str, object] = field(default_factory=dict)
    scripts: Sequence[str] = ()


@dataclass(slots=True)
class Box:
    """A container that can be started.

    Attributes:
        there: The image's Python.
        packages: Directories of this machine's packages that the child uses; none: the image's alone.
        notes: What to say of it.
    """

    engine: Engine
    image: str
    python: str
    mounts: Mounts
    there: Interpreter
    package: str
    scratch: Path
    packages: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()
    name: str = field(default_factory=lambda: f"agentdbg-{secrets.token_hex(8)}")

    def prepare(self, command: Sequence[str], cwd: str, env: Mapping[str, str], tolerate: Sequence[str]) -> None:
        """Write down for the inside what it has to start.

        Args:
            command: Options of the interpreter, and what follows.
            cwd: The child's directory.
            env: Its variables; those that say where something is on this machine are left to the image.
            tolerate: Patterns of effects that are no refusal.
        """
        kept = {name: value for name, value in env.items() if not _is_of_the_machine(name)}
        if "PYTHONPATH" in kept:
            kept["PYTHONPATH"] = os.pathsep.join(map(self._there, kept["PYTHONPATH"].split(os.pathsep)))
        told = {
            "channel": CHANNEL,
            "command": [self._there(word) for word in command],
            "cwd": cwd,
            "env": kept,
            "packages": list(self.packages),
            "tolerate": list(tolerate),
        }
        place = self.scratch / "inside.json"
        place.touch(mode=0o600)
        place.write_text(json.dumps(told), encoding="utf-8")

    def start(self, channel: int) -> subprocess.Popen[bytes]:
        """Start it; it speaks over a descriptor."""
        words = ["-I", "-c", _START, mounts.OWN, str(self.scratch / "inside.json")]
        return subprocess.Popen(
            [*self._command(self.name, self.python), self.image, *words],
            stdin=channel,
            stdout=channel,
            stderr=subprocess.PIPE,
            start_new_session=True,
        )

    def _there(self, place: str) -> str:
        """Where agentdbg's directory is for the child: not among packages that are for another Python."""
        among = any(os.path.realpath(place) == here for here, _ in self.mounts.read)
        return mounts.OWN if place == self.package and among and not self.packages else place

    def _command(self, name: str, python: str) -> list[str]:
        return [
            *command_line(self.engine, name),
            *mounts.options(self.mounts, self.engine),
            *_zone(self.scratch),
            *("--entrypoint", python),
        ]

    def end(self, client: subprocess.Popen[bytes], report: ChildReport, patience: float) -> int:
        """Wait for the end for some seconds, then see to it; returns the child's exit status."""
        try:
            client.wait(patience)
            is_gone = client.returncode < 125  # else the engine may have left something half made
        except subprocess.TimeoutExpired:
            is_gone = False
        if not is_gone:
            remove(self.engine, self.name)
            with suppress(subprocess.TimeoutExpired):
                client.wait(2.0)
        with suppress(ProcessLookupError, PermissionError):  # nothing is left
            os.killpg(client.pid, signal.SIGKILL)
        code = client.wait()
        told = report.first("inside_ended")
        return int(told["code"]) if told is not None else code

    def look_inside(self, python: str) -> Interpreter | str:
        """The image's Python, or what the engine says instead."""
        name = f"{self.name}-look"
        words = [*self._command(name, python), self.image, "-I", "-c", interpreters.SCRIPT, mounts.OWN]
        try:
            done = self.engine.ask(*words[1:], seconds=SECONDS)
        except NoContainer:
            remove(self.engine, name)
            raise
        found = interpreters.parsed(done.stdout) if done.returncode == 0 else None
        return found if found is not None else trouble_of(done.stderr)

    def finish(self, report: ChildReport) -> None:
        """Say what did not hold inside, and what was changed in the views where no layer has told.

        Raises:
            NoContainer: The engine has not started it.
        """
        if not report.messages and not report.timed_out and report.exit_code not in (0, None):
            raise NoContainer(f"{self.engine.name} does not start the container: {trouble_of(report.log)}")
        kernel = report.first("kernel") or {}
        lacking = [f"{layer} ({reason})" for layer, reason in (kernel.get("lacking") or {}).items()]
        if lacking:
            self.notes = (*self.notes, f"not held in the container, which stops without a word: {', '.join(lacking)}")
        if "seccomp" in (kernel.get("layers") or ()):
            return
        changed = self.mounts.changed()
        report.messages += [{"event": "contained", "effect": "write", "detail": place} for place in changed]


def command_line(engine: Engine, name: str) -> list[str]:
    """The engine's command with all that holds a replay, without what it sees and runs."""
    label = ["--security-opt", "label=disable", "--no-healthcheck"] if engine.name in ("docker", "podman") else []
    return [
        *(engine.command, "run", "--rm", "--interactive", "--pull=never", "--name", name, "--log-driver", "none"),
        *("--network", "none", "--cap-drop", "ALL", "--security-opt", "no-new-privileges", *label),
        *("--read-only", "--ipc", "private", "--shm-size", "256m", "--pids-limit", str(PROCESSES)),
        *(*user_of(engine), "--hostname", platform.node()[:63] or "localhost", "--workdir", "/"),
    ]


def make_box(wish: Wish, scratch: Path, package: str) -> Box:
    """Find the engine, look into the image and decide what is mounted. Nothing of the program's is run.

    Raises:
        NoContainer: It cannot be: no engine, no image, no Python in it that fits.
    """
    engine = find_engine(wish.engine)
    image = image_of(engine, wish.image)
    here = interpreters.ask(wish.python, package) if sys.platform == "linux" else None
    packages = list(here.places) if here is not None else []
    own = os.path.join(package, "agentdbg")
    seen = mounts.gather(scratch, wish.folders, packages, own, wish.files, wish.scripts)
    box = Box(engine, image, _PYTHONS[0], seen, Interpreter(""), package, scratch)
    if not mounts.can_overlay(seen, engine, sys.platform):
        box.mounts = seen.copied()
    there = _looked(box, wish.image)
    if not there.is_new_enough:
        raise NoContainer(f"the image {wish.image} has Python {there.version}: a replay needs 3.11 or newer")
    return _with_packages(replace(box, there=there), wish, here)


def _looked(box: Box, image: str) -> Interpreter:
    """Try the names that a Python may have, and copies where the engine lays no views."""
    tried = list(_PYTHONS)
    while True:
        box.python = tried[0]
        found = box.look_inside(tried[0])
        if isinstance(found, Interpreter):
            return found
        is_absent = any(words in found.lower() for words in _NO_PROGRAM) and tried[0] in found
        if is_absent and len(tried) > 1:
            tried.pop(0)
        elif is_absent:
            raise NoContainer(f"the image {image} has no Python that starts, and a replay needs 3.11 or newer: {found}")
        elif "keep-id" in found and not box.engine.single:
            box.engine = replace(box.engine, single=True)
        elif box.mounts.way == mounts.OVERLAY:
            box.mounts = box.mounts.copied()
        else:
            raise NoContainer(f"{box.engine.name} does not start a container of {image}: {found}")


def _with_packages(box: Box, wish: Wish, here: Interpreter | None) -> Box:
    """With this machine's packages where they run on the image's Python, and what is to be said of it."""
    notes = [f"in the container: Python {box.there.version} of {wish.image}"]
    if os.getuid() and "0:0" in user_of(box.engine):
        notes.append(f"the program is user 0 there, not {os.getuid()}")
    if box.mounts.left_out:
        shown = ", ".join(box.mounts.left_out[:LISTED])
        notes.append(f"not in the container's copy of the files: {shown}")
    problem = interpreters.misfit(here, box.there) if here is not None else "this machine is not Linux"
    if here is not None and not problem:
        targets = dict(box.mounts.read)
        there = tuple(targets[real] for place in here.places if (real := os.path.realpath(place)) in targets)
        return replace(box, packages=there, notes=(*notes, "this machine's packages are used there"))
    notes.append(f"this machine's packages are not used there: {problem}")
    missing, others = interpreters.lacking(wish.recorded, box.there)
    if missing:
        notes.append(f"recorded packages that {wish.image} does not have: {', '.join(missing[:LISTED])}")
    if others:
        notes.append(f"in other versions in {wish.image}: {', '.join(others[:LISTED])}")
    return replace(box, notes=tuple(notes))


def remove(engine: Engine, name: str) -> None:
    """End a container, whatever it does, and leave nothing of it."""
    with suppress(NoContainer):
        engine.ask("rm", "--force", "--volumes", name, seconds=SECONDS)


def _is_of_the_machine(name: str) -> bool:
    return name in _OF_THE_MACHINE or name.startswith(_LOADER)


def _zone(scratch: Path) -> list[str]:
    """This machine's time zone, for programs that have no ``TZ``."""
    place = scratch / "localtime"
    try:
        place.write_bytes(Path("/etc/localtime").read_bytes())
    except OSError:
        return []
    return ["--mount", f"type=bind,src={place},dst=/etc/localtime,readonly"] if "," not in str(place) else []

"""The container engines of this machine: which one is asked, and what it says of itself and of an image."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from dataclasses import dataclass
from typing import Final

NAMES: Final = ("docker", "podman", "nerdctl")
VARIABLE: Final = "AGENTDBG_CONTAINER_ENGINE"
SECONDS: Final = 20.0
_ROOTLESS: Final = {"podman": "{{.Host.Security.Rootless}}"}
_SECURITY: Final = "{{json .SecurityOptions}}"
_TROUBLE: Final = ("error", "cannot", "denied", "no such", "fatal")
_NOT_HERE: Final = ("no such image", "image not known", "not found", "no such object")


class NoContainer(Exception):
    """What was asked for cannot be started here, and nothing was run; the message says why and what to do."""


@dataclass(frozen=True, slots=True)
class Engine:
    """A container engine that answers.

    Attributes:
        name: ``docker``, ``podman`` or ``nerdctl``.
        command: Its command line program.
        rootless: It runs as this user, not as root.
        remapped: Users in its containers are others outside, unless it is told otherwise.
        single: Rootless, and it has no other users to give to a container: its root is this user.
    """

    name: str
    command: str
    rootless: bool = False
    remapped: bool = False
    single: bool = False

    def ask(self, *words: str, seconds: float = SECONDS) -> subprocess.CompletedProcess[str]:
        """Run one of its commands to the end.

        Raises:
            NoContainer: It does not answer.
        """
        try:
            return subprocess.run(
                [self.command, *words],
                stdin=subprocess.DEVNULL,
                capture_output=True,
                encoding="utf-8",
                errors="replace",
                timeout=seconds,
                check=False,
            )
        except subprocess.TimeoutExpired as problem:
            raise NoContainer(f"{self.name} does not answer: '{words[0]}' took more than {seconds:g} s") from problem
        except OSError as problem:
            raise NoContainer(f"{self.command} cannot be started: {problem.strerror}") from problem


@dataclass(frozen=True, slots=True)
class Found:
    """What is known of one engine: for people who ask what this machine has.

    Attributes:
        engine: ``None`` where it does not answer.
        problem: Why not, in its own words.
    """

    name: str
    engine: Engine | None
    problem: str = ""


def find_engine(wanted: str = "") -> Engine:
    """The engine that is named, or the first one on the search path that answers.

    Args:
        wanted: A name out of `NAMES`, or a path that ends in one.

    Raises:
        NoContainer: There is none, or it does not run.
    """
    if sys.platform == "win32":
        raise NoContainer("--in is for Linux and macOS: on Windows say --guard audit")
    if wanted:
        return _named(wanted)
    problems: list[str] = []
    for found in all_engines():
        if found.engine is not None:
            return found.engine
        problems.append(f"{found.name} does not run: {found.problem}")
    if problems:
        raise NoContainer(f"{'; '.join(problems)}: start it, or say --guard audit")
    raise NoContainer(f"there is no container engine on PATH ({', '.join(NAMES)}): install one, or say --guard audit")


def all_engines() -> list[Found]:
    """Every engine on the search path, with what it answers."""
    here = [(name, place) for name in NAMES if (place := shutil.which(name))]
    return [_asked(name, place) for name, place in here]


def image_of(engine: Engine, image: str) -> str:
    """The id of an image that is on this machine; it is never fetched.

    Raises:
        NoContainer: It is not there, or its name is none.
    """
    if not image.strip() or image.startswith("-"):
        raise NoContainer(f"--in {image}: that is no name of an image")
    done = engine.ask("image", "inspect", "--format", "{{.Id}} {{.Os}}", image)
    said = _line(done.stderr)
    if done.returncode != 0 and any(words in said.lower() for words in _NOT_HERE):
        pull = f"'{engine.name} pull {image}'"
        raise NoContainer(f"{engine.name} has no image {image}, and nothing is fetched by itself: {pull}, or build it")
    if done.returncode != 0:
        raise NoContainer(f"{engine.name} cannot look at the image {image}: {said or 'it says nothing'}")
    found = done.stdout.split()
    if len(found) > 1 and found[1] not in ("linux", ""):
        raise NoContainer(f"the image {image} is for {found[1]}: a replay needs one for Linux")
    return found[0] if found else image


def _named(wanted: str) -> Engine:
    name = os.path.basename(wanted)
    if name not in NAMES:
        raise NoContainer(
            f"replay.engine ({VARIABLE}) is {wanted!r}: it is one of {', '.join(NAMES)}, or a path to one"
        )
    place = shutil.which(wanted)
    if place is None:
        raise NoContainer(f"{wanted} is not there: replay.engine ({VARIABLE}) names it")
    found = _asked(name, place)
    if found.engine is None:
        raise NoContainer(f"{name} does not run: {found.problem}: start it, or say --guard audit")
    return found.engine


def _asked(name: str, place: str) -> Found:
    bare = Engine(name, place)
    try:
        done = bare.ask("info", "--format", _ROOTLESS.get(name, _SECURITY))
    except NoContainer as problem:
        return Found(name, None, str(problem))
    said = done.stdout.strip()
    # The docker client answers with status 0 when its daemon does not, and an empty list of security options.
    if done.returncode != 0 or not said or (name != "podman" and "name=" not in said):
        return Found(name, None, _line(done.stderr) or "it says nothing about itself")
    rootless = "rootless" in said or said == "true"
    return Found(name, Engine(name, place, rootless, remapped="name=userns" in said))


def user_of(engine: Engine) -> list[str]:
    """Options by which the child is this user: what it reads and writes is theirs."""
    uid, gid = os.getuid(), os.getgid()
    if engine.name == "podman" and not engine.single:
        keep = ["--userns", "keep-id"] if engine.rootless else []
        return [*keep, "--user", f"{uid}:{gid}"]
    host = ["--userns", "host"] if engine.remapped else []
    return [*host, "--user", "0:0" if engine.rootless else f"{uid}:{gid}"]  # root of a rootless engine is this user


def trouble_of(output: str) -> str:
    """The line of an engine's output that says what went wrong."""
    return _line(output) or "it says nothing"


def _line(output: str) -> str:
    lines = [line.strip() for line in output.splitlines() if line.strip()]
    said = [line for line in lines if not line.startswith("time=")]  # a log, ahead of what it comes to
    told = next((line for line in reversed(said) if any(word in line.lower() for word in _TROUBLE)), "")
    told = told or "".join((said or lines)[-1:])
    return re.sub(r"^(?:Error|ERROR|docker|podman): ", "", told).rstrip(".")[:300]

"""What a replay may be told beside the choices, in the words of the command line: time, places, variables, image."""

from __future__ import annotations

import math
import shlex
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final

from agentdbg.i18n.catalogue import message
from agentdbg.replay.env_file import BadEnvFile, read_env_file
from agentdbg.replay.moved_run import BadMapping, parse_map

TIMEOUT, MAP, ENV_FILE, IMAGE = "--timeout", "--map", "--env-file", "--in"
KNOWN: Final = (TIMEOUT, MAP, ENV_FILE, IMAGE)


class BadWords(ValueError):
    """What was typed cannot be used; the message says why, in one line."""


@dataclass(frozen=True, slots=True)
class Words:
    """Attributes:
    timeout: Seconds; ``None``: as the settings say.
    moves: As ``--map`` takes them, taken apart.
    env: Variables of the named file. Never shown.
    image: Container image; empty: none.
    """

    timeout: float | None = None
    moves: tuple[tuple[str, str], ...] = ()
    env: Mapping[str, str] = field(default_factory=dict, repr=False)
    image: str = ""


def read_words(text: str) -> Words:
    """What the words say; the file of variables is read.

    Raises:
        BadWords: A word is none of these, or has a value that cannot be.
    """
    timeout: float | None = None
    moves: list[tuple[str, str]] = []
    env: Mapping[str, str] = {}
    image = ""
    try:
        for name, value in _pairs(text):
            if name == TIMEOUT:
                timeout = _seconds(value)
            elif name == MAP:
                moves.append(parse_map(value))
            elif name == ENV_FILE:
                env = read_env_file(value)
            else:
                image = _image(value)
    except (BadMapping, BadEnvFile) as problem:
        raise BadWords(str(problem)) from problem
    return Words(timeout, tuple(moves), env, image)


def check_words(text: str, *, live: bool, guard: str) -> Words:
    """The same, with the choices that they have to go with.

    Raises:
        BadWords: As of `read_words`, or they do not go together.
    """
    found = read_words(text)
    if found.image and live:
        raise BadWords(message("dialog.words.in_live"))
    if found.image and guard == "audit":
        raise BadWords(message("dialog.words.in_audit"))
    return found


def _pairs(text: str) -> list[tuple[str, str]]:
    """Each option with its value, ``--name value`` or ``--name=value``."""
    try:
        words = shlex.split(text)
    except ValueError as problem:
        raise BadWords(message("dialog.words.quotes")) from problem
    found = []
    while words:
        name, equals, value = words.pop(0).partition("=")
        if name not in KNOWN:
            raise BadWords(message("dialog.words.unknown", word=name))
        if not equals:
            if not words or words[0] in KNOWN:
                raise BadWords(message("dialog.words.no_value", word=name))
            value = words.pop(0)
        found.append((name, value))
    return found


def _seconds(text: str) -> float:
    try:
        found = float(text)
    except ValueError:
        found = math.nan
    if not (math.isfinite(found) and found > 0):
        raise BadWords(message("dialog.words.seconds", value=text))
    return found


def _image(text: str) -> str:
    if not text.strip() or text.startswith("-"):
        raise BadWords(message("dialog.words.image", value=text))
    return text

"""What ``agentdbg doctor -- CMD`` says about the Python that a command starts."""

from __future__ import annotations

import os
import shlex
from collections.abc import Iterator, Sequence

from agentdbg.cli.checks import ABSENT, OK, WARN, Check
from agentdbg.cli.errors import Trouble
from agentdbg.i18n.catalogue import message
from agentdbg.recording.launch import pth
from agentdbg.recording.launch.environment import inherited
from agentdbg.recording.launch.examine import Examination, SeamState, examine
from agentdbg.recording.launch.interpreter import Interpreter, interpreter_of
from agentdbg.recording.launch.probe import ABSENT as NOT_THERE
from agentdbg.recording.launch.probe import PATCHED


def program_checks(words: Sequence[str], *, fix: bool) -> list[Check]:
    """Everything about the Python of a command line.

    Args:
        words: The command line.
        fix: Whether to install ``agentdbg-bootstrap.pth`` first.

    Raises:
        Trouble: There is no Python to look at, or it cannot be mended.
    """
    environment = inherited()
    found = interpreter_of(words, environment)
    if found is None:
        raise Trouble(message("doctor.no_python", command=shlex.join(words)))
    mended = [_mend(found, environment)] if fix else []
    seen = examine(found, environment)
    if not seen.version:
        raise Trouble(message("doctor.not_started", reason=seen.problem))
    return [_version(seen), _bootstrap(found, seen), *mended, _orjson(seen), *_seams(seen)]


def _mend(found: Interpreter, environment: dict[str, str]) -> Check:
    seen = examine(found, environment, {})
    if not seen.version:
        raise Trouble(message("doctor.not_started", reason=seen.problem))
    if not seen.supported:
        raise Trouble(f"Python {seen.version}: {message('doctor.too_old')}")
    path = os.path.join(seen.packages, pth.NAME)
    try:
        pth.install(seen.packages)
    except OSError as error:
        reason = (error.strerror or str(error)).lower()
        raise Trouble(message("doctor.fix_failed", path=path, reason=reason)) from error
    return Check("program", pth.NAME, OK, path, message("doctor.fix_done", path=shlex.quote(path)))


def _version(seen: Examination) -> Check:
    note = seen.executable if seen.supported else message("doctor.too_old")
    return Check("program", "python", OK if seen.supported else WARN, seen.version, note)


def _bootstrap(found: Interpreter, seen: Examination) -> Check:
    if seen.loaded:
        installed = os.path.exists(os.path.join(seen.packages, pth.NAME))
        return Check("program", "bootstrap", OK, message(f"doctor.bootstrap_by_{'file' if installed else 'path'}"))
    if found.ignores_site:
        note = message("doctor.bootstrap_skipped")
    elif found.ignores_environment:
        option = "-I" if found.has("I") else "-E"
        note = message("doctor.bootstrap_ignored", option=option, command=shlex.join(found.words))
    else:
        note = message("doctor.bootstrap_not", reason=seen.problem or "?")
    return Check("program", "bootstrap", WARN, "", note)


def _orjson(seen: Examination) -> Check:
    return Check("program", "orjson", OK if seen.orjson else ABSENT, "", message("doctor.orjson"))


def _seams(seen: Examination) -> Iterator[Check]:
    for seam in seen.seams:
        value = f"{seam.label} {seam.version}".strip()
        if seam.state == NOT_THERE:
            yield Check("seams", seam.module, ABSENT, value)
        elif seam.state == PATCHED:
            yield Check("seams", seam.module, OK, value, message("doctor.patched"))
        else:
            yield Check("seams", seam.module, WARN, value, message("doctor.unpatched", reason=_reason(seam)))


def _reason(seam: SeamState) -> str:
    """The reason without the module's name, which stands in the row."""
    for start in (f"{seam.module} is not covered: ", f"{seam.module} is "):
        if seam.reason.startswith(start):
            return seam.reason[len(start) :]
    return seam.reason

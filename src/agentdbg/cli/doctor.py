"""``agentdbg doctor``: what can be recorded here, where it goes, and which guard layers work."""

from __future__ import annotations

import os
import platform
import stat
import sys
from collections.abc import Iterator
from typing import Final

import click

from agentdbg.cli.checks import ABSENT, OK, WARN, Check
from agentdbg.cli.commands import Verb
from agentdbg.cli.errors import Trouble
from agentdbg.cli.invocation import Invocation
from agentdbg.cli.output import print_document, print_table, text
from agentdbg.i18n.catalogue import message

_STYLES: Final = {OK: "green", WARN: "yellow", ABSENT: ""}
_CLIENTS: Final = {
    "openai": "doctor.by_http_seam",
    "anthropic": "doctor.by_http_seam",
    "httpx": "doctor.http_seam",
    "httpx2": "doctor.http_seam",
}


@click.command("doctor", cls=Verb, context_settings={"allow_interspersed_args": False})
@click.option("--fix", is_flag=True, help="Let CMD's Python load the recorder with -I and -E too.")
@click.argument("words", metavar="[-- CMD...]", nargs=-1, type=click.UNPROCESSED)
@click.pass_obj
def command(invocation: Invocation, fix: bool, words: tuple[str, ...]) -> None:
    """Say what can be recorded here, or in the Python that CMD starts, and which guard layers work."""
    if fix and not words:
        raise Trouble(message("doctor.fix_what"))
    checks = [*_python(), *(_of_program(words, fix) if words else _clients()), *_guard(), *_store(invocation)]
    checks += [_redaction(invocation), *_tools(invocation)]
    if invocation.json:
        print_document("doctor", {"checks": [check.members() for check in checks]})
        return
    columns = [message(f"column.{name}") for name in ("area", "name", "status", "value", "note")]
    rows = [
        [check.area, check.name, text(check.state, _STYLES[check.state]), check.value, check.note] for check in checks
    ]
    print_table(invocation, columns, rows)


def _python() -> Iterator[Check]:
    yield Check("python", "version", OK, platform.python_version(), sys.executable)
    yield Check("python", "platform", OK, platform.platform())
    yield Check("python", "orjson", *_installed("orjson"), message("doctor.orjson"))


def _clients() -> Iterator[Check]:
    for name, note in _CLIENTS.items():
        state, version = _installed(name)
        yield Check("clients", name, state, version, message(note) if state == OK else "")


def _of_program(words: tuple[str, ...], fix: bool) -> list[Check]:
    from agentdbg.cli.program_checks import program_checks

    return program_checks(words, fix=fix)


def _tools(invocation: Invocation) -> list[Check]:
    from agentdbg.cli.tool_checks import tool_checks

    return tool_checks(invocation)


def _installed(name: str) -> tuple[str, str]:
    """Whether a distribution is installed, and its version."""
    from importlib.metadata import PackageNotFoundError, version

    try:
        return OK, version(name)
    except PackageNotFoundError:
        return ABSENT, ""


def _guard() -> Iterator[Check]:
    yield Check("guard", "audit hook", OK, message("doctor.works"), message("doctor.audit_hook"))
    from agentdbg.replay.container.engines import all_engines
    from agentdbg.replay.guard_check import NEEDED, layers_here

    layers = layers_here()
    for layer in layers:
        value = " ".join([message("doctor.works"), layer.detail]).strip() if layer.held else ""
        yield Check("guard", layer.name, OK if layer.held else ABSENT, value, "" if layer.held else layer.detail)
    lacking = [layer.name for layer in layers if layer.name in NEEDED and not layer.held]
    yield Check("guard", "--guard auto", *_auto(lacking))
    engines = all_engines() if sys.platform != "win32" else []
    for found in engines:
        works = found.engine is not None
        note = message("doctor.engine") if works else found.problem
        yield Check("guard", found.name, OK if works else ABSENT, message("doctor.works") if works else "", note)
    if not engines:
        yield Check("guard", "container engine", ABSENT, "", message("doctor.no_engine"))


def _auto(lacking: list[str]) -> tuple[str, str, str]:
    """Whether an exact replay runs as it is asked for by default."""
    if not lacking:
        return OK, message("doctor.works"), message("doctor.guard_auto")
    key = "doctor.guard_windows" if sys.platform == "win32" else "doctor.guard_lacks"
    return WARN, "", message(key, layers=", ".join(lacking))


def _store(invocation: Invocation) -> Iterator[Check]:
    address = invocation.store_address
    if "://" in address:
        yield Check("store", "location", OK, address)
        return
    path = os.path.abspath(address)
    try:
        mode = stat.S_IMODE(os.stat(path).st_mode)
    except OSError:
        yield Check("store", "location", OK, path, message("doctor.store_missing"))
        return
    yield Check("store", "location", OK, path)
    loose = os.name != "nt" and mode & 0o027
    yield Check("store", "mode", WARN if loose else OK, f"{mode:04o}", message("doctor.store_loose") if loose else "")
    writable = os.access(path, os.W_OK)
    note = "" if writable else message("doctor.store_read_only")
    yield Check("store", "writable", OK if writable else WARN, "yes" if writable else "no", note)


def _redaction(invocation: Invocation) -> Check:
    """Where the key of the placeholders comes from; the key itself is never looked at."""
    from agentdbg.redaction.keys import ENV_KEY, ENV_KEY_FILE, default_key_path

    if not invocation.settings.flag("recording.redaction"):
        return Check("redaction", "key", WARN, "off", message("doctor.redaction_off"))
    if os.environ.get(ENV_KEY, "").strip():
        return Check("redaction", "key", OK, f"environment {ENV_KEY}")
    named = os.environ.get(ENV_KEY_FILE, "").strip()
    if named:
        found = os.path.isfile(named)
        return Check("redaction", "key", OK if found else WARN, named, "" if found else message("doctor.key_missing"))
    path = default_key_path()
    return Check("redaction", "key", OK, str(path), "" if path.is_file() else message("doctor.key_later"))

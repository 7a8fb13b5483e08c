"""``agentdbg record``: run a Python program as it is, and record it."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Mapping, Sequence
from contextlib import suppress
from typing import TYPE_CHECKING

import click

from agentdbg.cli.commands import Verb
from agentdbg.cli.errors import Trouble
from agentdbg.cli.invocation import Invocation, complain
from agentdbg.i18n.catalogue import message
from agentdbg.model.records import Effect
from agentdbg.recording.launch import directory, spawn
from agentdbg.recording.launch.ending import note_end
from agentdbg.recording.launch.environment import child_environment, inherited
from agentdbg.recording.start import enabled

if TYPE_CHECKING:
    from agentdbg.recording.launch.directory import Told
    from agentdbg.recording.launch.spawn import Ended

_RUN_ID = "AGENTDBG_RUN_ID"


def _tools(ctx: click.Context, param: click.Parameter, values: tuple[str, ...]) -> dict[str, str]:
    """Each ``NAME=EFFECT``, split at its last equals sign."""
    effects = {effect.value for effect in Effect}
    split = [value.rpartition("=") for value in values]
    for name, sign, effect in split:
        if not name.strip() or effect not in effects:
            raise click.BadParameter(message("record.bad_tool", word=f"{name}{sign}{effect}"), ctx=ctx, param=param)
    return {name.strip(): effect for name, _, effect in split}


@click.command("record", cls=Verb, context_settings={"allow_interspersed_args": False})
@click.option("--run-id", metavar="ID", help="Id of the program's first run.")
@click.option(
    "--tool", "tools", multiple=True, metavar="NAME=EFFECT", callback=_tools, help="Record this function as a tool."
)
@click.argument("words", metavar="-- CMD...", nargs=-1, required=True, type=click.UNPROCESSED)
@click.pass_obj
def command(invocation: Invocation, run_id: str | None, tools: dict[str, str], words: tuple[str, ...]) -> int:
    """Run a Python program and record it, unmodified. Ends with the program's exit status.

    The program's streams, arguments, signals and directory are its own. When something could not be recorded, one
    line on stderr says so after its end.
    """
    if invocation.json:
        raise Trouble(message("record.no_json"))
    environment = inherited()
    run_id = run_id or environment.pop(_RUN_ID, None) or None
    store = _store(invocation, run_id)
    environment.pop(_RUN_ID, None)
    told, ended, problem = _launch(invocation, words, environment, run_id, store, tools)
    line = problem or _problem(words, environment, told, ended, tools)
    if line is not None:
        complain(line)
    elif sys.stderr.isatty():
        complain(_all_well(told))
    return spawn.end_like(ended)


def _store(invocation: Invocation, run_id: str | None) -> str:
    """The store's absolute address.

    Raises:
        Trouble: It cannot be recorded into, or not under this id.
    """
    address = invocation.store_address
    if "://" in address:
        raise Trouble(message("record.store_scheme", store=address))
    if run_id is not None:
        from agentdbg.recording.process import RUN_ID

        if not RUN_ID.match(run_id):
            raise Trouble(message("record.bad_run_id", run=run_id))
        if os.path.lexists(os.path.join(address, "runs", run_id)):
            raise Trouble(message("record.run_exists", run=run_id, store=address))
    return os.path.abspath(address)


def _launch(
    invocation: Invocation,
    words: Sequence[str],
    environment: Mapping[str, str],
    run_id: str | None,
    store: str,
    tools: Mapping[str, str],
) -> tuple[Told, Ended, str | None]:
    """Run the program; without the recorder where that cannot be made ready, with the line that says so."""
    declared = {**invocation.settings.table("tools"), **tools}
    try:
        place = directory.make(run_id, store, declared)
    except OSError as error:
        reason = f"{error.filename or ''}: {(error.strerror or str(error)).lower()}".lstrip(": ")
        return directory.Told(), _run(words, environment), message("record.cannot_prepare", reason=reason)
    told, is_new = directory.Told(), not os.path.lexists(store)
    with suppress(OSError):  # in sight from the program's first line, as it is in a replay
        os.makedirs(store, mode=0o700, exist_ok=True)
    try:
        ended = _run(words, child_environment(environment, place, store, _tools_text(declared) if tools else None))
        told = directory.read(place)
        _note_end(told, ended)
    finally:
        directory.remove(place, told)
        with suppress(OSError):  # nothing was recorded
            if is_new:
                os.rmdir(store)
    return told, ended, None


def _note_end(told: Told, ended: Ended) -> None:
    """Write into the program's own run how it ended."""
    own = told.own.get(ended.pid)
    if own is not None:
        killed = ended.signal or None
        note_end(*own, exit_status=None if killed else ended.status, signal_number=killed)


def _run(words: Sequence[str], environment: Mapping[str, str]) -> Ended:
    try:
        return spawn.run(words, environment)
    except spawn.CannotRun as problem:
        raise Trouble(str(problem)) from problem


def _tools_text(tools: Mapping[str, str]) -> str:
    """A table as ``AGENTDBG_TOOLS`` has it."""
    plain = not any(set(name) & set(",={") or name != name.strip() for name in tools)
    return ",".join(f"{name}={effect}" for name, effect in tools.items()) if plain else json.dumps(tools)


def _problem(
    words: Sequence[str], environment: Mapping[str, str], told: Told, ended: Ended, tools: Mapping[str, str]
) -> str | None:
    """What is missing in the record, in one line."""
    if not enabled():
        return message("record.off")
    missed = None if told.failures else _missed(words, environment, told, ended)
    failures = [message("record.not_recorded", reason=reason) for reason in told.failures]
    lines = [missed] if missed else failures
    lines += [message("record.degraded", reason=reason) for reason in told.warnings]
    unmet = [name for name in tools if name not in told.tools]
    if unmet and not lines:
        lines.append(message("record.no_tool", tools=", ".join(unmet)))
    more = message("record.and_more", count=len(lines) - 1) if len(lines) > 1 else ""
    return lines[0] + more if lines else None


def _missed(words: Sequence[str], environment: Mapping[str, str], told: Told, ended: Ended) -> str | None:
    """Why the program itself was not recorded, if it was not."""
    from agentdbg.recording.launch.interpreter import interpreter_of

    found = interpreter_of(words, environment)
    if found is not None and len(found.words) == 1 and ended.pid not in told.pids:
        python = found.words[0]
        if found.ignores_site:
            return message("record.ignores_site")
        if found.ignores_environment:
            option = "-I" if found.has("I") else "-E"
            return message("record.ignores_environment", option=option, python=python)
    if told.pids:
        return None
    if found is None:
        return message("record.no_python", program=words[0])
    return message("record.no_bootstrap", python=" ".join(found.words))


def _all_well(told: Told) -> str:
    if not told.runs:
        return message("record.no_run")
    if len(told.runs) == 1:
        return message("record.all_well", run=told.runs[0])
    return message("record.many", count=len(told.runs), run=told.runs[-1])

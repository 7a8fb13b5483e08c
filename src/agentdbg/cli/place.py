"""Options that say where a replay's code and files are: ``--code``, ``--map``, ``--env-file``."""

from __future__ import annotations

from contextlib import ExitStack
from typing import TYPE_CHECKING

import click

from agentdbg.cli.errors import Status, Trouble
from agentdbg.cli.invocation import Invocation
from agentdbg.i18n.catalogue import message

if TYPE_CHECKING:
    from agentdbg.replay.run import ReplayOptions
    from agentdbg.store.reader import DirectoryRunSource


def moves(ctx: click.Context, param: click.Parameter, values: tuple[str, ...]) -> tuple[tuple[str, str], ...]:
    """Each ``FROM=TO``."""
    from agentdbg.replay.moved_run import BadMapping, parse_map

    try:
        return tuple(parse_map(value) for value in values)
    except BadMapping as problem:
        raise click.BadParameter(str(problem), ctx=ctx, param=param) from problem


def variables(ctx: click.Context, param: click.Parameter, value: str | None) -> dict[str, str]:
    """The variables in a file; what is in it is never shown."""
    from agentdbg.replay.env_file import BadEnvFile, read_env_file

    try:
        return read_env_file(value) if value is not None else {}
    except BadEnvFile as problem:
        raise click.BadParameter(str(problem), ctx=ctx, param=param) from problem


def in_place(
    invocation: Invocation, source: DirectoryRunSource, options: ReplayOptions, stack: ExitStack
) -> tuple[DirectoryRunSource, ReplayOptions]:
    """The run on the code and the paths that were asked for, until ``stack`` is left.

    Raises:
        Trouble: It cannot be put there.
    """
    from agentdbg.replay.placed import CodeRefused, placed
    from agentdbg.replay.recorded_code import CannotRestore

    if not options.is_elsewhere:
        return source, options
    try:
        there = stack.enter_context(placed(source, options.code, options.moves, trust=options.trust))
    except CodeRefused as problem:
        raise Trouble(str(problem), Status.REFUSED) from problem
    except CannotRestore as problem:
        raise Trouble(message("replay.no_code", why=str(problem)), Status.NOTHING) from problem
    invocation.warn(there.notes)
    return there.source, options.in_place


def warn_of_differences(invocation: Invocation, source: DirectoryRunSource, options: ReplayOptions) -> None:
    """Say before step 1 that something is not as recorded; ``--plan`` lists all of it."""
    from agentdbg.replay.present import differences_from_record

    found = differences_from_record(source, options.env, python=not options.image)
    if found:
        key = "replay.one_differs" if len(found) == 1 else "replay.many_differ"
        invocation.warn([message(key, first=found[0], count=len(found) - 1)])

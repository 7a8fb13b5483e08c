"""Options that say where a replay's code and files are: ``--code``, ``--map``, ``--env-file``."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

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


def warn_of_differences(invocation: Invocation, source: DirectoryRunSource, options: ReplayOptions) -> None:
    """Say before step 1 that something is not as recorded; ``--plan`` lists all of it."""
    from agentdbg.replay.present import differences_from_record

    found = differences_from_record(source, options.env, python=not options.image)
    if found:
        key = "replay.one_differs" if len(found) == 1 else "replay.many_differ"
        invocation.warn([message(key, first=found[0], count=len(found) - 1)])

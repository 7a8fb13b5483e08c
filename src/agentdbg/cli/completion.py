"""``agentdbg completion``: the script that teaches a shell to complete commands and options."""

from __future__ import annotations

import click

from agentdbg.cli.commands import Verb, root


@click.command("completion", cls=Verb)
@click.argument("shell", type=click.Choice(["bash", "zsh", "fish"]))
def command(shell: str) -> None:
    """Print the completion script for SHELL.

    For example: eval "$(agentdbg completion bash)"
    """
    from click.shell_completion import get_completion_class

    from agentdbg.cli.main import COMPLETE_VARIABLE, PROGRAM

    made = get_completion_class(shell)
    if made is None:
        raise click.UsageError(f"no completion for {shell}")
    complete = made(root, {}, PROGRAM, COMPLETE_VARIABLE)
    click.echo(complete.source_template % complete.source_vars())

"""The table of commands, the global options, and how a word on the command line becomes one of them."""

from __future__ import annotations

from collections.abc import Sequence
from importlib import import_module
from typing import Final

import click

from agentdbg.cli.invocation import Invocation

COMMANDS: Final[dict[str, str]] = {
    "open": "agentdbg.cli.open",
    "record": "agentdbg.cli.record",
    "runs": "agentdbg.cli.runs",
    "show": "agentdbg.cli.show",
    "flag": "agentdbg.cli.flag",
    "diff": "agentdbg.cli.diff",
    "replay": "agentdbg.cli.replay",
    "ask": "agentdbg.cli.ask",
    "verify": "agentdbg.cli.verify",
    "export": "agentdbg.cli.export",
    "pack": "agentdbg.cli.pack",
    "unpack": "agentdbg.cli.unpack",
    "demo": "agentdbg.cli.demo",
    "config": "agentdbg.cli.config",
    "doctor": "agentdbg.cli.doctor",
    "completion": "agentdbg.cli.completion",
}
"""Commands in the order of the help page, each with the module whose ``command`` it is."""


class Verb(click.Command):
    """A command that takes the global options behind its name too."""

    def __init__(self, *args: object, **kwargs: object) -> None:
        super().__init__(*args, **kwargs)  # type: ignore[arg-type]  # click's own long signature
        self.params.extend(global_options())

    def invoke(self, ctx: click.Context) -> object:
        """Run the command, with language and warnings ready."""
        ctx.ensure_object(Invocation).begin()
        return super().invoke(ctx)


class Root(click.Group):
    """The program: commands are loaded when they are asked for, any other word is a run."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        """All commands, in the order of the table."""
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """Load one command."""
        if cmd_name not in COMMANDS:
            return None
        command: click.Command = import_module(COMMANDS[cmd_name]).command
        return command

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """The command of the first word; a word that is none stands for ``open WORD``."""
        if args[0] in COMMANDS:
            return super().resolve_command(ctx, args)
        ctx.ensure_object(Invocation).bare_word = args[0]
        return "open", self.get_command(ctx, "open"), args


def global_options() -> Sequence[click.Option]:
    """The options that stand before or after a command's name."""
    return [
        _option("store", help="Directory, URL or configured name of the store.", metavar="STORE"),
        _option("json", is_flag=True, help="Print one JSON document."),
        _option("no_color", is_flag=True, help="Print without colours."),
        _option("lang", type=click.Choice(["auto", "en", "zh"]), help="Language of fixed texts."),
        _option("debug", is_flag=True, help="Show where in agentdbg an error arose."),
    ]


def _option(name: str, **attributes: object) -> click.Option:
    flag = f"--{name.replace('_', '-')}"
    return click.Option([flag, name], expose_value=False, callback=_remember, **attributes)  # type: ignore[arg-type]


def _remember(ctx: click.Context, param: click.Parameter, value: object) -> None:
    """Keep a global option; one that is not given here leaves what was given earlier."""
    if value and param.name:
        setattr(ctx.ensure_object(Invocation), param.name, value)


@click.command(
    cls=Root,
    invoke_without_command=True,
    params=[*global_options()],
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
    epilog="A word that is no command is a run: 'agentdbg RUN' opens it.",
)
@click.option("--version", is_flag=True, help="Print the version.")
@click.pass_context
def root(ctx: click.Context, version: bool) -> object:
    """Debug AI agents: record a run, open it at the step that failed, replay it exactly.

    Without a command: the list of recorded runs.
    """
    if version:
        from importlib.metadata import version as installed

        click.echo(f"agentdbg {installed('agentdbg-tui')}")
        return ctx.exit()
    if ctx.invoked_subcommand is not None:
        return None
    from agentdbg.cli.open import open_runs

    invocation = ctx.ensure_object(Invocation)
    invocation.begin()
    return open_runs(invocation)

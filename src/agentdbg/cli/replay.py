"""``agentdbg replay``: run the agent's own code again on what was recorded."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass
from importlib import import_module
from typing import Protocol, cast

import click

from agentdbg.cli.commands import Verb
from agentdbg.cli.errors import Status, Trouble
from agentdbg.cli.invocation import Invocation
from agentdbg.cli.output import console, print_document, print_facts, text
from agentdbg.cli.verdicts import exit_status
from agentdbg.i18n.catalogue import message
from agentdbg.store.protocols import RunSource, RunStore


@dataclass(frozen=True, slots=True)
class ReplayOptions:
    """What the command line asks of a replay.

    Attributes:
        guard: ``auto`` or ``audit``.
        timeout: Seconds after which the child is ended.
        trust: Whether to run code that this user did not record without asking.
        tolerate: Ambient effects that stay blocked but are no refusal.
        store: Where the replay is written as a run of its own.
    """

    guard: str
    timeout: float
    trust: bool
    tolerate: Sequence[str]
    store: RunStore


class Outcome(Protocol):
    """How a replay ended."""

    verdict: str

    def members(self) -> Mapping[str, object]:
        """The outcome, as in the JSON document."""


class Engine(Protocol):
    """What this command needs of ``agentdbg.replay.run``."""

    def exact(self, source: RunSource, options: ReplayOptions) -> Outcome:
        """Replay exactly."""

    def plan(self, source: RunSource, options: ReplayOptions) -> Sequence[str]:
        """What would happen to every recorded call, one line each."""


@click.command("replay", cls=Verb)
@click.argument("run")
@click.option("--exact", is_flag=True, help="The agent's own code; models and tools answer from the record.")
@click.option("--guard", type=click.Choice(["auto", "audit"]), default="auto", help="Which layers keep effects out.")
@click.option("--timeout", type=click.FloatRange(min=0, min_open=True), metavar="S", help="Longest time it may take.")
@click.option("--trust", is_flag=True, help="Run code that you did not record yourself without asking.")
@click.option("--plan", "only_plan", is_flag=True, help="Print what would happen to every call, and stop.")
@click.pass_obj
def command(
    invocation: Invocation, run: str, exact: bool, guard: str, timeout: float | None, trust: bool, only_plan: bool
) -> Status:
    """Replay RUN and say whether anything differs."""
    if not exact:
        raise click.UsageError("say which replay: --exact")
    store = invocation.open_store()
    settings = invocation.settings
    seconds = timeout or settings.seconds("replay.timeout")
    options = ReplayOptions(guard, seconds, trust, settings.items("replay.tolerate"), store)
    engine = cast(Engine, import_module("agentdbg.replay.run"))
    with closing(invocation.resolve(run, store)) as source:
        if only_plan:
            _print_plan(invocation, engine.plan(source, options))
            return Status.SAME
        if guard == "auto":
            raise Trouble(message("error.no_kernel_guard"), Status.REFUSED)
        outcome = engine.exact(source, options)
    invocation.status = exit_status(outcome.verdict)
    if invocation.json:
        print_document("replay", outcome.members())
    else:
        _print_outcome(invocation, outcome)
    return invocation.status


def _print_plan(invocation: Invocation, lines: Sequence[str]) -> None:
    if invocation.json:
        print_document("replay", {"plan": list(lines)})
        return
    for line in lines:
        console(invocation).print(text(line))


def _print_outcome(invocation: Invocation, outcome: Outcome) -> None:
    pairs = [(name.replace("_", " "), _shown(value)) for name, value in outcome.members().items()]
    print_facts(invocation, [pair for pair in pairs if pair[1]])


def _shown(value: object) -> str:
    if isinstance(value, Mapping):
        return "  ".join(f"{name} {_shown(entry)}" for name, entry in value.items() if entry not in (None, ""))
    if isinstance(value, list | tuple):
        return "; ".join(_shown(entry) for entry in value)
    return "" if value is None else str(value)

"""``agentdbg replay --regression``: its options read, a person asked on the terminal."""

from __future__ import annotations

import sys
from contextlib import ExitStack, closing
from typing import TYPE_CHECKING

import click

from agentdbg.cli.errors import Status, Trouble
from agentdbg.cli.invocation import Invocation, on_terminal
from agentdbg.i18n.catalogue import message
from agentdbg.model.safe_text import safe_line

if TYPE_CHECKING:
    from agentdbg.cli.replay import Asked
    from agentdbg.replay.outcome import Outcome
    from agentdbg.replay.pinned import Pin
    from agentdbg.replay.regression import RegressionOptions
    from agentdbg.replay.regression_lane import Question
    from agentdbg.replay.run import ReplayOptions
    from agentdbg.store.reader import DirectoryRunSource


def replay(
    invocation: Invocation, source: DirectoryRunSource, asked: Asked, options: ReplayOptions, stack: ExitStack
) -> Outcome | None:
    """Plan or replay; ``None`` after a plan. What is opened for it is closed with ``stack``."""
    from agentdbg.cli.plantext import print_plan
    from agentdbg.cli.replay import waiting
    from agentdbg.replay import regression as engine
    from agentdbg.replay.edits import BadEdit
    from agentdbg.replay.intents import BadIntent
    from agentdbg.replay.pinned import BadPin
    from agentdbg.replay.plan import plan_regression
    from agentdbg.replay.prefix import NoSuchStep
    from agentdbg.replay.sandbox import BadSandbox

    try:
        wanted = _options(invocation, asked, options, stack)
        if asked.only_plan:
            print_plan(invocation, plan_regression(source, wanted))
            return None
        if wanted.person is not None:  # a sign of life would write over the question
            return engine.regression(source, wanted)
        return waiting(invocation, lambda: engine.regression(source, wanted), message("replay.running_live"))
    except (BadEdit, BadIntent, BadPin, BadSandbox, NoSuchStep) as problem:
        raise Trouble(str(problem), Status.TROUBLE) from problem


def _options(invocation: Invocation, asked: Asked, options: ReplayOptions, stack: ExitStack) -> RegressionOptions:
    from agentdbg.replay.edits import parse_edit
    from agentdbg.replay.intents import parse_intent
    from agentdbg.replay.regression import RegressionOptions
    from agentdbg.replay.sandbox import sandbox

    number = int(asked.start) if asked.start not in (None, "auto") else None
    return RegressionOptions(
        options,
        start=None if number is None else max(1, number),
        samples=asked.samples or 1,
        edits=tuple(map(parse_edit, asked.edits)),
        pins=tuple(_pin(invocation, each, stack) for each in asked.pins),
        intents=tuple(map(parse_intent, asked.intents)),
        sandbox=None if asked.sandbox is None else sandbox(asked.sandbox),
        person=ask_person if on_terminal() and not invocation.json else None,
    )


def _pin(invocation: Invocation, text: str, stack: ExitStack) -> Pin:
    from agentdbg.replay.pinned import Pin
    from agentdbg.store.reader import DirectoryRunSource

    tool, equals, address = text.partition("=")
    if not tool or (equals and not address):
        raise click.UsageError(f"--pin {text}: write TOOL or TOOL=RUN2")
    if not equals:
        return Pin(tool)
    other = stack.enter_context(closing(invocation.resolve(address, invocation.open_store())))
    if not isinstance(other, DirectoryRunSource):
        raise Trouble(message("error.not_own_format", run=other.summary().run_id), Status.NOTHING)
    return Pin(tool, other)


def ask_person(question: Question) -> str | bool | None:
    """Ask on the terminal; only a typed yes, or a typed decision, counts."""
    name = safe_line(question.name)
    if question.about == "approval":
        print(f"approval asked for: {name}", file=sys.stderr)
        return _line("decision as the program takes it (approved, false, …); empty: nobody decides: ") or None
    key = f" with key {safe_line(question.key)}" if question.key else ""
    print(f"external call, for real, in the sandbox: {name}{key}", file=sys.stderr)
    return _line("type yes to make it: ") == "yes"


def _line(prompt: str) -> str:
    print(prompt, end="", file=sys.stderr, flush=True)
    return sys.stdin.readline().strip()

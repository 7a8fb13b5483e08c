"""``agentdbg replay``: run the agent's own code again on what was recorded."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import ExitStack, closing
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, TypeVar

import click

from agentdbg.cli import outcometext, place, trusting
from agentdbg.cli.commands import Verb
from agentdbg.cli.errors import Status, Trouble
from agentdbg.cli.invocation import Invocation, on_terminal
from agentdbg.cli.output import console, print_document
from agentdbg.cli.pdb import replay_in_pdb
from agentdbg.cli.run_names import complete_run
from agentdbg.cli.signals import as_interrupts
from agentdbg.cli.verdicts import exit_status
from agentdbg.i18n.catalogue import message

if TYPE_CHECKING:
    from agentdbg.replay.outcome import Outcome
    from agentdbg.replay.run import ReplayOptions
    from agentdbg.store.protocols import RunSource, RunStore
    from agentdbg.store.reader import DirectoryRunSource

T = TypeVar("T")
_OF_REGRESSION = ("samples", "pins", "intents", "sandbox")


@dataclass(frozen=True, slots=True)
class Asked:
    """The command line, as click gives it."""

    run: str
    exact: bool
    regression: bool
    start: str | None
    prefix: str
    samples: int | None
    edits: tuple[str, ...]
    pins: tuple[str, ...]
    intents: tuple[str, ...]
    sandbox: str | None
    guard: str
    image: str | None
    timeout: float | None
    trust: bool
    only_plan: bool
    pdb: int | None
    code: str
    moves: tuple[tuple[str, str], ...]
    env: dict[str, str]


@click.command("replay", cls=Verb)
@click.argument("run", shell_complete=complete_run)
@click.option("--exact", is_flag=True, help="The agent's own code; models and tools answer from the record.")
@click.option("--regression", is_flag=True, help="The present code; models live, writes never, up to the start served.")
@click.option("--from", "start", metavar="N|auto", help="Step to start at; auto: where a model input differs.")
@click.option("--prefix", type=click.Choice(["fast-forward", "restore"]), default="fast-forward", help="Way to there.")
@click.option("--samples", type=click.IntRange(1, 100), metavar="K", help="Run it up to K times; how far they agree.")
@click.option("--edit", "edits", multiple=True, metavar="STEP:PATH=JSON", help="Go on from another value.")
@click.option("--pin", "pins", multiple=True, metavar="TOOL[=RUN2]", help="Answer one tool from a record alone.")
@click.option("--intent", "intents", multiple=True, metavar="KIND:NAME", help="The change that the fix is to make.")
@click.option("--sandbox", metavar="NAME", help="Use what [sandbox.NAME] of the settings names, for real.")
@click.option("--code", type=click.Choice(["current", "recorded"]), default="current", help="Which code to run.")
@click.option("--map", "moves", multiple=True, metavar="FROM=TO", callback=place.moves, help="Where a path is here.")
@click.option("--env-file", "env", metavar="F", callback=place.variables, help="Variables; they are not recorded.")
@click.option("--guard", type=click.Choice(["auto", "audit"]), default="auto", help="Which layers keep effects out.")
@click.option("--in", "image", metavar="IMAGE", help="Run it in a container without network; needs --exact.")
@click.option("--timeout", type=click.FloatRange(min=0, min_open=True), metavar="S", help="Longest time it may take.")
@click.option("--trust", is_flag=True, help="Run code that you did not record yourself without asking.")
@click.option("--pdb", type=click.IntRange(min=0), metavar="N", help="Hold it at step N: pdb on the terminal.")
@click.option("--plan", "only_plan", is_flag=True, help="Print what would happen to every call, and stop.")
@click.pass_obj
def command(invocation: Invocation, /, **given: Any) -> Status:
    """Replay RUN and say whether anything differs."""
    asked = Asked(**given)
    _check(asked)
    from agentdbg.replay import run as engine
    from agentdbg.replay.container.engines import NoContainer
    from agentdbg.replay.moved_run import BadMapping
    from agentdbg.replay.prefix import NoSuchStep
    from agentdbg.replay.publishing import target_of

    store = invocation.open_store()
    with as_interrupts(), closing(invocation.resolve(asked.run, store)) as opened:
        source = _own_format(opened)
        if not asked.only_plan:
            leave = trusting.leave_given(invocation, source, trust=asked.trust, code=asked.code)
            asked = replace(asked, trust=leave)
        options = _options(invocation, asked, target_of(store))
        try:
            if asked.regression:
                from agentdbg.cli.regression import replay

                with ExitStack() as stack:
                    outcome = replay(invocation, source, asked, options, stack)
            else:
                outcome = _exact(invocation, source, asked, options)
        except engine.ReplayRefused as error:
            raise Trouble(str(error), Status.REFUSED) from error
        except (NoSuchStep, BadMapping, NoContainer) as error:
            raise Trouble(str(error), Status.TROUBLE) from error
        except engine.NotReplayable as error:
            raise Trouble(str(error), Status.NOTHING) from error
    if outcome is None:
        return Status.SAME
    invocation.status = exit_status(outcome.verdict)
    if invocation.json:
        print_document("replay", outcome.members())
    else:
        outcometext.print_outcome(invocation, outcome)
    return invocation.status


def _check(asked: Asked) -> None:
    if asked.exact == asked.regression:
        raise click.UsageError("say which replay: --exact or --regression")
    check_image(asked.image, asked.guard)
    if asked.pdb is not None and (asked.regression or not on_terminal()):
        raise click.UsageError("--pdb needs --exact" if asked.regression else "--pdb needs a terminal")
    if asked.image is not None and asked.regression:
        raise click.UsageError("--in needs --exact: a regression replay asks its models over the network")
    if asked.exact:
        for name in _OF_REGRESSION:
            if getattr(asked, name):
                raise click.UsageError(f"--{name.removesuffix('s') if name != 'samples' else name} needs --regression")
        if asked.start == "auto":
            raise click.UsageError("--from auto needs --regression")
    if asked.start not in (None, "auto") and not str(asked.start).isdigit():
        raise click.UsageError(f"--from {asked.start}: use the number of a step, or auto")
    if asked.prefix == "restore" and (asked.start in (None, "auto") or not int(str(asked.start))):
        raise click.UsageError("--prefix restore needs --from N: the number of a checkpoint")


def _options(invocation: Invocation, asked: Asked, target: RunStore) -> ReplayOptions:
    from agentdbg.replay.run import ReplayOptions

    return ReplayOptions(
        asked.guard,
        asked.timeout or invocation.settings.seconds("replay.timeout"),
        asked.trust,
        invocation.settings.items("replay.tolerate"),
        target,
        asked.code,
        asked.moves,
        asked.env,
        prefix=asked.prefix,
        image=asked.image or "",
        engine=invocation.settings.text("replay.engine") or "",
        reads=invocation.settings.items("replay.reads"),
    )


def check_image(image: str | None, guard: str) -> None:
    """Refuse an image that is none, or together with ``--guard audit``."""
    if image is not None and (not image.strip() or image.startswith("-")):
        raise click.UsageError(f"--in {image or repr(image)}: say the name of an image")
    if image is not None and guard == "audit":
        raise click.UsageError("--in brings layers of its own: leave --guard audit out")


def _exact(invocation: Invocation, source: DirectoryRunSource, asked: Asked, options: ReplayOptions) -> Outcome | None:
    from agentdbg.replay import run as engine
    from agentdbg.replay.edits import BadEdit, parse_edit

    try:
        options = replace(options, from_step=int(asked.start or 0), edits=tuple(map(parse_edit, asked.edits)))
        if asked.only_plan:
            from agentdbg.cli.plantext import print_plan
            from agentdbg.replay.plan import plan_exact

            print_plan(invocation, plan_exact(source, options))
            return None
        engine.check_edits(source, options)
        if not options.is_elsewhere:
            place.warn_of_differences(invocation, source, options)
        if asked.pdb is not None:
            return replay_in_pdb(source, options, asked.pdb)
        return waiting(invocation, lambda: engine.exact(source, options), message("replay.running"))
    except BadEdit as problem:
        raise Trouble(str(problem), Status.TROUBLE) from problem


def _own_format(source: RunSource) -> DirectoryRunSource:
    from agentdbg.store.reader import DirectoryRunSource

    if not isinstance(source, DirectoryRunSource):
        raise Trouble(message("error.not_own_format", run=source.summary().run_id), Status.NOTHING)
    return source


def waiting(invocation: Invocation, work: Callable[[], T], words: str) -> T:
    """Do the work; on a terminal a sign of life shows that it goes on."""
    out = console(invocation, stderr=True)
    if not out.is_terminal:
        return work()
    with out.status(words):
        return work()

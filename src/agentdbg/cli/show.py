"""``agentdbg show``: a run, one of its steps or its effects, as text or JSON."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import closing

import click

from agentdbg.cli import brief, steptext
from agentdbg.cli.commands import Verb
from agentdbg.cli.describe import run_members, step_members
from agentdbg.cli.effects import DoneEffect, effects_of, outward_steps, undeclared
from agentdbg.cli.errors import Trouble
from agentdbg.cli.invocation import Invocation
from agentdbg.cli.output import NOTHING, console, print_document, print_table, text
from agentdbg.cli.run_names import complete_run
from agentdbg.compare.unseen import UnseenEffect, unseen, unseen_in
from agentdbg.debugging.document import duration_words
from agentdbg.i18n.catalogue import message
from agentdbg.model.records import Step
from agentdbg.store.protocols import RunSource


@click.command("show", cls=Verb)
@click.argument("run", shell_complete=complete_run)
@click.option("--step", "number", type=click.IntRange(min=1), metavar="N", help="One step, with its bodies.")
@click.option("--brief", "as_brief", is_flag=True, help="One screen, for an incident channel.")
@click.option("--effects", "only_effects", is_flag=True, help="What the run did outside.")
@click.pass_obj
def command(invocation: Invocation, run: str, number: int | None, as_brief: bool, only_effects: bool) -> None:
    """Print what was recorded about RUN."""
    with closing(invocation.resolve(run)) as source:
        if invocation.json:
            _print_json(source, number, only_effects)
        elif number is not None:
            steptext.print_step(invocation, source, find_step(source, number))
        elif only_effects:
            _print_effects(invocation, source)
        else:
            brief.print_brief(invocation, source)
            if not as_brief:
                _print_steps(invocation, source)
        if not invocation.json:
            invocation.warn([f"{source.summary().run_id}: {problem}" for problem in source.problems()])


def find_step(source: RunSource, number: int) -> Step:
    """The step that people call ``number``.

    Raises:
        Trouble: The run has no such step.
    """
    steps = source.steps()
    if number > len(steps):
        run_id = source.summary().run_id
        raise Trouble(message("error.no_step", run=run_id, step=number, count=len(steps)))
    return steps[number - 1]


def _print_json(source: RunSource, number: int | None, only_effects: bool) -> None:
    effects = [effect.members() for effect in effects_of(outward_steps(source))]  # reads the record, as problems need
    members: dict[str, object] = {"run": {**run_members(source.summary()), "problems": list(source.problems())}}
    if number is not None:
        step = find_step(source, number)
        members["steps"] = [{**step_members(step), **steptext.bodies(source, step)}]
    elif not only_effects:
        members["steps"] = (step_members(step) for step in source.steps())
    members["effects"] = effects
    members["uncovered_effects"] = [effect.members() for effect in unseen_in(source) if _is_telling(effect)]
    print_document("show", members)


def _print_effects(invocation: Invocation, source: RunSource) -> None:
    rows = [_effect_row(effect) for effect in effects_of(outward_steps(source))]
    found = sorted(filter(_is_telling, unseen_in(source)), key=lambda effect: (effect.covered, effect.step.n))
    if rows:
        columns = [message(f"column.{name}") for name in ("step", "effect", "state", "name", "key", "note")]
        print_table(invocation, columns, rows, right=[columns[0]])
    else:
        unknown = undeclared(source.steps())
        none = message("effects.none_recorded" if found else "effects.none")
        console(invocation).print(text(message("effects.undeclared", count=unknown) if unknown else none))
    if found:
        _print_unseen(invocation, found)


def _print_unseen(invocation: Invocation, found: Sequence[UnseenEffect]) -> None:
    """Effects that no seam saw: first what an exact replay has to stop."""
    out = console(invocation)
    out.print()
    out.print(text(message("effects.unseen")))
    columns = [message(f"column.{name}") for name in ("step", "what", "where", "note")]
    print_table(invocation, columns, [_unseen_row(effect) for effect in found], right=[columns[0]])


def _unseen_row(effect: UnseenEffect) -> list[object]:
    key = "effects.misstated" if effect.contradicts else "effects.uncovered"
    return [effect.step.n, effect.what, effect.place, message(key, declared=effect.contradicts)]


def _is_telling(effect: UnseenEffect) -> bool:
    return effect.uncovered or bool(effect.contradicts)


def _effect_row(effect: DoneEffect) -> list[object]:
    step = effect.step
    note = message("effects.repeated") if effect.repeated else ""
    return [step.n, step.effect, effect.state.replace("_", " "), step.name, step.idempotency_key, note]


def _print_steps(invocation: Invocation, source: RunSource) -> None:
    columns = [message(f"column.{name}") for name in ("step", "kind", "effect", "status", "took", "name")]
    rows = [
        [
            step.n,
            step.kind,
            step.effect or "",
            step.status,
            _took(step),
            text("  " * min(step.depth, 20) + _named(step)),
        ]
        for step in source.steps()
    ]
    out = console(invocation)
    out.print()
    print_table(invocation, columns, rows, right=[columns[0], columns[4]])


def _named(step: Step) -> str:
    """A step's name; of an effect that no seam saw also the place in the program."""
    effect = unseen(step)
    return step.name if effect is None else f"{step.name}  ({effect.place})"


def _took(step: Step) -> str:
    return NOTHING if step.latency_ms is None else duration_words(step.latency_ms)

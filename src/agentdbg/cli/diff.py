"""``agentdbg diff``: where two runs part, why, and what changed."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing
from typing import TYPE_CHECKING

import click

from agentdbg.cli.commands import Verb
from agentdbg.cli.errors import Status, Trouble
from agentdbg.cli.invocation import Invocation
from agentdbg.cli.output import console, print_document, print_facts, print_table, text
from agentdbg.cli.run_names import complete_run
from agentdbg.cli.show import find_step
from agentdbg.compare.unseen import UnseenEffect, unseen
from agentdbg.i18n.catalogue import message

if TYPE_CHECKING:
    from agentdbg.compare.pair_difference import Parting, SegmentRow
    from agentdbg.compare.pairs import StepPair
    from agentdbg.compare.parting import RunDifference
    from agentdbg.store.protocols import RunSource

_HASH = 12


@click.command("diff", cls=Verb)
@click.argument("a", shell_complete=complete_run)
@click.argument("b", shell_complete=complete_run)
@click.option("--step", "number", type=click.IntRange(min=1), metavar="N", help="One step of A, with all that differs.")
@click.pass_obj
def command(invocation: Invocation, a: str, b: str, number: int | None) -> Status:
    """Say where run B parts from run A, and why."""
    store = invocation.open_store()
    with closing(invocation.resolve(a, store)) as left, closing(invocation.resolve(b, store, left)) as right:
        from agentdbg.compare.parting import part

        _refuse_empty(left, right)
        found = part(left, right)
        _refuse_blind(found)
        pair = _pair_of(found, number)
        partings = _partings(found, pair)
        shown = pair or found.first_input()
        rows = found.segments(shown) if shown is not None else ()
        invocation.status = Status.DIFFERS if partings else Status.SAME
        if invocation.json:
            print_document("diff", _members(found, partings, rows))
        else:
            _print(invocation, found, partings, rows, shown)
        invocation.warn(_warnings(found))
        return invocation.status


def _refuse_empty(*sources: RunSource) -> None:
    for source in sources:
        if not len(source.steps()):
            raise Trouble(message("diff.empty", run=source.summary().run_id), Status.NOTHING)


def _refuse_blind(found: RunDifference) -> None:
    """Without hashes, runs that went the same way may hold anything."""
    if not found.paired.hashed and found.same:
        left, right = found.a.summary().run_id, found.b.summary().run_id
        raise Trouble(message("diff.no_hashes", a=left, b=right), Status.NOTHING)


def _pair_of(found: RunDifference, number: int | None) -> StepPair | None:
    if number is None:
        return None
    step = find_step(found.a, number)
    return found.paired.pairs[found.paired.place_of_a[step.n - 1]]


def _partings(found: RunDifference, pair: StepPair | None) -> list[Parting]:
    """What to show: where the runs part; or everything in which one step differs, what says something first."""
    if pair is None:
        return [found.parting] if found.parting is not None else []
    return sorted(found.differences(pair), key=lambda parting: not parting.telling)


def _members(found: RunDifference, partings: list[Parting], rows: tuple[SegmentRow, ...]) -> dict[str, object]:
    first = partings[0] if partings else None
    return {
        "a": found.a.summary().run_id,
        "b": found.b.summary().run_id,
        "answers": [answer.members() for answer in found.answers],
        "first_divergence": _divergence(first) if first else None,
        "cause": first.divergence.cause if first else None,
        "why": first.why if first else "",
        "segments": [{**row.row.members(), "cause": row.cause, "documents": row.documents} for row in rows],
        "differences": [_divergence(parting) for parting in partings],
        "effects": [{"sign": sign, **effect.members()} for sign, effect in _effects(found)],
        "notes": list(found.notes),
    }


def _divergence(parting: Parting) -> dict[str, object]:
    found = parting.divergence
    return {
        "step": found.step,
        "id": found.id,
        "kind": found.kind,
        "name": found.name,
        "of": parting.aspect,
        "path": found.path,
        "expected": found.expected,
        "got": found.got,
        "cause": found.cause,
    }


def _print(
    invocation: Invocation,
    found: RunDifference,
    partings: list[Parting],
    rows: tuple[SegmentRow, ...],
    shown: StepPair | None,
) -> None:
    out = console(invocation)
    out.print(text(_headline(found, partings)), soft_wrap=True)
    for parting in partings[:1]:
        out.print()
        print_facts(invocation, list(_facts(found, parting)))
    if len(partings) > 1:
        out.print()
        columns = [message(f"diff.{name}") for name in ("of", "path", "cause", "a", "b")]
        print_table(invocation, columns, [_difference_row(parting) for parting in partings])
    if rows and shown is not None:
        out.print()
        out.print(text(message("diff.input", step=_number(shown))))
        columns = [message(f"diff.{name}") for name in ("sign", "kind", "name", "hash_a", "hash_b", "cause", "source")]
        print_table(invocation, columns, [_segment_row(row) for row in rows])
    out.print()
    columns = [message(f"diff.{name}") for name in ("question", "changed", "evidence")]
    print_table(
        invocation, columns, [[message(f"question.{a.question}"), a.changed, a.evidence] for a in found.answers]
    )
    if effects := _effects(found):
        out.print()
        out.print(text(message("diff.effects")))
        columns = [message(name) for name in ("diff.sign", "column.step", "column.what", "column.where")]
        rows_ = [[sign, effect.step.n, effect.what, effect.place] for sign, effect in effects]
        print_table(invocation, columns, rows_, right=[columns[1]])


def _effects(found: RunDifference) -> list[tuple[str, UnseenEffect]]:
    """Effects that no seam saw and only one of the runs has; no difference of the steps."""
    alone = (found.paired.pairs[place] for place in sorted(found.paired.effects))
    steps = ((pair.sign, pair.i, pair.j) for pair in alone)
    known = [(sign, unseen(found.a.steps()[i] if i is not None else found.b.steps()[j or 0])) for sign, i, j in steps]
    return [(sign, effect) for sign, effect in known if effect is not None]


def _headline(found: RunDifference, partings: list[Parting]) -> str:
    """The whole answer in one line."""
    left, right = found.a.summary().run_id, found.b.summary().run_id
    if not partings:
        return message("diff.same", a=left, b=right)
    first, what = partings[0].divergence, partings[0]
    place = f"{what.aspect} {first.path}".strip()
    line = message(
        "diff.differs",
        cause=first.cause,
        step=f"{first.step} {first.kind} {first.name}",
        place=place,
        expected=first.expected,
        got=first.got,
    )
    return f"{line}; {what.why}" if what.why else line


def _facts(found: RunDifference, parting: Parting) -> Iterator[tuple[str, object]]:
    first = parting.divergence
    yield message("diff.step"), f"{first.step} {first.kind} {first.name}"
    yield message("diff.path"), f"{parting.aspect} {first.path}".strip()
    yield message("diff.cause"), f"{first.cause}: {parting.why}" if parting.why else first.cause
    yield message("diff.in", run=found.a.summary().run_id), first.expected
    yield message("diff.in", run=found.b.summary().run_id), first.got


def _difference_row(parting: Parting) -> list[object]:
    found = parting.divergence
    return [parting.aspect, found.path, found.cause, found.expected, found.got]


def _segment_row(shown: SegmentRow) -> list[object]:
    row = shown.row
    hashes = [ref.sha256[:_HASH] if ref is not None else "" for ref in (row.a, row.b)]
    return [row.sign, row.kind, row.name, *hashes, shown.cause, ", ".join((row.source, *shown.documents))]


def _number(pair: StepPair) -> str:
    return " / ".join(str(place + 1) if place is not None else "–" for place in (pair.i, pair.j))


def _warnings(found: RunDifference) -> list[str]:
    left, right = found.a.summary(), found.b.summary()
    own = [message("diff.itself", run=left.run_id)] if found.a_is_b else []
    return [*own, *found.notes, *(f"{run.run_id}: {hole}" for run in (left, right) for hole in run.holes[:2])]

"""Diff: the selected step beside its mate in the compared run: what differs in input, arguments, result, state."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

from agentdbg.debugging.compared import ComparedRun
from agentdbg.debugging.differences import diff_block
from agentdbg.debugging.document import Document, Row, Section, Span, Tone, computed, fixed, note, span
from agentdbg.debugging.marks import sign_tone
from agentdbg.debugging.session import Session
from agentdbg.debugging.tabs.common import heading, labelled, short
from agentdbg.debugging.tabs.segments import table_sections
from agentdbg.model.records import BodyRef, Kind, Step

_NAMES = {
    Kind.MODEL: ("Request", "Output"),
    Kind.CHECKPOINT: ("State", "Result"),
    Kind.RETRIEVAL: ("Documents", "Result"),
    Kind.READ: ("What was read", "Result"),
    Kind.CONFIG: ("Configuration", "Result"),
    Kind.MESSAGE: ("Content", "Result"),
    Kind.EFFECT: ("Content", "Result"),
    Kind.APPROVAL: ("Question", "Decision"),
}


def diff_tab(session: Session) -> Document:
    """The document of the Diff tab."""
    compared = session.diffs.compared
    if compared is None:
        return Document((note("empty", "nothing to compare with yet: = compares with another run, or with its twin"),))
    place = compared.place_of(session.cursor)
    if place is None:
        return Document((note("empty", "this step came after the comparison: = compares again"),))
    return pair_document(session, compared, place)


def pair_document(session: Session, compared: ComparedRun, place: int, *, brief: bool = False) -> Document:
    """What differs between the two steps of a pair.

    Args:
        session: The session of the first run.
        compared: The two runs.
        place: Place of the pair.
        brief: Leave out what stands around it on screen: which steps they are, and what the first difference is.
    """
    here, there = compared.steps_at(place)
    rows = _single_facts(here, there) if brief else _pair_rows(session, compared, place, here, there)
    sections: list[Section] = [fixed("pair", rows)] if rows else []
    one = here or there
    if one is None:
        return Document(tuple(sections))
    if here is not None and one.kind is Kind.MODEL and session.source.segments(here):
        sections.extend([note("gap", "")] if rows else ())
        sections.extend(table_sections(session, here, differing=True))
    names = _NAMES.get(one.kind, ("Arguments", "Result"))
    bodies: list[Section] = []
    source = session.source if here is not None else compared.other
    if one.kind is not Kind.MODEL or not source.segments(one):
        bodies.extend(_body(session, compared, place, names[0], "arguments"))
    result = _body(session, compared, place, names[1], "result")
    if brief and not (sections or bodies or result):
        sections.append(fixed("pair", [labelled("Pair", _in_words(compared, place))]))
    ended = compared.aspect(place) == "result"
    return Document((*sections, *result, *bodies) if ended else (*sections, *bodies, *result))


def _pair_rows(session: Session, compared: ComparedRun, place: int, here: Step | None, there: Step | None) -> list[Row]:
    sides = [_called(step) for step in (here, there)]
    rows = [
        labelled("Pair", _in_words(compared, place)),
        labelled("- this run", sides[0], (f"  {session.summary.run_id}", Tone.DIM)),
        labelled("+ the other", sides[1], (f"  {compared.other_id}", Tone.DIM)),
    ]
    if compared.parting_place == place:
        rows.append(labelled("First", ("≠ ", Tone.ERROR), (compared.headline(), Tone.STRONG)))
    rows.extend(_single_facts(here, there))
    return rows


def _in_words(compared: ComparedRun, place: int) -> Span:
    pair, word = compared.pairs[place], compared.word(place)
    by_chance = place in compared.chance
    facts = {"=": "nothing differs", "+": f"only in {compared.other_id}", "-": "only in this run"}.get(
        pair.sign, f"differs in {', '.join(pair.aspects)}" + (f", by {word} alone" if by_chance else "")
    )
    return span(f"{pair.sign} {facts}", Tone.DIM if by_chance else sign_tone(pair.sign))


def _called(step: Step | None) -> Span:
    return span(f"step {step.n} {step.kind} {step.name}") if step is not None else span("no such step", Tone.WARN)


def _single_facts(here: Step | None, there: Step | None) -> list[Row]:
    """Facts that are no bodies: name, status, error, key."""
    if here is None or there is None:
        return []
    facts: Sequence[tuple[str, str, str]] = (
        ("Name", here.name, there.name),
        ("Effect", str(here.effect or "none"), str(there.effect or "none")),
        ("Status", str(here.status), str(there.status)),
        ("Error", _error(here), _error(there)),
        ("Idempotency", here.idempotency_key or "none", there.idempotency_key or "none"),
    )
    return [
        labelled(label, (left, Tone.GONE), (" → ", Tone.DIM), (right, Tone.NEW))
        for label, left, right in facts
        if left != right
    ]


def _error(step: Step) -> str:
    return f"{step.error.type}: {step.error.message}" if step.error is not None else "none"


def _body(session: Session, compared: ComparedRun, place: int, name: str, field: str) -> list[Section]:
    here, there = compared.steps_at(place)
    left: BodyRef | None = getattr(here, field) if here is not None else None
    right: BodyRef | None = getattr(there, field) if there is not None else None
    if left is None and right is None:
        return []
    view = session.diffs.view
    same = left is not None and right is not None and left.sha256 == right.sha256
    sign = "=" if same else "+" if left is None else "-" if right is None else "~"
    hashes = f"  {short(left.sha256) if left else '–'} → {short(right.sha256) if right else '–'}"
    title = heading(name, (f"  {sign}", sign_tone(sign)), (hashes if not same else "  same", Tone.DIM))
    how = partial(diff_block, session.source, left, compared.other, right, view)
    digest = ".".join(ref.sha256[:12] if ref else "-" for ref in (left, right))
    return [computed(f"diff.{field}.{digest}.{view}", title, how, open_=not same)]

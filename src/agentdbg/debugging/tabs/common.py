"""Pieces that several tabs are made of."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from agentdbg.debugging.document import Block, Row, Section, Span, Tone, row, size_words, span
from agentdbg.debugging.jsontext import block_of, pretty
from agentdbg.model.canonical import dumps_json
from agentdbg.model.records import BodyRef, Effect, Json, Origin, Step
from agentdbg.store.protocols import BodyMissing, RunSource

LABEL_WIDTH = 14
_EFFECT_TONES = {Effect.READ: Tone.READ, Effect.WRITE: Tone.WRITE, Effect.EXTERNAL: Tone.EXTERNAL}


def labelled(label: str, *parts: Span | str | tuple[str, Tone]) -> Row:
    """A row with its label in the left column."""
    return row((f"{label:<{LABEL_WIDTH - 2}}  ", Tone.LABEL), *parts)


def heading(title: str, *parts: Span | str | tuple[str, Tone]) -> Row:
    """The title row of a section."""
    return row((title, Tone.HEADING), *parts)


def effect_span(effect: Effect | None) -> Span:
    """An effect in its tone."""
    return span(str(effect) if effect is not None else "–", _EFFECT_TONES.get(effect, Tone.DIM) if effect else Tone.DIM)


def short(digest: str | None) -> str:
    """The first seven characters of a hash; a dash where there is none."""
    if not digest:
        return "–"
    return digest.rpartition(":")[2][:7]


def body_section(
    source: RunSource, key: str, title: str, ref: BodyRef, *, open_: bool = True, extra: str = ""
) -> Section:
    """A section that shows a body as it was recorded."""
    facts = f"  {extra}{size_words(ref.size)} · {short(ref.sha256)}"
    return Section(key, heading(title, (facts, Tone.DIM)), lambda: read_block(source, ref), size=ref.size, open=open_)


def read_block(source: RunSource, ref: BodyRef) -> Block:
    """A body as lines, or one line saying why it cannot be read."""
    try:
        return block_of(source.body(ref))
    except BodyMissing as problem:
        return Block([missing_row(problem)])


def missing_row(problem: BodyMissing) -> Row:
    """The line shown in the place of a body that cannot be read."""
    return row(("body missing: ", Tone.WARN), str(problem) or "it is not in the record")


def json_block(value: Json) -> Block:
    """A parsed value, indented."""
    return Block(pretty(dumps_json(value)), raw=dumps_json(value).encode("utf-8", "surrogatepass"), flavour=_JSON)


def fact_rows(facts: Mapping[str, Json], *, skip: Sequence[str] = ()) -> list[Row]:
    """One row for each member of a mapping; nested values as compact JSON."""
    rows = []
    for key, value in facts.items():
        if key not in skip and value not in (None, "", [], {}):
            text = value if isinstance(value, str) else dumps_json(value)
            rows.append(labelled(key, text))
    return rows


def origin_note(source: RunSource, step: Step, field: str) -> Span:
    """A word of warning where a value was not recorded but rebuilt or derived."""
    origin = source.origin(step, field)
    if origin in (Origin.REBUILT, Origin.DERIVED):
        return span(f"  ({origin}, not recorded)", Tone.WARN)
    return span("")


_JSON = block_of(b"{}").flavour

"""The input hash table: one row per segment, each of which opens to what differs in it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from itertools import groupby
from typing import TYPE_CHECKING, Final

from agentdbg.debugging.compared import ComparedRun, input_rows
from agentdbg.debugging.differences import BETWEEN_RUNS, OVER_TIME, diff_block, one_sided
from agentdbg.debugging.document import Block, Row, Section, Stop, Tone, computed, fixed, row, size_words
from agentdbg.debugging.jsontext import block_of
from agentdbg.debugging.marks import sign_tone
from agentdbg.debugging.session import Session
from agentdbg.debugging.tabs.common import labelled, missing_row, short
from agentdbg.debugging.tabs.speech import spoken_in, spoken_lines
from agentdbg.model.records import BodyRef, Kind, Segment, Step
from agentdbg.store.protocols import BodyMissing, RunSource

if TYPE_CHECKING:
    from agentdbg.compare.inputs import InputRow

_BY_CHANCE: Final = frozenset(("clock", "redaction", "version"))
_TONES: Final = {"system": Tone.ACCENT, "message": Tone.MODEL, "tool_schema": Tone.TOOL, "retrieved": Tone.READ}
_LOOK_BACK: Final = 400
_FOLDED: Final = 3


def table_sections(session: Session, step: Step, *, differing: bool = False) -> list[Section]:
    """The table of a model call: against the compared run, or alone against the lane's previous call.

    Args:
        session: The session.
        step: The model call.
        differing: Show the first telling row open, and many equal rows in a row as one.
    """
    compared = session.diffs.compared
    table = input_rows(compared, session.source, step)
    causes = _causes(compared, step, len(table.rows))
    facts = [_facts(session, step, compared)]
    if table.note:
        facts.append(row(("! ", Tone.WARN), (table.note, Tone.WARN)))
    alone = compared is None and _previous(session, step) is None
    sections = [fixed("table", [*facts, _header(compared)])]
    telling = _first_telling(table.rows, causes) if differing else None
    rows = [
        _row_section(session, entry, causes[number], open_=number == telling, sign=" " if alone else entry.sign)
        for number, entry in enumerate(table.rows)
    ]
    signs = [entry.sign for entry in table.rows]
    return [*sections, *(_folded(rows, signs) if differing else rows)]


def _folded(rows: Sequence[Section], signs: Sequence[str]) -> list[Section]:
    """The rows, with stretches of equal ones folded into one line that opens to them."""
    folded: list[Section] = []
    for sign, numbers in groupby(range(len(rows)), key=lambda number: signs[number]):
        stretch = [rows[number] for number in numbers]
        if sign != "=" or len(stretch) < _FOLDED:
            folded.extend(stretch)
            continue
        title = row(("= ", Tone.DIM), (f"{len(stretch)} segments are the same", Tone.DIM))
        lines = [section.title for section in stretch]
        key = f"same.{stretch[0].key}"
        folded.append(Section(key, title, partial(Block, lines), open=False, tight=True))
    return folded


def segment_block(source: RunSource, ref: BodyRef, kind: str) -> Block:
    """A segment for reading."""
    try:
        data = source.body(ref)
    except BodyMissing as problem:
        return Block([missing_row(problem)])
    spoken = spoken_in(data) if kind in ("message", "system") else None
    return block_of(data) if spoken is None else Block(spoken_lines(spoken), raw=data)


def kind_tone(kind: str) -> Tone:
    """The tone of a kind of segment."""
    return _TONES.get(kind, Tone.DIM)


def _facts(session: Session, step: Step, compared: ComparedRun | None) -> Row:
    segments: Sequence[Segment] = session.source.segments(step)
    total = size_words(sum(segment.ref.size for segment in segments))
    if compared is not None:
        mate = compared.mate(step.n - 1)
        against = f"step {mate.n} there" if mate is not None else "no step there"
    else:
        previous = _previous(session, step)
        against = f"step {previous.n}" if previous is not None else ""
    words = f"  {len(segments)} segments · {total}" + (f" · compared with {against}" if against else "")
    return labelled("Input hash", (short(step.input_hash), Tone.STRONG), words)


def _previous(session: Session, step: Step) -> Step | None:
    """The model call before this one in its lane, if it is near."""
    for index in range(step.n - 2, max(step.n - 2 - _LOOK_BACK, -1), -1):
        other = session.step_at(index)
        if other is not None and other.kind is Kind.MODEL and other.lane == step.lane:
            return other
    return None


def _causes(compared: ComparedRun | None, step: Step, count: int) -> Sequence[str]:
    place = compared.place_of(step.n - 1) if compared is not None else None
    known = compared.causes.get(place) if compared is not None and place is not None else None
    return known if known is not None and len(known) == count else [""] * count


def _first_telling(rows: Sequence[InputRow], causes: Sequence[str]) -> int | None:
    differing = [number for number, entry in enumerate(rows) if entry.sign != "="]
    return next((number for number in differing if causes[number] not in _BY_CHANCE), None)


def _header(compared: ComparedRun | None) -> Row:
    names = ("before", "here") if compared is None else ("here", "there")
    return row(
        (f"    {'kind':<12} {'name':<16} {names[0]:<8}{names[1]:<8}{'size':>7}  since", Tone.DIM),
        ("  why" if compared is not None else "", Tone.DIM),
    )


def _row_section(session: Session, entry: InputRow, cause: str, *, open_: bool, sign: str) -> Section:
    ref = entry.b if entry.a is None or (session.diffs.compared is None and entry.b is not None) else entry.a
    size = size_words(ref.size) if ref is not None else ""
    by_chance = cause in _BY_CHANCE
    title = row(
        (f"{sign} ", Tone.DIM if by_chance else sign_tone(sign) if sign != " " else Tone.DIM),
        (f"{entry.kind[:12]:<12} ", kind_tone(entry.kind)),
        f"{_fit(entry.name, 16)} ",
        (f"{short(entry.a.sha256) if entry.a else '–':<8}", Tone.DIM),
        (f"{short(entry.b.sha256) if entry.b else '–':<8}", Tone.DIM if sign == "=" or by_chance else Tone.STRONG),
        (f"{size:>7}  ", Tone.DIM),
        (f"{entry.source.removeprefix('step '):<5}", Tone.DIM),
        (f"  {cause}", Tone.DIM if by_chance else Tone.WARN),
    )
    hashes = ".".join(part.sha256[:12] if part else "-" for part in (entry.a, entry.b))
    key = f"row.{entry.i}.{entry.j}.{hashes}.{session.diffs.view}"
    return computed(key, title, _opener(session, entry), open_=open_, tight=True)


def _opener(session: Session, entry: InputRow) -> Callable[[Stop], Block]:
    compared, view = session.diffs.compared, session.diffs.view
    mine, other = session.source, compared.other if compared is not None else session.source

    def open_row(stop: Stop) -> Block:
        if entry.a is not None and entry.b is not None and entry.a.sha256 != entry.b.sha256:
            words = OVER_TIME if compared is None else BETWEEN_RUNS
            return diff_block(mine, entry.a, other, entry.b, view, stop, words)
        ref = entry.a or entry.b
        if ref is None:
            return Block([])
        source = other if entry.a is None else mine
        shown = segment_block(source, ref, entry.kind)
        both = entry.a is not None and entry.b is not None
        return shown if both or compared is None else _marked(shown, entry.sign)

    return open_row


def _marked(block: Block, sign: str) -> Block:
    return one_sided(block.raw, sign) if block.raw is not None else block


def _fit(text: str, width: int) -> str:
    from rich.cells import cell_len, set_cell_size

    return f"{set_cell_size(text, width - 1)}…" if cell_len(text) > width else set_cell_size(text, width)

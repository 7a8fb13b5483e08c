"""Two bodies compared, as lines: field by field where they are JSON, word by word where they are text.

Everything here takes time; it belongs on a worker.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Final

from agentdbg.debugging.divergences import DiffView
from agentdbg.debugging.document import Block, Halves, Line, Row, Span, Stop, Tone, row, span
from agentdbg.debugging.marks import sign_tone
from agentdbg.model.records import BodyRef
from agentdbg.store.protocols import BodyMissing, RunSource

if TYPE_CHECKING:
    from agentdbg.compare.fields import FieldChange
    from agentdbg.compare.text import LineChange, Piece, TextDiff

CONTEXT: Final = 3
_SHORT: Final = 48
_TABLE_VALUE: Final = 200
BETWEEN_RUNS: Final = {"+": "only there", "-": "only here"}
OVER_TIME: Final = {"+": "added", "-": "removed"}


def diff_block(
    a: RunSource,
    ref_a: BodyRef | None,
    b: RunSource,
    ref_b: BodyRef | None,
    view: DiffView,
    stop: Stop,
    words: Mapping[str, str] = BETWEEN_RUNS,
) -> Block:
    """The difference of two stored bodies; where one cannot be read, a line that says so.

    Args:
        a: The run of the first body.
        ref_a: The first body, if there is one.
        b: The run of the second.
        ref_b: The second body, if there is one.
        view: How to lay it out.
        stop: Asked now and then.
        words: What the signs ``+`` and ``-`` mean here.

    Raises:
        Stopped: ``stop`` said so.
    """
    from agentdbg.compare.fields import diff_bodies

    sides = [_read(a, ref_a), _read(b, ref_b)]
    broken = [side for side in sides if isinstance(side, str)]
    if broken:
        return Block([row(("cannot be compared: ", Tone.WARN), broken[0])])
    before, after = (side if isinstance(side, bytes) else b"" for side in sides)
    if ref_a is None or ref_b is None:
        return one_sided(before or after, "-" if ref_b is None else "+")
    if before == after:
        return Block([row(("= ", Tone.DIM), ("the same bytes", Tone.DIM))])
    found = diff_bodies(before, after, should_stop=stop)
    lines: list[Line] = [row(("! ", Tone.WARN), (found.note, Tone.WARN))] if found.note else []
    for change in found.changes:
        lines.extend(_change_lines(change, view, stop, words))
    return Block(lines, raw=after)


def one_sided(data: bytes, sign: str) -> Block:
    """A body that only one side has."""
    from agentdbg.debugging.jsontext import block_of

    block = block_of(data)
    tone = sign_tone(sign)
    return Block([row((f"{sign} ", tone), *_spans(line)) for line in block.lines], raw=data)


def text_lines_of(diff: TextDiff, view: DiffView) -> list[Line]:
    """A text comparison as lines: what changed, with a few equal lines around it."""
    lines: list[Line] = [row(("! ", Tone.WARN), (diff.note, Tone.WARN))] if diff.note else []
    hidden = 0
    for index, keep in enumerate(_kept(diff.lines, 0 if view is DiffView.TABLE else CONTEXT)):
        if not keep:
            hidden += 1
            continue
        lines.extend(_gap(hidden))
        hidden = 0
        lines.extend(_text_rows(diff.lines[index], view))
    lines.extend(_gap(hidden))
    return lines


def _change_lines(change: FieldChange, view: DiffView, stop: Stop, words: Mapping[str, str]) -> Iterator[Line]:
    """One changed field; long texts are opened to their words."""
    sign = span(f"{change.sign} ", sign_tone(change.sign))
    path = span(change.path, Tone.KEY)
    note = span(f"  {change.note}", Tone.WARN) if change.note else span("")
    moved = span(f"  ({change.path_after} there)", Tone.DIM) if change.path_after else span("")
    before, after = change.before, change.after
    if isinstance(before, str) and isinstance(after, str) and _is_long(before, after) and change.note in ("", "text"):
        from agentdbg.compare.text import diff_text

        yield (sign, path, note, moved)
        yield from text_lines_of(diff_text(before, after, should_stop=stop), view)
        return
    left, right = change.before_text(_TABLE_VALUE), change.after_text(_TABLE_VALUE)
    if view is DiffView.SIDE:
        label = f"{change.path}  "
        yield Halves(
            row(sign, (label, Tone.KEY), (left, Tone.GONE if change.sign != "+" else Tone.DIM)),
            row((label, Tone.KEY), (right, Tone.NEW if change.sign != "-" else Tone.DIM), note),
        )
    elif change.sign != "~":
        word = span("  " + words[change.sign], Tone.DIM)
        yield (sign, path, span("  "), span(right if change.sign == "+" else left, _value_tone(change.sign)), word)
    elif view is DiffView.TABLE or len(change.path) + len(left) + len(right) < _SHORT:
        yield (sign, path, span("  "), span(left, Tone.GONE), span(" → ", Tone.DIM), span(right, Tone.NEW), note, moved)
    else:
        yield (sign, path, note, moved)
        yield row(("  - ", Tone.ERROR), (left, Tone.GONE))
        yield row(("  + ", Tone.OK), (right, Tone.NEW))


def _value_tone(sign: str) -> Tone:
    return Tone.NEW if sign == "+" else Tone.GONE


def _is_long(before: str, after: str) -> bool:
    return "\n" in before or "\n" in after or len(before) + len(after) > _TABLE_VALUE


def _kept(lines: Sequence[LineChange], context: int) -> list[bool]:
    """Which lines are shown: those that changed, and their neighbours."""
    kept = [False] * len(lines)
    for index, line in enumerate(lines):
        if line.sign != "=":
            low = max(index - context, 0)
            kept[low : index + context + 1] = [True] * (min(index + context + 1, len(lines)) - low)
    return kept


def _gap(hidden: int) -> list[Line]:
    if not hidden:
        return []
    return [row((f"  … {hidden:,} equal line{'s' if hidden > 1 else ''}", Tone.DIM))]


def _text_rows(line: LineChange, view: DiffView) -> Iterator[Line]:
    numbers = [f"{number + 1:>5} " if number is not None else " " * 6 for number in (line.i, line.j)]
    if view is DiffView.SIDE:
        left = row((numbers[0], Tone.DIM), _sign(line.sign, "-"), *_pieces(line.pieces, "-"))
        right = row((numbers[1], Tone.DIM), _sign(line.sign, "+"), *_pieces(line.pieces, "+"))
        yield Halves(left if line.i is not None else (), right if line.j is not None else ())
    elif line.sign == "=":
        yield row((f"{numbers[1]}  ", Tone.DIM), *_pieces(line.pieces, "="))
    elif line.sign == "~" and view is DiffView.TABLE:
        yield row((numbers[0], Tone.DIM), ("~ ", Tone.WARN), *_inline(line.pieces))
    else:
        if line.sign in "~-":
            yield row((numbers[0], Tone.DIM), ("- ", Tone.ERROR), *_pieces(line.pieces, "-"))
        if line.sign in "~+":
            yield row((numbers[1], Tone.DIM), ("+ ", Tone.OK), *_pieces(line.pieces, "+"))


def _sign(sign: str, side: str) -> Span:
    if sign == "=":
        return span("  ")
    return span(f"{side if sign == '~' else sign} ", Tone.ERROR if side == "-" else Tone.OK)


def _pieces(pieces: Sequence[Piece], side: str) -> list[Span]:
    """One side of a line, with what is its own set off."""
    own = Tone.GONE if side == "-" else Tone.NEW
    return [
        span(_seen(piece), own if piece.sign == side else Tone.PLAIN) for piece in pieces if piece.sign in ("=", side)
    ]


def _seen(piece: Piece) -> str:
    """A piece; blanks are made visible where nothing else changed."""
    return piece.text if piece.text.strip() else piece.shown


def _inline(pieces: Sequence[Piece]) -> Iterator[Span]:
    """Both sides of a line in one, removed words in ``[-…-]``, added ones in ``{+…+}``."""
    for piece in pieces:
        if piece.sign == "=":
            yield span(piece.text)
        elif piece.sign == "-":
            yield span(f"[-{_seen(piece)}-]", Tone.GONE)
        else:
            yield span(f"{{+{_seen(piece)}+}}", Tone.NEW)


def _read(source: RunSource, ref: BodyRef | None) -> bytes | str:
    try:
        return source.body(ref) if ref is not None else b""
    except BodyMissing as problem:
        return str(problem) or "a body is missing"


def _spans(line: Line) -> Row:
    if isinstance(line, str):
        return row(line)
    return line if isinstance(line, tuple) else (*line.left, *line.right)

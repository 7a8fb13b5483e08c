"""What commands print: one JSON document, or tables and text for people. Every recorded text is made harmless here."""

from __future__ import annotations

import json
import math
import re
import sys
from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime
from enum import Enum
from typing import TYPE_CHECKING, Final

from agentdbg.model.safe_text import safe_block, safe_line

if TYPE_CHECKING:
    from rich.console import Console
    from rich.text import Text

    from agentdbg.cli.invocation import Invocation

NOTHING: Final = "–"
_PIPE_WIDTH: Final = 10_000
_DRAWN_ROWS: Final = 500
_HIDDEN: Final = re.compile(
    r"[\x7f-\x9f\xad\u0600-\u0605\u061c\u180e\u200b-\u200f\u2028-\u202e\u2060-\u206f\ud800-\udfff\ufeff\ufff0-\uffff\U000e0000-\U000e0fff]"
)
_STYLES: Final[Mapping[str, str]] = {
    "ok": "green",
    "identical": "green",
    "failed": "red",
    "error": "red",
    "timed_out": "red",
    "diverged": "red",
    "lost": "yellow",
    "open": "yellow",
    "in doubt": "yellow",
    "refused": "yellow",
    "partial": "yellow",
    "cancelled": "yellow",
    "running": "cyan",
    "waiting": "magenta",
    "write": "yellow",
    "external": "red",
}


def print_document(command: str, members: Mapping[str, object]) -> None:
    """Print the JSON document of a command to stdout, its schema first. Iterators are printed as they go."""
    write = sys.stdout.write
    write(f'{{"schema": "agentdbg.{command}/1"')
    for key, value in members.items():
        write(f",\n{_json(key)}: ")
        if isinstance(value, Iterator):
            _write_list(value)
        else:
            write(_json(value))
    write("}\n")


def console(invocation: Invocation, *, stderr: bool = False) -> Console:
    """A console for people: no colours when they are not wanted, nothing cut off in a pipe."""
    from rich.console import Console

    stream = sys.stderr if stderr else sys.stdout
    made = Console(file=stream, markup=False, highlight=False, emoji=False, no_color=invocation.no_color or None)
    if made.no_color:
        made = Console(file=stream, markup=False, highlight=False, emoji=False, color_system=None)
    if not made.is_terminal:
        made.width = _PIPE_WIDTH
    return made


def text(recorded: object, style: str = "") -> Text:
    """Recorded text on one line, harmless, never markup. A ready-made text stays as it is."""
    from rich.text import Text

    if isinstance(recorded, Text):
        return recorded
    line = text_of(recorded)
    return Text(line, style=style or _STYLES.get(line, ""))


def text_of(recorded: object) -> str:
    """The same without a style."""
    return NOTHING if recorded is None or recorded == "" else safe_line(str(recorded))


def block(recorded: str) -> Text:
    """Recorded text with its lines kept, harmless, never markup."""
    from rich.text import Text

    return Text(safe_block(recorded))


def print_table(
    invocation: Invocation, columns: Sequence[str], rows: Sequence[Sequence[object]], *, right: Sequence[str] = ()
) -> None:
    """Print a table; cells are recorded values or ready-made texts."""
    out = console(invocation)
    if not out.is_terminal or len(rows) > _DRAWN_ROWS:
        _write_columns([columns, *rows], [column in right for column in columns])
        return
    from rich.table import Table

    drawn = Table(box=None, pad_edge=False, show_edge=False, header_style="bold", padding=(0, 2, 0, 0))
    for column in columns:
        numeric = column in right
        drawn.add_column(text(column), justify="right" if numeric else "left", no_wrap=numeric, overflow="fold")
    for row in rows:
        drawn.add_row(*[text(cell) for cell in row])
    out.print(drawn)


def print_facts(invocation: Invocation, pairs: Sequence[tuple[str, object]]) -> None:
    """Print names and values, one pair a line."""
    out = console(invocation)
    if not out.is_terminal:
        _write_columns(pairs, [False, False])
        return
    from rich.table import Table

    drawn = Table.grid(padding=(0, 2, 0, 0))
    drawn.add_column(no_wrap=True)
    drawn.add_column(overflow="fold")
    for name, value in pairs:
        drawn.add_row(text(name, "bold"), text(value))
    out.print(drawn)


def _write_columns(rows: Sequence[Sequence[object]], right: Sequence[bool]) -> None:
    """Aligned plain lines: quick for many rows, and nothing cut off or wrapped in a pipe."""
    from rich.cells import cell_len

    lines = [[text_of(cell) for cell in row] for row in rows]
    sizes = [[len(cell) if cell.isascii() else cell_len(cell) for cell in line] for line in lines]
    widths = [max(column) for column in zip(*sizes, strict=True)]
    for line, used in zip(lines, sizes, strict=True):
        parts = []
        for cell, size, width, to_right in zip(line, used, widths, right, strict=True):
            blank = " " * (width - size)
            parts.append(blank + cell if to_right else cell + blank)
        sys.stdout.write("  ".join(parts).rstrip() + "\n")


def local_time(seconds: float | None) -> str:
    """A time of the record in this machine's zone; a time that no calendar has is absent."""
    if seconds is None:
        return NOTHING
    try:
        return datetime.fromtimestamp(seconds).astimezone().strftime("%Y-%m-%d %H:%M:%S")
    except (OverflowError, ValueError, OSError):
        return NOTHING


def _write_list(items: Iterator[object]) -> None:
    between = ""
    sys.stdout.write("[")
    for item in items:
        sys.stdout.write(f"{between}\n {_json(item)}")
        between = ","
    sys.stdout.write("]")


def _json(value: object) -> str:
    dumped = json.dumps(_plain(value), ensure_ascii=False)
    return _HIDDEN.sub(_escape, dumped)


def _escape(match: re.Match[str]) -> str:
    """A character that a terminal would obey or hide, as JSON escape."""
    return json.dumps(match[0])[1:-1]


def _plain(value: object) -> object:
    """The value as JSON has it: enumerations as words, numbers that JSON lacks as their names."""
    if isinstance(value, Enum):
        return value.value
    if isinstance(value, float) and not math.isfinite(value):
        return str(value)
    if isinstance(value, Mapping):
        return {str(key): _plain(entry) for key, entry in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(entry) for entry in value]
    return value

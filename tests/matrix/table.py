"""The README's table of frameworks, made of the rows that the matrix has written.

    python -m tests.matrix.table                      # print it
    python -m tests.matrix.table --write README.md    # put it between the two marks

A line says how many of its variants were recorded in full with the program's output unchanged, and how many of the
replays of all of them were identical and left nothing behind; versions are those that were really installed. Below it
stands what held the replays.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

from tests.matrix.cells import CELLS
from tests.matrix.runner import results

BEGIN, END = "<!-- matrix -->", "<!-- /matrix -->"
COLUMNS = ("framework", "version", "Python", "variants", "recorded", "identical replays")
_RECORDED = ("bare", "unchanged", "record")
_CLIENTS = ("httpx", "httpx2")


def rows(place: Path) -> list[dict[str, Any]]:
    """The rows of a directory, in the order of the cells. Of a cell and variant the newest row counts.

    Rows from before replays were counted say nothing about them, and are left out.
    """
    found: dict[tuple[str, ...], dict[str, Any]] = {}
    for path in sorted(place.glob("*.json"), key=lambda path: path.stat().st_mtime_ns):
        row = json.loads(path.read_text(encoding="utf-8"))
        found[row["program"], row["version"], row["python"], row["variant"]] = row
    order = list(dict.fromkeys(cell.program for cell in CELLS))
    known = [row for row in found.values() if row["program"] in order and "replays" in row]
    return sorted(known, key=lambda row: (order.index(row["program"]), _newest_first(row["version"]), row["python"]))


def table(found: Iterable[dict[str, Any]]) -> str:
    """A Markdown table: a line for each program and set of versions."""
    groups: dict[tuple[str, ...], list[dict[str, Any]]] = {}
    for row in found:
        groups.setdefault((row["label"], _version(row), _minor(row["python"])), []).append(row)
    lines = [_line(COLUMNS), _line(["---"] * len(COLUMNS))]
    lines += [
        _line([*group, _variants(group_rows), _count(group_rows, *_RECORDED), _replays(group_rows)])
        for group, group_rows in groups.items()
    ]
    return "\n".join(lines)


def layers(found: Iterable[dict[str, Any]]) -> str:
    """What held the replays, in a sentence; several where it was not the same for all."""
    held = dict.fromkeys(tuple(row["layers"]) for row in found)
    return "\n".join(_held(each) for each in held)


def _held(layers: Sequence[str]) -> str:
    if not layers:
        return "Replays held by the audit hook alone: the machine has no kernel layers."
    return f"Replays held by {', '.join(layers)}; of each run one by audit alone."


def with_table(text: str, made: str) -> str:
    """A document with the table between its marks.

    Raises:
        ValueError: The marks are not there once each, in order.
    """
    before, begin, rest = text.partition(BEGIN)
    _, end, after = rest.partition(END)
    if not begin or not end or BEGIN in after or END in after:
        raise ValueError(f"the table goes between one {BEGIN} and one {END}")
    return f"{before}{BEGIN}\n{made}\n{END}{after}"


def _line(words: Sequence[str]) -> str:
    return f"| {' | '.join(words)} |"


def _version(row: dict[str, Any]) -> str:
    """The package's version, and the HTTP client below it where that tells old from new."""
    beside = row["with_versions"]
    told = [f"{name} {beside[name]}" for name in ("langchain-core",) if row["program"].startswith("lang")]
    clients = [name for name in _CLIENTS if name in beside]
    if row["package"] in ("openai", "anthropic") and len(clients) == 1:
        told.append(clients[0])
    return f"{row['version']} ({', '.join(told)})" if told else str(row["version"])


def _minor(version: str) -> str:
    return ".".join(version.split(".")[:2])


def _newest_first(version: str) -> list[int]:
    return [-int("".join(filter(str.isdigit, part)) or 0) for part in version.split(".")]


def _variants(group: Sequence[dict[str, Any]]) -> str:
    return ", ".join(sorted(row["variant"] for row in group))


def _count(group: Sequence[dict[str, Any]], *parts: str) -> str:
    """How many variants have nothing wrong in these parts; a part that was not reached counts as wrong."""
    good = sum(all(row["problems"].get(part) == [] for part in parts) for row in group)
    return f"{good}/{len(group)}"


def _replays(group: Sequence[dict[str, Any]]) -> str:
    """How many replays were as they should be, of those that were made."""
    made, good = (sum(row["replays"][place] for row in group) for place in (0, 1))
    return f"{good}/{made}"


def main(argv: Sequence[str] | None = None) -> int:
    """Print the table, or write it into a document. Status 1: a variant is not recorded or not replayed."""
    parser = argparse.ArgumentParser(prog="python -m tests.matrix.table", description=str(__doc__).splitlines()[0])
    parser.add_argument("--write", type=Path, metavar="FILE", help="document that has the two marks")
    parser.add_argument("--rows", type=Path, default=results(), metavar="DIR", help="where the rows are")
    options = parser.parse_args(argv)
    found = rows(options.rows)
    made = f"{table(found)}\n\n{layers(found)}"
    if options.write is None:
        print(made)
    else:
        text = options.write.read_text(encoding="utf-8")
        options.write.write_text(with_table(text, made), encoding="utf-8")
    return int(not found or any(problems for row in found for problems in row["problems"].values()))


if __name__ == "__main__":
    raise SystemExit(main())

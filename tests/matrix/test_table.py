"""The README's table says what the matrix found, and nothing better."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tests.matrix import table

GOOD: dict[str, list[str]] = {"bare": [], "unchanged": [], "record": [], "replay": []}


def row(
    variant: str,
    problems: dict[str, list[str]],
    version: str = "3.57.0",
    http: str = "httpx2",
    replays: tuple[int, int] = (11, 11),
) -> dict[str, Any]:
    return {
        "label": "openai, chat completions",
        "package": "openai",
        "program": "openai_chat",
        "version": version,
        "python": "3.13.0",
        "variant": variant,
        "with_versions": {"openai": version, http: "1"},
        "problems": problems,
        "layers": ["audit", "seccomp"],
        "replays": replays,
    }


def keep(place: Path, *rows: dict[str, Any]) -> Path:
    for number, one in enumerate(rows):
        (place / f"{number}.json").write_text(json.dumps(one), encoding="utf-8")
    return place


def test_a_line_counts_what_was_recorded_and_what_was_replayed(tmp_path: Path) -> None:
    keep(
        tmp_path,
        row("sync", GOOD),
        row("async", {**GOOD, "replay": ["diverged"]}, replays=(11, 9)),
        row("sync stream", {**GOOD, "unchanged": ["stdout"]}),
        row("sync", GOOD, "1.99.9", "httpx"),
    )
    lines = table.table(table.rows(tmp_path)).splitlines()
    assert lines[0] == "| framework | version | Python | variants | recorded | identical replays |"
    assert lines[2:] == [
        "| openai, chat completions | 3.57.0 (httpx2) | 3.13 | async, sync, sync stream | 2/3 | 31/33 |",
        "| openai, chat completions | 1.99.9 (httpx) | 3.13 | sync | 1/1 | 11/11 |",
    ]


def test_a_part_that_was_not_reached_is_not_good(tmp_path: Path) -> None:
    keep(tmp_path, row("sync", {"bare": [], "unchanged": [], "record": ["0 runs recorded, not one"]}, replays=(0, 0)))
    assert table.table(table.rows(tmp_path)).endswith("| 0/1 | 0/0 |")
    assert table.main(["--rows", str(tmp_path)]) == 1


def test_it_goes_between_its_marks_and_leaves_the_rest(tmp_path: Path) -> None:
    readme = tmp_path / "README.md"
    readme.write_text("before\n<!-- matrix -->\nold\n<!-- /matrix -->\nafter\n", encoding="utf-8")
    place = tmp_path / "rows"
    place.mkdir()
    keep(place, row("sync", GOOD))
    assert table.main(["--rows", str(place), "--write", str(readme)]) == 0
    text = readme.read_text(encoding="utf-8")
    assert text.startswith("before\n<!-- matrix -->\n| framework |")
    held = "Replays held by audit, seccomp; of each run one by audit alone."
    assert text.endswith(f"| 11/11 |\n\n{held}\n<!-- /matrix -->\nafter\n")
    assert table.main(["--rows", str(place), "--write", str(readme)]) == 0
    assert readme.read_text(encoding="utf-8") == text


def test_what_held_the_replays_is_told_apart_where_it_was_not_the_same() -> None:
    bare = {**row("async", GOOD), "layers": []}
    alone = "Replays held by the audit hook alone: the machine has no kernel layers."
    held = "Replays held by audit, seccomp; of each run one by audit alone."
    assert table.layers([row("sync", GOOD), bare, bare]).splitlines() == [held, alone]


@pytest.mark.parametrize("text", ["", "<!-- matrix -->", "<!-- /matrix --><!-- matrix -->"])
def test_without_its_marks_nothing_is_written(text: str) -> None:
    with pytest.raises(ValueError, match="goes between"):
        table.with_table(text, "x")


def test_a_row_from_before_replays_were_counted_is_no_row(tmp_path: Path) -> None:
    older = {name: value for name, value in row("async", GOOD).items() if name not in ("layers", "replays")}
    keep(tmp_path, row("sync", GOOD), older)
    assert [found["variant"] for found in table.rows(tmp_path)] == ["sync"]


def test_no_rows_is_no_success(tmp_path: Path) -> None:
    assert table.main(["--rows", str(tmp_path)]) == 1

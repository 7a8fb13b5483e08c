"""The README's table says what the matrix found, and nothing better."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tests.matrix import table

GOOD: dict[str, list[str]] = {"bare": [], "unchanged": [], "record": [], "replay": []}


def row(variant: str, problems: dict[str, list[str]], version: str = "3.57.0", http: str = "httpx2") -> dict[str, Any]:
    return {
        "label": "openai, chat completions",
        "package": "openai",
        "program": "openai_chat",
        "version": version,
        "python": "3.13.0",
        "variant": variant,
        "with_versions": {"openai": version, http: "1"},
        "problems": problems,
    }


def keep(place: Path, *rows: dict[str, Any]) -> Path:
    for number, one in enumerate(rows):
        (place / f"{number}.json").write_text(json.dumps(one), encoding="utf-8")
    return place


def test_a_line_counts_what_was_recorded_and_what_was_replayed(tmp_path: Path) -> None:
    keep(
        tmp_path,
        row("sync", GOOD),
        row("async", {**GOOD, "replay": ["diverged"]}),
        row("sync stream", {**GOOD, "unchanged": ["stdout"]}),
        row("sync", GOOD, "1.99.9", "httpx"),
    )
    lines = table.table(table.rows(tmp_path)).splitlines()
    assert lines[0] == "| framework | version | Python | variants | recorded | replayed |"
    assert lines[2:] == [
        "| openai, chat completions | 3.57.0 (httpx2) | 3.13 | async, sync, sync stream | 2/3 | 1/3 |",
        "| openai, chat completions | 1.99.9 (httpx) | 3.13 | sync | 1/1 | 1/1 |",
    ]


def test_a_part_that_was_not_reached_is_not_good(tmp_path: Path) -> None:
    keep(tmp_path, row("sync", {"bare": [], "unchanged": [], "record": ["0 runs recorded, not one"]}))
    assert table.table(table.rows(tmp_path)).endswith("| 0/1 | 0/1 |")
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
    assert text.endswith("| 1/1 |\n<!-- /matrix -->\nafter\n")
    assert table.main(["--rows", str(place), "--write", str(readme)]) == 0
    assert readme.read_text(encoding="utf-8") == text


@pytest.mark.parametrize("text", ["", "<!-- matrix -->", "<!-- /matrix --><!-- matrix -->"])
def test_without_its_marks_nothing_is_written(text: str) -> None:
    with pytest.raises(ValueError, match="goes between"):
        table.with_table(text, "x")


def test_no_rows_is_no_success(tmp_path: Path) -> None:
    assert table.main(["--rows", str(tmp_path)]) == 1

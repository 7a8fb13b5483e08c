"""Documents hold safe text, and figures that people can read."""

from __future__ import annotations

import pytest

from agentdbg.debugging.document import Block, Section, Tone, duration_words, fixed, load, note, row, size_words, span


def test_spans_are_safe_whatever_they_are_made_of() -> None:
    assert span("a\x1b[2J").text == "a␛[2J"
    assert [part.text for part in row("a\n", ("b\u202e", Tone.DIM), span("c"))] == ["a␊", "b<U+202E>", "c"]


@pytest.mark.parametrize(
    ("size", "words"),
    [(0, "0 B"), (999, "999 B"), (1500, "1.5 KB"), (250_000, "250 KB"), (12_000_000, "12 MB"), (3e12, "3000 GB")],
)
def test_sizes(size: float, words: str) -> None:
    assert size_words(int(size)) == words


@pytest.mark.parametrize(
    ("ms", "words"),
    [(None, "–"), (0.2, "<1ms"), (44, "44ms"), (1520, "1.52s"), (45_200, "45.2s"), (600_000, "10min"), (9e7, "25h")],
)
def test_durations_fit_their_column(ms: float | None, words: str) -> None:
    assert duration_words(ms) == words
    assert len(words) <= 6


def test_a_section_that_fails_says_so() -> None:
    def broken() -> Block:
        raise RuntimeError("no \x1b[2J way")

    assert load(Section("k", (), broken)).lines == [
        row(("cannot be shown: ", Tone.WARN), "RuntimeError: no \x1b[2J way")
    ]


def test_sections_of_known_rows() -> None:
    assert list(fixed("k", [row("x")], raw=b"y").load().lines) == [row("x")]
    assert fixed("k", [], raw=b"y").load().raw == b"y"
    assert list(note("k", "t").load().lines) == [row(("t", Tone.DIM))]

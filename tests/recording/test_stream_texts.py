"""Texts grow by pieces and are whole when they are looked at."""

from __future__ import annotations

from agentdbg.model.records import Json
from agentdbg.recording.stream_texts import GrowingTexts, index_of, update


def test_pieces_are_appended_to_what_is_there() -> None:
    texts = GrowingTexts()
    holder: dict[str, Json] = {"text": "a", "other": 1}
    for piece in ("b", 3, None, "c"):
        texts.add(holder, "text", piece)
    texts.join()
    assert holder == {"text": "abc", "other": 1}
    texts.add(holder, "text", "d")
    texts.join()
    assert holder["text"] == "abcd"


def test_a_whole_value_replaces_what_grew() -> None:
    texts = GrowingTexts()
    holder: dict[str, Json] = {}
    texts.add(holder, "text", "a")
    assert texts.grows(holder, "text")
    texts.put(holder, "text", "whole")
    texts.join()
    assert holder == {"text": "whole"}
    assert not texts.grows(holder, "text")


def test_equal_objects_are_told_apart() -> None:
    texts = GrowingTexts()
    first: dict[str, Json] = {}
    second: dict[str, Json] = {}
    texts.add(first, "text", "a")
    texts.add(second, "text", "b")
    texts.join()
    assert (first, second) == ({"text": "a"}, {"text": "b"})


def test_only_whole_numbers_from_zero_are_indexes() -> None:
    assert [index_of(value, 9) for value in (0, 3, -1, True, "1", None, 1.0)] == [0, 3, 9, 9, 9, 9, 9]


def test_a_null_replaces_nothing() -> None:
    whole: dict[str, Json] = {"a": 1}
    update(whole, {"a": None, "b": None, "c": 2})
    assert whole == {"a": 1, "b": None, "c": 2}

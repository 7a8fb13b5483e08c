from __future__ import annotations

import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agentdbg.compare.alignment import APPROXIMATE, Stopped
from agentdbg.compare.text import LINES_ONLY, LONG_LINE, Piece, TextDiff, diff_text, tokens

texts = st.text(st.sampled_from("ab c\n\t退款é\u0301\r\u2028👍\u200d"), max_size=60)


def side(found: TextDiff, sign: str) -> str:
    """One side of a comparison put together again."""
    number = "i" if sign == "-" else "j"
    lines = [line for line in found.lines if getattr(line, number) is not None]
    return "\n".join("".join(piece.text for piece in line.pieces if piece.sign in ("=", sign)) for line in lines)


def marked(before: str, after: str) -> str:
    """Changed lines with what was removed in brackets and what was added in braces."""
    marks = {"=": "{}", "-": "[{}]", "+": "{{{}}}"}
    return "\n".join(
        line.sign + " " + "".join(marks[piece.sign].format(piece.shown) for piece in line.pieces)
        for line in diff_text(before, after).changed
    )


@given(texts, texts)
def test_both_sides_can_be_put_together_again(a, b) -> None:
    found = diff_text(a, b)
    assert (side(found, "-"), side(found, "+")) == (a, b)
    assert bool(found.changed) == (a != b)
    assert [line.i for line in found.lines if line.i is not None] == list(range(a.count("\n") + 1))


@given(texts)
def test_tokens_lose_nothing(text) -> None:
    assert "".join(tokens(text)) == text


def test_one_word_of_a_line_is_one_change() -> None:
    assert marked("a\nthe limit is 500 EUR today\nz", "a\nthe limit is 300 EUR today\nz") == (
        "~ the limit is [500]{300} EUR today"
    )


def test_chinese_is_compared_by_character() -> None:
    assert marked("退款需要人工审批。", "退款不需要人工审批。") == "~ 退款{不}需要人工审批。"


def test_an_emoji_or_an_accented_letter_is_one_piece() -> None:
    assert tokens("e\u0301a 👍🏽") == ["e\u0301a", " ", "👍🏽"]
    assert tokens("👩\u200d💻") == ["👩\u200d💻"]


def test_blanks_that_changed_are_visible() -> None:
    assert marked("key: value", "key:\tvalue") == "~ key:[·]{→}value"
    assert marked("end of line", "end of line  ") == "~ end of line{··}"
    assert marked("dos line\r\nx", "dos line\nx") == "~ dos line[␍]"
    assert Piece("=", "  kept").shown == "  kept"


def test_a_separator_that_is_no_line_feed_does_not_split_a_line() -> None:
    assert len(diff_text("a\u2028b\x85c\rd", "a").lines) == 1


def test_a_missing_last_line_feed_is_a_change() -> None:
    (found,) = diff_text("a\n", "a").changed
    assert (found.sign, found.i, found.pieces) == ("-", 1, (Piece("-", ""),))


def test_an_inserted_line_between_changed_ones_is_one_insertion() -> None:
    before = "Answer the customer in the language of the ticket.\nNever promise a refund above 500 EUR.\nBe brief."
    after = (
        "Answer the customer in the language of the question.\nUse the handbook.\n"
        "Never promise any refund above 300 EUR.\nBe brief."
    )
    assert [line.sign for line in diff_text(before, after).lines] == ["~", "+", "~", "="]


def test_lines_without_a_word_in_common_are_replaced_as_a_whole() -> None:
    (found,) = diff_text("alpha beta gamma", "one two three").changed
    assert found.pieces == (Piece("-", "alpha beta gamma"), Piece("+", "one two three"))


@pytest.mark.parametrize(("count", "changed"), [(2000, 400), (4000, 800)])
def test_many_changed_lines_of_a_long_prompt_are_all_found(count: int, changed: int) -> None:
    source = random.Random(1)
    before = [
        " ".join(source.choice(("refund", "order", "policy", "the", "a")) for _ in range(12)) for _ in range(count)
    ]
    after = list(before)
    for number in source.sample(range(count), changed):
        after[number] = after[number].replace(" ", " (new) ", 1)
    found = diff_text("\n".join(before), "\n".join(after), seconds=60)
    assert len(found.changed) == changed
    assert all(line.sign == "~" and "(new)" in str(line.pieces) for line in found.changed)
    assert found.note == ""


def test_out_of_time_lines_are_compared_and_words_are_not() -> None:
    found = diff_text("a b\nc", "a x\nc", seconds=-1)
    assert found.note == LINES_ONLY
    assert [line.sign for line in found.lines] == ["~", "="]
    assert found.changed[0].pieces == (Piece("-", "a b"), Piece("+", "a x"))


def test_one_enormous_line_gets_a_labelled_answer() -> None:
    found = diff_text("ab " * 20_000, "ba " * 20_000, seconds=60)
    assert found.note == APPROXIMATE
    assert (side(found, "-"), side(found, "+")) == ("ab " * 20_000, "ba " * 20_000)


def test_beyond_some_length_only_the_ends_of_a_line_are_compared() -> None:
    found = diff_text("a" * 300_000 + "old" + "z" * 300_000, "a" * 300_000 + "new" + "z" * 300_000)
    assert found.note == LONG_LINE
    assert [piece.text for piece in found.changed[0].pieces if piece.sign != "="] == ["old", "new"]


def test_work_ends_when_the_answer_is_no_longer_wanted() -> None:
    with pytest.raises(Stopped):
        diff_text("a\nb", "a\nc", should_stop=lambda: True)

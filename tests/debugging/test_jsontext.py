"""JSON is laid out without changing a literal."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agentdbg.debugging.document import Flavour, Tone
from agentdbg.debugging.jsontext import block_of, colour, coloured, looks_like_json, pretty, text_lines

JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(st.characters(codec="ascii"), max_size=30),
    lambda inner: (
        st.lists(inner, max_size=5)
        | st.dictionaries(st.text(st.characters(codec="ascii"), max_size=8), inner, max_size=5)
    ),
    max_leaves=20,
)


@given(JSON)
def test_layout_changes_nothing_but_white_space(value: object) -> None:
    assert json.loads("\n".join(pretty(json.dumps(value)))) == value


@pytest.mark.parametrize("literal", ["1e999", "1180591620717411303424", "1.0", "NaN", '"\\ud99c"', '"\\u0000"'])
def test_literals_keep_their_characters(literal: str) -> None:
    assert literal in "\n".join(pretty(f'{{"a": {literal}}}'))


def test_duplicate_keys_and_torn_endings_stay_visible() -> None:
    assert "".join(pretty('{"a":1,"a":2}')) == '{"a": 1, "a": 2}'
    assert pretty('{"a":{"b":["c') == ["{", '  "a": {', '    "b": [', '      "c']


def test_short_containers_stay_on_a_line_and_long_ones_do_not() -> None:
    assert pretty('{"a":[1,2,3],"b":{}}') == ["{", '  "a": [1, 2, 3],', '  "b": {}', "}"]
    assert len(pretty(json.dumps({"k": "x" * 100}))) == 3


def test_two_hundred_levels_are_no_problem() -> None:
    assert len(pretty("[" * 200 + "]" * 200)) == 399


def test_bodies_that_are_not_json_stay_text() -> None:
    block = block_of(b"a\tb\nc\xff\x1b")
    assert (block.flavour, list(block.lines)) == (Flavour.TEXT, ["a   b", "c\ufffd␛"])
    assert block.raw == b"a\tb\nc\xff\x1b"
    assert not looks_like_json("{x")
    assert looks_like_json(' {"a": 1}\n')
    assert text_lines("") == [""]


def test_colours_tell_keys_from_strings() -> None:
    line = '  "key": ["text", -1.5e3, true, null]'
    tones = {line[start:end]: tone for start, end, tone in colour(line)}
    assert tones['"key"'] is Tone.KEY
    assert tones['"text"'] is Tone.STRING
    assert tones["-1.5e3"] is Tone.NUMBER
    assert tones["true"] is tones["null"] is Tone.LITERAL
    assert "".join(span.text for span in coloured(line)) == line

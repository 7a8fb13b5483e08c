"""Messages as rows."""

from __future__ import annotations

from agentdbg.debugging.dialects import Spoken, ToolRequest
from agentdbg.debugging.tabs.speech import spoken_in, spoken_lines, text_rows
from tests.support.reading import row_text


def texts(lines) -> list[str]:
    return [line if isinstance(line, str) else row_text(line) for line in lines]


def test_reasoning_text_tools_and_parts_in_order() -> None:
    spoken = Spoken("one\ntwo", "hm", (ToolRequest("look", "c1", '{"a":1}'),), others=("image",))
    assert texts(spoken_lines(spoken)) == ["reasoning", "hm", "one", "two", "→ look  c1", '  {"a": 1}', "[image]"]
    assert texts(spoken_lines(Spoken())) == ["(empty)"]


def test_json_in_text_is_laid_out() -> None:
    assert texts(text_rows('{"a":[1,{"b":2}]}')) == ["{", '  "a": [', "    1,", '    {"b": 2}', "  ]", "}"]
    assert texts(text_rows("[not json")) == ["[not json"]


def test_bodies_in_no_known_shape() -> None:
    assert spoken_in(b"not json") is None
    assert spoken_in(b"5") is None
    assert spoken_in(b'"hi"') == Spoken("hi")

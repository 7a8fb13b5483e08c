"""Reading JSON that others wrote, without loss."""

from __future__ import annotations

import pytest

from agentdbg.model.json_text import dumps_json, loads_json


def test_numbers_of_a_foreign_document_are_read_without_loss() -> None:
    text = b'{"big": 18446744073709551616, "id": 1234567890123456789012, "f": 1.5, "nan": NaN, "s": "\\ud99c"}'
    read = loads_json(text)
    assert isinstance(read, dict)
    assert (read["big"], read["id"], read["s"]) == (2**64, 1234567890123456789012, "\ud99c")
    assert dumps_json({"a": [1, "ü"]}) == '{"a":[1,"ü"]}'


@pytest.mark.parametrize("text", [b"", b"{", b"nope", b"[" * 100_000])
def test_what_is_no_json_says_so(text: bytes) -> None:
    with pytest.raises(ValueError):
        loads_json(text)

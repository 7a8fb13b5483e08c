"""What is called dull holds nothing that the gate would redact."""

from __future__ import annotations

import gzip
import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agentdbg.model.json_text import json_bytes
from agentdbg.model.records import Json
from agentdbg.redaction.dull import is_dull
from agentdbg.redaction.gate import Gate
from agentdbg.redaction.keys import RedactionKey
from agentdbg.redaction.memory import Memory
from tests.redaction.test_corpus import CORPUS

KEY = RedactionKey(b"k" * 32, "k")
# fmt: off
PIECES = [
    "password", "is", "the", "secret", "token", "key", "Bearer", "basic", "mysql", "-p", "auth", "cookie:",
    "a=b;", "pwd=hunter22x", "sig", "?sig=", "&sig=", "-signature=", "x-amz-security-token=", "-----BEGIN",
    "PRIVATE", "KEY-----", "sk-proj-", "ghp_", "AKIA", "abcdefghijklmnopqrst", "0123456789", "138", "1234",
    "5678", "4111", "1111", "1111", "1111", "+49", "151", "212", "555", "123-45-6789", "DE89", "3704", "0044",
    "jo@example.com", "https://u:p@h/", "%41", '密码', '是', 'é', "the", "order", "was", "placed", "12.5",
    "2026-01-01", "A-123", "AGE-SECRET-KEY-1", "hooks.slack.com", '⟦R:email:9:0123456789ab⟧',
]
# fmt: on
PIECES += ["\u200b", "\n", '"', "\\", "\uff1a", "\uff11\uff12\uff13"]
texts = st.lists(st.sampled_from(PIECES), max_size=9).flatmap(
    lambda p: st.sampled_from(["", " ", "-"]).map(lambda s: s.join(p))
)
numbers = st.integers(-(10**12), 10**18) | st.floats(allow_nan=False, allow_infinity=False) | st.booleans() | st.none()
names = st.sampled_from(["order", "api_key", "password", "note", "count", "token", "密码", "id", "ssn"])
values = st.recursive(
    texts | numbers,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(names | texts, inner, max_size=4),
    max_leaves=8,
)


@given(values)
def test_the_gate_leaves_a_dull_value_alone(value: Json) -> None:
    gate = Gate(KEY)
    if is_dull(json_bytes(value), value, []):
        assert gate.value(value) is value


def test_ordinary_values_are_dull_and_what_is_remembered_is_not() -> None:
    value: Json = {"order": "A-12", "items": [{"price": 12.5, "note": "the zip is broken", "n": 3, "ok": True}]}
    assert is_dull(json_bytes(value), value, [])
    memory = Memory()
    memory.learn("field", "broken9zip")
    told: Json = {"note": "it was broken9zip then"}
    assert not is_dull(json_bytes(told), told, memory.order)
    assert not is_dull(json_bytes({"a": "x" * 70_000}), None, [])


def test_no_text_of_the_corpus_that_holds_something_is_dull() -> None:
    if not CORPUS.exists():
        pytest.skip("the redaction corpus is not beside this checkout")
    with gzip.open(CORPUS, "rt", encoding="utf-8") as lines:
        rows = [json.loads(line) for line in lines]
    gate = Gate(KEY)
    for row in rows:
        value = {"text": row["text"]}
        if is_dull(json_bytes(value), value, []):
            assert not gate.find(row["text"]), row["text"]

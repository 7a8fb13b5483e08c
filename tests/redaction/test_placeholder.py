"""Placeholders: readable, keyed, and reducible to what fingerprints hash."""

from __future__ import annotations

import json
from collections.abc import Callable
from urllib.parse import quote

import pytest

from agentdbg.redaction.keys import RedactionKey
from agentdbg.redaction.placeholder import digest12, make, pattern, strip_digests, unescape

KEY = RedactionKey(b"k" * 32, "test")


def test_a_placeholder_says_kind_and_length() -> None:
    made = make("email", 12, digest12(KEY, "email", "anna@foo.org"))
    match = pattern().fullmatch(made)
    assert match is not None
    assert match.groups()[:2] == ("email", "12")


def test_the_digest_depends_on_key_kind_and_value() -> None:
    other = RedactionKey(b"o" * 32, "other")
    digests = {digest12(KEY, "a", "x"), digest12(KEY, "b", "x"), digest12(KEY, "a", "y"), digest12(other, "a", "x")}
    assert len(digests) == 4
    assert digest12(KEY, "a", "\ud800") != digest12(KEY, "a", "\ud801")


def test_digests_are_stripped_and_everything_else_stays() -> None:
    text = f"a {make('email', 12, '0' * 12)} b ⟦R:email:12⟧ ⟦R:forged⟧"
    assert strip_digests(text) == "a ⟦R:email:12⟧ b ⟦R:email:12⟧ ⟦R:forged⟧"
    plain = "nothing here"
    assert strip_digests(plain) is plain


@pytest.mark.parametrize(
    "escape", [json.dumps, lambda text: json.dumps(json.dumps(text)), quote, lambda text: quote(text, ":")]
)
def test_a_placeholder_that_the_program_escaped_is_the_same_placeholder(escape: Callable[[str], str]) -> None:
    mark = make("phone", 11, "5017e2529ab0")
    assert unescape(escape(f"call {mark} now")).replace(mark, "") == escape("call  now")
    assert unescape("plain \\u27e6R text, 100 % sure") == "plain \\u27e6R text, 100 % sure"

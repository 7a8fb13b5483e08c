"""Comparing two runs that were redacted under different keys."""

from __future__ import annotations

from agentdbg.redaction.bijection import PlaceholderBijection
from agentdbg.redaction.gate import Gate
from agentdbg.redaction.keys import RedactionKey
from tests.support.secret_samples import secrets

A = RedactionKey(b"a" * 32, "aaaaaaaa")
B = RedactionKey(b"b" * 32, "bbbbbbbb")
ONE, TWO = secrets(1)["phone"], secrets(2)["phone"]


def test_the_same_values_match_and_identity_is_said_to_be_unknown() -> None:
    ours, theirs = Gate(A), Gate(B)
    pairs = PlaceholderBijection(A.kid, B.kid)
    for text in (f"call {ONE}", f"or {TWO} or {ONE}", "nothing"):
        assert pairs.same(ours.text(text), theirs.text(text))
    assert pairs.identity_unknown


def test_a_value_that_changed_places_is_found() -> None:
    ours, theirs = Gate(A), Gate(B)
    pairs = PlaceholderBijection(A.kid, B.kid)
    assert pairs.same(ours.text(f"call {ONE}"), theirs.text(f"call {ONE}"))
    assert not pairs.same(ours.text(f"call {ONE}"), theirs.text(f"call {TWO}"))
    assert not pairs.same(ours.text(f"call {TWO}"), theirs.text(f"call {ONE}"))
    assert pairs.same(ours.text(f"call {TWO}"), theirs.text(f"call {TWO}"))


def test_a_failed_comparison_leaves_no_trace() -> None:
    ours, theirs = Gate(A), Gate(B)
    pairs = PlaceholderBijection(A.kid, B.kid)
    assert not pairs.same(ours.text(f"{ONE} x"), theirs.text(f"{TWO} y"))
    assert not pairs.same(ours.text(f"{ONE} {ONE}"), theirs.text(f"{TWO} {ONE}"))
    assert pairs.same(ours.text(ONE), theirs.text(ONE))


def test_kind_and_length_must_be_equal() -> None:
    pairs = PlaceholderBijection(A.kid, B.kid)
    assert not pairs.same("⟦R:phone:11:000000000001⟧", "⟦R:phone:12:000000000002⟧")
    assert not pairs.same("⟦R:phone:11:000000000001⟧", "⟦R:card:11:000000000002⟧")


def test_equal_keys_require_equal_placeholders() -> None:
    pairs = PlaceholderBijection(A.kid, A.kid)
    assert not pairs.same("⟦R:phone:11:000000000001⟧", "⟦R:phone:11:000000000002⟧")
    assert pairs.same("⟦R:phone:11:000000000001⟧", "⟦R:phone:11:000000000001⟧")
    assert not pairs.identity_unknown
    assert PlaceholderBijection("ephemeral", "ephemeral").same("⟦R:a:1:000000000001⟧", "⟦R:a:1:000000000002⟧")


def test_surrogate_integers_match_like_placeholders() -> None:
    ours, theirs = Gate(A), Gate(B)
    texts = [str(g.value({"phone": int(ONE), "n": 123456})).replace("'", '"') for g in (ours, theirs)]
    pairs = PlaceholderBijection(A.kid, B.kid)
    assert not pairs.same(*texts)
    pairs.surrogates(ours.surrogates(), theirs.surrogates())
    assert pairs.same(*texts)
    assert not pairs.same(texts[0], texts[1].replace("123456", "123457"))


def test_a_served_placeholder_stands_beside_the_own_one_of_the_same_value() -> None:
    ours, theirs = Gate(A), Gate(B)
    pairs = PlaceholderBijection(A.kid, B.kid)
    served = ours.text(f"answer {ONE}")
    assert pairs.same(ours.text(f"call {ONE}"), theirs.text(f"call {ONE}"))
    assert pairs.same(served, served)
    assert not pairs.same(ours.text(f"call {ONE}"), theirs.text(f"call {TWO}"))

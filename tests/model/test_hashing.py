"""Chained hashes tell every prefix apart."""

from __future__ import annotations

from agentdbg.model.hashing import chain, sha256_hex


def test_a_chain_depends_on_order_kind_and_content() -> None:
    a, b = sha256_hex(b"a"), sha256_hex(b"b")
    ab = chain(chain("", "message", a), "message", b)
    assert ab != chain(chain("", "message", b), "message", a)
    assert ab != chain(chain("", "system", a), "message", b)
    assert chain("", "message", a) != chain("", "message", b)
    assert len(ab) == 64


def test_a_kind_that_is_no_text_has_a_chain_too() -> None:
    assert chain("", "\ud800", "0" * 64) != chain("", "\ud801", "0" * 64)

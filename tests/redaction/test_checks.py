"""Checksums and look-alikes."""

from __future__ import annotations

import pytest

from agentdbg.redaction import checks


def luhn_completed(prefix: str) -> str:
    return next(prefix + d for d in "0123456789" if checks.luhn(prefix + d))


@pytest.mark.parametrize("prefix", ["411122223333444", "222100123456789", "62221234567890123", "37123456789012"])
def test_cards_of_the_networks(prefix: str) -> None:
    number = luhn_completed(prefix)
    assert checks.card(number)
    assert not checks.card(number[:-1] + str((int(number[-1]) + 1) % 10))


@pytest.mark.parametrize("number", ["1234567890123456", "0000000000000000", "4444444444444444", "9" * 16])
def test_other_numbers_are_no_cards(number: str) -> None:
    assert not checks.card(number)


def test_a_resident_id_needs_region_date_and_check_character() -> None:
    base = "11010519491231002"
    good = [base + c for c in "0123456789X" if checks.cn_id(base + c)]
    assert len(good) == 1
    assert not checks.cn_id("110105194913310021")
    assert not checks.cn_id("99010519491231002X")


def test_an_iban_needs_the_length_of_its_country_and_its_check_digits() -> None:
    body = "WEST12345698765432"
    good = [f"GB{n:02}{body}" for n in range(2, 99) if checks.iban(f"GB{n:02}{body}")]
    assert len(good) == 1
    assert not checks.iban(good[0] + "0")
    assert not checks.iban("XX" + good[0][2:])


@pytest.mark.parametrize("text", ["${TOKEN}", "<YOUR_KEY>", "os.environ['X']", "your-api-key", "******", "{{ key }}"])
def test_references_and_masks_are_no_secrets(text: str) -> None:
    assert checks.is_dummy(text)
    assert checks.is_reference(text) or text.startswith("os")


@pytest.mark.parametrize("text", ["hunter2", "$Mv7YNYJJIhoP", "correct horse", "p4ssw0rd!"])
def test_passwords_are_not_taken_for_references(text: str) -> None:
    assert not checks.is_reference(text)

"""The desk's systems are plain files that a test can count."""

from __future__ import annotations

import json
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from agentdbg.demo import desk


@pytest.fixture
def place(tmp_path: Path) -> str:
    desk.prepare_desk(str(tmp_path / "desk"))
    return str(tmp_path / "desk")


def test_a_refund_is_paid_once_for_a_key(place: str) -> None:
    first = desk.pay_refund(place, "A-1042", 240.0, "EUR", "key-1")
    again = desk.pay_refund(place, "A-1042", 240.0, "EUR", "key-1")
    other = desk.pay_refund(place, "A-1077", 14.5, "EUR", "key-2")

    assert first == again
    assert other["refund_id"] != first["refund_id"]
    assert desk.refund_count(place) == 2


def test_a_refund_can_be_looked_up_by_its_key(place: str) -> None:
    assert desk.find_refund(place, "key-1") is None
    desk.pay_refund(place, "A-1042", 240.0, "EUR", "key-1")

    found = desk.find_refund(place, "key-1")

    assert found is not None
    assert found["amount"] == 240.0


def test_a_message_goes_out_once_for_a_key(place: str) -> None:
    for _ in range(2):
        desk.send_message(place, desk.PHONE, "hello", "key-1")

    assert desk.message_count(place) == 1


def test_the_two_policies_say_the_same_and_only_the_mapping_lost_a_field(place: str) -> None:
    before, after = (
        desk.read_policy(place, version, "electronics") for version in (desk.BEFORE_CHANGE, desk.AFTER_CHANGE)
    )
    lost = set(desk.read_mapping(place, desk.BEFORE_CHANGE)) - set(desk.read_mapping(place, desk.AFTER_CHANGE))

    assert {**before, "version": ""} == {**after, "version": ""}
    assert lost == {"requires_manual_approval"}


def test_a_customer_has_a_history_and_most_have_little(place: str) -> None:
    assert desk.read_customer(place, "customer-5520")["refunds_last_30_days"] == 4
    assert desk.read_customer(place, "somebody")["refunds_last_30_days"] == 0


def test_preparing_a_desk_again_keeps_what_is_there(place: str) -> None:
    desk.save_ticket(place, "T-2041", "AUTO_EXECUTE", "done")

    desk.prepare_desk(place, gateway_seconds=0.01)

    assert json.loads(Path(place, "tickets.json").read_text())["T-2041"]["status"] == "AUTO_EXECUTE"


def test_nobody_has_decided_until_somebody_has(place: str) -> None:
    assert desk.read_decision(place, "T-2041") == "pending"
    Path(place, "approvals.json").write_text('{"T-2041": "approved"}')
    assert desk.read_decision(place, "T-2041") == "approved"


@pytest.mark.parametrize("look_up", [("order", "A-9999"), ("policy", "pets")])
def test_what_is_not_there_is_named(place: str, look_up: tuple[str, str]) -> None:
    kind, name = look_up
    with pytest.raises(LookupError, match=name):
        if kind == "order":
            desk.read_order(place, name, "", "")
        else:
            desk.read_policy(place, desk.AFTER_CHANGE, name)


def test_many_threads_pay_a_key_once(place: str) -> None:
    with ThreadPoolExecutor(8) as pool:
        paid = list(pool.map(lambda _: desk.pay_refund(place, "A-1042", 240.0, "EUR", "key-1"), range(24)))

    assert desk.refund_count(place) == 1
    assert paid.count(paid[0]) == len(paid)

"""Which calls are the same call."""

from __future__ import annotations

import pytest

from agentdbg.model.fingerprint import (
    VolatileRules,
    alpha_fingerprint,
    alpha_rename,
    drop_volatile,
    fingerprint,
    strip_placeholders,
)


def test_it_is_versioned_and_covers_kind_name_and_arguments() -> None:
    base = fingerprint("tool", "get_order", {"id": 1})
    assert base.startswith("fp1:") and len(base) == 4 + 64
    assert base != fingerprint("http", "get_order", {"id": 1})
    assert base != fingerprint("tool", "get_orders", {"id": 1})
    assert base != fingerprint("tool", "get_order", {"id": 1.0})
    assert base == fingerprint("tool", "get_order", dict(reversed({"id": 1}.items())))


def test_records_made_under_two_keys_have_the_same_fingerprint() -> None:
    ours, theirs = ({"phone": f"⟦R:phone:11:{digest}⟧"} for digest in ("0123456789ab", "fedcba987654"))
    assert fingerprint("tool", "call", ours) == fingerprint("tool", "call", theirs)
    assert fingerprint("tool", "call", ours) != fingerprint("tool", "call", {"phone": "⟦R:phone:12:0123456789ab⟧"})
    assert strip_placeholders("a ⟦R:phone:11:0123456789ab⟧ b".encode()).decode() == "a ⟦R:phone:11⟧ b"


def test_server_minted_ids_do_not_count_after_renaming() -> None:
    first = {"tool_call_id": "call_abcdef123456", "again": "call_abcdef123456", "other": "call_zzzzzz999999"}
    second = {"tool_call_id": "call_000000111111", "again": "call_000000111111", "other": "call_222222333333"}
    swapped = {"tool_call_id": "call_000000111111", "again": "call_222222333333", "other": "call_222222333333"}
    assert fingerprint("model", "m", first) != fingerprint("model", "m", second)
    assert alpha_fingerprint("model", "m", first) == alpha_fingerprint("model", "m", second)
    assert alpha_fingerprint("model", "m", first) != alpha_fingerprint("model", "m", swapped)
    assert alpha_rename("msg_1234567 then msg_1234567") == "$id0 then $id0"
    assert alpha_rename("recall_the_order and a messenger") == "recall_the_order and a messenger"


@pytest.mark.parametrize(
    ("path", "left", "dropped"),
    [
        ("$.at", {"id": 1, "deep": {"at": 3, "items": [{"at": 4}, {"x": 5}]}}, ("$.at",)),
        ("$.deep.at", {"id": 1, "at": 2, "deep": {"items": [{"at": 4}, {"x": 5}]}}, ("$.deep.at",)),
        ("$.deep.items[*].at", {"id": 1, "at": 2, "deep": {"at": 3, "items": [{}, {"x": 5}]}}, ("$.deep.items[0].at",)),
        ("$..at", {"id": 1, "deep": {"items": [{}, {"x": 5}]}}, ("$.at", "$.deep.at", "$.deep.items[0].at")),
    ],
)
def test_volatile_fields_are_dropped_by_path_and_named(path: str, left: object, dropped: tuple[str, ...]) -> None:
    value = {"id": 1, "at": 2, "deep": {"at": 3, "items": [{"at": 4}, {"x": 5}]}}
    kept, names = drop_volatile(value, [path])
    assert kept == left and set(names) == set(dropped)
    assert value["at"] == 2 and value["deep"] == {"at": 3, "items": [{"at": 4}, {"x": 5}]}


def test_nothing_to_drop_costs_no_copy() -> None:
    value = {"a": [{"b": 1}]}
    assert drop_volatile(value, ["$..nonce", "$.x.y", "$.a[*].c"]) == (value, ())
    assert drop_volatile(value, ["$..nonce"])[0] is value


def test_rules_of_a_tool_add_to_those_of_all_tools() -> None:
    rules = VolatileRules("v1", {"*": ("$..nonce",), "search": ("$.at",)})
    assert rules.for_call("search") == ("$..nonce", "$.at")
    assert rules.for_call("other") == ("$..nonce",)

"""What servers declare of their tools is believed as far as they agree."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from agentdbg.recording.frameworks import mcp_annotations
from agentdbg.recording.frameworks.mcp_annotations import effect_by, effect_of, has_listed, learn


@pytest.fixture(autouse=True)
def nothing_known(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(mcp_annotations, "_declared", {})


@pytest.mark.parametrize(
    ("annotations", "effect"),
    [
        ({"readOnlyHint": True}, "read"),
        ({"read_only_hint": True}, "read"),
        ({"destructiveHint": True}, "external"),
        ({"readOnlyHint": False}, None),
        ({"destructiveHint": False}, None),
        ({"readOnlyHint": "yes"}, None),
        ({"readOnlyHint": 1}, None),
        ({}, None),
        (SimpleNamespace(readOnlyHint=True, destructiveHint=None), "read"),
        (SimpleNamespace(destructive_hint=True), "external"),
        (None, None),
    ],
)
def test_an_effect_is_what_is_declared_in_so_many_words(annotations: Any, effect: str | None) -> None:
    assert effect_by(annotations) == effect


def test_names_are_known_however_a_framework_spells_them() -> None:
    learn([{"name": "get-order", "annotations": {"readOnlyHint": True}}])
    assert effect_of("get-order") == effect_of("get_order") == "read"
    assert effect_of("order") is None


def test_of_two_servers_that_say_different_things_nothing_is_believed() -> None:
    learn([{"name": "save", "annotations": {"readOnlyHint": True}}])
    learn([{"name": "save", "annotations": {"destructiveHint": True}}])
    assert effect_of("save") is None
    learn([{"name": "save", "annotations": {"readOnlyHint": True}}])
    assert effect_of("save") is None


def test_what_is_no_list_of_tools_is_nothing() -> None:
    learn(["x", None, {}, {"name": 3}, {"name": "a", "annotations": None}])
    assert effect_of("a") is None


def test_tools_that_a_server_listed_are_known_by_what_frameworks_call_them() -> None:
    learn([{"name": "get-order"}])
    assert has_listed("get-order")
    assert has_listed("get_order")
    assert has_listed("desk_get_order")
    assert not has_listed("order")
    assert not has_listed("forget_order")

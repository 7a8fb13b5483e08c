"""What nodes of LangGraph declare of going on behind them; versions of channels as they are written down."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agentdbg.recording.frameworks.langgraph_seeds import _packed, declared, unpacked

YES: dict[str, Any] = {"agentdbg": {"can_resume": True}}
NO: dict[str, Any] = {"agentdbg": {"can_resume": False, "unsafe_reasons": "the bank has it"}}


def loop(*metadata: dict[str, Any] | None, nested: bool = False, around: dict[str, Any] | None = None) -> Any:
    """A graph behind a super-step of nodes ``n0``, ``n1``, …"""
    tasks = {str(n): SimpleNamespace(name=f"n{n}", config={"metadata": each}) for n, each in enumerate(metadata)}
    return SimpleNamespace(tasks=tasks, is_nested=nested, config={"metadata": around or {}})


@pytest.mark.parametrize(
    ("running", "allowed", "found"),
    [
        (loop(YES), (), {"can_resume": True}),
        (loop(YES, YES), (), {"can_resume": True}),
        (loop(YES, None), (), {}),
        (loop(None), (), {}),
        (loop({"agentdbg": {"can_resume": "yes"}}), (), {}),
        (loop({"agentdbg": "yes"}), (), {}),
        (loop(YES, NO), (), {"can_resume": False, "unsafe_reasons": ["the bank has it"]}),
        (loop(None, None), ("n*",), {"can_resume": True}),
        (loop(None, None), ("n1",), {}),
        (loop(NO), ("*",), {"can_resume": False, "unsafe_reasons": ["the bank has it"]}),
        (loop(), ("*",), {}),
        (loop(YES, nested=True, around=YES), (), {}),
        (loop(NO, nested=True, around=YES), (), {"can_resume": False, "unsafe_reasons": ["the bank has it"]}),
    ],
    ids=str,
)
def test_a_checkpoint_needs_the_word_of_each_node_that_ran(
    running: Any, allowed: tuple[str, ...], found: dict[str, object]
) -> None:
    assert declared(running, allowed) == found


@given(
    st.dictionaries(st.text(), st.integers(0, 10**9) | st.floats(0, 1e6), max_size=4),
    st.lists(st.integers(0, 10**9), max_size=4),
)
def test_versions_keep_their_order(plain: dict[str, Any], padded: list[int]) -> None:
    lost: list[str] = []
    made = unpacked(_packed(plain, lost.append))
    assert made == plain
    texts = {f"c{n}": f"{number:032}.{0.123456789:016}" for n, number in enumerate(padded)}
    again = unpacked(_packed(texts, lost.append))
    assert [int(again[name].split(".")[0]) for name in texts] == padded
    assert sorted(again, key=lambda name: again[name]) == sorted(texts, key=lambda name: texts[name])
    assert not lost


@pytest.mark.parametrize("version", ["abc", None, (1, 2), True])
def test_a_version_of_another_form_is_named(version: object) -> None:
    lost: list[str] = []
    assert _packed({"a": version}, lost.append) == {}
    assert lost == [f"channel a has a version of a form that is not known: {type(version).__name__}"]

"""What an agent hands over is written as it was at that moment; what cannot be written is marked."""

from __future__ import annotations

import math
import sys
import threading
from collections import OrderedDict
from collections.abc import Iterator
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import agentdbg
from agentdbg.model.canonical import loads
from agentdbg.model.records import RunStatus
from agentdbg.recording.encoding import encode
from agentdbg.redaction.gate import Gate
from agentdbg.redaction.keys import RedactionKey
from tests.support.recorded import only_run, recording

GATE = Gate(RedactionKey(b"k" * 32, "k"), enabled=False)


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Path]:
    with recording(tmp_path / "store"):
        yield tmp_path / "store"


class Slots:
    __slots__ = ("a",)


class Liar:
    """Like a lazy proxy outside its request: even to ask for its class fails."""

    @property  # type: ignore[misc]
    def __class__(self) -> Any:
        raise RuntimeError("working outside of request context")


class Moving(dict[str, int]):
    def items(self) -> Any:
        raise KeyError("gone")

    def __iter__(self) -> Iterator[str]:
        raise KeyError("gone")


def cyclic() -> list[object]:
    made: list[object] = []
    made.append(made)
    return made


def deep() -> list[object]:
    made: list[object] = []
    for _ in range(5000):
        made = [made]
    return made


FAITHFUL = {
    "big integer": 2**70,
    "negative": -(2**70),
    "surrogate": "\ud99c",
    "separators": "a\u2028b\u0085c\rd\x00",
    "bytes": b"\xff\x00",
    "sets": [{1, 2}, frozenset({"a"})],
    "keys": {1: "a", (2, 3): "b", None: "c", False: "d", b"k": 1},
    "dollar": {"$": "tuple", "v": [1]},
    "tuple": (1, (2, [3])),
    "int and float": [1, 1.0, -0.0, 1e300],
    "megabytes": "x" * 5_000_000,
    "deep": deep(),
}


@pytest.mark.parametrize("name", FAITHFUL)
def test_a_value_comes_back_as_it_was(store: Path, name: str) -> None:
    value = FAITHFUL[name]

    @agentdbg.tool
    def give(what: object) -> object:
        return what

    @agentdbg.agent
    def desk() -> object:
        return give(value)

    assert desk() is value
    found = only_run(store)
    step = found.named("give")
    limit = sys.getrecursionlimit()
    sys.setrecursionlimit(20_000)  # comparing lists is recursive
    try:
        assert found.arguments(step) == {"what": value}
        assert found.result(step) == value
        assert str(type(found.result(step))) == str(type(value))
    finally:
        sys.setrecursionlimit(limit)
    assert step.holes == ()


def test_not_a_number_stays_one(store: Path) -> None:
    encoded = encode([math.nan, math.inf, -math.inf], GATE)
    back: Any = loads(encoded.data)
    assert math.isnan(back[0]) and back[1:] == [math.inf, -math.inf]


def test_a_large_value_stands_in_a_file_of_its_own(store: Path) -> None:
    @agentdbg.tool
    def big() -> str:
        return "y" * 5_000_000

    @agentdbg.agent
    def desk() -> int:
        return len(big())

    desk()
    (file,) = store.glob("runs/*/large/*")
    assert file.stat().st_size == 5_000_002
    ref = only_run(store).named("big").result
    assert ref is not None and ref.file == f"large/{file.name}"


def test_a_mapping_that_cannot_be_walked_is_kept_as_a_result_by_its_members(store: Path) -> None:
    value = Moving(a=1)

    @agentdbg.tool
    def give(what: object) -> object:
        return what

    @agentdbg.agent
    def desk() -> object:
        return give(value)

    assert desk() is value
    (hole,) = only_run(store).named("give").holes  # of the argument
    assert f"{__name__}.Moving" in hole


UNWRITABLE: dict[str, tuple[object, str]] = {
    "module": (math, "builtins.module"),
    "slots class": (Slots(), f"{__name__}.Slots"),
    "fraction": (Fraction(1, 3), "fractions.Fraction"),
    "file": (sys.stderr, ""),
    "lock": (threading.Lock(), "_thread.lock"),
    "class": (Slots, "builtins.type"),
    "cycle": (cyclic(), "it contains itself"),
    "proxy": (Liar(), f"{__name__}.Liar"),
    "generator": ((i for i in "ab"), "builtins.generator"),
}


@pytest.mark.parametrize("name", UNWRITABLE)
def test_what_cannot_be_written_is_a_marked_placeholder(store: Path, name: str) -> None:
    value, words = UNWRITABLE[name]

    @agentdbg.tool
    def give(what: object) -> object:
        return what

    @agentdbg.agent
    def desk() -> object:
        return give(value)

    assert desk() is value
    found = only_run(store)
    holes = found.named("give").holes
    assert len(holes) == 2  # of the argument and of the result
    assert all(hole.startswith("not replayable from here: cannot encode $") and words in hole for hole in holes)
    assert found.status is RunStatus.OK


def test_one_odd_member_costs_only_itself(store: Path) -> None:
    encoded = encode({"a": 1, "lock": threading.Lock(), "b": [2, math]}, GATE)
    assert encoded.holes == (
        "not replayable from here: cannot encode $.lock: _thread.lock",
        "not replayable from here: cannot encode $.b[1]: builtins.module",
    )
    back: Any = loads(encoded.data)
    assert back["a"] == 1 and back["b"][0] == 2


def test_later_changes_do_not_reach_the_record(store: Path) -> None:
    @agentdbg.tool
    def ask(messages: list[dict[str, Any]]) -> dict[str, Any]:
        messages.append({"role": "tool", "content": "changed inside"})
        messages[0]["content"] = "changed inside"
        return {"messages": messages}

    @agentdbg.agent
    def desk() -> None:
        messages = [{"role": "user", "content": ["hello"]}]
        agentdbg.checkpoint("before", {"messages": messages})
        result = ask(messages)
        result["messages"].clear()
        messages.append({"role": "late", "content": []})

    desk()
    found = only_run(store)
    first = [{"role": "user", "content": ["hello"]}]
    assert found.arguments(found.named("before")) == {"messages": first}
    assert found.arguments(found.named("ask")) == {"messages": first}
    changed = [{"role": "user", "content": "changed inside"}, {"role": "tool", "content": "changed inside"}]
    assert found.result(found.named("ask")) == {"messages": changed}


def test_a_mapping_that_another_thread_changes_does_not_end_the_run(store: Path) -> None:
    shared: dict[str, object] = {str(i): {"n": (i,)} for i in range(2000)}
    stop = threading.Event()

    def churn() -> None:
        while not stop.is_set():
            for i in range(2000, 2100):
                shared[str(i)] = i
            for i in range(2000, 2100):
                del shared[str(i)]

    @agentdbg.tool
    def look(at: dict[str, object]) -> int:
        return len(at)

    @agentdbg.agent
    def desk() -> None:
        for _ in range(20):
            look(shared)

    thread = threading.Thread(target=churn)
    thread.start()
    desk()
    stop.set()
    thread.join()
    found = only_run(store)
    assert len(found.steps) == 21
    assert found.status is RunStatus.OK


json_like = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text() | st.binary(),
    lambda inner: st.lists(inner) | st.dictionaries(st.text() | st.integers(), inner) | st.tuples(inner, inner),
    max_leaves=20,
)


@given(json_like)
def test_any_value_comes_back(value: object) -> None:
    encoded = encode(value, GATE)
    assert loads(encoded.data) == value == encoded.value
    assert encoded.holes == ()


def test_order_of_keys_is_kept() -> None:
    back: Any = loads(encode(OrderedDict(b=1, a=2), GATE).data)
    assert list(back) == ["b", "a"]


def test_bytes_are_redacted_however_short_they_are() -> None:
    gate, phone, raw = Gate(RedactionKey(b"k" * 32, "k")), "+49 171 2345678", b"\xff\xfe no text"
    encoded = encode({"a": phone.encode(), "b": [bytearray(f"ring {phone} now".encode())], "c": raw}, gate)
    back: Any = loads(encoded.data)
    assert back["c"] == raw
    assert all(phone.encode() not in value and "⟦R:phone".encode() in value for value in (back["a"], back["b"][0]))
    again = encode(back, gate)
    assert again.data == encoded.data

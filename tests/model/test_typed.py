"""Values that plain JSON cannot hold: kept, or marked, never guessed."""

from __future__ import annotations

import datetime as dt
import decimal
import uuid
from enum import StrEnum
from fractions import Fraction
from types import ModuleType
from typing import NamedTuple

import pytest

from agentdbg.model.canonical import Opaque, Unencodable, dumps, loads, narrowed_paths, opaque_paths


def test_a_member_named_like_a_tag_is_no_tag() -> None:
    forged = {"$": "bytes", "v": "QQ=="}
    assert loads(dumps(forged)) == forged
    assert loads(dumps({"x": forged, "$": 1})) == {"x": forged, "$": 1}


@pytest.mark.parametrize("levels", [90, 200, 5_000, 50_000])
def test_deep_nesting_is_kept(levels: int) -> None:
    value: object = "end"
    for i in range(levels):
        value = [value] if i % 2 else {"k": value}
    found = loads(dumps(value))
    for _ in range(levels):
        found = found[0] if isinstance(found, list) else found["k"]  # type: ignore[index]
    assert found == "end"


def test_a_value_that_holds_itself_is_refused_at_any_depth() -> None:
    loop: list[object] = []
    loop.append(loop)
    deep: object = loop
    for _ in range(500):
        deep = [deep]
    for value in (loop, deep):
        with pytest.raises(Unencodable):
            dumps(value)


def test_what_cannot_be_encoded_is_named_by_place_and_type_only() -> None:
    class Secret:
        def __repr__(self) -> str:
            raise AssertionError("never called")

    value = {"ok": 1, "bad": [Secret(), Fraction(1, 3), ModuleType("m")]}
    assert [place.split(": ")[0] for place in opaque_paths(value)] == ["$.bad[0]", "$.bad[1]", "$.bad[2]"]
    read = loads(dumps(value))
    assert isinstance(read, dict) and read["bad"][1] == Opaque("fractions.Fraction")
    assert dumps(read) == dumps(loads(dumps(read)))


def test_malformed_tags_are_shown_not_trusted() -> None:
    for text in (
        b'{"$":"bytes","v":1}',
        b'{"$":"deep","v":[["l",9]]}',
        b'{"$":"no_such_type","v":1}',
        b'{"$":"map","v":7}',
    ):
        assert isinstance(loads(text), Opaque)


def test_common_types_of_tool_results_come_back_as_they_were() -> None:
    value = {
        "when": dt.datetime(2026, 7, 1, 12, 30, 0, 5, dt.UTC),
        "day": dt.date(2026, 7, 1),
        "price": decimal.Decimal("12.50"),
        "id": uuid.UUID(int=7),
        "pair": (1, b"\xff"),
        "tags": {"a", "b"},
    }
    assert loads(dumps(value)) == value


def test_a_value_that_comes_back_as_its_base_type_is_named() -> None:
    class Colour(StrEnum):
        RED = "red"

    class Point(NamedTuple):
        x: int

    found = narrowed_paths({"colour": Colour.RED, "at": [Point(1)], "plain": ("a", 1, True, {"b"})})
    assert [place.split(": ")[0] for place in found] == ["$.colour", "$.at[0]"]
    assert loads(dumps({"colour": Colour.RED})) == {"colour": "red"}


def test_a_class_of_the_main_program_is_named_alike_in_a_worker_process() -> None:
    kind = type("State", (), {"__module__": "__mp_main__"})
    assert opaque_paths(kind()) == ("$: __main__.State",)

"""Objects with declared members are recorded by them, and nothing else of an object is looked at."""

from __future__ import annotations

import argparse
import json
from dataclasses import dataclass, field
from enum import Enum
from types import SimpleNamespace
from typing import Any, ClassVar

import pytest
from pydantic import BaseModel

from agentdbg.model.canonical import Opaque, dumps, loads, opaque_paths
from agentdbg.model.members import members_of
from agentdbg.model.typed import ONLY_MEMBERS


class Phase(Enum):
    PLAN = "plan"


@dataclass
class State:
    budget: int = 100
    phase: Phase = Phase.PLAN
    notes: list[Any] = field(default_factory=list)
    LIMIT: ClassVar[int] = 3


@dataclass(slots=True)
class Slotted:
    a: int


class Order(BaseModel):
    id: str
    total: float = 1.5


class Plain:
    def __init__(self) -> None:
        self.secret = 1


@pytest.mark.parametrize(
    ("value", "members"),
    [
        (State(), {"budget": 100, "phase": Phase.PLAN, "notes": []}),
        (Slotted(1), {"a": 1}),
        (Order(id="o"), {"id": "o", "total": 1.5}),
        (Phase.PLAN, {"name": "PLAN", "value": "plan"}),
        (SimpleNamespace(x=(1,)), {"x": (1,)}),
        (argparse.Namespace(n=2), {"n": 2}),
        (Plain(), None),
        (State, None),
        (Order, None),
        (object(), None),
    ],
)
def test_declared_members(value: object, members: dict[str, object] | None) -> None:
    assert members_of(value) == members


def test_they_are_in_the_record_and_the_object_is_not_made_again() -> None:
    tree = json.loads(dumps({"s": State(notes=[Order(id="o")])}))
    assert tree["s"]["$"] == "object"
    name, members = tree["s"]["v"]
    assert (name, members["budget"]) == (f"{__name__}.State", 100)
    assert members["notes"][0]["v"][1] == {"id": "o", "total": 1.5}
    read = loads(dumps(State(3)))
    assert isinstance(read, Opaque) and read.type_name == f"{__name__}.State" and isinstance(read.members, dict)
    assert dumps(read) == dumps(State(3))
    assert dumps(State()) != dumps(State(budget=99))
    assert opaque_paths(State())[0] == f"$: {__name__}.State{ONLY_MEMBERS}"


def test_an_object_that_holds_itself_and_one_that_fails_cost_only_themselves() -> None:
    loop = State()
    loop.notes = [loop, 1]
    assert json.loads(dumps(loop))["v"][1]["notes"] == [{"$": "opaque", "v": f"{__name__}.State"}, 1]

    @dataclass
    class Broken:
        a: int = 1

        def __getattribute__(self, name: str) -> Any:
            if name == "a":
                raise RuntimeError
            return super().__getattribute__(name)

    assert json.loads(dumps(Broken()))["$"] == "opaque"

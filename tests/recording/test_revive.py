"""Objects come back from a record as they were, and nothing else does."""

from __future__ import annotations

import enum
import functools
import os
import sys
from collections import Counter, OrderedDict, defaultdict, deque
from collections.abc import Callable
from dataclasses import InitVar, dataclass, field
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Any, ClassVar, Generic, NamedTuple, TypeVar

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pydantic import BaseModel, ConfigDict, PrivateAttr

from agentdbg.model.canonical import Opaque, dumps, loads, opaque_paths
from agentdbg.recording.revive import CannotRevive, freeze, thaw
from tests.support.replay_lab import ReplayLab

T = TypeVar("T")
ran: list[str] = []


class Colour(enum.Enum):
    RED = 1
    GREEN = "green"
    CRIMSON = 1  # noqa: PIE796  # an alias


class Level(enum.IntEnum):
    LOW = 1


class Word(enum.StrEnum):
    YES = "yes"


class Point(NamedTuple):
    x: Any
    y: Any = None


@dataclass
class Order:
    id: str
    lines: list[Any] = field(default_factory=list)
    limit: ClassVar[int] = 3
    seed: InitVar[int] = 0
    total: float = field(init=False, default=0.0)

    def __post_init__(self, seed: int) -> None:
        ran.append("__post_init__")
        self.cache = {"seed": seed}

    @functools.cached_property
    def size(self) -> int:
        return len(self.lines)


@dataclass(frozen=True, slots=True)
class Money:
    amount: Any
    currency: str = "EUR"


@dataclass
class Box(Generic[T]):
    item: T


class Person(BaseModel):
    model_config = ConfigDict(extra="allow")
    name: str = "nobody"
    home: Any = None
    _seen: int = PrivateAttr(default=4)

    def model_post_init(self, context: Any, /) -> None:
        ran.append("model_post_init")


class Plain(BaseModel):
    value: Any


def through_a_record(value: Any) -> Any:
    """``value`` as a replay gets it."""
    return thaw(loads(dumps(freeze(value))))


LEAVES = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(),
    st.floats(allow_nan=False),
    st.text(),
    st.binary(),
    st.sampled_from([*Colour, *Level, *Word]),
)
HASHABLE = st.one_of(LEAVES, st.builds(Money, LEAVES), st.builds(Point, LEAVES, LEAVES))
VALUES = st.recursive(
    HASHABLE,
    lambda inner: st.one_of(
        st.lists(inner, max_size=3),
        st.lists(inner, max_size=3).map(tuple),
        st.dictionaries(st.one_of(st.text(), st.builds(Money, st.integers())), inner, max_size=3),
        st.frozensets(st.builds(Money, st.integers()), max_size=3),
        st.builds(Point, inner, inner),
        st.builds(Money, inner),
        st.builds(Order, st.text(), st.lists(inner, max_size=2)),
        st.builds(Box, inner),
        st.builds(Plain, value=inner),
        st.builds(Person, home=inner),
        st.builds(lambda held: SimpleNamespace(held=held), inner),
    ),
    max_leaves=8,
)


def same(a: Any, b: Any) -> bool:
    """Equal, and of the same classes all the way down."""
    if type(a) is not type(b):
        return False
    if isinstance(a, dict):
        return len(a) == len(b) and all(same(x, y) for x, y in zip(a.items(), b.items(), strict=True))
    if isinstance(a, list | tuple):
        return len(a) == len(b) and all(map(same, a, b))
    if isinstance(a, BaseModel):
        return a == b and a.model_fields_set == b.model_fields_set and same(a.__dict__, b.__dict__)
    if isinstance(a, Order | Box | SimpleNamespace):
        return same(vars(a), vars(b))
    return bool(a == b)


@settings(max_examples=40)
@given(VALUES)
def test_what_is_frozen_comes_back_the_same(value: Any) -> None:
    assert opaque_paths(freeze(value)) == ()
    assert same(through_a_record(value), value)


@settings(max_examples=40)
@given(VALUES)
def test_freezing_leaves_the_value_alone_and_plain_values_as_they_are(value: Any) -> None:
    before = dumps(value)
    freeze(value)
    assert dumps(value) == before
    plain = loads(dumps([1, "a", {"b": [None]}]))
    assert freeze(plain) is plain


def test_no_code_of_the_class_runs() -> None:
    order, person = Order("o", seed=5), Person.model_validate({"name": "Ada", "age": 36})
    ran.clear()
    again, other = through_a_record(order), through_a_record(person)
    assert ran == []
    assert again.cache == {"seed": 5} and again.size == 0
    assert other._seen == 4 and other.model_dump(exclude_unset=True) == {"name": "Ada", "age": 36}


def test_a_cached_property_is_not_written_down() -> None:
    order = Order("o", [1])
    assert order.size == 1
    assert b"size" not in dumps(freeze(order))


def test_what_holds_itself_stays_what_it_was() -> None:
    order = Order("o")
    order.lines.append(order)
    assert freeze(order) is order


class Deletes:
    """Would do harm when it goes."""

    def __del__(self) -> None:
        ran.append("__del__")


@dataclass
class HarmfulWhenGone(Deletes):
    path: str = ""


@dataclass
class WithSetter:
    path: str = ""


def _harm(self: object, value: str) -> None:
    ran.append("setter")


WithSetter.path = property(lambda self: "", _harm)  # type: ignore[assignment]  # what a hostile record would like to call


class Restores:
    """Pickle would run this."""

    def __setstate__(self, state: object) -> None:
        ran.append("__setstate__")

    def __reduce__(self) -> tuple[Callable[..., Any], tuple[str]]:
        ran.append("__reduce__")
        return os.system, ("true",)


@dataclass
class RestoredData(Restores):
    path: str = ""


@dataclass
class ListLike(list):
    path: str = ""


NAME = __name__


@pytest.mark.parametrize(
    ("name", "members"),
    [
        ("os.system", {"command": "true"}),
        ("posix.system", {"command": "true"}),
        ("subprocess.Popen", {"args": ["true"]}),
        ("builtins.eval", {"source": "1"}),
        ("builtins.list", {}),
        ("builtins.bytearray", {"bytes": 10**9}),
        ("collections.deque", {"items": "abc"}),
        ("collections.ChainMap", {"maps": [{}]}),
        ("this.that.Thing", {}),
        ("antigravity.Thing", {}),
        (f"{NAME}.Restores", {}),
        (f"{NAME}.HarmfulWhenGone", {"path": "x"}),
        (f"{NAME}.WithSetter", {"path": "x"}),
        (f"{NAME}.ListLike", {"path": "x"}),
        (f"{NAME}.Money", {"amount": 1, "__class__": 2}),
        (f"{NAME}.Money", {"price": 1}),
        (f"{NAME}.Money", [1]),
        (f"{NAME}.Point", {"y": 1, "x": 2}),
        (f"{NAME}.Colour", {"name": "BLUE", "value": 3}),
        (f"{NAME}.Colour", {"name": "RED", "value": 2}),
        (f"{NAME}.Colour", {"name": "RED", "value": True}),
        (f"{NAME}.Colour", {"name": ["RED"], "value": 1}),
        (f"{NAME}.Money.__init__", {}),
        (f"{NAME}.ran", {}),
        ("", {}),
        ("Money", {}),
        ("..", {}),
    ],
)
def test_a_hostile_record_gets_nothing(name: str, members: Any) -> None:
    ran.clear()
    modules = set(sys.modules)
    with pytest.raises((CannotRevive, TypeError)):
        thaw(loads(dumps([Opaque(name, members)])))
    assert ran == [] and set(sys.modules) == modules


def test_a_class_that_pickle_would_run_is_filled_without_it() -> None:
    ran.clear()
    made = thaw(Opaque(f"{NAME}.RestoredData", {"path": "x"}))
    assert made.path == "x" and ran == []


def test_a_module_that_loads_lazily_is_not_asked(monkeypatch: pytest.MonkeyPatch) -> None:
    class Lazy(ModuleType):
        def __getattr__(self, name: str) -> object:
            raise AssertionError("it was asked")

    monkeypatch.setitem(sys.modules, "lazy_module", Lazy("lazy_module"))
    with pytest.raises(CannotRevive, match="no class"):
        thaw(Opaque("lazy_module.Thing", {}))


@given(
    st.recursive(st.one_of(st.none(), st.text(), st.integers()), lambda x: st.lists(x) | st.dictionaries(st.text(), x))
)
def test_any_record_is_refused_or_understood(tree: Any) -> None:
    for more in ((), (tree,)):
        for name in ("Money", "Person", "Order", "Colour", "Point", "Box"):
            record = dumps({"$x": 1}).replace(b'{"$x":1}', dumps([f"{NAME}.{name}", tree, *more]))
            try:
                thaw(loads(b'{"$":"object","v":' + record + b"}"))
            except (CannotRevive, TypeError, AttributeError, ValueError):
                continue


class Settings(dict[str, Any]):
    """A mapping whose members are attributes, as many programs have one."""

    def __getattr__(self, name: str) -> Any:
        try:
            return self[name]
        except KeyError:
            raise AttributeError(name) from None

    def __setitem__(self, name: str, value: Any) -> None:
        ran.append("__setitem__")
        super().__setitem__(name, value)


class Ordered(OrderedDict[str, Any]):
    pass


@pytest.mark.parametrize(
    "value",
    [
        OrderedDict(b=1, a=2),
        Ordered(z=OrderedDict(y=1)),
        Counter("hello"),
        Counter({1: 2, None: 3}),
        defaultdict(list, {"a": [1]}),
        defaultdict(None, {1: 2}),
        Settings(a=1, b=[Counter("a")]),
        deque([1, 2], maxlen=3),
        deque("ab"),
        bytearray(b"x\xff"),
    ],
    ids=lambda value: f"{type(value).__name__}-{len(value)}",
)
def test_containers_of_other_classes_come_back_as_these(value: Any) -> None:
    ran.clear()
    again = through_a_record(value)
    assert (type(again), again, repr(again)) == (type(value), value, repr(value))
    assert ran == []


def test_a_default_that_is_no_builtin_cannot_be_made_again() -> None:
    assert type(freeze(defaultdict(lambda: 1, a=1))) is defaultdict


def test_a_class_inside_a_function_cannot_be_found_again() -> None:
    @dataclass
    class Local:
        x: int

    assert freeze(Local(1)) == Local(1)
    assert opaque_paths(freeze(Local(1))) != ()


PROGRAM = """
import enum, os
from dataclasses import dataclass, field
from typing import NamedTuple
import agentdbg
from pydantic import BaseModel

class State(enum.Enum):
    PAID = "paid"

class Line(NamedTuple):
    sku: str
    count: int

@dataclass
class Order:
    id: str
    state: State
    lines: list[Line] = field(default_factory=list)

class Customer(BaseModel):
    name: str
    orders: list[Order]

@agentdbg.tool(effect="write")
def load(name):
    with open(os.path.join(os.environ["OUTSIDE"], "loads"), "a") as file:
        file.write(name)
    return Customer(name=name, orders=[Order("O-1", State.PAID, [Line("A", 2)])])

@agentdbg.tool(effect="read")
def each():
    for sku in "AB":
        yield Line(sku, 1)

@agentdbg.agent
def main():
    customer = load("Ada")
    assert isinstance(customer, Customer) and customer.orders[0].state is State.PAID
    assert type(customer.orders[0].lines[0]) is Line
    return [customer.orders[0].lines[0].count, *(line.sku for line in each()), customer]

if __name__ == "__main__":
    main()
"""


def test_objects_that_tools_return_are_served_in_a_replay(tmp_path: Path) -> None:
    lab = ReplayLab(tmp_path)
    lab.record(PROGRAM)
    for _ in range(2):
        outcome = lab.replay()
        assert outcome.verdict == "identical", f"{outcome.reason}\n{outcome.log}"
    assert (lab.outside / "loads").read_text() == "Ada"


def test_a_class_that_is_gone_ends_the_replay_with_its_name(tmp_path: Path) -> None:
    lab = ReplayLab(tmp_path)
    lab.record(PROGRAM)
    lab.write(PROGRAM.replace("class Customer(", "class Client(").replace("Customer(", "Client("))
    outcome = lab.replay()
    assert outcome.verdict == "diverged"
    assert "Customer" in outcome.reason

"""Decorated functions behave as they did, and what they did is recorded."""

from __future__ import annotations

import asyncio
import functools
import inspect
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import agentdbg
from agentdbg.model.records import Effect, Kind, RunStatus, StepStatus
from tests.support.recorded import only_run, recording, runs


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Path]:
    with recording(tmp_path / "store"):
        yield tmp_path / "store"


def test_a_tool_in_an_agent_is_recorded_with_arguments_by_name_and_result(store: Path) -> None:
    @agentdbg.tool(effect="read")
    def look_up(order: str, deep: bool = False, *rest: int, limit: int = 3, **more: str) -> dict[str, object]:
        return {"order": order, "rest": rest}

    @agentdbg.agent(version="7", tags={"team": "a"}, thread_id="ticket")
    def desk(ticket: str) -> object:
        return look_up("o1", True, 1, 2, colour="red")

    assert desk("t9") == {"order": "o1", "rest": (1, 2)}
    found = only_run(store)
    step = found.named("look_up")
    assert found.arguments(step) == {"order": "o1", "deep": True, "rest": (1, 2), "limit": 3, "more": {"colour": "red"}}
    assert found.result(step) == {"order": "o1", "rest": (1, 2)}
    assert (step.kind, step.effect, step.status) == (Kind.TOOL, Effect.READ, StepStatus.OK)
    assert step.parent == found.named("desk").id
    summary = found.source.summary()
    assert (summary.status, summary.thread_id, dict(summary.tags)) == (RunStatus.OK, "t9", {"team": "a"})
    assert summary.meta["versions"] == {"agent": {"value": "7", "origin": "recorded"}}


def test_the_result_is_the_very_object_that_the_function_returned(store: Path) -> None:
    made = object()

    @agentdbg.tool
    def make() -> object:
        return made

    @agentdbg.agent
    def desk() -> object:
        return make()

    assert desk() is made
    assert only_run(store).named("make").holes == ("not replayable from here: cannot encode $: builtins.object",)


def test_methods_are_recorded_without_self(store: Path) -> None:
    class Shop:
        name = "corner"

        @agentdbg.tool(effect="none")
        def own(self, a: int, /, b: int = 2) -> tuple[str, int, int]:
            return self.name, a, b

        @classmethod
        @agentdbg.tool(effect="none")
        def inner(cls, a: int) -> tuple[type, int]:
            return cls, a

        @agentdbg.tool(effect="none")
        @classmethod
        def outer(cls, a: int) -> tuple[type, int]:
            return cls, a

        @agentdbg.tool(effect="none")
        @staticmethod
        def free(a: int) -> int:
            return a

    class Branch(Shop):
        name = "branch"

    @agentdbg.agent
    def desk() -> list[Any]:
        return [Branch().own(1), Branch.inner(2), Branch.outer(3), Branch.free(4)]

    assert desk() == [("branch", 1, 2), (Branch, 2), (Branch, 3), 4]
    found = only_run(store)
    given = [found.arguments(step) for step in found.steps if step.kind is Kind.TOOL]
    assert given == [{"a": 1, "b": 2}, {"a": 2}, {"a": 3}, {"a": 4}]


def test_partials_builtins_and_callable_objects_can_be_tools(store: Path) -> None:
    class Adder:
        def __call__(self, a: int, b: int) -> int:
            return a + b

    class Later:
        async def __call__(self, a: int) -> int:
            return a

    def times(a: int, b: int) -> int:
        return a * b

    add, double = agentdbg.tool(Adder()), agentdbg.tool(functools.partial(times, 2))
    length, largest, later = agentdbg.tool(len), agentdbg.tool(max), agentdbg.tool(Later())

    @agentdbg.agent
    def desk() -> list[object]:
        return [add(1, b=2), double(4), length("four"), largest(1, 2), asyncio.run(later(5))]

    assert desk() == [3, 8, 4, 2, 5]
    found = only_run(store)
    named = [(step.name, found.result(step)) for step in found.steps if step.kind is Kind.TOOL]
    assert named == [("Adder", 3), ("times", 8), ("len", 4), ("max", 2), ("Later", 5)]


def test_a_partial_can_be_an_agent(store: Path) -> None:
    def desk(city: str, ticket: int) -> tuple[str, int]:
        return city, ticket

    assert agentdbg.agent(functools.partial(desk, "Rome"))(4) == ("Rome", 4)
    assert only_run(store).status is RunStatus.OK


@pytest.mark.parametrize("call", [lambda f: f(), lambda f: f(1, 2, 3), lambda f: f(1, c=3), lambda f: f(1, a=2)])
def test_wrong_arguments_raise_the_function_s_own_error(store: Path, call: Any) -> None:
    def plain(a: int, b: int = 2) -> int:
        return a + b

    wrapped = agentdbg.tool(plain)

    @agentdbg.agent
    def desk() -> object:
        return call(wrapped)

    with pytest.raises(TypeError) as raw:
        call(plain)
    with pytest.raises(TypeError) as seen:
        desk()
    assert str(seen.value) == str(raw.value)
    step = only_run(store).named("plain")
    assert (step.status, step.error and step.error.type) == (StepStatus.ERROR, "TypeError")


class Rude(Exception):
    def __str__(self) -> str:
        raise RuntimeError("no words")


class Odd(BaseException):
    args = property(lambda self: 1 / 0)


@pytest.mark.parametrize(
    ("error", "status"),
    [
        (ValueError("bad", {"a": 1}), StepStatus.ERROR),
        (Rude(), StepStatus.ERROR),
        (Odd(), StepStatus.ERROR),
        (KeyboardInterrupt(), StepStatus.ERROR),
        (SystemExit(3), StepStatus.ERROR),
        (TimeoutError("slow"), StepStatus.TIMED_OUT),
        (asyncio.CancelledError(), StepStatus.CANCELLED),
        (GeneratorExit(), StepStatus.CANCELLED),
        (StopIteration(4), StepStatus.ERROR),
        (ExceptionGroup("two", [ValueError("a"), OSError(2, "b")]), StepStatus.ERROR),
        (ValueError("\ud99c \x1b[31m ⟦"), StepStatus.ERROR),
    ],
)
def test_every_exception_passes_through_as_it_is(store: Path, error: BaseException, status: StepStatus) -> None:
    @agentdbg.tool
    def fail() -> None:
        raise error

    @agentdbg.agent
    def desk() -> None:
        fail()

    with pytest.raises(type(error)) as seen:
        desk()
    assert seen.value is error
    found = only_run(store)
    step = found.named("fail")
    assert (step.status, step.error and step.error.type) == (status, type(error).__name__)
    assert found.status is RunStatus.FAILED


def test_an_agent_that_ends_by_sys_exit_0_has_not_failed(store: Path) -> None:
    @agentdbg.agent
    def desk() -> None:
        raise SystemExit(0)

    with pytest.raises(SystemExit):
        desk()
    assert only_run(store).status is RunStatus.OK


def test_nested_agents_and_tools_form_one_tree(store: Path) -> None:
    @agentdbg.tool
    def inner(n: int) -> int:
        return n

    @agentdbg.tool
    def outer(n: int) -> int:
        return inner(n) + inner(n + 1)

    @agentdbg.agent
    def helper(n: int) -> int:
        return outer(n)

    @agentdbg.agent
    def desk() -> int:
        return helper(1) + outer(5)

    assert desk() == 14
    found = only_run(store)
    assert [(step.name, step.depth) for step in found.steps] == [
        ("desk", 0),
        ("helper", 1),
        ("outer", 2),
        ("inner", 3),
        ("inner", 3),
        ("outer", 1),
        ("inner", 2),
        ("inner", 2),
    ]


def test_metadata_of_the_function_is_kept() -> None:
    async def fetch(a: int, *, b: str = "x") -> int:
        """Get it."""
        return a

    wrapped = agentdbg.tool(fetch)
    assert (wrapped.__name__, wrapped.__doc__, wrapped.__module__) == ("fetch", "Get it.", __name__)
    assert inspect.signature(wrapped) == inspect.signature(fetch)
    assert inspect.iscoroutinefunction(wrapped)
    assert wrapped.__wrapped__ is fetch  # type: ignore[attr-defined]


def test_every_form_of_function_keeps_its_form() -> None:
    def generate() -> Iterator[int]:
        yield 1

    async def stream() -> Any:
        yield 1

    assert inspect.isgeneratorfunction(agentdbg.tool(generate))
    assert inspect.isasyncgenfunction(agentdbg.agent(stream))


@pytest.mark.parametrize("word", ["off", "0", "OFF", "false"])
def test_off_leaves_functions_untouched(monkeypatch: pytest.MonkeyPatch, word: str) -> None:
    monkeypatch.setenv("AGENTDBG", word)

    def plain() -> None: ...

    assert agentdbg.tool(plain) is plain
    assert agentdbg.tool(effect="write")(plain) is plain
    assert agentdbg.agent(version="1")(plain) is plain


def test_mistakes_in_the_decorator_are_told_at_once() -> None:
    with pytest.raises(ValueError, match="'wrte' is no effect; there are none, read, write, external"):
        agentdbg.tool(effect="wrte")
    with pytest.raises(TypeError, match="unexpected keyword argument 'efect'"):
        agentdbg.tool(efect="write")  # type: ignore[call-overload]
    with pytest.raises(TypeError, match="not callable"):
        agentdbg.tool(7)  # type: ignore[call-overload]


def test_a_tool_outside_every_agent_runs_plainly_once_a_root_was_seen(store: Path) -> None:
    @agentdbg.tool
    def add(a: int) -> int:
        return a + 1

    @agentdbg.agent
    def desk() -> int:
        return add(1)

    desk()
    assert add(2) == 3
    assert len(only_run(store).steps) == 2


def test_a_recursive_tool_meets_the_same_limit_and_the_run_goes_on(store: Path) -> None:
    @agentdbg.tool
    def down(n: int) -> int:
        return down(n + 1)

    @agentdbg.agent
    def desk() -> str:
        try:
            down(0)
        except RecursionError:
            return "deep"
        return "?"

    assert desk() == "deep"
    (found,) = runs(store)
    assert found.status is RunStatus.OK


def test_a_failing_key_or_thread_function_costs_that_field_only(store: Path) -> None:
    @agentdbg.tool(effect="write", idempotency_key=lambda **_: 1 / 0)
    def pay(amount: int) -> int:
        return amount

    @agentdbg.agent(thread_id=lambda **_: 1 / 0)  # type: ignore[arg-type]
    def desk() -> int:
        return pay(3)

    assert desk() == 3
    found = only_run(store)
    assert found.result(found.named("pay")) == 3
    assert found.status is RunStatus.OK


def test_an_idempotency_key_stands_with_the_intent(store: Path) -> None:
    @agentdbg.tool(effect="write", idempotency_key="key")
    def pay(amount: int, key: str) -> int:
        return amount

    @agentdbg.tool(effect="write", idempotency_key=lambda order, **_: f"refund-{order}")
    def refund(order: str) -> None: ...

    @agentdbg.agent
    def desk() -> None:
        pay(3, key="k1")
        refund("o7")

    desk()
    found = only_run(store)
    assert [found.named("pay").idempotency_key, found.named("refund").idempotency_key] == ["k1", "refund-o7"]


def test_versions_may_come_from_the_arguments(store: Path) -> None:
    @agentdbg.agent(policy_version="policy", prompt_version=lambda policy, **_: f"p-{policy}", version="7")
    def desk(policy: str) -> str:
        return policy

    desk("2026-07")
    versions: Any = only_run(store).source.summary().meta["versions"]
    values = {group: about["value"] for group, about in versions.items()}
    assert values == {"policy": "2026-07", "prompt": "p-2026-07", "agent": "7"}


def test_a_result_that_a_replay_gets_as_its_base_type_says_so(store: Path) -> None:
    @agentdbg.tool(effect="read")
    def locate() -> Place:
        return Place("Pier 4")

    @agentdbg.agent
    def desk() -> str:
        return locate()

    assert desk() == "Pier 4"
    (hole,) = only_run(store).named("locate").holes
    assert "base type" in hole and "Place" in hole


class Place(str):
    """A text with a name of its own."""

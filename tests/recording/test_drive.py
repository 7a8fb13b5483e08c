"""Coroutines and generators: cancelled, timed out, abandoned, thrown into, closed."""

from __future__ import annotations

import asyncio
import gc
from collections.abc import AsyncIterator, Iterator
from pathlib import Path
from typing import Any

import pytest

import agentdbg
from agentdbg.model.records import RunStatus, StepStatus
from agentdbg.recording import scope as scopes
from tests.support.recorded import Recorded, only_run, recording


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Path]:
    with recording(tmp_path / "store"):
        yield tmp_path / "store"


def outcome(found: Recorded, name: str) -> tuple[StepStatus, object]:
    step = found.named(name)
    return step.status, found.result(step) if step.result is not None else None


async def test_a_cancelled_tool_is_cancelled_and_a_late_one_timed_out(store: Path) -> None:
    @agentdbg.tool
    async def hang() -> None:
        await asyncio.sleep(60)

    @agentdbg.tool
    async def late() -> None:
        async with asyncio.timeout(0.01):
            await asyncio.sleep(60)

    @agentdbg.agent
    async def desk() -> str:
        task = asyncio.create_task(hang())
        await asyncio.sleep(0)
        task.cancel()
        results = await asyncio.gather(task, late(), return_exceptions=True)
        return " ".join(type(result).__name__ for result in results)

    assert await desk() == "CancelledError TimeoutError"
    found = only_run(store)
    assert found.named("hang").status is StepStatus.CANCELLED
    assert found.named("late").status is StepStatus.TIMED_OUT
    assert found.status is RunStatus.OK


async def test_a_cancelled_agent_is_a_failed_run(store: Path) -> None:
    @agentdbg.agent
    async def desk() -> None:
        await asyncio.sleep(60)

    with pytest.raises(TimeoutError):
        await asyncio.wait_for(desk(), 0.01)
    found = only_run(store)
    assert (found.status, found.named("desk").status) == (RunStatus.FAILED, StepStatus.CANCELLED)


async def test_a_coroutine_that_nobody_awaits_leaves_no_step(store: Path) -> None:
    @agentdbg.tool
    async def unused() -> None: ...

    @agentdbg.agent
    async def desk() -> None:
        unused().close()

    await desk()
    assert [step.name for step in only_run(store).steps] == ["desk"]


def numbers(seen: list[object]) -> Any:
    @agentdbg.tool
    def count(n: int) -> Iterator[int]:
        try:
            for i in range(n):
                try:
                    seen.append((yield i))
                except KeyError as error:
                    seen.append(repr(error))
                    yield -1
        finally:
            seen.append("closed")
        return "end"  # type: ignore[return-value]

    return count


def test_a_generator_is_recorded_with_its_items_and_what_it_returned(store: Path) -> None:
    count = numbers([])

    @agentdbg.agent
    def desk() -> Any:
        def relay() -> Iterator[Any]:
            returned = yield from count(3)
            yield returned

        return list(relay())

    assert desk() == [0, 1, 2, "end"]
    assert outcome(only_run(store), "count") == (StepStatus.OK, {"items": [0, 1, 2], "return": "end"})


def test_send_throw_and_close_reach_the_function(store: Path) -> None:
    seen: list[object] = []
    count = numbers(seen)

    @agentdbg.agent
    def desk() -> list[object]:
        source = count(9)
        out = [next(source), source.send("hello"), source.throw(KeyError("k")), next(source)]
        source.close()
        return out

    assert desk() == [0, 1, -1, 2]
    assert seen == ["hello", "KeyError('k')", None, "closed"] or seen == ["hello", "KeyError('k')", "closed"]
    assert outcome(only_run(store), "count") == (StepStatus.PARTIAL, {"items": [0, 1, -1, 2], "return": None})


def test_an_abandoned_generator_is_partial(store: Path) -> None:
    count = numbers([])

    @agentdbg.agent
    def desk() -> None:
        for i in count(9):
            if i == 2:
                break
        gc.collect()

    desk()
    assert outcome(only_run(store), "count") == (StepStatus.PARTIAL, {"items": [0, 1, 2], "return": None})


def test_a_generator_that_raises_keeps_what_it_yielded(store: Path) -> None:
    @agentdbg.tool
    def broken() -> Iterator[int]:
        yield 1
        raise ValueError("no more")

    @agentdbg.agent
    def desk() -> list[int]:
        return list(broken())

    with pytest.raises(ValueError, match="no more"):
        desk()
    assert outcome(only_run(store), "broken") == (StepStatus.ERROR, {"items": [1], "return": None})


def test_a_generator_that_refuses_to_close_says_so_as_before(store: Path) -> None:
    @agentdbg.tool
    def stubborn() -> Iterator[int]:
        while True:
            try:
                yield 1
            except GeneratorExit:
                yield 2
                return

    @agentdbg.agent
    def desk() -> str:
        source = stubborn()
        next(source)
        try:
            source.close()  # type: ignore[attr-defined]
        except RuntimeError as error:
            return str(error)
        return "closed"

    assert desk() == "generator ignored GeneratorExit"
    assert only_run(store).named("stubborn").status is StepStatus.ERROR


def test_items_are_kept_as_they_were_when_yielded(store: Path) -> None:
    @agentdbg.tool
    def pages() -> Iterator[dict[str, list[int]]]:
        page: dict[str, list[int]] = {"rows": []}
        for i in range(2):
            page["rows"].append(i)
            yield page

    @agentdbg.agent
    def desk() -> None:
        for page in pages():
            page["rows"].append(99)

    desk()
    assert outcome(only_run(store), "pages")[1] == {"items": [{"rows": [0]}, {"rows": [0, 99, 1]}], "return": None}


def test_an_item_that_cannot_be_encoded_is_named(store: Path) -> None:
    @agentdbg.tool
    def odd() -> Iterator[object]:
        yield 1
        yield object()

    @agentdbg.agent
    def desk() -> None:
        list(odd())

    desk()
    holes = only_run(store).named("odd").holes
    assert holes == ("not replayable from here: cannot encode $.items[1]: builtins.object",)


async def test_async_generators_likewise(store: Path) -> None:
    seen: list[object] = []

    @agentdbg.tool
    async def stream(n: int) -> AsyncIterator[int]:
        try:
            for i in range(n):
                await asyncio.sleep(0)
                seen.append((yield i))
        finally:
            await asyncio.sleep(0)
            seen.append("closed")

    @agentdbg.agent
    async def desk() -> list[int]:
        whole = [i async for i in stream(2)]
        source = stream(9)
        await anext(source)
        await source.asend("hello")  # type: ignore[attr-defined]
        with pytest.raises(KeyError):
            await source.athrow(KeyError("k"))  # type: ignore[attr-defined]
        left = stream(7)
        await anext(left)
        await left.aclose()  # type: ignore[attr-defined]
        return whole

    assert await desk() == [0, 1]
    assert seen == [None, None, "closed", "hello", "closed", "closed"]
    found = only_run(store)
    streams = [(step.status, found.result(step)["items"]) for step in found.steps if step.name == "stream"]
    assert streams == [(StepStatus.OK, [0, 1]), (StepStatus.ERROR, [0, 1]), (StepStatus.PARTIAL, [0])]


async def test_an_agent_can_be_an_async_generator_and_its_consumer_stands_outside(store: Path) -> None:
    @agentdbg.tool
    async def add(a: int) -> int:
        return a + 1

    @agentdbg.agent
    async def desk() -> AsyncIterator[int]:
        for i in range(2):
            yield await add(i)

    outside = [scopes.current() async for _ in desk()]
    assert outside == [None, None]
    found = only_run(store)
    assert [(step.name, step.depth) for step in found.steps] == [("desk", 0), ("add", 1), ("add", 1)]
    assert found.status is RunStatus.OK


def test_a_generator_agent_closed_in_another_context_leaves_that_context_alone(store: Path) -> None:
    @agentdbg.agent
    def inner() -> Iterator[int]:
        yield 1
        yield 2

    source = inner()
    next(source)

    @agentdbg.agent
    def outer() -> str | None:
        source.close()  # type: ignore[attr-defined]
        return agentdbg.run_id()

    here = outer()
    assert here is not None and here.startswith("outer-")

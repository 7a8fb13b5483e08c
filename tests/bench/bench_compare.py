"""Comparing: two runs of 10,000 steps, two states of 1 MB, two long prompts.

The peer of the states is deepdiff alone, on the same parsed values; of the runs, building every step of both and
comparing them with difflib.
"""

from __future__ import annotations

import copy
import json
import random
from collections.abc import Callable, Iterable, Iterator, Sequence
from difflib import SequenceMatcher
from pathlib import Path
from typing import Any

from agentdbg.compare.fields import diff_bodies, diff_values
from agentdbg.compare.pairs import pair_runs
from agentdbg.compare.text import diff_text
from agentdbg.store.reader import DirectoryRunSource
from tests.bench.samples import words
from tests.bench.table import Row, in_turns, seconds
from tests.support.records import intent, outcome, ref, write_run, writer

STEPS = 10_000


def rows(folder: Path, quick: bool) -> Iterator[Row]:
    """All comparisons; the peers take their time, so they get fewer rounds."""
    yield from _runs(folder, 3 if quick else 7)
    yield from _states(3 if quick else 7)
    yield from _prompts(3 if quick else 7)


def _runs(folder: Path, rounds: int) -> Iterator[Row]:
    paths = [
        _run(folder, "a", range(STEPS)),
        _run(folder, "b", [*range(50), *range(100_000, 100_400), *range(450, STEPS)]),
    ]
    sources = [DirectoryRunSource(path) for path in paths]
    for source in sources:
        source.index()
    ours, peer = in_turns(
        rounds,
        lambda: seconds(lambda: pair_runs(*sources)) * 1e3,
        lambda: seconds(lambda: _by_difflib(*sources)) * 1e3,
    )
    yield Row(f"compare two runs of {STEPS:,} steps, 400 changed", ours, "ms", 500, peer, "steps + difflib")


def _run(folder: Path, run_id: str, calls: Iterable[int]) -> Path:
    events: list[dict[str, Any]] = [writer(0), intent(1, "agent", "desk")]
    for place, call in enumerate(calls):
        seq = 2 + 2 * place
        body = ref(b"arguments %d" % call, offset=123)
        events.append(intent(seq, name=f"tool-{call % 9}", parent=1, effect="read", fp=f"fp1:{call:064x}", args=body))
        events.append(outcome(seq + 1, seq, result=ref(b"result %d" % call, offset=456)))
    return write_run(folder, run_id, events)


def _by_difflib(a: DirectoryRunSource, b: DirectoryRunSource) -> None:
    for source in (a, b):
        source._steps.clear()
    keys = [[(step.kind, step.name, step.arguments, step.result) for step in source.steps()] for source in (a, b)]
    SequenceMatcher(None, keys[0], keys[1], autojunk=False).get_opcodes()


def _states(rounds: int) -> Iterator[Row]:
    before = _state()
    for what, after, expected in (
        ("3 scalars changed", _three_scalars(before), 3),
        ("one message inserted at 50", _inserted(before), 1),
        ("10 messages appended", _appended(before), 10),
    ):
        found = diff_values(before, after)
        if len(found.changes) != expected or found.note:
            raise AssertionError(f"{what}: {len(found.changes)} changes {found.note}")
        ours, whole, peer = in_turns(rounds, *_state_works(before, after))
        yield Row(f"diff of two 1 MB states, {what}", ours, "ms", 20, peer, "deepdiff", 0.01)
        yield Row("  … from their stored bytes", whole, "ms", 20, peer, "deepdiff")


def _state_works(before: dict[str, Any], after: dict[str, Any]) -> Sequence[Callable[[], float]]:
    from deepdiff import DeepDiff

    a, b = json.dumps(before).encode(), json.dumps(after).encode()
    return (
        lambda: seconds(lambda: diff_values(before, after)) * 1e3,
        lambda: seconds(lambda: diff_bodies(a, b)) * 1e3,
        lambda: seconds(lambda: DeepDiff(before, after)) * 1e3,
    )


def _state() -> dict[str, Any]:
    memory = {f"key {n}": words(40, n) for n in range(500)}
    return {"messages": [_message(n) for n in range(1900)], "memory": memory, "budget": {"used": 1}}


def _message(n: int) -> dict[str, Any]:
    call = {"id": f"call_{n}", "type": "function", "function": {"name": "get_order", "arguments": f'{{"order": {n}}}'}}
    role = ("user", "assistant")[n % 2]
    usage = {"input": n, "output": n % 7}
    return {"id": f"m{n}", "role": role, "content": words(270, n), "tool_calls": [call], "usage": usage, "at": 1.5 * n}


def _three_scalars(state: dict[str, Any]) -> dict[str, Any]:
    state = copy.deepcopy(state)
    state["messages"][50]["content"] += "!"
    state["memory"]["key 7"] = "other"
    state["budget"]["used"] = 2
    return state


def _inserted(state: dict[str, Any]) -> dict[str, Any]:
    state = copy.deepcopy(state)
    state["messages"].insert(50, {"id": "new", "role": "user", "content": "hello"})
    return state


def _appended(state: dict[str, Any]) -> dict[str, Any]:
    state = copy.deepcopy(state)
    state["messages"] += [_message(9_000 + n) for n in range(10)]
    return state


def _prompts(rounds: int) -> Iterator[Row]:
    for count, changed in ((2000, 400), (4000, 800)):
        before = [words(100, n) for n in range(count)]
        after = list(before)
        for place in random.Random(1).sample(range(count), changed):
            after[place] = after[place].replace(" ", " new ", 1)
        a, b = "\n".join(before), "\n".join(after)
        (ours,) = in_turns(rounds, lambda a=a, b=b: seconds(lambda: diff_text(a, b)) * 1e3)  # type: ignore[misc]  # bound per round
        yield Row(f"words of {changed} changed lines of {count:,}", ours, "ms", 2000)
    items = [{"id": n, "text": words(60, n)} for n in range(6000)]
    a_bytes, b_bytes = json.dumps(items).encode(), json.dumps([{"id": -1}, *items]).encode()
    (ours,) = in_turns(rounds, lambda: seconds(lambda: diff_bodies(a_bytes, b_bytes)) * 1e3)
    yield Row("one item put before 6,000", ours, "ms", 2000)

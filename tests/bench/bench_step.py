"""Recording one 2 KB tool call: its intent, arguments, result and outcome, in the agent's thread, no other writer.

The unit is one append of as many bytes as the recorder wrote; the peer is LangGraph's ``SqliteSaver.put`` of the
same body.
"""

from __future__ import annotations

import os
import sqlite3
import uuid
from collections.abc import Callable, Iterator
from importlib import import_module
from pathlib import Path
from typing import Any

from tests.bench.samples import tool_call
from tests.bench.table import Row, in_turns, per_call
from tests.bench.worker import Worker, environment, without_redaction

CALLS = 300


def rows(folder: Path, quick: bool) -> Iterator[Row]:
    """Redaction off against the raw append and the peer; redaction on, for texts seen first and resent."""
    rounds = 5 if quick else 25
    off, on = folder / "off", folder / "on"
    without_redaction(off)
    name = __name__
    with Worker(name, environ=environment(off)) as plain, Worker(name, environ=environment(on)) as redacting:
        for worker in (plain, redacting):
            worker.ask("first seen")
        step, raw, saver, first, resent = in_turns(
            rounds,
            lambda: plain.ask("first seen"),
            lambda: plain.ask("raw"),
            lambda: plain.ask("saver"),
            lambda: redacting.ask("first seen"),
            lambda: redacting.ask("resent"),
        )
        written = plain.ask("bytes")
    yield Row("record a 2 KB tool call, no redaction", step, "µs", 40, saver, "SqliteSaver.put", 0.25)
    yield Row(f"  … against one append of its {written:,.0f} bytes", step, "µs", None, raw, "raw append")
    yield Row("record a 2 KB tool call, redaction, first seen", first, "µs", 150, raw, "raw append")
    yield Row("record a 2 KB tool call, redaction, resent", resent, "µs", 60, raw, "raw append")


def child() -> Callable[[str], float]:
    """Answers with the microseconds of one call of what is asked for."""
    bench = _Bench()
    return lambda what: bench.measure(what)


class _Bench:
    def __init__(self) -> None:
        import agentdbg

        self._stats = agentdbg.stats
        self._results: dict[str, dict[str, Any]] = {}
        self._tool = agentdbg.tool(effect="read")(self._look_up)
        self._agent = agentdbg.agent(name="bench")(self._rounds)
        self._works: dict[str, Callable[[], float]] = {
            "first seen": lambda: self._agent(resent=False),
            "resent": lambda: self._agent(resent=True),
            "raw": self._raw,
            "saver": self._saver,
            "bytes": lambda: self._written,
        }
        self._seed = 0
        self._written = 0.0

    def measure(self, what: str) -> float:
        return self._works[what]()

    def _calls(self) -> list[tuple[dict[str, Any], dict[str, Any]]]:
        self._seed += CALLS
        return [tool_call(self._seed + n) for n in range(CALLS)]

    def _rounds(self, resent: bool) -> float:
        calls = self._calls()
        self._all(calls[:1])
        calls = self._calls()
        if resent:
            self._all(calls)
        before = self._stats()["bytes"]
        taken = self._all(calls)
        self._written = (self._stats()["bytes"] - before) / CALLS  # type: ignore[operator]  # a counter
        return taken

    def _all(self, calls: list[tuple[dict[str, Any], dict[str, Any]]]) -> float:
        tool = self._tool
        self._results = {arguments["order"]: result for arguments, result in calls}
        return per_call(len(calls), lambda n: tool(**calls[n][0])) * 1e6

    def _look_up(self, order: str, question: str) -> dict[str, Any]:
        return self._results[order]

    def _raw(self) -> float:
        line = b"x" * int(self._written)
        fd = os.open(os.path.expanduser("~/raw"), os.O_WRONLY | os.O_APPEND | os.O_CREAT)
        taken = per_call(CALLS, lambda _: os.write(fd, line))
        os.close(fd)
        return taken * 1e6

    def _saver(self) -> float:
        calls = self._calls()
        connection = sqlite3.connect(os.path.expanduser("~/checkpoints.sqlite"), check_same_thread=False)
        saver = import_module("langgraph.checkpoint.sqlite").SqliteSaver(connection)
        saver.setup()
        thread = str(uuid.uuid4())
        bodies = [{"arguments": arguments, "result": result} for arguments, result in calls]
        taken = per_call(CALLS, lambda n: put(saver, thread, n, bodies[n]))
        connection.close()
        return taken * 1e6


def put(saver: Any, thread: str, number: int, values: dict[str, Any]) -> None:
    """Checkpoint ``values`` as LangGraph does after a step."""
    version = str(number)
    checkpoint = {
        "v": 4,
        "ts": "2026-01-01T00:00:00+00:00",
        "id": f"{number:032x}",
        "channel_values": values,
        "channel_versions": dict.fromkeys(values, version),
        "versions_seen": {},
        "updated_channels": None,
    }
    config = {"configurable": {"thread_id": thread, "checkpoint_ns": ""}}
    saver.put(config, checkpoint, {"source": "loop", "step": number, "parents": {}}, dict.fromkeys(values, version))

"""Bytes on disk for a conversation of 20 KB that grows by 2 KB a step, every step a model call with all of it.

The 100 steps go through a real OpenAI client to a local server (``client``) and, to be compared with the long run,
through the same HTTP client and seam without SDK and sockets (``seam``). The long run takes the second way: it sends
gigabytes. The peers are the same requests and responses as JSON lines, and LangGraph checkpoints of the message list.
"""

from __future__ import annotations

import os
import sqlite3
from collections.abc import Callable, Iterator
from importlib import import_module
from pathlib import Path
from typing import Any

from tests.bench.complete import only_run, require_steps
from tests.bench.samples import completion, words
from tests.bench.table import Row
from tests.bench.worker import Worker, environment

STEPS = 100
LONG = 5_000
GOAL_MB = 0.5
REPLY = 400


def rows(folder: Path, quick: bool) -> Iterator[Row]:
    """The short run both ways, its peers, and the long run against the short one."""
    from tests.support.scripted_server import Reply, ScriptedServer

    long = 300 if quick else LONG
    with ScriptedServer(Reply(text=words(REPLY, 7))) as server:
        client = _recorded(folder / "client", "client", STEPS, server.openai_url)
    seam = _recorded(folder / "seam", "seam", STEPS)
    with Worker(__name__, environ=environment(folder / "saver")) as worker:
        saver = worker.ask({"way": "saver", "steps": STEPS})["sent"] / 1e6
    raw = client["sent"] / 1e6
    name = f"bytes, {STEPS} steps growing to {20 + 2 * STEPS} KB"
    yield Row(f"{name}, OpenAI client", client["disk"] / 1e6, "MB", GOAL_MB, raw, "raw JSON lines")
    yield Row(f"{name}, seam", seam["disk"] / 1e6, "MB", GOAL_MB, saver, "SqliteSaver.put")
    grown = _recorded(folder / "long", "seam", long)
    times, base = long / STEPS, seam["disk"] / 1e6
    yield Row(f"bytes, {long:,} steps, seam", grown["disk"] / 1e6, "MB", None, base, f"{STEPS} steps", times)


def _recorded(home: Path, way: str, steps: int, url: str = "") -> dict[str, float]:
    with Worker(__name__, environ=environment(home)) as worker:
        sent = worker.ask({"way": way, "steps": steps, "url": url})["sent"]
    run = only_run(home)
    require_steps(run, steps + 1)
    return {"sent": sent, "disk": sum(file.stat().st_size for file in run.rglob("*") if file.is_file())}


def child() -> Callable[[dict[str, Any]], dict[str, float]]:
    """Answers with the bytes that went over the wire, or into the checkpoints."""
    return lambda asked: {"sent": _WAYS[asked["way"]](asked)}


def _client(asked: dict[str, Any]) -> int:
    from openai import OpenAI

    import agentdbg

    client = OpenAI(base_url=asked["url"], api_key="none")
    sent = 0

    def call(messages: list[dict[str, Any]]) -> str:
        nonlocal sent
        made = client.chat.completions.create(model="bench-model", messages=messages)  # type: ignore[arg-type]
        text = str(made.choices[0].message.content)
        sent += len(str(messages)) + len(made.model_dump_json())
        return text

    agentdbg.agent(name="grower")(_grow)(asked["steps"], call)
    return sent


def _seam(asked: dict[str, Any]) -> int:
    import agentdbg
    from tests.bench.seam import Model

    model = Model()

    def call(messages: list[dict[str, Any]]) -> str:
        text = words(REPLY, len(messages))
        model.ask({"messages": messages, "model": "bench-model"}, completion(text))
        return text

    agentdbg.agent(name="grower")(_grow)(asked["steps"], call)
    return model.sent


def _saver(asked: dict[str, Any]) -> int:
    from tests.bench.bench_step import put

    path = os.path.expanduser("~/checkpoints.sqlite")
    connection = sqlite3.connect(path, check_same_thread=False)
    saver = import_module("langgraph.checkpoint.sqlite").SqliteSaver(connection)
    saver.setup()

    def call(messages: list[dict[str, Any]]) -> str:
        put(saver, "grower", len(messages), {"messages": messages})
        return words(REPLY, len(messages))

    _grow(asked["steps"], call)
    connection.execute("pragma wal_checkpoint(truncate)")
    connection.close()
    return os.path.getsize(path)


def _grow(steps: int, call: Callable[[list[dict[str, Any]]], str]) -> None:
    """A conversation of 20 KB in ten messages, then 2 KB more each step: the answer and a new message."""
    messages = [{"role": "system", "content": words(4_000, 1)}]
    messages += [{"role": "user", "content": words(1_700, 10 + n)} for n in range(9)]
    for step in range(steps):
        answer = call(messages)
        messages.append({"role": "assistant", "content": answer})
        messages.append({"role": "user", "content": words(1_550, 1_000 + step)})


_WAYS: dict[str, Callable[[dict[str, Any]], int]] = {"client": _client, "seam": _seam, "saver": _saver}

"""A uvicorn application under load that calls a model twice a request: bare, and under ``agentdbg record``."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from statistics import median

import httpx2

from tests.bench.samples import words
from tests.bench.table import Row, clock

APP = """
import os
import time

from fastapi import FastAPI
from openai import AsyncOpenAI
from pydantic import BaseModel

client = AsyncOpenAI(base_url=os.environ["MODEL_URL"], api_key="k", max_retries=0)
app = FastAPI()
SYSTEM = {"role": "system", "content": os.environ["SYSTEM"]}


class Ask(BaseModel):
    text: str


@app.get("/health")
async def health():
    return {"ok": True}


@app.get("/cpu")
async def cpu():
    return time.clock_gettime(time.CLOCK_PROCESS_CPUTIME_ID)


@app.post("/ask")
async def ask(asked: Ask):
    said = []
    for n in range(2):
        messages = [SYSTEM, {"role": "user", "content": f"{asked.text} {n}"}]
        answer = await client.chat.completions.create(model="m", messages=messages)
        said.append(answer.choices[0].message.content)
    return {"said": said}
"""
PACKAGES = ("uvicorn[standard]", "fastapi", "openai>=3", "orjson")
LATENCY_S = 0.5
CLIENTS = 32


def rows(folder: Path, quick: bool) -> Iterator[Row]:
    """Closed loops of clients against two servers in turns, with a slow model and with one that answers at once."""
    from tests.support.environments import environment
    from tests.support.scripted_server import Reply, ScriptedServer
    from tests.support.server_lab import Server, free_port

    python = environment(*PACKAGES)
    rounds, requests = (3, 96) if quick else (7, 192)
    with ExitStack() as stack:
        slow = stack.enter_context(ScriptedServer(Reply(text=words(400, 7), delay=LATENCY_S)))
        quickly = stack.enter_context(ScriptedServer(Reply(text=words(400, 7))))
        for model, what, goal in (
            (slow, f"uvicorn request, {CLIENTS} at once, two model calls of {LATENCY_S:g} s", 1 / 0.95),
            (quickly, f"  … two model calls that take no time: {CLIENTS} at once, all CPU", None),
        ):
            servers = []
            for record in (False, True):
                place = folder / f"{'recorded' if record else 'bare'}-{model is slow}"
                place.mkdir()
                (place / "main.py").write_text(APP, encoding="utf-8")
                port = free_port()
                command = [str(python), "-m", "uvicorn", "main:app", "--port", str(port), "--log-level", "warning"]
                env = {"MODEL_URL": model.openai_url, "SYSTEM": words(2_000, 3), "AGENTDBG_DEBUG": ""}
                servers.append(stack.enter_context(Server(command, place, port=port, record=record, env=env)))
            taken = [[asyncio.run(_load(server.url, requests)) for server in servers] for _ in range(rounds + 1)][1:]
            bare, recorded = (tuple(map(median, zip(*column, strict=True))) for column in zip(*taken, strict=True))
            yield Row(what, recorded[0], "ms", None, bare[0], "not recorded", goal)
            yield Row("  … its CPU time in the server", recorded[1], "ms", None, bare[1], "not recorded")


async def _load(url: str, requests: int) -> tuple[float, float]:
    """Milliseconds a request, and of the server's CPU, with a fixed number of requests under way at any time."""
    left = iter(range(requests))
    async with httpx2.AsyncClient(limits=httpx2.Limits(max_connections=CLIENTS), timeout=60) as client:

        async def ask() -> None:
            for number in left:
                response = await client.post(f"{url}/ask", json={"text": f"question {number} {os.getpid()}"})
                response.raise_for_status()

        spent, began = float((await client.get(f"{url}/cpu")).text), clock()
        await asyncio.gather(*(ask() for _ in range(CLIENTS)))
        taken = clock() - began
        spent = float((await client.get(f"{url}/cpu")).text) - spent
        return taken / requests * 1000, spent / requests * 1000

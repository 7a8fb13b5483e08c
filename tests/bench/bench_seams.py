"""What a call costs under ``agentdbg record``, seam by seam, and what the coverage hook adds: CPU time of the agent."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Iterator, Mapping
from functools import partial
from pathlib import Path

from agentdbg.recording.launch import directory
from agentdbg.recording.launch.environment import child_environment
from tests.bench.samples import chat, words
from tests.bench.table import Row, in_turns
from tests.bench.worker import environment

PACKAGES = ("httpx", "httpx2", "requests", "aiohttp", "orjson")
BODY = 20_000
PROGRAM = """
import json, sys, time

seam, url, file, calls = sys.argv[1], sys.argv[2] + "/chat/completions", sys.argv[3], int(sys.argv[4])
body = json.load(open(file, "rb"))


def timed(call):
    for number in range(10):
        call(number)
    began = time.clock_gettime_ns(time.CLOCK_PROCESS_CPUTIME_ID)
    for number in range(calls):
        call(number + 10)
    print((time.clock_gettime_ns(time.CLOCK_PROCESS_CPUTIME_ID) - began) / calls / 1e6)


def asked(number):
    return {**body, "messages": [*body["messages"], {"role": "user", "content": f"question {number}"}]}


if seam in ("httpx", "httpx2"):
    client = __import__(seam).Client()
    timed(lambda number: client.post(url, json=asked(number)).json())
elif seam == "requests":
    import requests

    session = requests.Session()
    timed(lambda number: session.post(url, json=asked(number)).json())
elif seam == "aiohttp":
    import asyncio

    import aiohttp

    loop = asyncio.new_event_loop()

    async def post(session, number):
        async with session.post(url, json=asked(number)) as response:
            return await response.json()

    async def connect():
        return aiohttp.ClientSession()

    session = loop.run_until_complete(connect())
    timed(lambda number: loop.run_until_complete(post(session, number)))
    loop.run_until_complete(session.close())
else:

    def touch(number):
        with open(f"{file}.{number % 20}", "w") as written:
            written.write("x" * 2000)
        with open(f"{file}.{number % 20}") as read:
            read.read()

    timed(touch)
"""
WORK = (
    *((seam, f"{BODY // 1000} KB model call through {seam}", 1) for seam in ("httpx", "httpx2", "requests", "aiohttp")),
    ("files", "write and read a 2 KB file", 20),
)


def rows(folder: Path, quick: bool) -> Iterator[Row]:
    """The same program bare, recorded, and recorded without the coverage hook, in turns."""
    from tests.support.environments import environment as packages
    from tests.support.scripted_server import Reply, ScriptedServer

    python = str(packages(*PACKAGES))
    program, sample = folder / "program.py", folder / "body.json"
    program.write_text(PROGRAM, encoding="utf-8")
    sample.write_text(json.dumps(chat(BODY, 3)), encoding="utf-8")
    rounds, calls = (3, 40) if quick else (9, 150)
    base = {name: value for name, value in environment(folder).items() if name != "PYTHONPATH"}
    place = directory.make(None, str(folder / "store"), {})
    recorded = child_environment(base, place, str(folder / "store"), None)
    try:
        with ScriptedServer(Reply(text=words(1_000, 7))) as server:

            def cost(seam: str, environ: Mapping[str, str], calls: int) -> float:
                command = [python, str(program), seam, server.openai_url, str(sample), str(calls)]
                done = subprocess.run(command, env=environ, cwd=folder, check=True, capture_output=True, text=True)
                return float(done.stdout)

            environs = (base, recorded, {**recorded, "AGENTDBG_COVERAGE": "off"})
            for seam, what, times in WORK:
                works = [partial(cost, seam, each, times * calls) for each in environs]
                bare, on, off = in_turns(rounds, *works)
                yield Row(f"CPU: {what}", on, "ms", None, bare, "bare")
                yield Row("  … with the coverage hook off", off, "ms", None, bare, "bare")
    finally:
        directory.remove(place, directory.Told())

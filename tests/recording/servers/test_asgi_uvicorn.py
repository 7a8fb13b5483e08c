"""uvicorn for real: one complete run per request whatever the style, none of the server, and an exact replay of one."""

from __future__ import annotations

import time
from collections import Counter
from pathlib import Path

import pytest

from agentdbg.model.records import Kind, RunStatus, StepStatus
from agentdbg.replay.run import ReplayOptions, exact
from agentdbg.store.address import open_store, resolve
from agentdbg.store.reader import DirectoryRunSource
from tests.support.environments import environment
from tests.support.recorded import Recorded, runs
from tests.support.scripted_server import ECHO, ScriptedServer
from tests.support.server_lab import Server, free_port

pytestmark = pytest.mark.wide

PACKAGES = ("uvicorn[standard]", "fastapi", "openai>=3")
APP = """
import asyncio, os, uuid
from contextlib import asynccontextmanager

from fastapi import BackgroundTasks, FastAPI
from fastapi.responses import StreamingResponse
from openai import AsyncOpenAI, OpenAI
from pydantic import BaseModel

import agentdbg

client = AsyncOpenAI(base_url=os.environ["MODEL_URL"], api_key="k", max_retries=2, timeout=120)
sync_client = OpenAI(base_url=os.environ["MODEL_URL"], api_key="k", max_retries=2, timeout=120)


@asynccontextmanager
async def lifespan(app):
    yield {"ready": True}


app = FastAPI(lifespan=lifespan)


def make():
    return app


class Ask(BaseModel):
    marker: str


def request(text):
    return {"model": "m", "messages": [{"role": "user", "content": text}]}


async def two(marker):
    found = []
    for n in range(2):
        answer = await client.chat.completions.create(**request(f"{marker} {n}"))
        found.append(answer.choices[0].message.content)
    return found


@app.get("/health")
async def health():
    return {"ok": True}


@app.post("/plain/{item}")
async def plain(item: int, ask: Ask):
    ticket = str(uuid.uuid4())
    return {"ticket": ticket, "said": await two(f"{ask.marker} {ticket}")}


@agentdbg.agent
async def desk(marker):
    return await two(marker)


@app.post("/agent")
async def agent(ask: Ask):
    return {"said": await desk(ask.marker)}


@app.post("/sync")
def sync(ask: Ask):
    answers = [sync_client.chat.completions.create(**request(f"{ask.marker} {n}")) for n in range(2)]
    return {"said": [answer.choices[0].message.content for answer in answers]}


@app.post("/parallel")
async def parallel(ask: Ask):
    answers = await asyncio.gather(*(client.chat.completions.create(**request(ask.marker)) for _ in range(3)))
    return [answer.choices[0].message.content for answer in answers]


@app.post("/stream")
async def stream(ask: Ask):
    async def events():
        async for chunk in await client.chat.completions.create(stream=True, **request(ask.marker)):
            yield f"data: {chunk.choices[0].delta.content if chunk.choices else None}\\n\\n"

    return StreamingResponse(events(), media_type="text/event-stream")


@app.post("/background")
async def background(ask: Ask, tasks: BackgroundTasks):
    tasks.add_task(two, ask.marker)
    return {"accepted": True}


@app.post("/detached")
async def detached(ask: Ask):
    async def later():
        await asyncio.sleep(0.05)
        await two(ask.marker)

    app.state.task = asyncio.create_task(later())
    return {"accepted": True}
"""
STYLES = {"/plain/3": "POST /plain/{item}", "/agent": "desk", "/sync": "POST /sync"}


@pytest.fixture(scope="module")
def python() -> Path:
    return environment(*PACKAGES)


def write(folder: Path) -> Path:
    (folder / "main.py").write_text(APP, encoding="utf-8")
    return folder


def serving(folder: Path, python: Path, model: ScriptedServer, *options: str, app: str = "main:app") -> Server:
    port = free_port()
    command = [str(python), "-m", "uvicorn", app, "--port", str(port), "--log-level", "warning", *options]
    return Server(command, folder, port=port, env={"MODEL_URL": model.openai_url})


def model_texts(run: Recorded) -> list[str]:
    """What each model call of a run was asked."""
    found = []
    for step in run.steps:
        if step.kind is Kind.MODEL:
            assert step.status is StepStatus.OK
            found.append("".join(run.source.body(part.ref).decode() for part in run.source.segments(step)))
    return found


def replayed(folder: Path, run: Recorded, monkeypatch: pytest.MonkeyPatch) -> str:
    """Verdict of an exact replay with nobody listening."""
    monkeypatch.setenv("MODEL_URL", f"http://127.0.0.1:{free_port()}/v1")
    monkeypatch.setenv("AGENTDBG_REDACTION_KEY", "k" * 32)
    store = open_store(str(folder / "store"))
    source = resolve(store, run.source.summary().run_id)
    assert isinstance(source, DirectoryRunSource)
    outcome = exact(source, ReplayOptions("audit", 60, False, (), store))
    return outcome.verdict if outcome.verdict == "identical" else f"{outcome.verdict}: {outcome.reason} {outcome.log}"


@pytest.mark.parametrize("path", STYLES)
def test_four_workers_and_200_requests_at_once_are_200_complete_runs(
    tmp_path: Path, python: Path, path: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    with ScriptedServer(ECHO) as model, serving(write(tmp_path), python, model, "--workers", "4") as server:
        bodies = [{"marker": f"[{number:04}]"} for number in range(200)]
        answers = server.ask_at_once(path, bodies)
    assert server.exit == 0, server.log()
    found = runs(tmp_path / "store")
    assert Counter((run.source.summary().agent, run.status) for run in found) == {(STYLES[path], RunStatus.OK): 200}
    seen: Counter[str] = Counter()
    for run in found:
        asked = model_texts(run)
        (marker,) = {f"[{text.partition('[')[2].partition(']')[0]}]" for text in asked}  # nobody else's
        assert len(asked) == 2
        assert list(run.source.problems()) == []
        seen[marker] += 1
    assert seen == {body["marker"]: 1 for body in bodies}
    assert all(body["marker"] in str(answer) for body, answer in zip(bodies, answers, strict=True))
    chosen = found[100]
    assert [replayed(tmp_path, chosen, monkeypatch) for _ in range(5)] == ["identical"] * 5


@pytest.mark.parametrize("loop", ["asyncio", "uvloop"])
def test_every_style_of_handler_replays(
    tmp_path: Path, python: Path, loop: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    paths = (*STYLES, "/parallel", "/stream", "/background", "/detached")
    options = ("--loop", loop, "--factory")
    with ScriptedServer(ECHO) as model, serving(write(tmp_path), python, model, *options, app="main:make") as server:
        for path in paths:
            assert server.ask(path, {"marker": "[0001]"}).status_code == 200
        deadline = time.monotonic() + 20
        while len(model.requests) < 14 and time.monotonic() < deadline:
            time.sleep(0.05)
    found = runs(tmp_path / "store")
    assert len(found) == len(paths)
    for run in found:
        summary = run.source.summary()
        assert run.status is RunStatus.OK
        assert len(model_texts(run)) == {"POST /parallel": 3, "POST /stream": 1}.get(summary.agent, 2)
        lanes = {step.lane for step in run.steps if step.kind is Kind.MODEL}
        assert len(lanes) == (3 if summary.agent == "POST /parallel" else 1)
        assert [replayed(tmp_path, run, monkeypatch) for _ in range(2)] == ["identical"] * 2, summary.agent


def test_a_server_whose_requests_call_nothing_leaves_no_run(tmp_path: Path, python: Path) -> None:
    with ScriptedServer(ECHO) as model, serving(write(tmp_path), python, model, "--workers", "2") as server:
        server.ask("/plain/x", {"marker": "[1]"})  # 422
    assert runs(tmp_path / "store") == []

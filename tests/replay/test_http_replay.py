"""Model calls over HTTP clients, replayed with the server stopped: nothing connects, and a stream is what it was."""

from __future__ import annotations

import pytest

from agentdbg.replay.verdict import ORDER_LOST
from tests.support.replay_lab import ReplayLab
from tests.support.scripted_server import Reply, ScriptedServer, dropped, rate_limited

PRELUDE = """\
import asyncio, contextlib, json, os, time
import httpx
import agentdbg

EARLY = httpx.Client(base_url=os.environ["MODEL"], timeout=5)

def body(text, **more):
    messages = [{"role": "system", "content": "Be brief."}, {"role": "user", "content": text}]
    return {"model": "gpt-x", "messages": messages, **more}

def ask(text, client=EARLY):
    answer = client.post("/v1/chat/completions", json=body(text)).json()
    return answer["choices"][0]["message"]["content"]

async def ask_async(client, text):
    answer = await client.post("/v1/chat/completions", json=body(text))
    return answer.json()["choices"][0]["message"]["content"]

@agentdbg.tool(effect="write")
def book(what):
    with open(os.environ["OUTSIDE"] + "/ledger", "a") as file:
        file.write("book\\n")
    return len(str(what))
"""
MAIN = """
if __name__ == "__main__":
    result = run()
    print(asyncio.run(result) if asyncio.iscoroutine(result) else result)
"""
AGENTS = {
    "client_built_earlier": """
@agentdbg.agent
def run():
    return book(ask("Refund order o-1?"))
""",
    "same_prompt_four_times": """
@agentdbg.agent
async def run():
    async with httpx.AsyncClient(base_url=os.environ["MODEL"], timeout=5) as client:
        async def one(i):
            answer = await ask_async(client, "same")
            book(answer)
            return await ask_async(client, answer)
        return await asyncio.gather(*(one(i) for i in range(4)))
""",
    "stream": """
@agentdbg.agent
def run():
    with EARLY.stream("POST", "/v1/chat/completions", json=body("tell", stream=True)) as answer:
        return [line for line in answer.iter_lines()]
""",
    "abandoned_stream": """
@agentdbg.agent
def run():
    with EARLY.stream("POST", "/v1/chat/completions", json=body("tell", stream=True)) as answer:
        lines = answer.iter_lines()
        first = [next(lines) for _ in range(2)]
        book(first)
    return first
""",
    "dropped_stream": """
@agentdbg.agent
def run():
    found = []
    try:
        with EARLY.stream("POST", "/v1/chat/completions", json=body("tell", stream=True)) as answer:
            found.extend(answer.iter_lines())
    except httpx.HTTPError as error:
        return found, type(error).__name__
    return found
""",
    "retries": """
@agentdbg.agent
def run():
    for attempt in range(5):
        answer = EARLY.post("/v1/chat/completions", json=body("again"))
        if answer.status_code == 200:
            return attempt, answer.json()["choices"][0]["message"]["content"]
        time.sleep(float(answer.headers.get("retry-after", 0)))
""",
    "timeout_then_other": """
@agentdbg.agent
async def run():
    async with httpx.AsyncClient(base_url=os.environ["MODEL"], timeout=5) as client:
        try:
            async with asyncio.timeout(0.15):
                await ask_async(client, "slow")
        except TimeoutError:
            return await ask_async(client, "quick")
""",
}
SCRIPTS = {
    "same_prompt_four_times": [Reply(text=f"answer {i}", delay=0.004 * (4 - i)) for i in range(4)],
    "stream": [Reply(text="one two three four", cut=7)],
    "abandoned_stream": [Reply(text="one two three four", pieces=8, chunk_delay=0.01)],
    "dropped_stream": [dropped()],
    "retries": [rate_limited(), rate_limited(), Reply(text="there")],
    "timeout_then_other": [Reply(text="too late", delay=0.4), Reply(text="in time")],
}


def record(lab: ReplayLab, name: str) -> None:
    """Record with a server that is gone afterwards."""
    with ScriptedServer() as server:
        server.script(*SCRIPTS.get(name, [Reply(text="yes")]))
        lab.model = server.url
        lab.record(PRELUDE + AGENTS[name] + MAIN, env={"MODEL": server.url})


@pytest.mark.parametrize("name", AGENTS)
def test_a_program_replays_with_its_server_gone(lab: ReplayLab, monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    record(lab, name)
    monkeypatch.setenv("MODEL", lab.model)
    for _ in range(3 if "same" in name else 1):
        outcome = lab.replay()
        assert outcome.verdict == "identical", (outcome.reason, outcome.log)
        assert ORDER_LOST not in outcome.notes


@pytest.mark.wide
@pytest.mark.parametrize("name", AGENTS)
def test_fifty_replays(lab: ReplayLab, monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    record(lab, name)
    monkeypatch.setenv("MODEL", lab.model)
    for _ in range(50 if "same" in name else 10):
        outcome = lab.replay()
        assert (outcome.verdict, outcome.notes) == ("identical", ()), outcome.reason


def test_one_word_of_the_prompt(lab: ReplayLab, monkeypatch: pytest.MonkeyPatch) -> None:
    record(lab, "client_built_earlier")
    monkeypatch.setenv("MODEL", lab.model)
    lab.write((PRELUDE + AGENTS["client_built_earlier"] + MAIN).replace("Refund order", "Repay order"))
    outcome = lab.replay()
    assert outcome.verdict == "diverged"
    assert outcome.reason == (
        "step 2, model gpt-x: $.messages[1].content expected Refund order o-1?, got Repay order o-1?"
    )
    assert outcome.first_divergence is not None
    assert outcome.first_divergence.cause == "input.history"


def test_reading_on_where_a_stream_was_given_up(lab: ReplayLab, monkeypatch: pytest.MonkeyPatch) -> None:
    record(lab, "abandoned_stream")
    monkeypatch.setenv("MODEL", lab.model)
    lab.write((PRELUDE + AGENTS["abandoned_stream"] + MAIN).replace("range(2)]", "range(6)]"))
    outcome = lab.replay()
    assert outcome.verdict == "diverged"
    assert "reads on where" in outcome.reason
    assert outcome.reason.startswith("step 2, model gpt-x")

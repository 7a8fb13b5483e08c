"""One 20 KB model call to a local server with a real OpenAI client: recorder off, and recording."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

from tests.bench.samples import chat, words
from tests.bench.table import Row, in_turns, per_call
from tests.bench.worker import Worker, environment, without_redaction

CALLS = 20
BODY = 20_000


def rows(folder: Path, quick: bool) -> Iterator[Row]:
    """The same calls from three processes in turns: bare, recording without and with redaction."""
    from tests.support.scripted_server import Reply, ScriptedServer

    rounds = 7 if quick else 25
    without_redaction(folder / "off")
    environs = {
        "bare": environment(folder / "bare", AGENTDBG="off"),
        "off": environment(folder / "off"),
        "on": environment(folder / "on"),
    }
    name = __name__
    with ScriptedServer(Reply(text=words(1_000, 7))) as server:
        url = server.openai_url
        with (
            Worker(name, url, environ=environs["bare"]) as none,
            Worker(name, url, environ=environs["off"]) as plain,
            Worker(name, url, environ=environs["on"]) as redacting,
        ):
            workers = (none, plain, redacting)
            for worker in workers:
                worker.ask()
            bare, off, on = in_turns(rounds, *(worker.ask for worker in workers))
    yield Row("20 KB model call to a local server, recorded", on, "ms", None, bare, "not recorded")
    yield Row("  … added by the recorder, redaction", on - bare, "ms")
    yield Row("  … added by the recorder, no redaction", off - bare, "ms")


def child(url: str) -> Callable[[object], float]:
    """Answers with the milliseconds of a call, the median of one round."""
    from openai import OpenAI

    import agentdbg

    client = OpenAI(base_url=url, api_key="none", max_retries=0)
    seed = 0

    @agentdbg.agent(name="bench")
    def ask() -> float:
        nonlocal seed
        seed += CALLS
        requests = [chat(BODY, seed + n) for n in range(CALLS)]
        return per_call(CALLS, lambda n: client.chat.completions.create(**requests[n])) * 1000

    return lambda _: ask()

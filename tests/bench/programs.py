"""The agents that are recorded and replayed here; run by the replay's child as any user's program is.

The loops print what a call took, the median, on a clock that a replay does not pin.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from importlib import import_module
from typing import Any

import agentdbg
from tests.bench.samples import chat, completion, tool_call, words
from tests.bench.table import per_call, seconds

MODEL_BODY = 20_000


@agentdbg.tool(effect="read")
def look_up(number: int, arguments: dict[str, Any]) -> dict[str, Any]:
    """A tool with a 2 KB call."""
    return tool_call(number)[1]


@agentdbg.agent(name="looker")
def tools(calls: int) -> int:
    """Call the tool so many times."""
    asked = [{"order": f"A-{n}", "question": words(160, n % 50)} for n in range(calls)]
    _timed(calls, lambda n: look_up(n, asked[n]))
    return calls


@agentdbg.agent(name="caller")
def models(calls: int, url: str) -> int:
    """Ask the model so many times."""
    ask_models(calls, url)
    return calls


def ask_models(calls: int, url: str, http_client: Any = None) -> None:
    """The loop of model calls with a real OpenAI client."""
    from openai import OpenAI

    client = OpenAI(base_url=url, api_key="none", max_retries=0, http_client=http_client)
    requests = [chat(MODEL_BODY, n) for n in range(calls)]
    _timed(calls, lambda n: client.chat.completions.create(**requests[n]))


def ask_nobody(calls: int, url: str) -> None:
    """The same loop with answers out of memory: what the SDK itself takes."""
    import httpx2

    answer = httpx2.Response(200, json=completion(words(1_000, 7)))
    ask_models(calls, url, httpx2.Client(transport=httpx2.MockTransport(lambda _: answer)))


def ask_vcr(calls: int, url: str, cassette: str, mode: str, match_on: tuple[str, ...]) -> None:
    """The same loop with vcrpy recording or playing."""
    tape = import_module("vcr").use_cassette(cassette, record_mode=mode, match_on=match_on)
    opened = seconds(tape.__enter__)
    ask_models(calls, url)
    closed = seconds(lambda: tape.__exit__(None, None, None))
    print(f"seconds of the cassette: {opened + closed}", flush=True)


def _timed(calls: int, call: Callable[[int], object]) -> None:
    """Time all calls but the first, in which libraries load what they need."""
    if calls:
        call(0)
    taken = per_call(calls - 1, lambda n: call(n + 1))
    print(f"seconds a call: {taken}", flush=True)


def taken_of(output: str) -> float:
    """Seconds a call, from what a loop printed.

    Raises:
        IndexError: It printed nothing of the kind.
    """
    return _printed(output, "a call")


def cassette_of(output: str) -> float:
    """Seconds that vcrpy took to load and save its cassette."""
    return _printed(output, "of the cassette")


def _printed(output: str, what: str) -> float:
    return float(output.partition(f"seconds {what}: ")[2].split()[0])


def main(what: str, calls: str, *arguments: str) -> None:
    """Run one of the programs."""
    count = int(calls)
    places = ("method", "scheme", "host", "port", "path", "query")
    programs: dict[str, Callable[..., object]] = {
        "tools": tools,
        "models": models,
        "nobody": ask_nobody,
        "vcr-record": lambda count, url, tape: ask_vcr(count, url, tape, "all", places),
        "vcr": lambda count, url, tape: ask_vcr(count, url, tape, "none", (*places, "body")),
        "vcr-in-order": lambda count, url, tape: ask_vcr(count, url, tape, "none", places),
    }
    programs[what](count, *arguments)


if __name__ == "__main__":
    main(*sys.argv[1:])

"""A first look at a ticket: the model writes a plan, and the desk stops reading after its first line.

    python -m agentdbg.demo.first_look --ticket T-2041 --base-url http://127.0.0.1:8765/v1

The answer is a stream that is given up: what was read until then is recorded, the rest never was.
"""

from __future__ import annotations

import os
from typing import Any

from openai import OpenAI

import agentdbg
from agentdbg.demo import desk as systems
from agentdbg.demo.desk_tools import update_ticket
from agentdbg.demo.options import desk_options
from agentdbg.demo.refund_desk import MODEL, SYSTEM_PROMPT
from agentdbg.demo.rules import Json


@agentdbg.agent(name="first-look", version="0.2.0", thread_id=lambda ticket, **_: str(ticket["customer"]))
def look_at_ticket(ticket: dict[str, Json], desk: str, base_url: str) -> dict[str, Json]:
    """Note the first step of a plan on a ticket.

    Args:
        ticket: Id, customer and text.
        desk: Directory of the desk's systems.
        base_url: Where the model is.

    Returns:
        The first step, as the model began its answer.
    """
    agentdbg.tag(ticket=str(ticket["id"]))
    with OpenAI(base_url=base_url, api_key=os.environ.get("OPENAI_API_KEY", "demo"), timeout=30) as client:
        first = first_line(client, str(ticket["text"]))
    state: dict[str, Json] = {"status": "LOOKED_AT", "variables": {"first_step": first}}
    agentdbg.checkpoint("first look", state, can_resume=True)
    update_ticket(desk, str(ticket["id"]), "LOOKED_AT", note=first)
    return {"first_step": first}


def first_line(client: OpenAI, text: str) -> str:
    """The first line of the plan; the stream is closed as soon as the line is there."""
    messages = [{"role": "system", "content": SYSTEM_PROMPT}, {"role": "user", "content": text}]
    request: dict[str, Any] = {"model": MODEL, "messages": messages, "temperature": 0, "stream": True}
    read = ""
    with client.chat.completions.create(**request) as stream:
        for chunk in stream:
            read += "".join(choice.delta.content or "" for choice in chunk.choices)
            if "\n" in read:
                break
    return read.partition("\n")[0]


def main(argv: list[str] | None = None) -> int:
    """Look at one of the demo's tickets."""
    options = desk_options("agentdbg.demo.first_look").parse_args(argv)
    systems.prepare_desk(options.desk)
    print(look_at_ticket(systems.TICKETS[options.ticket], options.desk, options.base_url)["first_step"])
    return 0


if __name__ == "__main__":
    raise SystemExit(main())

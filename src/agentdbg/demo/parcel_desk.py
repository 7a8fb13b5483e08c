"""A parcel desk on a bad day: the carrier does not answer at first, and the model's server is busy.

    python -m agentdbg.demo.parcel_desk --ticket T-2042 --base-url http://127.0.0.1:8765/v1

The desk itself tries the tool again, the SDK tries the model again; both attempts of both are in the record.
"""

from __future__ import annotations

import json
import os
import time
from pathlib import Path
from typing import Any

from openai import OpenAI

import agentdbg
from agentdbg.demo import desk as systems
from agentdbg.demo.chat import ask
from agentdbg.demo.desk_tools import schema, update_ticket
from agentdbg.demo.options import desk_options
from agentdbg.demo.rules import Json

SYSTEM_PROMPT = "You tell customers where their parcel is. Ask the carrier, then answer in one sentence."
PARCEL_SCHEMA = schema("track_parcel", "Ask the carrier where a parcel is.", order_id="string")
TRIES, WAIT_S = 3, 0.1


@agentdbg.tool(effect="read")
def track_parcel(desk: str, order_id: str) -> dict[str, Json]:
    """Ask the carrier; its first answer of the day is an error."""
    woken = Path(desk, "carrier.woken")
    if not woken.exists():
        woken.touch()
        raise ConnectionError(f"carrier: no answer about {order_id} within 5 s")
    return {"order_id": order_id, "parcel": "back on the shelf", "place": "Malmö"}


@agentdbg.agent(name="parcel-desk", version="0.9.0", thread_id=lambda ticket, **_: str(ticket["customer"]))
def find_parcel(ticket: dict[str, Json], desk: str, base_url: str) -> dict[str, Json]:
    """Tell a customer where the parcel is.

    Args:
        ticket: Id, customer and text.
        desk: Directory of the desk's systems.
        base_url: Where the model is.

    Returns:
        The answer, and how often the carrier was asked.
    """
    agentdbg.tag(ticket=str(ticket["id"]))
    messages: list[dict[str, Any]] = [
        {"role": "system", "content": SYSTEM_PROMPT},
        {"role": "user", "content": f"Ticket {ticket['id']}: {ticket['text']}"},
    ]
    with OpenAI(base_url=base_url, api_key=os.environ.get("OPENAI_API_KEY", "demo"), max_retries=2) as client:
        call = ask(client, messages, [PARCEL_SCHEMA]).tool_calls[0]
        parcel, tries = track_until_answered(desk, json.loads(call.function.arguments)["order_id"])
        messages.append({"role": "tool", "tool_call_id": call.id, "content": json.dumps(parcel)})
        answer = str(ask(client, messages, [PARCEL_SCHEMA]).content)
    state: dict[str, Json] = {"status": "ANSWERED", "variables": {"parcel": parcel, "tries": tries}}
    agentdbg.checkpoint("answer", state, can_resume=True)
    update_ticket(desk, str(ticket["id"]), "ANSWERED", note=answer)
    return {"answer": answer, "tries": tries}


def track_until_answered(desk: str, order_id: str) -> tuple[dict[str, Json], int]:
    """Ask the carrier up to three times."""
    for tries in range(1, TRIES):
        try:
            return track_parcel(desk, order_id), tries
        except ConnectionError:
            time.sleep(WAIT_S)
    return track_parcel(desk, order_id), TRIES


def main(argv: list[str] | None = None) -> int:
    """Handle one of the demo's tickets."""
    options = desk_options("agentdbg.demo.parcel_desk", ticket="T-2042").parse_args(argv)
    systems.prepare_desk(options.desk)
    print(find_parcel(systems.TICKETS[options.ticket], options.desk, options.base_url)["answer"])
    return 0


if __name__ == "__main__":
    raise SystemExit(main())

"""The demo agent: a refund desk that plans, reads, decides, and pays or asks a person.

    python -m agentdbg.demo.server --port 8765
    python -m agentdbg.demo.refund_desk --ticket T-2041 --policy-version refund-policy-2026-07-01 \\
        --base-url http://127.0.0.1:8765/v1 --desk ./desk

It is an ordinary agent on the real `openai` SDK. What makes it recordable are the decorators and the
`checkpoint` after each node; everything else is as it would be without a recorder. The time, a uuid and a
random number go into the prompt on purpose: a replay has to give them back.
"""

from __future__ import annotations

import json
import os
import random
import uuid
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any

from openai import OpenAI

import agentdbg
from agentdbg.demo import desk_tools
from agentdbg.demo.desk import TICKETS, prepare_desk, read_decision
from agentdbg.demo.handbook import SNIPPETS
from agentdbg.demo.options import desk_options
from agentdbg.demo.rules import Json

MODEL = "refund-model"
MAX_STEPS, MAX_TOKENS = 8, 8000

SYSTEM_PROMPT = """You handle refund requests of a web shop.
First make a plan. Then read the order and the policy of its category.
When the policy says requires_manual_approval, or the amount is over auto_refund_limit, call request_approval.
Otherwise call execute_refund. Never do both. Close with a short, friendly text for the customer."""


@dataclass(slots=True)
class Case:
    """One ticket in work: the conversation with the model, and the state that is checkpointed."""

    ticket: Mapping[str, Json]
    policy_version: str
    desk: str
    client: OpenAI
    messages: list[dict[str, Any]] = field(default_factory=list)
    plan: list[Json] = field(default_factory=list)
    scratchpad: list[Json] = field(default_factory=list)
    variables: dict[str, Json] = field(default_factory=dict)
    status: str = "NEW"
    used_steps: int = 0
    used_tokens: int = 0

    def state(self) -> dict[str, Json]:
        """What a checkpoint keeps."""
        return {
            "status": self.status,
            "plan": list(self.plan),
            "scratchpad": list(self.scratchpad),
            "variables": dict(self.variables),
            "budget": {
                "max_steps": MAX_STEPS,
                "used_steps": self.used_steps,
                "max_tokens": MAX_TOKENS,
                "used_tokens": self.used_tokens,
            },
        }


@agentdbg.agent(
    name="refund-desk",
    version="1.4.0",
    prompt_version="desk-prompt-7",
    tool_schema_version="desk-tools-5",
    policy_version="policy_version",
    thread_id=lambda ticket, **_: str(ticket["customer"]),
)
def handle_ticket(ticket: dict[str, Json], policy_version: str, desk: str, base_url: str) -> dict[str, Json]:
    """Handle one ticket from the first look to the customer's answer.

    Args:
        ticket: Id, customer and text.
        policy_version: The refund policy in force.
        desk: Directory of the desk's systems.
        base_url: Where the model is.

    Returns:
        The final status and the text that the customer got.
    """
    agentdbg.tag(ticket=str(ticket["id"]), policy_version=policy_version)
    agentdbg.external_read(f"tickets/{ticket['id']}", ticket)
    client = OpenAI(base_url=base_url, api_key=os.environ.get("OPENAI_API_KEY", "demo"), max_retries=1, timeout=30)
    case = Case(ticket, policy_version, desk, client)
    with client:
        make_plan(case)
        look_into_handbook(case)
        read_order_and_policy(case)
        decide_and_act(case)
        answer_customer(case)
    agentdbg.final_state(case.status)
    return {"status": case.status, "answer": case.variables["answer"]}


def make_plan(case: Case) -> None:
    """Ask the model for a plan (streamed) and keep it in the state."""
    header = f"Desk time {datetime.now(UTC).isoformat()}, request {uuid.uuid4()}, counter {random.randint(1, 8)}."
    case.messages = [
        {"role": "system", "content": SYSTEM_PROMPT},
        {"role": "system", "content": header},
        {"role": "user", "content": f"Ticket {case.ticket['id']}: {case.ticket['text']}"},
    ]
    plan = ask_model_streaming(case)
    case.plan = [line.strip() for line in plan.splitlines() if line.strip()]
    case.status = "PLANNED"
    agentdbg.checkpoint("plan", case.state(), can_resume=True)


def look_into_handbook(case: Case) -> None:
    """Retrieve the handbook's snippets about the ticket and put them into the conversation."""
    found = desk_tools.search_handbook(query=str(case.ticket["text"]), limit=2)
    agentdbg.retrieved(found)
    text = "\n\n".join(f"[{document['id']}] {document['text']}" for document in found)
    case.messages.append({"role": "user", "content": f"From the handbook:\n\n{text}"})
    case.scratchpad.append(f"handbook: {', '.join(document['id'] for document in found)} of {len(SNIPPETS)}")
    agentdbg.checkpoint("handbook", case.state(), can_resume=True)


def read_order_and_policy(case: Case) -> None:
    """Let the model ask for both reads at once and run them in parallel."""
    mapping = desk_tools.get_schema_mapping(case.desk, case.policy_version)
    agentdbg.config_content("schema_mapping.json", mapping)
    calls = ask_model(case, desk_tools.READ_SCHEMAS)
    with ThreadPoolExecutor(max_workers=2, thread_name_prefix="read") as pool:
        order, policy = pool.map(lambda call: run_read(case, call), calls)
    shown = shown_policy(policy, mapping)
    for call, content in zip(calls, (order, shown), strict=True):
        add_tool_result(case, call, content)
    case.variables |= {"order": order, "policy": shown}
    case.status = "READ"
    agentdbg.checkpoint("read", case.state(), can_resume=True)


def run_read(case: Case, call: Any) -> dict[str, Json]:
    """Run one of the two reads with the model's arguments and what the desk adds."""
    arguments = json.loads(call.function.arguments)
    if call.function.name == "get_refund_policy":
        return desk_tools.get_refund_policy(case.desk, policy_version=case.policy_version, **arguments)
    return desk_tools.get_order(case.desk, **arguments)


def shown_policy(policy: Mapping[str, Json], mapping: Mapping[str, Json]) -> dict[str, Json]:
    """The part of a policy that the model gets to see: context name to path, as the mapping says."""
    shown: dict[str, Json] = {}
    for name, path in mapping.items():
        value: Json = dict(policy)
        for part in str(path).split("."):
            value = value.get(part) if isinstance(value, dict) else None
        shown[name] = value
    return shown


def decide_and_act(case: Case) -> None:
    """Let the model decide, then pay or ask a person."""
    (call,) = ask_model(case, desk_tools.ACTION_SCHEMAS)
    arguments = json.loads(call.function.arguments)
    case.scratchpad.append(f"decision: {call.function.name}")
    case.status = "DECIDED"
    agentdbg.checkpoint("decide", case.state(), can_resume=True)
    if call.function.name == "execute_refund":
        case.status = "AUTO_EXECUTE"
        add_tool_result(case, call, pay(case, arguments))
    else:
        add_tool_result(case, call, ask_person(case, arguments))


def pay(case: Case, arguments: Mapping[str, Any]) -> dict[str, Json]:
    """Execute the refund. The key belongs to ticket and order, so a second try pays nothing."""
    order = case.variables["order"]
    assert isinstance(order, dict)
    key = f"refund-{case.ticket['id']}-{order['order_id']}"
    refund = desk_tools.execute_refund(
        case.desk, str(order["order_id"]), arguments["amount"], str(order["currency"]), idempotency_key=key
    )
    case.variables["refund"] = refund
    agentdbg.checkpoint("pay", case.state(), can_resume=False, unsafe_reasons=("the bank has the refund",))
    return refund


def ask_person(case: Case, arguments: Mapping[str, Json]) -> dict[str, Json]:
    """Put the question to the duty manager; without an answer the case waits."""
    ticket_id = str(case.ticket["id"])
    decision = agentdbg.approval(
        f"Refund {arguments['amount']} for order {arguments['order_id']}? ({arguments['reason']})",
        decide=lambda: read_decision(case.desk, ticket_id),
        who="duty manager",
        state=case.state(),
        allowed=["execute_refund"],
        policy=case.policy_version,
    )
    if decision == "approved":
        case.status = "EXECUTED_AFTER_APPROVAL"
        return {"decision": "approved", "refund": pay(case, arguments)}
    case.status = "REJECTED" if decision == "rejected" else "WAITING_HUMAN_APPROVAL"
    agentdbg.checkpoint("approval", case.state(), can_resume=True)
    return {"decision": decision}


def answer_customer(case: Case) -> None:
    """Have the closing text written (streamed), send it, and set the ticket's status."""
    text = ask_model_streaming(case)
    order, ticket_id = case.variables["order"], str(case.ticket["id"])
    assert isinstance(order, dict)
    desk_tools.notify_customer(case.desk, str(order["contact"]), text, idempotency_key=f"answer-{ticket_id}")
    desk_tools.update_ticket(case.desk, ticket_id, case.status, note=str(case.scratchpad[-1]))
    case.variables["answer"] = text
    agentdbg.checkpoint("answer", case.state(), can_resume=False, unsafe_reasons=("the customer has the answer",))


def ask_model(case: Case, tools: list[dict[str, Any]]) -> list[Any]:
    """One model call that has to end in tool calls; they are returned."""
    response = case.client.chat.completions.create(**request(case, tools=tools))
    message = response.choices[0].message
    spend(case, response.usage)
    case.messages.append(message.model_dump(exclude_none=True))
    if not message.tool_calls:
        raise RuntimeError(f"expected a tool call, the model said: {message.content}")
    return list(message.tool_calls)


def ask_model_streaming(case: Case) -> str:
    """One streamed model call that ends in text."""
    pieces: list[str] = []
    with case.client.chat.completions.create(
        **request(case, stream=True, stream_options={"include_usage": True})
    ) as stream:
        for chunk in stream:
            spend(case, chunk.usage)
            pieces.extend(choice.delta.content or "" for choice in chunk.choices)
    text = "".join(pieces)
    case.messages.append({"role": "assistant", "content": text})
    return text


def request(case: Case, **more: Any) -> dict[str, Any]:
    """A model call's parameters; the budget is checked here."""
    if case.used_steps >= MAX_STEPS or case.used_tokens >= MAX_TOKENS:
        raise RuntimeError(f"budget used up: {case.used_steps} steps, {case.used_tokens} tokens")
    case.used_steps += 1
    return {"model": MODEL, "messages": list(case.messages), "temperature": 0, "seed": 7, **more}


def spend(case: Case, usage: Any) -> None:
    """Count the tokens of a call; a stream names them in its last piece only."""
    case.used_tokens += usage.total_tokens if usage else 0


def add_tool_result(case: Case, call: Any, content: Mapping[str, Json]) -> None:
    """Give a tool's result to the model."""
    case.messages.append({"role": "tool", "tool_call_id": call.id, "content": json.dumps(content)})


def main(argv: list[str] | None = None) -> int:
    """Handle one of the demo's tickets."""
    options = desk_options("agentdbg.demo.refund_desk").parse_args(argv)
    prepare_desk(options.desk, gateway_seconds=options.gateway_seconds)
    outcome = handle_ticket(TICKETS[options.ticket], options.policy_version, options.desk, options.base_url)
    print(f"{outcome['status']}: {outcome['answer']}")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())

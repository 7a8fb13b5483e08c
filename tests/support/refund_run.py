"""A refund desk run as it would be recorded: plan, retrieval, order look-up, policy, approval, refund, notice."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from agentdbg.model.records import Effect, ErrorInfo, Kind, RunStatus, RunSummary, Segment, Step, StepStatus, Usage
from tests.support.memory_source import START, MemorySource, MemoryStore

MODEL = "desk-model-2026-06-01"
SYSTEM = (
    "You work at the refund desk of an online shop.\n"
    "Read the order and the policy before you decide. Refund only what the policy allows.\n"
    "When the policy asks for a person, request approval and wait. Never refund twice.\n"
    "Answer the customer in their own language, briefly and kindly."
)
MAPPING = {"category": "category", "auto_refund_limit": "limits.auto_refund"}
ORDER = (
    '{"order_id":"A-1042","item":"noise-cancelling headphones, opened","amount":240.0,"currency":"EUR","days_ago":12}'
)
POLICY = '{"version":"refund-policy-2026-07-01","category":"electronics","auto_refund_limit":500.0,"window_days":30}'
OLDER_POLICY = (
    '{"version":"refund-policy-2026-06-15","category":"electronics","auto_refund_limit":500.0,'
    '"requires_manual_approval":"approval.manual","window_days":30}'
)
TWIN = "2025-12-31-T1988-2b40"
FINAL = (
    "Your refund R-00001 of 240.00 EUR is on its way. It reaches your account in 2–3 days.\n\n"
    "返金手続きが完了しました。"
)
KEY = "T-2041/refund"
REFUND: dict[str, Any] = {"order_id": "A-1042", "amount": 240.0, "currency": "EUR"}
SNIPPETS: list[Any] = [
    {"id": "kb/refunds#4", "source": "policy-kb", "score": 0.83, "text": "Opened electronics need a person."},
    {"id": "kb/refunds#9", "source": "policy-kb", "score": 0.79, "text": "Refunds are paid once per order."},
]
TICKET = (
    "Ticket T-2041, customer-8812:\n"
    "The headphones of order A-1042 do not fit me (electronics, opened). Please refund them.\n"
    "You can reach me at ⟦R:phone:16:9f31c2d47a10⟧. 返金をお願いします。"
)
TOOLS = ("order_lookup", "policy_lookup", "request_approval", "execute_refund", "notify_customer")
VERSIONS: dict[str, Any] = {
    "agent": "refund-desk 2.4.1",
    "prompt": {"value": "sha256:5d0a77c1", "derived": True},
    "tool_schema": {"value": "sha256:91be02f3", "derived": True},
    "model_route": "https://models.example/v1 → desk-model",
    "policy": "refund-policy-2026-07-01",
    "git": {"commit": "4be1f0c2a6f7", "dirty": True, "status": " M desk/prompts.py"},
}


class _Recording:
    def __init__(self, source: MemorySource, policy: str) -> None:
        self.source = source
        self.policy = policy
        self.segments: list[Segment] = []
        self.clock = START
        self.count = 0

    def step(self, kind: Kind, name: str, ms: float | None, segments=(), **members: Any) -> Step:
        step_id = f"a41f09c3d2e7:{self.count}"
        self.count += 1
        self.clock += (ms or 0) / 1000
        members.setdefault("parent", "a41f09c3d2e7:0" if self.count > 1 else None)
        members.setdefault("depth", 1 if self.count > 1 else 0)
        step = Step(n=0, id=step_id, kind=kind, name=name, latency_ms=ms, started_at=self.clock, **members)
        return self.source.add(step, segments)

    def say(self, role: str, content: str | None, kind: str = "message", **more: Any) -> None:
        ref = self.source.put({"role": role, "content": content, **more})
        self.segments.append(Segment(kind, role, ref))

    def note(self, kind: Kind, name: str, ms: float, arguments: Any = None, result: Any = None, **more: Any) -> Step:
        given = None if arguments is None else self.source.put(arguments)
        back = None if result is None else self.source.put(result)
        return self.step(kind, name, ms, arguments=given, result=back, **more)

    def model(self, ms: float, message: Any, usage: Usage, stop: str = "tool_calls", **more: Any) -> Step:
        answer = {"role": "assistant", **message}
        result: dict[str, Any] = {"id": f"chatcmpl-{self.count:04d}", "model": MODEL}
        result["choices"] = [{"index": 0, "finish_reason": stop, "message": answer}]
        result["usage"] = {"prompt_tokens": usage.input, "completion_tokens": usage.output}
        digest = self.source.put([segment.ref.sha256 for segment in self.segments]).sha256
        attrs = {"model": "desk-model", "resolved_model": MODEL, "temperature": 0, "seed": 7}
        body = self.source.put(result)
        segments = list(self.segments)
        step = self.step(
            Kind.MODEL, MODEL, ms, segments, input_hash=digest, result=body, usage=usage, attrs=attrs, **more
        )
        self.segments.append(Segment("message", "assistant", self.source.put(answer)))
        return step

    def tool(self, name: str, effect: Effect, ms: float | None, arguments: Any, result: Any, **more: Any) -> Step:
        ref = self.source.put(arguments)
        return self.step(
            Kind.TOOL, name, ms, effect=effect, arguments=ref, fingerprint=f"fp1:{ref.sha256}",
            result=None if result is None else self.source.put(result), **more,
        )  # fmt: skip

    def called(self, call_id: str, result: str) -> None:
        self.say("tool", result, tool_call_id=call_id)


def _call(call_id: str, name: str, arguments: str) -> dict[str, Any]:
    return {"id": call_id, "type": "function", "function": {"name": name, "arguments": arguments}}


def _asks(call: dict[str, Any], content: str | None = None) -> dict[str, Any]:
    return {"content": content, "tool_calls": [call]}


def refund_run(
    run_id: str = "2026-01-01-T2041-7f3a",
    *,
    status: RunStatus = RunStatus.OK,
    crash: bool = False,
    policy: str = POLICY,
) -> MemorySource:
    """The incident, or with ``crash`` the same ticket with a refund that began and never came back."""
    summary = RunSummary(run_id, status, "refund-desk", thread_id="T-2041", tags={"desk": "eu-west"}, started_at=START)
    summary = replace(summary, models=(MODEL,), meta={"versions": VERSIONS, "format": "0.1"})
    source = MemorySource(summary if crash else replace(summary, ended_at=START + 9.4))
    rec = _Recording(source, policy)
    _open(rec)
    _read(rec)
    _decide(rec)
    if crash:
        rec.tool("execute_refund", Effect.EXTERNAL, None, REFUND, None, idempotency_key=KEY, status=StepStatus.OPEN)
    else:
        _pay_and_notify(rec)
    return source


def twin_run() -> MemorySource:
    """The same ticket a day earlier, when the policy still asked for a person."""
    source = refund_run(TWIN, policy=OLDER_POLICY)
    earlier = {**VERSIONS, "policy": "refund-policy-2026-06-15"}
    source.run = replace(source.run, started_at=START - 86_400, meta={"versions": earlier, "format": "0.1"})
    return source


def _open(rec: _Recording) -> None:
    shape = {"model": "desk-model", "temperature": 0, "seed": 7, "stream": True}
    rec.segments.append(Segment("parameters", "", rec.source.put(shape)))
    for tool in TOOLS:
        schema = {"type": "function", "function": {"name": tool, "parameters": {"type": "object"}, "strict": True}}
        rec.segments.append(Segment("tool_schema", tool, rec.source.put(schema)))
    rec.say("system", SYSTEM, kind="system")
    rec.say("user", TICKET)
    rec.note(Kind.AGENT, "refund_desk", 9412, {"ticket_id": "T-2041"}, "Refund R-00001 of 240.00 EUR is on its way.")
    rec.note(Kind.CONFIG, "schema_mapping", 0.4, MAPPING)


def _read(rec: _Recording) -> None:
    plan = "Plan: read the order, then the policy, then decide."
    rec.model(1180, _asks(_call("call_1", "order_lookup", '{"order_id":"A-1042"}'), plan), Usage(812, 41, 0))
    rec.note(Kind.RETRIEVAL, "policy snippets", 64, SNIPPETS)
    rec.tool("order_lookup", Effect.READ, 38, {"order_id": "A-1042"}, ORDER)
    rec.called("call_1", ORDER)
    rec.note(
        Kind.CHECKPOINT, "planned", 0.2, _state("PLANNED", 2, "order", "policy", "decide"), attrs={"can_resume": True}
    )
    rec.model(940, _asks(_call("call_2", "policy_lookup", '{"category":"electronics"}')), Usage(1104, 22, 812))
    version = {"category": "electronics", "version": "refund-policy-2026-07-01"}
    rec.tool("policy_lookup", Effect.READ, 21, version, rec.policy)
    rec.called("call_2", rec.policy)


def _decide(rec: _Recording) -> None:
    inside: Any = {"parent": rec.note(Kind.NODE, "decide", 1310).id, "depth": 2}
    call = _call("call_3", "execute_refund", '{"order_id":"A-1042","amount":240.0}')
    rec.model(
        1290, _asks(call, "No approval is required by this policy: AUTO_EXECUTE."), Usage(1391, 58, 1104), **inside
    )
    unsafe = {"can_resume": False, "unsafe_reasons": ["a refund may already be under way"]}
    rec.note(Kind.CHECKPOINT, "decided", 0.2, _state("AUTO_EXECUTE", 4, "refund", "notify"), attrs=unsafe, **inside)
    question = {"question": "Refund 240.00 EUR for A-1042?", "limit": 250}
    decision = {"decision": "approved", "by": "m.lindqvist", "state_hash": "77ab01"}
    rec.note(Kind.APPROVAL, "refund over 200 EUR", 3050, question, decision)


def _pay_and_notify(rec: _Recording) -> None:
    paid = {"refund_id": "R-00001", **REFUND, "key": KEY}
    rec.tool("execute_refund", Effect.EXTERNAL, 1520, REFUND, paid, idempotency_key=KEY)
    rec.called("call_3", '{"refund_id":"R-00001"}')
    notice = {"customer": "customer-8812", "text": "返金しました 💶"}
    failure = ErrorInfo("ConnectionError", "mail relay refused: 421 try again later\nqueue full")
    rec.tool("notify_customer", Effect.WRITE, 44, notice, None, status=StepStatus.ERROR, error=failure)
    hole = ("response headers were not recorded",)
    rec.tool("notify_customer", Effect.WRITE, 61, notice, {"sent": True}, holes=hole)
    rec.model(870, {"content": FINAL}, Usage(1522, 39, 1391), "stop")
    rec.note(Kind.CHECKPOINT, "done", 0.2, _state("REFUNDED", 7))


def _state(status: str, used: int, *plan: str) -> dict[str, Any]:
    variables = {"order": "A-1042", "amount": 240.0, "customer": "customer-8812"}
    return {
        "status": status,
        "plan": list(plan),
        "variables": variables,
        "budget": {"max_steps": 12, "used_steps": used},
    }


def refund_store() -> MemoryStore:
    """A small store around the incident."""
    incident = refund_run()
    crashed = refund_run("2026-01-01-T2043-0c9e", status=RunStatus.LOST, crash=True)
    running = refund_run("2026-01-01-T2044-b1d8", status=RunStatus.RUNNING, crash=True)
    return MemoryStore({source.run.run_id: source for source in (incident, crashed, running)})

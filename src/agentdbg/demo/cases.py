"""The runs that ship with agentdbg: what each is called, what there is to find in it, and how it is recorded."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import Enum

from agentdbg.demo.desk import AFTER_CHANGE, BEFORE_CHANGE


class Ending(Enum):
    """How a recorded program is meant to end; the value is the status that ``run.json`` has then."""

    OK = "ok"
    WAITING = "waiting"
    KILLED = "running"


@dataclass(frozen=True, slots=True)
class Case:
    """One shipped run.

    Attributes:
        name: What ``agentdbg demo NAME`` calls it.
        about: What there is to find, in one line.
        module: Module of the agent; empty for the replay.
        arguments: Its command line, without the model's address.
        ending: How it ends.
        busy_at: Model calls, from 1, that the stand-in answers with 429.
        replay_of: Id of the run of which this one is the exact replay.
    """

    name: str
    run_id: str
    about: str
    module: str = ""
    arguments: tuple[str, ...] = ()
    ending: Ending = Ending.OK
    busy_at: frozenset[int] = frozenset()
    replay_of: str | None = None


def _desk(ticket: str, policy: str = AFTER_CHANGE) -> tuple[str, ...]:
    return ("--ticket", ticket, "--policy-version", policy)


INCIDENT = Case(
    "incident",
    "refund-incident",
    "240 EUR paid without the approval that the policy asks for; every step looks fine: which input is missing?",
    "agentdbg.demo.refund_desk",
    _desk("T-2041"),
)
TWIN = Case(
    "twin",
    "refund-before-policy-change",
    "the same ticket before the policy change: it waits for a person; compare it with the incident",
    "agentdbg.demo.refund_desk",
    _desk("T-2041", BEFORE_CHANGE),
    Ending.WAITING,
)
CASES: tuple[Case, ...] = (
    INCIDENT,
    TWIN,
    Case(
        "crash",
        "refund-crash",
        "killed inside execute_refund: the run is lost, the call is there in full, whether the money moved is in doubt",
        "agentdbg.demo.refund_desk",
        (*_desk("T-2042"), "--gateway-seconds", "3"),
        Ending.KILLED,
    ),
    Case(
        "parallel",
        "refund-parallel",
        "reads side by side in lanes of their own; of two warehouses the faster one counts, the other is cancelled",
        "agentdbg.demo.refund_desk_async",
        _desk("T-2041"),
    ),
    Case(
        "sub-agent",
        "refund-sub-agent",
        "a fraud-check agent nested in the desk's run, with its own prompt, model calls and tools; it stops the refund",
        "agentdbg.demo.checked_desk",
        _desk("T-2044"),
        Ending.WAITING,
    ),
    Case(
        "chinese",
        "refund-chinese",
        "a ticket in Chinese with emoji, from the prompt through tool arguments to the answer",
        "agentdbg.demo.refund_desk",
        _desk("T-2043"),
    ),
    Case(
        "abandoned",
        "first-look-abandoned",
        "the agent stops reading a streamed answer after its first line: that model call is partial",
        "agentdbg.demo.first_look",
        _desk("T-2041"),
    ),
    Case(
        "long",
        "ledger-audit-long",
        "300 steps of one growing conversation; somewhere the state goes wrong: find where largest_eur changed",
        "agentdbg.demo.ledger_audit",
        ("--lines", "243"),
    ),
    Case(
        "replay",
        "refund-incident.exact-1",
        "the exact replay of the incident: every call served from the record, verdict identical",
        replay_of=INCIDENT.run_id,
    ),
    Case(
        "retry",
        "parcel-retry",
        "a tool that fails once and a model server that says 429 once; the desk and the SDK try again",
        "agentdbg.demo.parcel_desk",
        _desk("T-2042"),
        busy_at=frozenset((2,)),
    ),
)
REAL_MODEL = Case(
    "real-model",
    "smollm2-tool-loop",
    "a real small model (SmolLM2-135M) in place of rules: both tools are right, its last sentence is not",
    "agentdbg.demo.real_model",
)
ORDER: Mapping[str, int] = {case.name: place for place, case in enumerate((*CASES, REAL_MODEL))}
"""Place of each case in the list."""

"""A long run: a month's refunds read to the last line, in one conversation that grows with every line.

    python -m agentdbg.demo.ledger_audit --lines 243 --base-url http://127.0.0.1:8765/v1

Each round is a model call that asks for a few lines, as many tool calls, and a checkpoint. The program has a mistake
that shows in the state only: it adds up amounts without looking at their currency, so from the one line in Swedish
kronor on, total and largest are wrong.
"""

from __future__ import annotations

import argparse
import json
import os
import random
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from openai import OpenAI

import agentdbg
from agentdbg.demo.chat import ask
from agentdbg.demo.desk_tools import schema
from agentdbg.demo.rules import Json

SYSTEM_PROMPT = "You read a ledger of refunds. Ask for a few lines at a time, from line 1 to the last."
LEDGER_SCHEMA = schema("read_ledger", "Read one line of the ledger.", line="integer")
MONTH = "month.jsonl"


@dataclass(slots=True)
class Totals:
    """What the audit has found so far."""

    lines: int = 0
    total_eur: float = 0.0
    largest_eur: float = 0.0
    largest_refund: str = ""

    def add(self, line: dict[str, Json]) -> None:
        """Add a line: here is the mistake, the currency is not looked at."""
        amount = float(str(line["amount"]))
        self.lines += 1
        self.total_eur = round(self.total_eur + amount, 2)
        if amount > self.largest_eur:
            self.largest_eur, self.largest_refund = amount, str(line["refund_id"])


def prepare_month(desk: str, lines: int) -> None:
    """Write a month's ledger: refunds in euros, and one in kronor after two thirds of them."""
    made = random.Random(f"month of {lines}")
    Path(desk).mkdir(parents=True, exist_ok=True)
    with Path(desk, MONTH).open("w", encoding="utf-8") as file:
        for number in range(1, lines + 1):
            kronor = number == lines * 2 // 3
            amount = 4890.0 if kronor else round(made.uniform(5, 480), 2)
            line = {"refund_id": f"R-{number:05d}", "order_id": f"A-{made.randint(1100, 9999)}", "amount": amount}
            file.write(json.dumps({**line, "currency": "SEK" if kronor else "EUR"}) + "\n")


@agentdbg.tool(effect="read")
def read_ledger(desk: str, line: int) -> dict[str, Json]:
    """Read one line of the ledger, counted from 1."""
    lines = Path(desk, MONTH).read_text(encoding="utf-8").splitlines()
    return {"line": line, **json.loads(lines[line - 1])}


@agentdbg.agent(name="ledger-audit", version="0.4.0")
def audit_ledger(desk: str, lines: int, base_url: str) -> dict[str, Json]:
    """Read the ledger to its end and add it up.

    Args:
        desk: Directory of the desk's systems.
        lines: How many the ledger has.
        base_url: Where the model is.

    Returns:
        The totals.
    """
    totals = Totals()
    messages: list[dict[str, Any]] = [
        {"role": "system", "content": SYSTEM_PROMPT},
        {"role": "user", "content": f"Audit the {lines} refunds of this month."},
    ]
    with OpenAI(base_url=base_url, api_key=os.environ.get("OPENAI_API_KEY", "demo"), timeout=30) as client:
        while calls := ask(client, messages, [LEDGER_SCHEMA]).tool_calls:
            for call in calls:
                line = read_ledger(desk, **json.loads(call.function.arguments))
                messages.append({"role": "tool", "tool_call_id": call.id, "content": json.dumps(line)})
                totals.add(line)
            agentdbg.checkpoint("lines", {"status": "READING", "variables": asdict(totals)}, can_resume=True)
    agentdbg.checkpoint("audit", {"status": "AUDITED", "variables": asdict(totals)}, can_resume=True)
    return asdict(totals)


def main(argv: list[str] | None = None) -> int:
    """Audit a made-up month."""
    parser = argparse.ArgumentParser(prog="python -m agentdbg.demo.ledger_audit")
    parser.add_argument("--lines", type=int, default=243, help="length of the ledger")
    parser.add_argument("--desk", default="desk", help="directory of the desk's systems, made when missing")
    parser.add_argument("--base-url", default=os.environ.get("OPENAI_BASE_URL", "http://127.0.0.1:8765/v1"))
    options = parser.parse_args(argv)
    prepare_month(options.desk, options.lines)
    print(audit_ledger(options.desk, options.lines, options.base_url))
    return 0


if __name__ == "__main__":
    raise SystemExit(main())

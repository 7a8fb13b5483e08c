"""The command line that all desks share."""

from __future__ import annotations

import argparse
import os

from agentdbg.demo.desk import AFTER_CHANGE, BEFORE_CHANGE, TICKETS


def desk_options(prog: str, ticket: str = "T-2041") -> argparse.ArgumentParser:
    """Options of a desk: which ticket, which policy, where the systems and the model are.

    Args:
        prog: Module that is run.
        ticket: The ticket by default.
    """
    parser = argparse.ArgumentParser(prog=f"python -m {prog}")
    parser.add_argument("--ticket", choices=sorted(TICKETS), default=ticket)
    parser.add_argument("--policy-version", choices=[BEFORE_CHANGE, AFTER_CHANGE], default=AFTER_CHANGE)
    parser.add_argument("--desk", default="desk", help="directory of the desk's systems, made when missing")
    parser.add_argument("--base-url", default=os.environ.get("OPENAI_BASE_URL", "http://127.0.0.1:8765/v1"))
    parser.add_argument("--gateway-seconds", type=float, default=0.0, help="how long the bank takes for a refund")
    return parser

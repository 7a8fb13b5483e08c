"""Two records of the same run under different redaction keys are the same; a volatile field is dropped and listed."""

from __future__ import annotations

from tests.support.replay_lab import ReplayLab

PROGRAM = """\
import os
from concurrent.futures import ThreadPoolExecutor
import agentdbg

@agentdbg.tool(effect="read")
def look(phone):
    with open(os.environ["OUTSIDE"] + "/ledger", "a") as file:
        file.write("look\\n")
    return {"phone": phone, "card": "4111 1111 1111 1111", "n": 13812345678}

@agentdbg.tool(effect="external")
def call(phone, n):
    if phone.endswith("9"):
        raise ValueError(f"nobody at {phone}")
    return f"called {phone}"

@agentdbg.agent
def run(phones):
    with ThreadPoolExecutor(2) as pool:
        found = list(pool.map(look, phones))
    agentdbg.checkpoint("found", {"found": found})
    answers = []
    for item in found:
        try:
            answers.append(call(item["phone"], item["n"]))
        except ValueError as error:
            answers.append(str(error))
    return answers

if __name__ == "__main__":
    print(run(["13812345678", "13987654329"]))
"""


def test_another_key_and_no_redaction_at_all(lab: ReplayLab) -> None:
    lab.record(PROGRAM, env={"AGENTDBG_REDACTION_KEY": "a" * 64})
    outcome = lab.replay(trust=True)
    assert outcome.verdict == "identical", outcome.reason
    lab.write(PROGRAM.replace('"found": found', '"found": found[0]'))
    outcome = lab.replay(trust=True)
    assert outcome.verdict == "diverged"
    assert outcome.reason.startswith("step 6, checkpoint found: $.found"), outcome.reason
    lab.record(PROGRAM, env={"AGENTDBG_REDACTION": "off"})
    outcome = lab.replay("run-2")
    assert outcome.verdict == "identical", outcome.reason


NUMBERS = """\
import agentdbg

@agentdbg.tool(effect="external")
def call(n):
    return n

@agentdbg.agent
def run():
    agentdbg.checkpoint("state", {"phone": 13812345678, "other": [13987654321, 13812345678], "order": 1234567})
    return {"again": 13812345678}

if __name__ == "__main__":
    print(run())
"""


def test_an_integer_that_is_redacted_under_another_key(lab: ReplayLab) -> None:
    lab.record(NUMBERS, env={"AGENTDBG_REDACTION_KEY": "a" * 64})
    outcome = lab.replay(trust=True)
    assert outcome.verdict == "identical", outcome.reason
    lab.write(NUMBERS.replace("[13987654321, 13812345678]", "[13812345678, 13812345678]"))
    outcome = lab.replay(trust=True)
    assert outcome.verdict == "diverged", "two numbers are not one"
    assert outcome.reason.startswith("step 2, checkpoint state: $."), outcome.reason

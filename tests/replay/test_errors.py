"""Recorded exceptions: the agent's code gets them as they were."""

from __future__ import annotations

from tests.support.replay_lab import ReplayLab

PROGRAM = """\
import agentdbg

class ApiError(Exception):
    def __init__(self, status, body, raw):
        super().__init__(f"{status}: {body}")
        self.status, self.body, self.raw = status, body, raw
        self.add_note("seen by ann@example.org")

class Slotted(Exception):
    __slots__ = ("code",)

    def __init__(self, code):
        super().__init__(code)
        self.code = code

@agentdbg.tool(effect="write")
def pay(kind):
    if kind == "file":
        raise FileNotFoundError(2, "no such ledger", "ledger.txt")
    raise ApiError(429, {"retry": (1, 2)}, object())

@agentdbg.agent
def run():
    try:
        pay("api")
    except ApiError as error:
        agentdbg.checkpoint("failed", {"status": str(error.status), "body": error.body, "notes": error.__notes__})
    try:
        pay("file")
    except OSError as error:
        return error.errno, error.filename

if __name__ == "__main__":
    run()
"""


def test_an_exception_has_its_members_again(lab: ReplayLab) -> None:
    lab.record(PROGRAM)
    outcome = lab.replay()
    assert outcome.verdict == "identical", outcome.reason

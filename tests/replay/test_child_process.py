"""Programs that hang, flood, fork, crash or leave early: the replay ends, says how, and nothing is left behind."""

from __future__ import annotations

from agentdbg.replay.child_process import LOG_BYTES
from tests.support.replay_lab import ReplayLab

PROGRAM = """\
import ctypes, os, sys, threading, time
import agentdbg

@agentdbg.tool(effect="write")
def book(order):
    with open(os.environ["OUTSIDE"] + "/ledger", "a") as file:
        file.write("book\\n")
    return "booked"

@agentdbg.agent
def run(order):
    {before}
    booked = book(order)
    {after}
    return booked

if __name__ == "__main__":
    print(run("o-1"))
"""


def record_then_change(lab: ReplayLab, before: str = "pass", after: str = "pass") -> None:
    lab.record(PROGRAM.format(before="pass", after="pass"))
    lab.write(PROGRAM.format(before=before, after=after))


def test_a_program_that_hangs_is_ended(lab: ReplayLab) -> None:
    record_then_change(lab, after="threading.Event().wait()")
    outcome = lab.replay(timeout=1.5)
    assert outcome.verdict == "timed_out"
    assert "after step 2, tool book" in outcome.reason
    assert lab.seconds < 8


def test_a_flood_on_standard_output_is_bounded(lab: ReplayLab) -> None:
    flood = "[sys.stdout.write('x' * 100_000 + chr(10)) for _ in range(100)]"
    lab.record(PROGRAM.format(before=flood, after="pass"))
    outcome = lab.replay()
    assert outcome.verdict == "identical"
    assert 0 < len(outcome.log) <= LOG_BYTES


def test_a_fork_is_refused_and_a_crash_named(lab: ReplayLab) -> None:
    record_then_change(lab, before="os.fork()")
    outcome = lab.replay()
    assert outcome.verdict == "refused"
    assert "os.fork" in outcome.reason
    lab.write(PROGRAM.format(before="pass", after="ctypes.string_at(0)"))
    outcome = lab.replay()
    assert outcome.verdict == "crashed"
    assert "SIGSEGV" in outcome.reason
    assert "after step 2, tool book" in outcome.reason
    assert outcome.replay_run is not None


def test_a_program_that_leaves_at_once(lab: ReplayLab) -> None:
    record_then_change(lab, after="os._exit(4)")
    outcome = lab.replay()
    assert outcome.verdict == "crashed"
    assert "exit status 4" in outcome.reason
    lab.record(PROGRAM.format(before="pass", after="os._exit(0)"))
    outcome = lab.replay("run-2")
    assert outcome.verdict == "recording_ended"
    lab.record(PROGRAM.format(before="pass", after="sys.exit(3)"), ok=False)
    assert lab.replay("run-3").verdict == "identical"
    lab.record(PROGRAM.format(before="pass", after="raise KeyboardInterrupt"), ok=False)
    assert lab.replay("run-4").verdict == "identical"


def test_a_program_that_never_reaches_its_agent(lab: ReplayLab) -> None:
    record_then_change(lab)
    lab.write("import threading\nthreading.Event().wait()\n" + PROGRAM.format(before="pass", after="pass"))
    outcome = lab.replay(timeout=1)
    assert outcome.verdict == "timed_out"
    assert "did not reach the agent" in outcome.reason
    lab.write("import os\nos._exit(9)\n")
    outcome = lab.replay()
    assert outcome.verdict == "crashed"
    assert "exit status 9" in outcome.reason


def test_a_program_that_speaks_on_the_control_channel_breaks_nothing(lab: ReplayLab) -> None:
    kind = "os.path.realpath(f'/proc/self/fd/{fd}').rpartition('/')[2]"
    sockets = f"[fd for fd in range(3, 12) if {kind}.startswith('socket')]"
    noise = f"[os.write(fd, bytes([110, 111, 10, 91, 93, 10])) for fd in {sockets}]"
    record_then_change(lab, before=noise)
    assert lab.replay().verdict == "identical"

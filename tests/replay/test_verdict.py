"""Verdicts and their one line: step, kind, name, place, both values, and the cause."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time

import pytest

from agentdbg.compare.trajectory import Divergence
from agentdbg.replay.verdict import ADDRESS, HASH_SEED, in_words
from tests.support.replay_lab import ReplayLab

TOOLS = """\
import datetime, os, random, signal, socket, sys, threading, time, uuid
from concurrent.futures import ThreadPoolExecutor
import agentdbg

def ledger(what):
    with open(os.environ["OUTSIDE"] + "/ledger", "a") as file:
        file.write(what + "\\n")

@agentdbg.tool(effect="read")
def look(order, how="full"):
    ledger("look")
    return {"order": order, "amount": 12.5, "who": "Ann"}

@agentdbg.tool(effect="write", volatile=["at"])
def book(order, amount, at=0.0):
    ledger("book")
    return "booked"

@agentdbg.tool(effect="external")
def tell(who):
    ledger("tell")
    return "told"

def model(messages, **options):
    ledger("model")
    return {"role": "assistant", "content": "yes"}

def ask(text):
    messages = [{"role": "system", "content": "Be brief."}, {"role": "user", "content": text}]
    return agentdbg.model_call(model, messages=messages, model="m-1")

"""
MAIN = "\nif __name__ == '__main__':\n    print(run('o-1'))\n"
BODY = """
@agentdbg.agent
def run(order):
    found = look(order)
    ask(f"Refund order {order}?")
    agentdbg.checkpoint("asked", {"status": "ASKED", "amount": found["amount"]})
    book(order, found["amount"])
    tell(found["who"])
    agentdbg.final_state("DONE")
    return found
"""
CHANGES = {
    "one_word_of_the_prompt": (
        "Refund order",
        "Repay order",
        "step 4, model m-1",
        "$.messages[1].content",
        "arguments",
    ),
    "another_argument": (
        'book(order, found["amount"])',
        'book(order, found["amount"] + 1)',
        "step 7, tool book",
        "$.amount",
        "arguments",
    ),
    "state": ('"ASKED"', '"DECIDED"', "step 6, checkpoint asked", "$.status", "result"),
    "one_call_fewer": ('    book(order, found["amount"])\n', "", "step 7, tool book", "$", "order"),
    "last_call_fewer": ('    tell(found["who"])\n', "", "step 9, tool tell", "$", "order"),
    "one_call_more": (
        "    agentdbg.final",
        '    tell("Bob")\n    agentdbg.final',
        "step 11, checkpoint final state",
        "$",
        "order",
    ),
    "same_call_again": (
        "    agentdbg.final",
        '    tell(found["who"])\n    agentdbg.final',
        "step 11, checkpoint final state",
        "$",
        "order",
    ),
    "another_tool": ('tell(found["who"])', 'look(found["who"])', "step 9, tool tell", "$", "order"),
    "final_state": ('final_state("DONE")', 'final_state("LEFT")', "step 11, checkpoint final state", "$", "result"),
    "final_answer": ("return found", "return [found]", "step 1, agent run", "$", "result"),
    "raises_at_the_end": ("return found", "raise ValueError('no')", "step 1, agent run", "status", "result"),
    "effect": (
        '@agentdbg.tool(effect="external")',
        '@agentdbg.tool(effect="read")',
        "step 9, tool tell",
        "effect",
        "version",
    ),
    "left_out_state": (
        '    agentdbg.checkpoint("asked", {"status": "ASKED", "amount": found["amount"]})\n',
        "",
        "step 6, checkpoint asked",
        "$",
        "order",
    ),
}


@pytest.mark.parametrize("name", CHANGES)
def test_a_change_is_named_where_it_is(lab: ReplayLab, name: str) -> None:
    old, new, place, path, cause = CHANGES[name]
    lab.record(TOOLS + BODY + MAIN)
    text = TOOLS + BODY + MAIN
    assert old in text
    lab.write(text.replace(old, new))
    outcome = lab.replay()
    assert outcome.verdict == "diverged", outcome.reason
    assert outcome.reason.startswith(place), outcome.reason
    assert "\n" not in outcome.reason
    assert "expected" in outcome.reason
    at = outcome.first_divergence
    assert at is not None
    assert (at.path, at.cause) == (path, cause), outcome.reason


def test_the_nearest_recorded_call_is_named(lab: ReplayLab) -> None:
    lab.record(TOOLS + BODY + MAIN)
    lab.write((TOOLS + BODY + MAIN).replace('    tell(found["who"])\n', '    book("o-1", 12.0)\n'))
    reason = lab.replay().reason
    assert "step 9, tool tell: expected tool tell, got tool book" in reason
    assert "nearest recorded call: step 7, tool book, $.amount: 12.5 there, 12.0 here" in reason


def test_an_empty_record_denies_everything(lab: ReplayLab) -> None:
    lab.record(TOOLS + "@agentdbg.agent\ndef run(order):\n    return order\n" + MAIN)
    assert lab.replay().verdict == "identical"
    lab.write(TOOLS + "@agentdbg.agent\ndef run(order):\n    return tell(order)\n" + MAIN)
    outcome = lab.replay()
    assert outcome.verdict == "diverged"
    assert "got tool tell" in outcome.reason
    assert "not in the record" in outcome.reason
    assert outcome.served == 0


def test_a_match_through_a_volatile_field_is_listed(lab: ReplayLab) -> None:
    agent = "@agentdbg.agent\ndef run(order):\n    return book(order, 1, at=float(os.environ.get('AT', '0')))\n"
    lab.record(TOOLS + agent + MAIN, env={"AT": "1.5"})
    outcome = lab.replay()
    assert (outcome.verdict, outcome.rules_used) == ("identical", ("$.at",))
    assert outcome.reason.startswith("identical under 1 rule")
    lab.write((TOOLS + agent + MAIN).replace('volatile=["at"]', "volatile=[]"))
    assert lab.replay().rules_used == ("$.at",), "the run's rules count, not today's"


def test_the_order_of_a_set_is_named_as_a_cause(lab: ReplayLab) -> None:
    agent = "@agentdbg.agent\ndef run(order):\n    return ask(' '.join({f'item{i}' for i in range(40)}))\n"
    lab.record(TOOLS + agent + MAIN, env={"PYTHONHASHSEED": "random"})
    outcome = lab.replay()
    assert outcome.verdict == "diverged"
    assert outcome.first_divergence is not None
    assert outcome.first_divergence.cause == "environment"
    assert HASH_SEED in outcome.notes
    lab.write(TOOLS + agent + MAIN + "# another line")
    outcome = lab.replay()
    assert outcome.first_divergence is not None
    assert outcome.first_divergence.cause == "arguments", "the code has changed, which may well be why"
    lab.record(TOOLS + agent + MAIN, env={"PYTHONHASHSEED": "7"})
    assert lab.replay("run-2").verdict == "identical"


CLOCKED = """
@agentdbg.agent
def run(order):
    deadline = time.monotonic() + 0.05
    turns = 0
    while time.monotonic() < deadline:
        turns += 1
        time.sleep(0.02)
    now = datetime.datetime.now(datetime.timezone.utc)
    text = f"{datetime.datetime.now()} {now} {time.time()} {uuid.uuid4()} {random.random()} {time.process_time_ns()}"
    text += f"{time.clock_gettime(time.CLOCK_REALTIME)} {time.clock_gettime_ns(time.CLOCK_PROCESS_CPUTIME_ID)}"
    ask(f"{text} {random.randint(1, 10**9)} {random.choice('abcdef')} {turns} {datetime.date.today()}")
    with ThreadPoolExecutor(2) as pool:
        list(pool.map(lambda i: ask(f"{uuid.uuid4()} {random.random()}"), range(2)))
    return text
"""


def test_clock_uuid_and_random_values_in_prompts(lab: ReplayLab) -> None:
    lab.record(TOOLS + CLOCKED + MAIN)
    for _ in range(3):
        outcome = lab.replay()
        assert outcome.verdict == "identical", outcome.reason


def test_a_clock_that_is_read_where_it_was_not_is_named_as_a_cause(lab: ReplayLab) -> None:
    agent = "@agentdbg.agent\ndef run(order):\n    return ask('at 1700000000.5')\n"
    lab.record(TOOLS + agent + MAIN)
    lab.write(TOOLS + agent.replace("'at 1700000000.5'", "f'at {time.time()}'") + MAIN)
    outcome = lab.replay()
    assert outcome.verdict == "diverged"
    assert outcome.first_divergence is not None
    assert outcome.first_divergence.cause == "clock"


@pytest.mark.wide
def test_clock_uuid_and_random_values_twenty_times(lab: ReplayLab) -> None:
    lab.record(TOOLS + CLOCKED + MAIN)
    assert [lab.replay().verdict for _ in range(20)] == ["identical"] * 20


KILLED = """
def die():
    os.kill(os.getpid(), signal.SIGKILL)

@agentdbg.tool(effect="external")
def refund(order, amount):
    ledger("refund")
    if MODE == "inside":
        die()
    return "refunded"

@agentdbg.agent
def run(order):
    found = look(order)
    agentdbg.checkpoint("read", {"found": found})
    refund(order, found["amount"])
    die()
    tell(order)
"""


@pytest.mark.parametrize("mode", ["inside", "between"])
def test_a_run_that_was_killed_agrees_as_far_as_it_goes(lab: ReplayLab, mode: str) -> None:
    text = TOOLS + f"MODE = {mode!r}\n" + KILLED + MAIN
    assert lab.record(text, ok=False).returncode == -signal.SIGKILL
    lab.write(text.replace("    os.kill(os.getpid(), signal.SIGKILL)", "    pass"))
    outcome = lab.replay()
    assert outcome.verdict == "recording_ended", outcome.reason
    assert "as far as the record goes" in outcome.reason
    lab.write(text.replace('{"found": found}', '{"found": 1}'))
    outcome = lab.replay()
    assert outcome.verdict == "diverged"
    assert outcome.reason.startswith("step 3, checkpoint read: $.found") or "$.found" in outcome.reason
    lab.write(
        text.replace('refund(order, found["amount"])', "pass").replace(
            "    os.kill(os.getpid(), signal.SIGKILL)", "    pass"
        )
    )
    outcome = lab.replay()
    assert outcome.verdict == "diverged", outcome.reason
    assert "expected tool refund" in outcome.reason


def test_an_ambient_effect_that_is_tolerated_stays_blocked_and_is_listed(lab: ReplayLab) -> None:
    agent = """
def beat():
    try:
        socket.create_connection(("127.0.0.1", int(os.environ["PORT"]))).close()
    except OSError:
        pass

@agentdbg.agent
def run(order):
    beat()
    beat()
    return look(order)
"""
    lab.record(TOOLS + agent + MAIN)
    outcome = lab.replay(tolerate=("socket.connect 127.0.0.1:*",))
    assert outcome.verdict == "identical"
    assert [effect["effect"] for effect in outcome.tolerated] == ["socket.connect"] * 2
    assert outcome.members()["counts"]["tolerated"] == 2  # type: ignore[index]
    assert lab.replay().verdict == "refused"


VALUES = """
import decimal
class Denied(Exception):
    def __init__(self, message, code):
        super().__init__(message, code)
        self.code = code

@agentdbg.tool(effect="read")
def give(kind):
    ledger(kind)
    if kind == "oserror":
        open("/no/such/file/anywhere")
    if kind == "key":
        {}["missing"]
    if kind == "unicode":
        b"\\xff".decode()
    if kind == "denied":
        raise Denied("not you", 403)
    if kind == "exit":
        raise SystemExit(7)
    return {
        "tuple": (1, (2, 3)), "date": datetime.datetime(2026, 1, 2, tzinfo=datetime.timezone.utc),
        "bytes": b"\\x00\\xff", "decimal": decimal.Decimal("1.10"), "set": {1, 2, 3}, "frozen": frozenset(("a",)),
        "big": 2**70, "nan": [1.0, 1, True],
        "surrogate": "\\udc00", "none": None, "keys": {1: "a", "1": "b"},
    }[kind]

@agentdbg.agent
def run(order):
    found = [repr(sorted(value) if isinstance(value := give(kind), (set, frozenset)) else value) for kind in
             "tuple date bytes decimal set frozen big nan surrogate none keys".split()]
    try:
        give("oserror")
    except FileNotFoundError as error:
        found.append((error.errno, error.strerror, str(error)[:9]))
    try:
        give("key")
    except KeyError as error:
        found.append(str(error))
    try:
        give("unicode")
    except UnicodeDecodeError as error:
        found.append((error.encoding, error.start, error.reason))
    try:
        give("denied")
    except Denied as error:
        found.append((str(error), type(error).__name__, error.args))
    try:
        give("exit")
    except SystemExit as error:
        found.append(error.code)
    tell(repr(found))
    return len(found)
"""


def test_results_and_errors_come_back_as_what_they_were(lab: ReplayLab) -> None:
    lab.record(TOOLS + VALUES + MAIN)
    outcome = lab.replay()
    assert outcome.verdict == "identical", outcome.reason


NESTED = """
@agentdbg.agent
def helper(n):
    return [look(f"{n}-{i}") for i in range(2)]

@agentdbg.agent
def run(order):
    with ThreadPoolExecutor(2) as pool:
        found = list(pool.map(helper, range(3)))
    tell(len(found))
    return helper("last")
"""


def test_nested_agents(lab: ReplayLab) -> None:
    lab.record(TOOLS + NESTED + MAIN)
    assert lab.replay().verdict == "identical"
    lab.write((TOOLS + NESTED + MAIN).replace('f"{n}-{i}"', 'f"{n}-{i}" if n != "last" else f"{n}_{i}"'))
    outcome = lab.replay()
    assert outcome.verdict == "diverged"
    assert outcome.first_divergence is not None
    assert (outcome.first_divergence.kind, outcome.first_divergence.path) == ("tool", "$.order")
    assert "expected last-0, got last_0" in outcome.reason


def test_a_run_that_is_lost_while_it_waits_is_found_out_later(lab: ReplayLab) -> None:
    text = (
        TOOLS
        + "@agentdbg.agent\ndef run(order):\n    look(order)\n    print('ready', flush=True)\n    time.sleep(60)\n"
        + MAIN
    )
    program = lab.write(text)
    env = {**os.environ, **lab.environment(), "AGENTDBG_RUN_ID": "run-1"}
    child = subprocess.Popen([sys.executable, str(program)], cwd=lab.place, env=env, stdout=subprocess.PIPE)
    assert child.stdout is not None
    with child.stdout as stream:
        stream.readline()
        child.kill()
        child.wait()
    assert time.time() > 0
    outcome = lab.replay()
    assert outcome.verdict == "recording_ended", outcome.reason


@pytest.mark.parametrize(
    ("expected", "got", "shown"),
    [
        ("two  words", "two words", "expected 'two  words', got 'two words'"),
        ("end", "end ", "expected 'end', got 'end '"),
        ("a\nb", "a\r\nb", r"expected 'a\nb', got 'a\r\nb'"),
        ("caf\u00e9", "cafe\u0301", r"expected 'caf\xe9', got 'cafe\u0301'"),
        ("x" * 300 + " y", "x" * 300 + "  y", "…'" + "x" * 29 + "  y'"),
        ("one", "two", "expected one, got two"),
    ],
)
def test_what_cannot_be_seen_is_spelled_out(expected: str, got: str, shown: str) -> None:
    assert shown in in_words(Divergence(2, "s", "model", "m", "$.x", expected, got, "input.history"))


def test_an_address_in_memory_is_no_difference_of_errors_and_named_as_a_cause_elsewhere(lab: ReplayLab) -> None:
    program = """\
    import agentdbg

    @agentdbg.tool(effect="read")
    def look(what):
        return what

    @agentdbg.agent
    def run(order):
        if order == "error":
            raise ValueError(f"what is {object()}")
        return look(repr(object()))

    if __name__ == "__main__":
        import sys
        run(sys.argv[1])
    """
    lab.record(program, "error", ok=False)
    assert lab.replay().verdict == "identical"
    lab.record(program, "look")
    outcome = lab.replay("run-2")
    assert outcome.first_divergence is not None
    assert (outcome.verdict, outcome.first_divergence.cause) == ("diverged", "environment")
    assert ADDRESS in outcome.notes

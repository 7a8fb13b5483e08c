"""A running replay under control: held, stepped, run to, looked into, ended; whatever the program does meanwhile."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest

from agentdbg.model.records import Kind
from agentdbg.replay.regression_lane import Question
from agentdbg.replay.run import ReplayOptions, ReplayRefused
from agentdbg.replay.session import CannotDo, ReplaySession, abort_all
from agentdbg.replay.session_events import (
    Diverged,
    Ended,
    Inspected,
    NoCall,
    NotDone,
    Paused,
    Printed,
    Refused,
    Released,
    Stepped,
)
from agentdbg.store.address import open_store
from tests.support.replay_lab import SRC, ReplayLab
from tests.support.replay_sessions import DESK, followed


def test_a_replay_is_stepped_from_call_to_call(lab: ReplayLab) -> None:
    lab.record(DESK)
    with followed(lab, pause=True) as replay:
        session = replay.session
        first = replay.paused()
        assert (first.call.recorded, first.call.kind, first.call.name, first.why) == (2, "tool", "look", "pause")
        assert session.state == "paused"
        frame = first.where[0]
        assert (frame.function, frame.source, frame.own) == ("run", "found = look(order)", True)
        assert dict(frame.locals) == {"order": "'o-1'", "customer": "<__main__.Customer>"}
        session.step()
        assert replay.paused().call.name == "refund"
        session.step()
        assert replay.paused().call.recorded == 5
        session.cont()
        ended = replay.until(Ended)
    assert session.wait().verdict == "identical"
    assert ended.outcome is not None and ended.outcome.notes == ()
    assert [event.call.recorded for event in replay.all(Stepped)] == [2, 3, 5]
    assert len(replay.all(Released)) == 3
    assert "".join(event.text for event in replay.all(Printed)) == "begins\npaid paid\n"
    assert session.state == "over"


def test_it_runs_to_a_step_and_to_breakpoints(lab: ReplayLab) -> None:
    lab.record(DESK)
    with followed(lab, pause=True) as replay:
        session = replay.session
        replay.paused()
        with pytest.raises(CannotDo, match="no call at or after step 6"):
            session.run_to(6)
        with pytest.raises(CannotDo, match="stands before step 2"):
            session.run_to(1)
        assert session.run_to(4) == 5  # step 4 is what refund did: nothing that a replay meets
        found = replay.paused()
        assert (found.call.recorded, found.why) == (5, "run to")
        with pytest.raises(CannotDo, match="replayed already"):
            session.run_to(3)
        with pytest.raises(CannotDo, match="refuse cannot be done"):
            session.decide("refuse")
        session.decide("go")
        replay.until(Ended)
    for stop, expected in (({"name": "refund"}, 3), ({"kind": "tool", "error": True}, 5)):
        with followed(lab, stops=[stop]) as replay:
            found = replay.paused()
            assert (found.call.recorded, found.why) == (expected, "breakpoint")
            replay.session.set_stops([])
            replay.session.cont()
            replay.until(Ended)
        assert replay.session.wait().verdict == "identical"


def test_it_is_held_before_it_leaves_the_recorded_path(lab: ReplayLab) -> None:
    lab.record(DESK)
    lab.write(DESK.replace('found["total"])', "99)"))
    with followed(lab, stops=[{"divergence": True}]) as replay:
        found = replay.paused()
        assert (found.call.name, found.call.recorded, found.problem) == ("refund", None, "not in the record")
        assert dict(found.where[0].locals)["found"] == "{'id': 'o-1', 'total': 120}"
        replay.session.step()
        assert replay.until(Diverged).name == "refund"
        replay.until(Ended)
    assert replay.session.wait().verdict == "diverged"


def test_a_person_looks_into_the_program(lab: ReplayLab) -> None:
    lab.record(DESK)
    with followed(lab, pause=True) as replay:
        replay.paused()
        replay.session.step()
        replay.paused()
        said = []
        for line in ("p found['total'] + 1", "q", "p nothing"):
            replay.session.inspect(line)
            said.append(replay.until(Inspected).text)
        assert said[0] == "121\n"
        assert "the replay stays where it is" in said[1]
        assert "NameError" in said[2]
        replay.session.inspect("p open(os.environ['OUTSIDE'] + '/mine', 'w')")
        assert replay.until(Refused).effect == "open"
        replay.session.cont()
        replay.until(Ended)
    outcome = replay.session.wait()
    assert outcome.verdict == "identical"  # the guard held what a person typed, which is not the program's doing
    assert outcome.reason.endswith("; a person used pdb in it")
    assert any("a person had code evaluated" in words for words in outcome.notes)


def test_it_is_stopped_and_what_there_is_of_it_is_kept(lab: ReplayLab) -> None:
    lab.record(DESK)
    with followed(lab, pause=True) as replay:
        replay.paused()
        replay.session.step()
        replay.paused()
        replay.session.abort()
        replay.until(Ended)
    outcome = replay.session.wait()
    assert outcome.verdict == "aborted"
    assert "in step 3, tool refund" in outcome.reason
    assert outcome.replay_run is not None
    kept = lab.run(outcome.replay_run)
    assert kept.summary().verdict == "aborted"
    assert [step.name for step in kept.steps()] == ["run", "look", "refund"]


def test_a_program_that_hangs_is_stopped_too(lab: ReplayLab) -> None:
    lab.record(DESK)
    lab.write(DESK.replace("found = look(order)", "found = look(order)\n    while True: pass"))
    with followed(lab) as replay:
        replay.until(Stepped)
        abort_all()
        replay.until(Ended)
    assert replay.session.wait().verdict == "aborted"


def test_a_crash_a_fork_and_a_flood(lab: ReplayLab) -> None:
    lab.record(DESK)
    for change, verdict in (("os._exit(7)", "crashed"), ("os.fork()", "refused")):
        lab.write(DESK.replace('print("begins", flush=True)', change))
        with followed(lab) as replay:
            replay.until(Ended)
        assert replay.session.wait().verdict == verdict
    flood = "[print('x' * 100_000, flush=True) for _ in range(200)]"
    lab.write(DESK.replace('print("begins", flush=True)', flood))
    with followed(lab) as replay:
        replay.until(Ended)
    assert replay.session.wait().verdict == "identical"
    printed = replay.all(Printed)
    assert sum(len(event.text) for event in printed) + sum(event.skipped for event in printed) == 200 * 100_001 + 10
    assert sum(len(event.text) for event in printed) < 4_000_000


def test_what_is_not_run_says_why(lab: ReplayLab) -> None:
    lab.record(DESK)
    file = lab.store / "runs" / "run-1" / "run.json"
    file.write_text(file.read_text().replace('"seal":"', '"seal":"0'))
    with followed(lab) as replay:
        ended = replay.until(Ended)
    assert ended.refused and "--trust" in ended.error
    with pytest.raises(ReplayRefused):
        replay.session.wait()


def test_events_are_there_without_a_listener_and_under_the_kernels_layers(lab: ReplayLab) -> None:
    lab.record(DESK)
    options = ReplayOptions("auto", 30, False, (), open_store(str(lab.store)))
    session = ReplaySession(lab.run(), options, stops=[{"name": "refund"}])
    session.start()
    for event in session.events():
        if isinstance(event, Paused):
            session.cont()
    ended = session.ended
    assert ended is not None
    if ended.outcome is None:
        pytest.skip(ended.error)  # a kernel without the layers
    assert ended.outcome.verdict == "identical"
    assert "seccomp" in ended.outcome.guard


def test_a_person_decides_about_the_calls_of_a_regression(lab: ReplayLab) -> None:
    lab.record(DESK)
    with followed(lab, start=2, pause=True) as replay:
        held = replay.paused()
        assert held.call.name == "look" and {"result", "refuse"} <= set(held.choices)
        replay.session.decide("result", {"id": "o-1", "total": 7})
        held = replay.paused()
        assert dict(held.where[0].locals)["found"] == "{'id': 'o-1', 'total': 7}"
        replay.session.cont()
        replay.until(Ended)
    outcome = replay.session.wait()
    assert (outcome.mode, outcome.denied) == ("regression", 1)  # a refund of 7 is not in the record: nobody paid
    assert next(event.action for event in replay.all(Released)) == "result"


PARALLEL = """\
import threading
import agentdbg

@agentdbg.tool(effect="read")
def ask(name):
    return name

@agentdbg.agent
def run():
    order = []
    def work(i):
        order.append(ask(str(i)))
    threads = []
    for i in (2, 0, 1):
        threads.append(threading.Thread(target=work, args=(i,)))
        threads[-1].start()
        threads[-1].join()
    together = [threading.Thread(target=lambda n=n: order.append(ask(n))) for n in "abc"]
    for each in together:
        each.start()
    for each in together:
        each.join()
    return order

if __name__ == "__main__":
    run()
"""


def test_holding_changes_no_order(lab: ReplayLab) -> None:
    lab.record(PARALLEL)
    with followed(lab, pause=True) as replay:
        held = 0
        while not isinstance(replay.until_any(Paused, Ended), Ended):
            held += 1
            replay.session.step()
    assert replay.session.wait().verdict == "identical"
    assert held == 6


def test_the_child_ends_with_its_parent(lab: ReplayLab) -> None:
    lab.record(DESK.replace("begins", "pid").replace('print("pid"', 'print("pid", os.getpid()'))
    script = (
        "import sys\n"
        "from agentdbg.replay.run import ReplayOptions\n"
        "from agentdbg.replay.session import ReplaySession\n"
        "from agentdbg.store.address import open_store, resolve\n"
        f"store = open_store({str(lab.store)!r})\n"
        "options = ReplayOptions('audit', 60, False, (), store)\n"
        "session = ReplaySession(resolve(store, 'run-1'), options, pause=True)\n"
        "session.start()\n"
        "for event in session.events():\n"
        "    print(getattr(event, 'text', ''), end='', flush=True)\n"
    )
    env = {**os.environ, **lab.environment(), "PYTHONPATH": str(SRC)}
    parent = subprocess.Popen([sys.executable, "-c", script], stdout=subprocess.PIPE, env=env, text=True)
    assert parent.stdout is not None
    child = int(parent.stdout.readline().split()[1])
    parent.send_signal(signal.SIGKILL)
    parent.wait()
    parent.stdout.close()
    deadline = time.monotonic() + 10
    while Path(f"/proc/{child}").exists() and "State:\tZ" not in Path(f"/proc/{child}/status").read_text():
        assert time.monotonic() < deadline
        time.sleep(0.02)


DECIDED = """\
import dataclasses
import agentdbg

@dataclasses.dataclass
class Order:
    id: str
    total: int

@agentdbg.tool(effect="read")
def look(order, deep=False, *, hint="none"):
    print("looks for", order, deep, hint, flush=True)
    return Order(order, len(order))

@agentdbg.tool(effect="write")
def refund(order, amount):
    raise SystemExit("a write was made")

class Desk:
    @agentdbg.tool(effect="read", name="ask")
    def ask(self, *words, **more):
        print("asks", *words, more, flush=True)
        return self.answer(*words)

    def answer(self, *words):
        return " ".join(words)

@agentdbg.tool(effect="read")
def pages(count):
    yield from range(count)

@agentdbg.agent
def run(order):
    found = look(order, deep=True)
    said = Desk().ask("who", "is", it=order)
    seen = list(pages(2))
    agentdbg.final_state({"found": [type(found).__name__, found.id, found.total], "said": said, "seen": seen})
    return found.total

if __name__ == "__main__":
    run("o-1")
"""


def test_a_person_gives_other_arguments_to_the_calls_of_a_regression(lab: ReplayLab) -> None:
    lab.record(DECIDED)
    with followed(lab, start=1, pause=True) as replay:
        session = replay.session
        held = replay.paused()
        assert "arguments" in held.choices and held.arguments == {"order": "o-1", "deep": True, "hint": "none"}
        for wrong, words in (
            ({"orders": 1}, "no argument 'orders'"),
            ([1], "a mapping"),
            ({"order": object()}, "encod"),
        ):
            with pytest.raises(CannotDo, match=words):
                session.decide("arguments", wrong)
        session.decide("arguments", {"order": "other-order", "hint": "yes"})
        assert replay.paused().call.name == "ask"
        session.decide("arguments", {"words": ("who", "else"), "more": {"it": "o-2"}})
        assert replay.paused().call.name == "pages"
        session.decide("arguments", {"count": 3})
        replay.until(Ended)
    printed = "".join(event.text for event in replay.all(Printed))
    assert "looks for other-order True yes" in printed
    assert "asks who else {'it': 'o-2'}" in printed
    outcome = session.wait()
    assert outcome.verdict == "changed" and "replaced by a person: arguments of step 2 look" in outcome.reason
    assert [(each["step"], each["path"], each["held"]) for each in outcome.edits] == [
        (2, "arguments", True), (3, "arguments", True), (4, "arguments", True)
    ]  # fmt: skip
    made = lab.run(outcome.replay_run or "")
    assert made.summary().meta["edits"] == [dict(each) for each in outcome.edits]
    final = next(step for step in made.steps() if step.kind is Kind.CHECKPOINT)
    assert final.arguments is not None
    assert json.loads(made.body(final.arguments)) == {
        "found": ["Order", "other-order", 11], "said": "who else", "seen": [0, 1, 2]
    }  # fmt: skip
    look = made.steps()[1]
    assert (look.attrs["edited"], look.attrs["arguments"]) == (True, {"order": "other-order", "hint": "yes"})


def test_a_person_gives_results_as_values_of_the_program(lab: ReplayLab) -> None:
    lab.record(DECIDED)
    with followed(lab, start=1, pause=True) as replay:
        session = replay.session
        held = replay.paused()
        recorded = session.recorded_result(held)
        assert isinstance(recorded, dict) and "Order" in json.dumps(recorded)
        session.decide("result", json.loads(json.dumps(recorded).replace('"o-1"', '"o-9"')), encoded=True)
        assert replay.paused().call.name == "ask"
        session.decide("refuse")
        replay.until(Ended)
    outcome = session.wait()
    assert [(each["step"], each["path"]) for each in outcome.edits] == [(2, "result")]
    made = lab.run(outcome.replay_run or "")
    look, ask = made.steps()[1:3]
    assert look.attrs["edited"] is True and look.result is not None
    assert b"o-9" in made.body(look.result)
    assert ask.error is not None and ask.error.type == "CallRefused"


def test_a_call_is_held_still_when_what_is_decided_cannot_be_done(lab: ReplayLab) -> None:
    lab.record(DESK)
    with followed(lab, start=1, pause=True) as replay:
        first = replay.paused()
        gone = {"$": "object", "v": {"type": "__main__.Gone", "members": {}}}
        replay.session.decide("arguments", {"order": gone}, encoded=True)
        replay.until(NotDone)
        assert replay.paused().call == first.call
        replay.session.cont()
        replay.until(Ended)
    assert replay.session.wait().edits == ()


def test_a_regression_is_stopped_in_its_control_lane_too(lab: ReplayLab, monkeypatch: pytest.MonkeyPatch) -> None:
    cache = lab.place.with_name(f"{lab.place.name}-cache")
    monkeypatch.setenv("XDG_CACHE_HOME", str(cache))
    lab.record(DESK)
    lab.write(DESK.replace("found = look(order)", "found = look(order)\n    while True: pass"))
    cache.mkdir()
    made, deadline = lab.store / "runs", time.monotonic() + 20
    with followed(lab, start=2) as replay:
        while not any(cache.glob("agentdbg/replays/*/store/runs/*/run.json")) and time.monotonic() < deadline:
            time.sleep(0.02)
        assert replay.session.state == "running"
        replay.session.abort()
        replay.until(Ended)
    outcome = replay.session.wait()
    assert (outcome.verdict, outcome.mode) == ("aborted", "regression")
    assert sorted(each.name for each in made.iterdir()) == ["run-1", "run-1.regression-1"]
    assert list((cache / "agentdbg" / "replays").iterdir()) == []


def test_it_is_stopped_before_anything_began(lab: ReplayLab) -> None:
    lab.record(DESK)
    for start in (None, 2):
        with followed(lab, start=start) as replay:
            replay.session.abort()
            replay.until(Ended)
        assert replay.session.wait().verdict == "aborted"


def test_a_regression_that_differs_nowhere_can_be_held_all_the_same(lab: ReplayLab) -> None:
    lab.record(DESK)
    with followed(lab, live=True, stops=[{"step": 3}]) as replay:
        held = replay.paused()
        assert (held.call.recorded, held.why) == (3, "breakpoint")
        replay.session.cont()
        replay.until(Ended)
    assert replay.session.wait().verdict == "unaffected"


def test_a_breakpoint_on_a_step_that_is_not_there_is_refused(lab: ReplayLab) -> None:
    lab.record(DESK)
    for number in (0, 99, "x"):
        with pytest.raises(CannotDo, match="steps 1 to 5"), followed(lab, stops=[{"step": number}]):
            pass


NESTED = """\
import agentdbg

@agentdbg.tool(effect="read")
def inner(word):
    return word

@agentdbg.tool(effect="read")
def outer(word):
    return inner(word) + "!"

@agentdbg.agent
def desk(word):
    return outer(word)

@agentdbg.agent
def run():
    return desk("a")

if __name__ == "__main__":
    run()
"""


def test_calls_inside_a_live_tool_are_held_too(lab: ReplayLab) -> None:
    lab.record(NESTED)
    with followed(lab, start=1, pause=True) as replay:
        names = []
        while not isinstance(event := replay.until_any(Paused, Ended), Ended):
            assert isinstance(event, Paused)
            names.append(event.call.name)
            replay.session.step()
    assert names == ["outer", "inner"]
    assert replay.session.wait().verdict == "same"
    with followed(lab, pause=True) as replay:  # in an exact replay the outer call is served as a whole
        assert replay.paused().call.name == "outer"
        replay.session.step()
        replay.until(Ended)
    assert replay.session.wait().verdict == "identical"


@pytest.mark.parametrize("busy", ["while not stop: pass", "import threading; threading.Event().wait(60)"])
def test_a_program_that_makes_no_call_is_said_to_make_none(lab: ReplayLab, busy: str) -> None:
    lab.record(DESK)
    lab.write(DESK.replace("paid = refund", f"stop = False\n    {busy}\n    paid = refund"))
    with followed(lab) as replay:
        replay.until(Stepped)
        replay.session.pause()
        where = replay.until(NoCall).where
        assert [(frame.function, frame.source) for frame in where] == [("run", busy)]
        assert replay.session.state == "running"
        replay.session.abort()
        replay.until(Ended)
    assert replay.session.wait().verdict == "aborted"


ASKS = """\
import os
import agentdbg

@agentdbg.agent
def run():
    said = agentdbg.approval("pay 5?", decide=lambda: "approved", who="ann")
    with open(os.environ["OUTSIDE"] + "/said", "a") as file:
        file.write(said)
    return said

if __name__ == "__main__":
    run()
"""


def test_a_question_that_nobody_answers_does_not_hold_up_the_end(lab: ReplayLab) -> None:
    lab.record(ASKS)
    lab.write(ASKS.replace("pay 5?", "pay 7?"))
    asked, never = threading.Event(), threading.Event()

    def person(question: Question) -> str | None:
        asked.set()
        never.wait(60)
        return "approved"

    with followed(lab, live=True, person=person) as replay:
        assert asked.wait(30)
        replay.session.abort()
        assert replay.session.wait(30).verdict == "aborted"
    never.set()
    found = lab.run(str(replay.session.wait().replay_run))
    assert [(step.name, step.status.value) for step in found.steps()] == [("run", "open"), ("pay 7?", "open")]

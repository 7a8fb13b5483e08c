"""What threads hand to each other is noted in order, and nothing changes for the program."""

from __future__ import annotations

import json
from pathlib import Path

from agentdbg.recording.handoffs import CUT, MOST_WAITING, Notes
from agentdbg.recording.scope import Lane, Scope
from tests.support.recorded import run

HEAD = """
import asyncio, concurrent.futures, inspect, queue, threading, time
import agentdbg

@agentdbg.tool(effect="read")
def look(n):
    return n

@agentdbg.tool(effect="read")
def inner(n):
    q = queue.Queue()
    t = threading.Thread(target=q.put, args=(n,))
    t.start()
    t.join()
    return q.get()

"""


def noted(folder: Path) -> list[list[object]]:
    """All hand-offs of the only run, in order."""
    found: list[list[object]] = []
    for path in (folder / "store").glob("runs/*/events/*"):
        for line in path.read_text().splitlines():
            found.extend(json.loads(line).get("handoffs", ()) if line else ())
    return found


def test_hand_offs_are_noted_with_their_lanes(tmp_path: Path) -> None:
    run(
        tmp_path,
        HEAD
        + """
@agentdbg.agent
def desk():
    q, done = queue.Queue(), threading.Event()
    q.put("before any thread")
    def work():
        look(q.get())
        done.set()
    t = threading.Thread(target=work)
    t.start()
    done.wait()
    t.join()
    q.put(2)
    try:
        q.get_nowait()
        q.get(timeout=0.01)
    except queue.Empty:
        pass
desk()
""",
    )
    found = noted(tmp_path)
    assert [each[:2] for each in found if each[0] == "0.0"] == [["0.0", "get"], ["0.0", "set"], ["0.0", "ends"]]
    assert [each[1] for each in found if each[0] == "0"] == ["wait", "join", "put", "get", "get"]
    assert found.index(["0.0", "set"]) < found.index(["0", "wait"])
    in_vain = found[-1]
    assert isinstance(in_vain[2], int) and in_vain[2] is not False


def test_nothing_is_noted_without_threads_or_inside_of_calls(tmp_path: Path) -> None:
    run(
        tmp_path,
        HEAD
        + """
@agentdbg.agent
def desk():
    q = queue.Queue()
    q.put(inner(1))
    return q.get(), threading.Event().is_set(), hasattr(queue.Queue.put, "__wrapped__")
assert desk() == (1, False, False)
""",
    )
    assert noted(tmp_path) == []


def test_polls_in_a_row_are_one_note_and_there_is_a_most(tmp_path: Path) -> None:
    notes = Notes()
    for _ in range(5):
        notes.add("0", "is_set", False)
    notes.add("0", "is_set")
    scope = Scope(None, None, Lane())  # type: ignore[arg-type]  # of no run
    assert notes.beside(scope, {})["handoffs"] == [["0", "is_set", False, 5], ["0", "is_set"]]
    assert notes.beside(scope, {"a": 1}) == {"a": 1}
    for n in range(MOST_WAITING + 10):
        notes.add(str(n % 2), "put")
    found = notes.beside(scope, {})["handoffs"]
    assert isinstance(found, list) and len(found) == MOST_WAITING + 1 and found[-1] == ["", CUT]
    notes.add("0", "put")
    assert notes.beside(scope, {}) == {}

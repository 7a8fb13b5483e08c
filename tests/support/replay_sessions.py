"""Replays under control, for tests: started, followed to their next pause or their end."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from queue import Empty, SimpleQueue
from typing import Any, TypeVar

from agentdbg.replay.regression import RegressionOptions
from agentdbg.replay.regression_lane import Person
from agentdbg.replay.run import ReplayOptions
from agentdbg.replay.session import ReplaySession
from agentdbg.replay.session_events import Ended, Event, Paused
from agentdbg.store.address import open_store
from tests.support.replay_lab import ReplayLab, _environment

T = TypeVar("T", bound=Event)
DESK = """\
import os
import agentdbg

class Customer:
    def __repr__(self):
        raise SystemExit("shown")

@agentdbg.tool(effect="read")
def look(order):
    return {"id": order, "total": 120}

@agentdbg.tool(effect="write")
def refund(order, amount):
    with open(os.environ["OUTSIDE"] + "/ledger", "a") as file:
        file.write("paid\\n")
    return "paid"

@agentdbg.tool(effect="read")
def check(order):
    raise LookupError("no such order")

@agentdbg.agent
def run(order):
    customer = Customer()
    print("begins", flush=True)
    found = look(order)
    paid = refund(order, found["total"])
    print("paid", paid, flush=True)
    try:
        check(order)
    except LookupError:
        pass
    return paid

if __name__ == "__main__":
    run("o-1")
"""
"""Steps: 1 agent, 2 look, 3 refund (4: its file), 5 check, which failed."""


class Followed:
    """A session and what it said so far."""

    def __init__(self, session: ReplaySession, queue: SimpleQueue[Event]) -> None:
        self.session = session
        self.seen: list[Event] = []
        self._queue = queue

    def until(self, kind: type[T], wanted: Callable[[T], bool] = lambda event: True) -> T:
        """The next event of a kind."""
        while True:
            try:
                event = self._queue.get(timeout=30)
            except Empty:
                raise AssertionError(f"no {kind.__name__} after {self.seen[-5:]}") from None
            self.seen.append(event)
            if isinstance(event, kind) and wanted(event):
                return event
            assert not isinstance(event, Ended), event

    def until_any(self, *kinds: type[Event]) -> Event:
        """The next event of one of several kinds."""
        while True:
            event = self._queue.get(timeout=30)
            self.seen.append(event)
            if isinstance(event, kinds):
                return event

    def paused(self) -> Paused:
        """The next pause."""
        return self.until(Paused)

    def all(self, kind: type[T]) -> list[T]:
        """Everything of a kind that was seen."""
        return [event for event in self.seen if isinstance(event, kind)]


@contextmanager
def followed(
    lab: ReplayLab,
    address: str = "run-1",
    *,
    guard: str = "audit",
    timeout: float = 30,
    start: int | None = None,
    live: bool = False,
    person: Person | None = None,
    **settings: Any,
) -> Iterator[Followed]:
    """A session of a recorded run, started; ended at the end of the block, with nothing changed outside.

    With ``start``: a regression replay, live from that step on; ``live``: from where a model input differs.
    """
    source = lab.run(address)
    queue: SimpleQueue[Event] = SimpleQueue()
    options = ReplayOptions(guard, timeout, False, (), open_store(str(lab.store)))
    with lab.untouched(Path(source.root)), _environment(lab.environment()):
        wanted = RegressionOptions(options, start=start, person=person) if live or start is not None else options
        session = ReplaySession(source, wanted, listener=queue.put, **settings)
        session.start()
        try:
            yield Followed(session, queue)
        finally:
            session.abort()
            session._over.wait(20)
            session._thread.join(20)
            source.close()

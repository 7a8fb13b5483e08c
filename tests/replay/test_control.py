"""Calls that a person holds: their own thread or task alone, in no other order, for no time."""

from __future__ import annotations

import _thread
import asyncio
import os
import socket
import threading
import time
from collections.abc import Callable, Mapping
from math import inf

import pytest

from agentdbg.model.records import Kind
from agentdbg.recording.calls import Call
from agentdbg.replay import thread_order as orders
from agentdbg.replay.cassette import RecordedCall
from agentdbg.replay.child_process import ControlPair, _listen
from agentdbg.replay.child_report import ChildReport
from agentdbg.replay.control import MARK, Control, Decision, Expected
from agentdbg.replay.kernel_watch import KernelWatch
from agentdbg.replay.pauses import Pauses


class Told:
    """What the parent would hear, and how many calls are held."""

    def __init__(self) -> None:
        self.messages: list[Mapping[str, object]] = []
        self.held = 0
        self._changed = threading.Condition()

    def tell(self, message: Mapping[str, object]) -> None:
        with self._changed:
            self.messages.append(message)
            self._changed.notify_all()

    def hold(self, more: int) -> None:
        self.held += more

    def count(self, event: str) -> int:
        return sum(message["event"] == event for message in self.messages)

    def until(self, event: str, count: int = 1) -> None:
        with self._changed:
            assert self._changed.wait_for(lambda: self.count(event) >= count, 10)


def call(step: str, name: str = "look", kind: Kind = Kind.TOOL) -> Call:
    return Call(step, kind, name, None, "0", "fp1:x", "", "")


def thread(work: Callable[[], object]) -> threading.Thread:
    made = threading.Thread(target=work)
    made.start()
    return made


def test_nothing_is_held_unless_somebody_asks() -> None:
    told = Told()
    pauses = Pauses(told.tell, {}, told.hold)
    assert pauses.before(call("a"), Expected()) == Decision("go")
    assert [message["event"] for message in told.messages] == ["step"]
    pauses.take({"do": "pause"})
    pauses.take({"do": "nonsense"})
    holder = thread(lambda: pauses.before(call("b"), Expected("r1")))
    told.until("paused")
    assert (pauses.holding, told.held) == (True, 1)
    assert told.messages[-1]["recorded"] == "r1"
    pauses.take({"do": "continue"})
    holder.join()
    assert (pauses.holding, told.held) == (False, 0)


def test_of_several_held_calls_the_one_that_ended_first_goes_first() -> None:
    told, done = Told(), []
    pauses = Pauses(told.tell, {"pause": True}, told.hold)

    def ask(step: str, place: float) -> None:
        pauses.before(call(step), Expected(step, place))
        done.append(step)

    threads = []
    for number, (step, place) in enumerate((("late", 9.0), ("never", inf), ("soon", 4.0)), 1):
        threads.append(thread(lambda step=step, place=place: ask(step, place)))  # type: ignore[misc]
        told.until("paused", number)
    for number in (1, 2, 3):
        pauses.take({"do": "step"})
        told.until("released", number)
    for each in threads:
        each.join()
    released = [message["step"] for message in told.messages if message["event"] == "released"]
    assert released == ["soon", "late", "never"]


def test_a_task_is_held_while_its_loop_goes_on() -> None:
    told = Told()

    async def both(blocks: bool) -> int:
        pauses = Pauses(told.tell, {"pause": True}, told.hold)
        asked = asyncio.create_task(pauses.before_async(call("a"), Expected("a", blocks=blocks)))
        turns = 0
        freed = threading.Timer(0.1, lambda: pauses.take({"do": "step"}))
        freed.start()
        while not asked.done():
            turns += 1
            await asyncio.sleep(0.001)
        freed.join()
        return turns

    assert asyncio.run(both(False)) > 5
    assert asyncio.run(both(True)) <= 3  # it stood still while recording, so it does now


def test_a_cancelled_task_is_held_no_longer() -> None:
    told = Told()

    async def cancelled() -> bool:
        pauses = Pauses(told.tell, {"pause": True}, told.hold)
        task = asyncio.create_task(pauses.before_async(call("a"), Expected("a")))
        await asyncio.sleep(0.01)
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)
        return pauses.holding

    assert asyncio.run(cancelled()) is False
    assert told.held == 0


def test_a_person_decides_what_the_answerer_can_do() -> None:
    told, found = Told(), []
    pauses = Pauses(told.tell, {"stops": [{"kind": "model"}]}, told.hold)
    expected = Expected(choices=("refuse", "result"))
    assert pauses.before(call("t"), expected).action == "go"
    holder = thread(lambda: found.append(pauses.before(call("m", kind=Kind.MODEL), expected)))
    told.until("paused")
    pauses.take({"do": "decide", "call": "m", "action": "live"})
    pauses.take({"do": "decide", "call": "other", "action": "refuse"})
    assert pauses.holding
    pauses.take({"do": "decide", "call": "m", "action": "result", "value": {"a": 1}})
    holder.join()
    assert found == [Decision("result", {"a": 1})]


def test_nobody_is_held_once_the_replay_is_over() -> None:
    told = Told()
    pauses = Pauses(told.tell, {"pause": True}, told.hold)
    holder = thread(lambda: pauses.before(call("a"), Expected()))
    told.until("paused")
    pauses.release_all()
    holder.join()
    assert pauses.before(call("b"), Expected()).action == "go"


@pytest.mark.parametrize("stop", [{}, {"color": "red"}, {"kind": "tool", "name": "other"}, {"error": True}])
def test_a_breakpoint_that_means_another_call_holds_nothing(stop: dict[str, object]) -> None:
    told = Told()
    assert Pauses(told.tell, {"stops": [stop]}, told.hold).before(call("a"), Expected()).action == "go"


def test_patience_with_the_order_ends_only_while_nobody_is_held(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(orders, "STALL_S", 0.05)
    two = [RecordedCall(f"r{n}", "tool", "look", "0", "fp", "", n, n + 2, "ok") for n in (0, 1)]
    order = orders.ThreadOrder(two, lambda: None)
    for each in two:
        order.asked(each)
    order.hold(1)
    waiter = thread(lambda: order.wait(3))
    waiter.join(0.2)
    assert waiter.is_alive()
    assert not order.lost
    order.hold(-1)
    order.take(2)
    waiter.join()
    assert not order.lost


class Watching:
    """A watcher who waits for as long as told."""

    def __init__(self, seconds: float) -> None:
        self._until = time.monotonic() + seconds

    def settings(self) -> Mapping[str, object]:
        return {}

    def attached(self, control: object, made: object) -> None:
        pass

    def heard(self, message: Mapping[str, object]) -> None:
        pass

    def printed(self, data: bytes) -> None:
        pass

    def waits(self) -> bool:
        return time.monotonic() < self._until

    def aborted(self) -> bool:
        return False


@pytest.mark.parametrize("held", [0.0, 0.25])
def test_the_time_limit_stands_still_while_a_call_is_held(held: float) -> None:
    with ControlPair() as control:
        report, began = ChildReport(), time.monotonic()
        watch = Watching(held)
        _listen(control, report, began + 0.05, KernelWatch(report.messages.append, os.getpid(), ()), watch, None)
        assert report.timed_out
        assert time.monotonic() - began >= 0.05 + held * 0.8


def test_commands_that_come_early_wait_for_the_child() -> None:
    with ControlPair() as control:
        control.send({"do": "pause"})
        mark = control.theirs.recv(MARK)
        assert mark == control.mark
        control.theirs.setblocking(False)
        with pytest.raises(BlockingIOError):
            control.theirs.recv(1)
        control.open()
        assert control.theirs.recv(100) == b'{"do": "pause"}\n'


def test_a_listener_takes_no_nonsense_and_leaves_a_foreign_descriptor_alone() -> None:
    ours, theirs = socket.socketpair()
    ours.sendall(b"m" * MARK)
    channel, taken = Control(theirs.fileno()), []
    done = threading.Event()

    def take(command: Mapping[str, object]) -> None:
        taken.append(command["do"])
        if command["do"] == "end":
            done.set()

    before = _thread._count()
    channel.listen(take)
    ours.sendall(b'nonsense\n[1]\n{"no": 1}\n{"do": "pause"}\n{"do": "end"}\n')
    assert done.wait(10)
    assert taken == ["pause", "end"]
    with open(os.devnull, "rb") as other:
        os.dup2(other.fileno(), theirs.fileno())  # as a program does that closes what it does not know
    ours.close()
    while _thread._count() > before:  # the listener ends, and not the process
        time.sleep(0.01)
    theirs.detach()
    channel.tell({"event": "to nobody"})
    os.close(channel._fd)

"""The child's part of a regression replay: it asks its parent, and lets through what may be reached."""

from __future__ import annotations

import _socket
import threading
from collections.abc import Iterator, Mapping
from typing import Any

import pytest

from agentdbg.replay.cassette import Cassette
from agentdbg.replay.regression_child import Asker, RegressionChild

EMPTY = Cassette((), (), {}, (), False)


@pytest.fixture(autouse=True)
def plain_look_ups() -> Iterator[None]:
    before = _socket.getaddrinfo
    yield
    _socket.getaddrinfo = before


def test_a_reply_finds_the_one_that_asked() -> None:
    told: list[Mapping[str, Any]] = []

    def parent(message: Mapping[str, object]) -> None:
        told.append(message)
        threading.Thread(
            target=asker.take, args=({"do": "reply", "ask": message["ask"], "answer": message["n"]},)
        ).start()

    asker = Asker(parent)
    assert [asker.ask({"n": number})["answer"] for number in (1, 2)] == [1, 2]
    assert [message["ask"] for message in told] == [1, 2]
    asker.take({"ask": 99, "answer": "nobody asked"})


def test_declared_addresses_are_let_through_and_learned_by_name() -> None:
    child = RegressionChild({"stage": "before", "hosts": ["localhost:9", "127.0.0.1:8"]}, EMPTY, lambda message: None)
    assert child.allows("socket.connect", (None, ("127.0.0.1", 8)))
    assert not child.allows("socket.connect", (None, ("127.0.0.1", 9)))
    assert child.allows("socket.getaddrinfo", ("localhost", 9, 0, 1, 0))
    addresses = [each[4] for each in _socket.getaddrinfo("localhost", 9, 0, _socket.SOCK_STREAM)]
    assert all(child.allows("socket.connect", (None, address)) for address in addresses)
    assert not child.allows("socket.getaddrinfo", ("other.example", 9, 0, 1, 0))
    assert not child.allows("open", ("/etc/x", "w", 1))


def test_the_control_lane_lets_nothing_through() -> None:
    child = RegressionChild({"stage": "control"}, EMPTY, lambda message: None)
    assert not child.allows("socket.connect", (None, ("127.0.0.1", 8)))


def test_sleeps_are_skipped_until_it_is_live() -> None:
    skipped: list[float] = []
    child = RegressionChild({"stage": "before", "hosts": []}, EMPTY, lambda message: None)
    sleep = child.slept(skipped.append)
    sleep(1000.0)
    child.answers.live = True
    sleep(0.001)
    assert skipped == [1000.0]

"""Recorded draws come back by place and lane; clocks show recorded time and never run backwards."""

from __future__ import annotations

from agentdbg.replay.clock import RecordedDraws


def test_a_lane_gets_its_own_values_and_no_other_lanes() -> None:
    draws = RecordedDraws([("0", "uuid4", "a.py:run", "u1"), ("0.1", "uuid4", "a.py:run", "u2")], 100.0)
    assert draws.draw("0", "uuid4", "a.py:run") == (True, "u1")
    assert draws.draw("0", "uuid4", "a.py:run") == (False, None)
    assert draws.draw("0.1", "uuid4", "a.py:run") == (True, "u2")
    assert draws.unpinned == 1


def test_a_lane_that_the_record_does_not_know_gets_what_is_left() -> None:
    draws = RecordedDraws([("0.3", "random", "a.py:run", 0.5)], 100.0)
    assert draws.draw("0.1", "random", "a.py:run") == (True, 0.5)
    assert draws.draw("0.1", "random", "b.py:run") == (False, None)


def test_clocks_start_where_the_recorded_ones_did() -> None:
    draws = RecordedDraws([("0", "monotonic", "a.py:run", 5000.0), ("0", "time_ns", "a.py:run", 7_000_000_000)], 100.0)
    assert 5000 <= draws.passed("monotonic") < 5010
    assert 100 <= draws.passed("time") < 110
    draws.draw("0", "time_ns", "a.py:run")
    assert 7 <= draws.passed("time") < 17
    assert isinstance(draws.passed("time_ns"), int)


def test_a_skipped_sleep_moves_every_clock_on_once() -> None:
    draws = RecordedDraws([("0", "monotonic", "a.py:run", 5000.0), ("0", "monotonic", "a.py:run", 5100.0)], 100.0)
    draws.sleep(60)
    assert 5060 <= draws.passed("monotonic") < 5070
    assert 160 <= draws.passed("time") < 170
    draws.draw("0", "monotonic", "a.py:run")
    draws.draw("0", "monotonic", "a.py:run")
    assert 5100 <= draws.passed("monotonic") < 5110


def test_monotonic_time_never_goes_back() -> None:
    draws = RecordedDraws([("0", "monotonic", "a.py:run", 5000.0)], 100.0)
    draws.sleep(30)
    shown = draws.passed("monotonic")
    draws.draw("0", "monotonic", "a.py:run")
    assert draws.passed("monotonic") >= shown


def test_a_signal_handler_may_ask_while_the_clock_is_being_read() -> None:
    draws = RecordedDraws([], 5.0)
    with draws._lock, draws.time._lock:  # where a handler may come in
        assert draws.passed("time") >= 5.0
        draws.sleep(1.0)

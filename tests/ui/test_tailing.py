"""Watching a run: only while something can still come."""

from __future__ import annotations

import pytest

from agentdbg.model.records import RunStatus
from tests.support.memory_source import MemorySource, plain_steps, run_of
from tests.support.refund_run import refund_run
from tests.support.screens import app_on, settle, shown


async def test_a_finished_run_is_not_watched() -> None:
    source = refund_run()
    app = app_on(source)
    async with app.run_test(size=(120, 40)):
        assert source._wakes == []
    assert source.closed


async def test_a_run_that_can_no_longer_be_read_stays_on_screen(monkeypatch: pytest.MonkeyPatch) -> None:
    source = refund_run(status=RunStatus.RUNNING, crash=True)
    app = app_on(source)
    async with app.run_test(size=(120, 40)) as pilot:

        def broken() -> bool:
            raise OSError("gone \x1b[2J")

        monkeypatch.setattr(source, "poll", broken)
        source.arrive()
        await settle(pilot)
        assert "no longer watching: OSError: gone ␛[2J" in shown(app)
        assert "execute_refund" in shown(app)
        assert source._wakes == []


class _Growing(MemorySource):
    """A record that takes several polls to read."""

    complete = False

    def poll(self) -> bool:
        for step in self._arrived[:100]:
            self.add(step)
        del self._arrived[:100]
        self.complete = not self._arrived
        return True


async def test_a_long_record_is_read_on_while_the_screen_is_up() -> None:
    source = _Growing(run_of([]).run)
    source._arrived = plain_steps(1_000)
    app = app_on(source)
    async with app.run_test(size=(120, 40)) as pilot:
        for _ in range(100):
            if source.complete:
                break
            await pilot.pause(0.02)
        await settle(pilot)
        assert "/1000" in shown(app)
        assert "reading the record" not in shown(app)

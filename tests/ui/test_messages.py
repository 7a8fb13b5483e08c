"""Messages from threads."""

from __future__ import annotations

from agentdbg.debugging.hunt import Hunt
from agentdbg.debugging.overview import Overview
from agentdbg.ui.messages import BlocksLoaded, Gathered, Hunted, RunsListed, Woken


def test_many_wake_ups_count_as_one() -> None:
    assert Woken().can_replace(Woken())
    assert not Woken().can_replace(Gathered(Overview()))


def test_messages_carry_what_they_are_given() -> None:
    hunt = Hunt([], 0, 1, lambda _step: True, "x")
    assert Hunted(hunt).hunt is hunt
    assert BlocksLoaded(3, {}).generation == 3
    assert RunsListed([], done=True).problem == ""

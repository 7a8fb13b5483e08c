"""Pictures of the replay dialog and of a running replay at three sizes. Look at a changed picture before accepting."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, cast

import pytest
from textual.pilot import Pilot

from agentdbg.compare.trajectory import Divergence
from agentdbg.debugging.live_replay import LiveReplay
from agentdbg.debugging.replay_dialog import Prepared, ReplayDialog
from agentdbg.debugging.replay_wish import Facts, Wish
from agentdbg.model.records import Json
from agentdbg.replay.outcome import Outcome
from agentdbg.replay.plan import FACT, OBSTACLE, WARNING, Plan, Remark, Row
from agentdbg.replay.session_events import (
    CallAt,
    Ended,
    Event,
    Inspected,
    Paused,
    Printed,
    Refused,
    Stepped,
)
from agentdbg.replay.starting import Starting
from agentdbg.replay.where import Frame
from agentdbg.ui.app import AgentDbg
from agentdbg.ui.screens.plan import PlanScreen
from agentdbg.ui.screens.replay import ReplayScreen
from tests.support.refund_run import refund_run
from tests.support.screens import app_on, settle

SIZES = [(80, 24), (120, 40), (200, 60)]
Compare = Callable[..., bool]


class StandIn:
    """A session that does nothing by itself."""

    mode = "exact"
    state = "running"

    def __init__(self, held: tuple[Paused, ...]) -> None:
        self.held = held

    def start(self) -> None: ...

    def abort(self) -> None: ...

    def set_stops(self, stops: list[Json]) -> None: ...


class Asked(ReplayDialog):
    """The incident's dialog, its plan ready."""

    def __init__(self, mode: str, events: tuple[Event, ...] = (), held: tuple[Paused, ...] = ()) -> None:
        super().__init__(cast("Any", refund_run()), cast("Any", None), 10)
        self.wish = Wish(10, mode=mode)
        self._events, self._held = events, held
        self._facts = Facts(trusted=mode == "exact")

    def make(self) -> Callable[[], Prepared]:
        found = plan(self.wish.mode)
        told = None if found.trusted else STARTING
        return lambda: Prepared(found, None, ("staging",), {"10": "step 10, tool policy_lookup,"}, told)

    def live(self, wake: Callable[[], None]) -> LiveReplay:
        made = LiveReplay(self.source, lambda listener, person: cast("Any", StandIn(self._held)), wake)
        made._events.extend(self._events)
        return made


def plan(mode: str) -> Plan:
    remarks = [
        Remark(WARNING, "effect", "not served, so the guard stops it: process started ldconfig (desk.py:4 warm)", 2),
        Remark(WARNING, "redacted", "3 served values are redacted"),
        Remark(WARNING, "differs", "package openai is 1.41.0, recorded with 1.40.2"),
    ]
    what, then, why = "serve", "", "its recorded outcome"
    if mode == "regression":
        what, then, why = "serve", "live with drift check", "declared to read only"
        remarks = [
            Remark(OBSTACLE, "trust", "this user did not record the run: its code is started only when it is trusted"),
            *remarks,
            Remark(FACT, "open", "may be reached: api.example.com:443"),
        ]
    rows = [
        Row(step.n, step.id, step.kind.value, step.name, step.effect and step.effect.value, what, why, then)
        for step in refund_run().steps()
        if step.is_call
    ]
    if mode == "regression":
        rows[-1] = Row(17, "x", "tool", "送金\x1b[31m", "external", "refuse", "external, not in the record, no dry run")
    command = "handle_ticket of refund.desk, with /srv/shop/.venv/bin/python"
    return Plan("2026-01-01-T2041-7f3a", mode, "auto", 0, command, mode == "exact", tuple(remarks), tuple(rows))


STARTING = Starting(
    (("python", "/srv/shop/.venv/bin/python"), ("function", "handle_ticket of refund.desk"), ("directory", "/srv")),
    ("desk.py", "--ticket", "T-2041\x1b[2J [bold]"),
    "diff --git a/desk.py b/desk.py\n-limit = 100\n+limit = 1000",
)
STEPS = refund_run().steps()
HERE = next(step for step in STEPS if step.n == 10)
CALL = CallAt("r:10", HERE.kind.value, HERE.name, 10)
PAUSED = Paused(
    CALL,
    "breakpoint",
    "asked more often than recorded",
    (
        Frame(
            "/srv/shop/desk.py",
            88,
            "decide",
            "policy = policy_lookup(order['type'])",
            True,
            (("order", "{'id': 'A-1042', 'type': 'refund'}"), ("text", "'\\x1b[2J [bold]'")),
        ),
        Frame("/venv/site-packages/graph/loop.py", 12, "invoke", "return node(state)", False),
        Frame("/venv/site-packages/graph/loop.py", 40, "run", "self.invoke()", False),
        Frame("/srv/shop/desk.py", 140, "handle", "graph.run()", True, (("ticket", "'T-2041'"),)),
    ),
)
EVENTS: tuple[Event, ...] = (
    Stepped(CALL),
    Printed("ticket T-2041\n\u241b]52;c;aGFja2Vk\u2407 [bold]not markup[/]\n"),
    Refused("socket.connect", "metrics.example.com:443", "/srv/shop/metrics.py:9 send", True),
    Inspected("p order['type']", "'refund'\n"),
)
OVER = Ended(
    Outcome(
        "2026-01-01-T2041-7f3a",
        "diverged",
        "step 10, tool policy_lookup: $.type expected 'refund', got 'return'",
        replay_run="2026-01-01-T2041-7f3a.exact-1",
        first_divergence=Divergence(10, "r:10", "tool", "policy_lookup", "$.type", "'refund'", "'return'", "arguments"),
        served=6,
        total=9,
        guard=("audit", "network namespace", "landlock 7", "seccomp"),
        notes=("a person had code evaluated in the program (1 times): it may have done what it did because of that",),
        store="/nowhere",
    )
)


@pytest.fixture
def app() -> Iterator[AgentDbg]:
    yield app_on()


def over(screen: PlanScreen | ReplayScreen) -> Callable[[Pilot[None]], Any]:
    async def open_it(pilot: Pilot[None]) -> None:
        await settle(pilot)
        pilot.app.push_screen(screen)
        await settle(pilot)
        if isinstance(screen, ReplayScreen):
            screen._timer.stop()
            screen.take_in()
        await settle(pilot)

    return open_it


@pytest.mark.parametrize("size", SIZES, ids=lambda size: f"{size[0]}x{size[1]}")
@pytest.mark.parametrize("mode", ["exact", "regression"])
def test_dialog(snap_compare: Compare, app: AgentDbg, size: tuple[int, int], mode: str) -> None:
    assert snap_compare(app, terminal_size=size, run_before=over(PlanScreen(Asked(mode))))


@pytest.mark.parametrize("size", SIZES, ids=lambda size: f"{size[0]}x{size[1]}")
@pytest.mark.parametrize("events", [EVENTS, (*EVENTS, OVER)], ids=["paused", "over"])
def test_live(snap_compare: Compare, app: AgentDbg, size: tuple[int, int], events: tuple[Event, ...]) -> None:
    held = () if OVER in events else (PAUSED,)
    assert snap_compare(app, terminal_size=size, run_before=over(ReplayScreen(Asked("exact", events, held))))


def test_live_light(snap_compare: Compare) -> None:
    screen = ReplayScreen(Asked("exact", EVENTS, (PAUSED,)))
    assert snap_compare(app_on(theme="light"), terminal_size=(120, 40), run_before=over(screen))

"""Where the running code stands: lanes are numbered in the order they are forked, contexts keep to themselves."""

from __future__ import annotations

import contextvars
from typing import Any, cast

from agentdbg.recording import scope as scopes
from agentdbg.recording.scope import FIRST_INSIDE, Lane, Scope

TOP = Scope(cast(Any, None), None, Lane())


def test_lanes_are_numbered_in_order_and_know_where_they_were_forked() -> None:
    root = Lane()
    first = root.fork()
    root.events += 3
    second = root.fork()
    assert (first.path, second.path, first.fork().path) == ("0.0", "0.1", "0.0.0")
    assert (first.forked_at, second.forked_at) == (0, 3)


def test_lanes_inside_a_tool_are_counted_apart() -> None:
    scope = TOP.below("w:1", tool=True)
    assert scope.forked().lane.path == f"0.{FIRST_INSIDE}"
    assert scope.below("w:2").inside_tool


def test_entering_and_leaving() -> None:
    def check() -> None:
        assert scopes.current() is None
        token = scopes.enter(TOP)
        with scopes.inside(None):
            assert scopes.current() is None
        assert scopes.carried(TOP.below("w:1"), scopes.current)() == TOP.below("w:1")
        assert scopes.current() is TOP
        scopes.leave(token)
        assert scopes.current() is None

    contextvars.Context().run(check)


def test_leaving_in_another_context_changes_nothing_there() -> None:
    token = contextvars.Context().run(scopes.enter, TOP)

    def check() -> None:
        scopes.enter(TOP)
        scopes.leave(token)
        assert scopes.current() is TOP

    contextvars.Context().run(check)

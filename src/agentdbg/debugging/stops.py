"""Where ``c`` stops: bookmarks, breakpoints on steps of one kind and name, and divergences."""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeAlias

from agentdbg.debugging.hunt import AT_ONCE, Hunt
from agentdbg.model.records import Kind, Step

if TYPE_CHECKING:
    from agentdbg.debugging.session import Session

Breakpoint: TypeAlias = tuple[Kind, str]


class Stops:
    """The stops of a session.

    Attributes:
        breakpoints: Kind and name of the steps to stop at.
        changes: Counts changes of what is marked, so that a list knows when to draw again.
    """

    def __init__(self, session: Session) -> None:
        """Stop at nothing yet."""
        self._session = session
        self.breakpoints: set[Breakpoint] = set()
        self.changes = 0

    def is_breakpoint(self, step: Step) -> bool:
        """Whether a breakpoint stands on steps like this one."""
        return (step.kind, step.name) in self.breakpoints

    def toggle_breakpoint(self) -> None:
        """Set or remove a breakpoint on all steps of the selected one's kind and name."""
        session, step = self._session, self._session.current
        if step is None:
            session.message = "no step to set a breakpoint on"
            return
        self.breakpoints ^= {(step.kind, step.name)}
        self.changes += 1
        what = f"every {step.kind} {step.name}"
        session.message = f"breakpoint on {what}: c and C" if self.is_breakpoint(step) else f"no breakpoint on {what}"

    def toggle_bookmark(self) -> None:
        """Set or remove a bookmark on the selected step."""
        session, step = self._session, self._session.current
        if step is None:
            session.message = "no step to mark"
            return
        session.bookmarks ^= {step.id}
        self.changes += 1
        marked = step.id in session.bookmarks
        session.message = (
            f"bookmark on step {step.n}: c and C come back to it" if marked else f"bookmark removed from step {step.n}"
        )

    def next(self) -> None:
        """To the next bookmark, breakpoint or divergence."""
        self._go(1)

    def previous(self) -> None:
        """To the previous bookmark, breakpoint or divergence."""
        self._go(-1)

    def _go(self, direction: int) -> None:
        session = self._session
        session.message = ""
        what = "bookmark, breakpoint or divergence"
        if self.breakpoints:
            hunt = Hunt(session.steps, session.cursor + direction, direction, self._is_stop, what)
            session.hunt = hunt
            if hunt.advance(AT_ONCE):
                session.finish(hunt)
            return
        places = {step.n - 1 for step in map(session.source.step_by_id, sorted(session.bookmarks)) if step is not None}
        places.update(session.diffs.places())
        ahead = [place for place in places if (place - session.cursor) * direction > 0]
        if ahead:
            session.goto(min(ahead, key=lambda place: abs(place - session.cursor)))
        else:
            session.message = f"no {'further' if direction > 0 else 'earlier'} {what}"

    def _is_stop(self, step: Step) -> bool:
        session = self._session
        return self.is_breakpoint(step) or step.id in session.bookmarks or session.diffs.is_place(step)

"""A debugging session over one run, without a terminal: cursor, stepping, search, bookmarks, following."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Callable, Collection, Sequence
from typing import Final

from agentdbg.debugging import marks
from agentdbg.debugging.capabilities import SelectsPositions, is_complete
from agentdbg.debugging.compared import ComparedRun
from agentdbg.debugging.divergences import Divergences
from agentdbg.debugging.filtering import Filtered
from agentdbg.debugging.hunt import AT_ONCE, Hunt
from agentdbg.debugging.overview import Overview, gather
from agentdbg.debugging.rows import Rows
from agentdbg.debugging.skeletons import skeleton_text
from agentdbg.debugging.stops import Stops
from agentdbg.model.records import Effect, RunSummary, Step, StepStatus
from agentdbg.store.protocols import RunSource

_SCENE_AT_ONCE: Final = 5_000
_FAILED: Final = (StepStatus.ERROR, StepStatus.TIMED_OUT)


class Session(Rows):
    """Where the user is in a run, and how they move.

    Movements set ``message`` when they lead nowhere. One that has to look at many steps leaves a ``hunt`` behind: run
    ``hunt.advance`` off the user's thread and give it back to ``finish``; any other movement calls it off.

    Attributes:
        source: The run.
        cursor: Index of the selected step; -1 while there is none.
        follow: Whether the cursor stays on the newest step.
        unseen: Steps that arrived since the user last was at the end.
        message: What the last action has to say; empty when the movement speaks for itself.
        hunt: Unfinished search of the last action.
        query: Text of the open search; empty when none is open.
        overview: Facts about the whole run, once gathered.
        bookmarks: Ids of the steps that the user marked.
        notes: What people wrote on steps, by step id.
        indexing: Whether the record is still being read: more steps will come without the run being live.
    """

    def __init__(self, source: RunSource, *, follow: bool = False) -> None:
        """Open a session at the scene.

        Args:
            source: The run; stays open until the caller closes it.
            follow: Start at the tail and stay there.
        """
        self.source = source
        source.poll()
        self.summary: RunSummary = source.summary()
        self.steps: Sequence[Step] = source.steps()
        self.cursor = -1
        self.follow = follow
        self.unseen = 0
        self.message = ""
        self.hunt: Hunt | None = None
        self.query = ""
        self.overview: Overview | None = None
        self.bookmarks: set[str] = set()
        self.indexing = not is_complete(source)
        self._count = len(self.steps)
        self._current_id: str | None = None
        self._scene_pending = False
        self._untouched = True
        self.filtered: Filtered | None = None
        self.diffs = Divergences(self)
        self.stops = Stops(self)
        self.notes: dict[str, tuple[str, ...]] = {}
        self._go_to_scene()
        self._untouched = True

    @property
    def current(self) -> Step | None:
        """The selected step."""
        return self.step_at(self.cursor)

    def step_at(self, index: int) -> Step | None:
        """The step at an index; ``None`` where there is none, or none any more."""
        try:
            return self.steps[index] if 0 <= index < self._count else None
        except IndexError:
            return None

    @property
    def count(self) -> int:
        """Number of steps, as of the last poll."""
        return self._count

    @property
    def live(self) -> bool:
        """Whether new steps may still come."""
        return marks.is_live(self.summary)

    def marks_of(self, step: Step) -> list[marks.Mark]:
        """The marks of a step, as this session sees it."""
        return marks.marks(
            step,
            live=self.live,
            bookmarked=step.id in self.bookmarks,
            halting=self.stops.is_breakpoint(step),
            noted=step.id in self.notes,
            diverged=self.diffs.is_first(step),
        )

    # Movement

    def goto(self, index: int) -> None:
        """Select a step by index; beyond the ends is the end."""
        self._arrive(index)
        self.follow = self.follow and self.cursor == self._count - 1

    def goto_number(self, number: int) -> None:
        """Select a step by the number that people see."""
        self.goto(number - 1)

    def move(self, delta: int) -> None:
        """Move the cursor by rows."""
        self.goto(self.index_at(self.row + delta))

    def first(self) -> None:
        """To the first step."""
        self.goto(self.index_at(0))

    def last(self) -> None:
        """To the last step; in a live run, follow from here on."""
        self.goto(self.index_at(self.rows - 1))
        self.unseen = 0
        if self.live:
            self.follow = True

    def into(self) -> None:
        """Next step in recorded order, children included."""
        self._row(1, "the last step")

    def into_back(self) -> None:
        """Previous step in recorded order, children included."""
        self._row(-1, "the first step")

    def forward(self) -> None:
        """Next step over children; between hits while a search is open."""
        if self.query:
            self.next_hit()
        else:
            self._over(1)

    def backward(self) -> None:
        """Previous step over children; between hits while a search is open."""
        if self.query:
            self.previous_hit()
        else:
            self._over(-1)

    def up(self) -> None:
        """To the enclosing step."""
        step = self.current
        parent = self.source.step_by_id(step.parent) if step is not None and step.parent is not None else None
        if parent is None:
            self.message = "this step has no parent"
        else:
            self.goto(parent.n - 1)

    def next_error(self) -> None:
        """To the next step that failed."""
        self._hunt(1, marks.is_error, "error", statuses=_FAILED)

    def previous_error(self) -> None:
        """To the previous step that failed."""
        self._hunt(-1, marks.is_error, "error", statuses=_FAILED)

    def next_write(self) -> None:
        """To the next write or external call."""
        self._hunt(1, marks.is_outward, "write or external call", effects=marks.OUTWARD)

    def previous_write(self) -> None:
        """To the previous write or external call."""
        self._hunt(-1, marks.is_outward, "write or external call", effects=marks.OUTWARD)

    # Search

    def search(self, query: str, origin: int | None = None) -> None:
        """Open a search and go to the first hit from ``origin`` (the cursor by default); ``#12`` goes to step 12."""
        self.query = query.strip()
        if not self.query:
            return
        if self.query.startswith("#") and self.query[1:].isdecimal():
            self.goto_number(int(self.query[1:]))
            return
        start = self.cursor if origin is None else origin
        self._hunt(1, self._is_hit(), f"hit for {self.query}", start=max(start, 0))

    def next_hit(self) -> None:
        """To the next hit of the open search."""
        self._to_hit(1)

    def previous_hit(self) -> None:
        """To the previous hit of the open search."""
        self._to_hit(-1)

    def close_search(self) -> None:
        """Close the search; stepping keys step again."""
        self.query = ""
        self.hunt = None

    def finish(self, hunt: Hunt) -> bool:
        """Take over the result of a hunt that is done; ``False`` when it has been called off meanwhile."""
        if hunt is not self.hunt:
            return False
        self.hunt = None
        if hunt.found is None and hunt.otherwise is not None:
            self.goto(hunt.otherwise)
        elif hunt.found is None:
            self.message = f"no {'further' if hunt.direction > 0 else 'earlier'} {hunt.what}"
        else:
            self.goto(hunt.found)
            self.message = hunt.arrival
        return True

    def settle(self) -> None:
        """Run an unfinished hunt to its end, here and now."""
        if self.hunt is not None:
            self.hunt.advance()
            self.finish(self.hunt)

    # Marks and following

    def toggle_follow(self) -> None:
        """Follow the tail of a live run, or stop following."""
        if self.follow:
            self.follow = False
            self.message = "not following"
        elif not self.live:
            self.last()
            self.message = "the run has ended: nothing to follow"
        else:
            self.last()
            self.message = "following"

    def poll(self) -> bool:
        """Take in what the source has learnt since; the selected step stays selected unless the session follows."""
        changed = self.source.poll()
        return self.take_in() or changed

    def take_in(self) -> bool:
        """As :meth:`poll`, after the source has been polled elsewhere."""
        before = (self._count, self.summary)
        self.summary = self.source.summary()
        self.steps = self.source.steps()
        self._count = len(self.steps)
        if self.filtered is not None:
            self.filtered.look(self.steps)
        new = max(self._count - before[0], 0)
        indexing, self.indexing = self.indexing, not is_complete(self.source)
        if self.follow or self.cursor < 0:
            self._arrive(self._count - 1, keep_scene=True)
        elif new and not indexing:
            self.unseen += new
        step = self.source.step_by_id(self._current_id) if self._current_id is not None and not self.follow else None
        if step is not None:
            self.cursor = step.n - 1
        elif self.cursor >= self._count:
            self._arrive(self._count - 1)
        if not self.live:
            self.follow = False
        return self._count != before[0] or self.summary != before[1] or indexing != self.indexing

    def adopt(self, overview: Overview) -> bool:
        """Keep what a pass over the run found; ``True`` when it moved the cursor to the scene.

        The cursor moves only if the scene was not known at the start and the user has not moved since.
        """
        self.overview = overview
        if not (self._scene_pending and overview.complete):
            return False
        self._scene_pending = False
        scene = overview.scene()
        if scene is None or scene == self.cursor:
            return False
        self._arrive(scene)
        self._untouched = True
        return True

    def compare(self, compared: ComparedRun | None) -> None:
        """Compare with another run from now on; the cursor goes to the first difference if nobody has moved it yet."""
        self.diffs.adopt(compared)
        scene = self.diffs.scene()
        if scene is not None and self._untouched:
            self._arrive(scene)

    # Inside

    def _go_to_scene(self) -> None:
        self._scene_pending = self.indexing
        if self._count == 0:
            return
        if self.follow:
            self._arrive(self._count - 1)
            return
        for step_id in (self.diffs.first_id, self.summary.failing_step):
            step = self.source.step_by_id(step_id) if step_id is not None else None
            if step is not None:
                self._arrive(step.n - 1)
                return
        if self._count <= _SCENE_AT_ONCE and not self.indexing:
            self.overview = gather(self.steps, divergence_id=self.diffs.first_id)
            scene = self.overview.scene()
            self._arrive(self._count - 1 if scene is None else scene)
        else:
            self._arrive(self._count - 1, keep_scene=True)
            self._scene_pending = True

    def _arrive(self, index: int, *, keep_scene: bool = False) -> None:
        self.hunt = None
        self.message = ""
        self._untouched = False
        if not keep_scene:
            self._scene_pending = False
        if self.filtered is not None and not self.filtered.shows(index):
            self.filtered = None
            self.message = "filter closed: it hides this step"
        self.cursor = min(max(index, 0), self._count - 1)
        if self.cursor == self._count - 1:
            self.unseen = 0
        step = self.current
        self._current_id = step.id if step is not None else None

    def _row(self, delta: int, end: str) -> None:
        if 0 <= self.row + delta < self.rows:
            self.move(delta)
        else:
            self.message = f"this is {end}"

    def _over(self, direction: int) -> None:
        step = self.current
        if step is None:
            return
        depth = step.depth
        child = self.step_at(self.cursor + 1) if direction > 0 else None
        inside = self.cursor + 1 if child is not None and child.depth > depth else None
        what = "step at this level (s and S go into children)"
        if self.filtered is not None:
            self._row(direction, "the last step that the filter leaves" if direction > 0 else "the first one")
            return
        self._hunt(direction, lambda other: other.depth <= depth, what, otherwise=inside)

    def _to_hit(self, direction: int) -> None:
        if self.query:
            self._hunt(direction, self._is_hit(), f"hit for {self.query}")
        else:
            self.message = "no search is open: / opens one"

    def _is_hit(self) -> Callable[[Step], bool]:
        needle = self.query.casefold()
        return lambda step: needle in skeleton_text(step)

    def _hunt(
        self,
        direction: int,
        wanted: Callable[[Step], bool],
        what: str,
        *,
        start: int | None = None,
        otherwise: int | None = None,
        effects: Collection[Effect] = (),
        statuses: Collection[StepStatus] = (),
    ) -> None:
        """Go to the first step that is wanted; by columns where the condition and the source allow it."""
        self.message = ""
        first = self.cursor + direction if start is None else start
        hunt = Hunt(self.steps, first, direction, wanted, what, otherwise=otherwise)
        self.hunt = hunt
        if (effects or statuses) and isinstance(self.source, SelectsPositions):
            places = self.source.positions(effects=effects, statuses=statuses)
            at = bisect_left(places, first) if direction > 0 else bisect_right(places, first) - 1
            hunt.done = True
            hunt.found = places[at] if 0 <= at < len(places) else None
            self.finish(hunt)
        elif hunt.advance(AT_ONCE):
            self.finish(hunt)

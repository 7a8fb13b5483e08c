"""Going from one divergence to the next: those of the compared run, or a replay's own."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from enum import StrEnum
from typing import TYPE_CHECKING, Final, TypeAlias

from agentdbg.debugging import marks
from agentdbg.debugging.compared import ComparedRun
from agentdbg.debugging.document import Stop
from agentdbg.model.records import Json, RunSummary, Step
from agentdbg.store.protocols import RunSource

if TYPE_CHECKING:
    from agentdbg.debugging.session import Session

Suggest: TypeAlias = "Callable[[Stop], tuple[str | None, str]]"

_NEAR: Final = 400
"""Steps around the ordinal of the source's step in which its replay is looked for."""


class DiffView(StrEnum):
    """How a difference is laid out."""

    UNIFIED = "unified"
    SIDE = "side by side"
    TABLE = "table"


class Divergences:
    """Where the session's run parts from another one.

    Attributes:
        compared: The run that it is compared with.
        wide: Whether there is room for two columns.
        suggest: Finds the nearest good run and says why it is; ``None`` where there is no store to look in.
        twin: What it found, once it has been asked.
    """

    def __init__(self, session: Session) -> None:
        """Compare with nothing yet."""
        self._session = session
        self.compared: ComparedRun | None = None
        self.wide = False
        self.suggest: Suggest | None = None
        self.twin: tuple[str | None, str] | None = None
        self._chosen = DiffView.SIDE
        self._announced = False
        self._found: tuple[RunSummary, int, str | None] | None = None

    @property
    def first_id(self) -> str | None:
        """Id of the step where a replay first parted from its source, if this is one."""
        session = self._session
        count = session.count
        if self._found is None or self._found[0] is not session.summary or self._found[1] != count:
            self._found = (session.summary, count, first_divergence_id(session.source, session.summary))
        return self._found[2]

    def adopt(self, compared: ComparedRun | None) -> None:
        """Compare with another run from now on, or with none."""
        self.compared = compared
        self._announced = False

    @property
    def view(self) -> DiffView:
        """How differences are laid out: as chosen, where there is room for it."""
        return DiffView.UNIFIED if self._chosen is DiffView.SIDE and not self.wide else self._chosen

    def cycle_view(self) -> None:
        """The next layout of differences."""
        views = [view for view in DiffView if self.wide or view is not DiffView.SIDE]
        self._chosen = views[(views.index(self.view) + 1) % len(views)]
        narrow = "" if self.wide else " (side by side needs a wider pane)"
        self._session.message = f"differences: {self.view}{narrow}"

    def is_first(self, step: Step) -> bool:
        """Whether the first divergence is at this step."""
        if self.compared is not None:
            place = self.compared.parting_place
            return place is not None and self.compared.index_of(place) == step.n - 1
        return step.id == self.first_id

    def scene(self) -> int | None:
        """Index of the first divergence from the compared run."""
        place = self.compared.parting_place if self.compared is not None else None
        return self.compared.index_of(place) if self.compared is not None and place is not None else None

    def next(self) -> None:
        """To the first difference from the compared run, then on to the next one."""
        self._go(1)

    def previous(self) -> None:
        """To the previous difference from the compared run."""
        self._go(-1)

    def _go(self, direction: int) -> None:
        session = self._session
        if self.compared is None:
            self._to_own(direction)
            return
        first = self.scene()
        if direction > 0 and not self._announced and first is not None:
            self._announced = True
            session.goto(first)
            session.message = self.compared.headline()
            return
        target = self._beyond(self.compared, session.cursor, direction)
        if target is None:
            session.message = f"no {'further' if direction > 0 else 'earlier'} difference from {self.compared.other_id}"
        else:
            session.goto(target)

    @staticmethod
    def _beyond(compared: ComparedRun, cursor: int, direction: int) -> int | None:
        """The next step, other than the one at the cursor, at which the runs differ."""
        place = compared.place_of(cursor)
        while place is not None:
            place = compared.next_place(place, direction)
            index = compared.index_of(place) if place is not None else cursor
            if index != cursor:
                return index
        return None

    def _to_own(self, direction: int) -> None:
        session = self._session
        places = self.own_places()
        ahead = [place for place in places if (place - session.cursor) * direction > 0]
        if ahead:
            session.goto(min(ahead, key=lambda place: abs(place - session.cursor)))
        elif session.cursor in places:
            session.message = "this is the only divergence"
        else:
            word = "further" if direction > 0 else "earlier"
            session.message = f"no {word} divergence: = compares with another run" if not places else f"no {word} one"

    def places(self) -> list[int]:
        """Index of every step that is a divergence, as far as is known."""
        if self.compared is None:
            return self.own_places()
        return [self.compared.index_of(place) for place in self.compared.stops]

    def is_place(self, step: Step) -> bool:
        """Whether a step is a divergence."""
        if self.compared is None:
            return step.id == self.first_id
        place = self.compared.place_of(step.n - 1)
        return place is not None and self.compared.is_telling(place)

    def own_places(self) -> list[int]:
        """Index of the divergence that the record itself tells of."""
        session = self._session
        step = session.source.step_by_id(self.first_id) if self.first_id is not None else None
        if step is not None:
            return [step.n - 1]
        overview = session.overview
        return [overview.first_divergence] if overview is not None and overview.first_divergence is not None else []


def first_divergence_id(source: RunSource, summary: RunSummary) -> str | None:
    """Id of this run's step where it first parted from its source.

    The outcome of a replay names the step of the source: here it is the step that was served from it, or, where
    nothing was served, the one of the same ordinal.
    """
    own = marks.first_divergence_id(summary)
    if own is not None:
        return own
    outcome = summary.meta.get("outcome")
    found: Json = outcome.get("first_divergence") if isinstance(outcome, Mapping) else None
    if not isinstance(found, Mapping):
        return None
    ordinal, source_id = found.get("step"), found.get("id")
    steps = source.steps()
    if not isinstance(ordinal, int) or isinstance(ordinal, bool) or not len(steps):
        return None
    at = min(max(ordinal - 1, 0), len(steps) - 1)
    for index in sorted(range(max(at - _NEAR, 0), min(at + _NEAR, len(steps))), key=lambda index: abs(index - at)):
        if steps[index].attrs.get("served_from") == source_id:
            return steps[index].id
    return steps[at].id

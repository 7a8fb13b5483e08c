"""A record as somebody edited it: what an exact replay with edits is compared with."""

from __future__ import annotations

from array import array
from collections.abc import Collection, Iterator, Sequence
from dataclasses import replace

from agentdbg.model.hashing import sha256_hex
from agentdbg.model.records import BodyRef, Effect, Kind, RunSummary, Step, StepStatus
from agentdbg.replay.edits import Edit, Edited
from agentdbg.store.reader import DirectoryRunSource
from agentdbg.store.step_list import ExtraEvent


class EditedRecord(DirectoryRunSource):
    """The same record, with what was edited in the place of what was recorded; closed by who opened the record."""

    def __init__(self, whole: DirectoryRunSource, edited: Edited) -> None:
        """Look at a record through edits that were made on what is served."""
        self.whole = whole
        self._edited_bodies: dict[str, bytes] = {}
        calls = {call.step: call for call in edited.tape.calls if call.step in edited.steps}
        bodies = edited.tape.bodies
        self._edited_results = {step: self._kept(bodies[call.result]) for step, call in calls.items() if call.result}
        self._edited_arguments = None if edited.arguments is None else self._kept(edited.arguments)

    def __getattr__(self, name: str) -> object:
        return getattr(self.whole, name)

    def summary(self) -> RunSummary:
        """The run's row."""
        return self.whole.summary()

    def step_count(self) -> int:
        """Number of steps."""
        return self.whole.step_count()

    def step_at(self, position: int) -> Step:
        """The step at a position."""
        return self._seen(self.whole.step_at(position))

    def positions(
        self,
        *,
        kinds: Collection[Kind] = (),
        effects: Collection[Effect] = (),
        statuses: Collection[StepStatus] = (),
    ) -> array[int]:
        """Positions of the steps of any of these kinds, effects and statuses."""
        return self.whole.positions(kinds=kinds, effects=effects, statuses=statuses)

    def step_by_id(self, step_id: str) -> Step | None:
        """The step with that permanent id."""
        found = self.whole.step_by_id(step_id)
        return None if found is None else self._seen(found)

    def body(self, ref: BodyRef) -> bytes:
        """A body, edited or recorded."""
        found = self._edited_bodies.get(ref.sha256)
        return self.whole.body(ref) if found is None else found

    def extra_events(self, kind: str | None = None) -> Iterator[ExtraEvent]:
        """Records that belong to no step."""
        return self.whole.extra_events(kind)

    def index(self, seconds: float | None = None) -> bool:
        """Read on."""
        return self.whole.index(seconds)

    def poll(self) -> bool:
        """Look for what is new."""
        return self.whole.poll()

    def close(self) -> None:
        """Nothing: the record is closed by who opened it."""

    def _kept(self, body: bytes) -> BodyRef:
        digest = sha256_hex(body)
        self._edited_bodies[digest] = body
        return BodyRef(digest, len(body))

    def _seen(self, step: Step) -> Step:
        if step.id in self._edited_results:
            status = StepStatus.OK if step.error is not None else step.status
            return replace(step, result=self._edited_results[step.id], error=None, status=status)
        if self._edited_arguments is None or step.kind is not Kind.AGENT or step.parent is not None:
            return step
        return replace(step, arguments=self._edited_arguments)


def in_words(edits: Sequence[Edit], reason: str, *, identical: bool) -> str:
    """The reason of a verdict, saying that something was edited."""
    if not edits:
        return reason
    words = "; ".join(edit.words() for edit in edits)
    if identical:
        return reason.replace("identical", f"identical but for what was edited ({words})", 1)
    return f"{reason}; edited before: {words}"

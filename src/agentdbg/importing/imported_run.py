"""A run put together from another tool's file: every value says whether it was recorded, rebuilt or derived."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Final

from agentdbg.model.canonical import dumps, tree_bytes
from agentdbg.model.hashing import chain, sha256_hex
from agentdbg.model.records import BodyRef, Json, Kind, Origin, RunSummary, Segment, Step
from agentdbg.model.safe_text import safe_line
from agentdbg.store import notes
from agentdbg.store.protocols import BodyMissing

WRITER: Final = "import"
_DERIVED: Final = frozenset({"n", "id", "depth", "lane", "parent", "input_hash", "fingerprint", "alpha_fingerprint"})
_LONGEST_PROBLEM: Final = 500
_LONGEST_NAME: Final = 200


class Bodies:
    """Bodies by the hash of their bytes. Values are held as the file has them; bytes are made when asked for."""

    def __init__(self) -> None:
        self._values: dict[str, Json] = {}

    def put(self, value: Json) -> BodyRef:
        """Take in a value."""
        data = _bytes(value)
        digest = sha256_hex(data)
        self._values.setdefault(digest, value)
        return BodyRef(digest, len(data))

    def read(self, ref: BodyRef) -> bytes:
        """The bytes of a body.

        Raises:
            BodyMissing: There is none with that hash.
        """
        if ref.sha256 not in self._values:
            raise BodyMissing(f"body {ref.sha256[:12]} is not in the file")
        return _bytes(self._values[ref.sha256])


@dataclass(slots=True)
class Draft:
    """A run as an importer builds it.

    Attributes:
        bodies: Where values go.
        steps: The steps in display order; ``n`` and ``id`` are put in by ``add``.
        sent: Segments of the conversation so far. The input of a model call is a beginning of this list.
        inputs: For a model call's id, the length of that beginning.
        origins: For a step's id, the origin of fields that are not simply recorded.
        problems: One line for each thing that is damaged or does not add up.
    """

    bodies: Bodies = field(default_factory=Bodies)
    steps: list[Step] = field(default_factory=list)
    sent: list[Segment] = field(default_factory=list)
    inputs: dict[str, int] = field(default_factory=dict)
    origins: dict[str, dict[str, Origin]] = field(default_factory=dict)
    problems: list[str] = field(default_factory=list)
    _chains: list[str] = field(default_factory=lambda: [""])

    def add(self, step: Step, origins: Mapping[str, Origin] | None = None) -> Step:
        """Append a step below the first one."""
        number = len(self.steps)
        parent = self.steps[0].id if self.steps else None
        step = replace(step, n=number + 1, id=f"{WRITER}:{number}", parent=parent, depth=int(number > 0))
        if len(step.name) > _LONGEST_NAME:
            step = replace(step, name=f"{step.name[:_LONGEST_NAME]}…")
        self.steps.append(step)
        if origins:
            self.origins[step.id] = dict(origins)
        return step

    def add_model(self, step: Step, origins: Mapping[str, Origin] | None = None) -> Step:
        """Append a model call whose input is everything that was said before."""
        step = self.add(replace(step, kind=Kind.MODEL, input_hash=self._chain()), origins)
        self.inputs[step.id] = len(self.sent)
        return step

    def change(self, step_id: str, **members: object) -> Step:
        """Put further members into a step that was added."""
        number = int(step_id.rpartition(":")[2])
        self.steps[number] = replace(self.steps[number], **members)  # type: ignore[arg-type]  # checked by replace
        return self.steps[number]

    def say(self, kind: str, name: str, value: Json) -> BodyRef:
        """Append a segment to the conversation."""
        ref = self.bodies.put(value)
        self.sent.append(Segment(kind, name, ref))
        return ref

    def _chain(self) -> str:
        while len(self._chains) <= len(self.sent):
            segment = self.sent[len(self._chains) - 1]
            self._chains.append(chain(self._chains[-1], segment.kind, segment.ref.sha256))
        return self._chains[len(self.sent)]


class ImportedRun:
    """A ``RunSource`` over a finished draft. It does not change; nothing stays open behind it.

    Attributes:
        notes_location: What stands for the place of the run where notes on it are kept.
    """

    def __init__(self, draft: Draft, summary: RunSummary, notes_location: str) -> None:
        """Make the run.

        Args:
            draft: Its steps and bodies.
            summary: Its row.
            notes_location: What stands for the place of the run where notes on it are kept.
        """
        self.notes_location = notes_location
        self._draft = draft
        self._summary = summary
        self._by_id = {step.id: step for step in draft.steps}

    def summary(self) -> RunSummary:
        """The run's row."""
        flag = notes.noted_flag(self.notes_location, self._summary.run_id, None)
        return self._summary if flag is None else replace(self._summary, flag=flag or None)

    def steps(self) -> Sequence[Step]:
        """All steps."""
        return self._draft.steps

    def step_by_id(self, step_id: str) -> Step | None:
        """The step with that id, which is the same each time the file is opened."""
        return self._by_id.get(step_id)

    def body(self, ref: BodyRef) -> bytes:
        """The bytes of a body, as they were derived from the file."""
        return self._draft.bodies.read(ref)

    def segments(self, step: Step) -> Sequence[Segment]:
        """The rebuilt input of a model call."""
        return self._draft.sent[: self._draft.inputs.get(step.id, 0)]

    def origin(self, step: Step, field: str) -> Origin:
        """How far a field may be trusted: hashes are derived here, requests are rebuilt from the message list."""
        if field in ("input", "segments"):
            return Origin.REBUILT if step.id in self._draft.inputs else Origin.ABSENT
        if field.startswith("attrs."):
            return Origin.RECORDED if field.removeprefix("attrs.") in step.attrs else Origin.ABSENT
        value = getattr(step, field, None)
        if value is None or value == "" or (field == "started_at" and not value):
            return Origin.ABSENT
        usual = Origin.DERIVED if field in _DERIVED else Origin.RECORDED
        return self._draft.origins.get(step.id, {}).get(field, usual)

    def problems(self) -> Sequence[str]:
        """What in the file is damaged or does not add up."""
        return _lines(self._draft.problems)

    def poll(self) -> bool:
        """Nothing comes after the file was opened."""
        return False

    def watch(self, wake: Callable[[], None]) -> Callable[[], None]:
        """Nothing comes after the file was opened."""
        return _nothing

    def close(self) -> None:
        """There is nothing to release."""


def _bytes(value: Json) -> bytes:
    try:
        return tree_bytes(value)
    except RecursionError:
        return dumps(value)  # nested beyond what JSON text is written for: in the typed encoding, flattened


def _lines(problems: Iterable[str]) -> list[str]:
    return [safe_line(problem[:_LONGEST_PROBLEM]) for problem in problems]


def _nothing() -> None:
    """Stops nothing."""

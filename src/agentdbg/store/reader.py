"""Reads one run directory: the skeleton in the background, a step when it is asked for, a body only on demand."""

from __future__ import annotations

import threading
import time
from array import array
from collections import OrderedDict
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from pathlib import Path

from agentdbg.model import lanes
from agentdbg.model.records import BodyRef, Effect, Json, Kind, Origin, RunStatus, RunSummary, Segment, Step, StepStatus
from agentdbg.model.safe_text import safe_line
from agentdbg.store import liveness
from agentdbg.store.body_files import BodyFiles
from agentdbg.store.columns import unpack
from agentdbg.store.event_files import EventFiles
from agentdbg.store.files import StoreError, stat_below
from agentdbg.store.inputs import InputLists
from agentdbg.store.metadata import (
    Facts,
    NewerFormat,
    end_status,
    owner_of,
    read_run_json,
    run_status,
    step_count,
    summarise,
    texts,
)
from agentdbg.store.records import parse_record
from agentdbg.store.skeleton import Skeleton
from agentdbg.store.step_list import ExtraEvent, StepList
from agentdbg.store.steps import body_ref, build_step, error_info
from agentdbg.store.watching import Watcher, WatchKind

POLL_BUDGET_S = 0.03
_STEPS_CACHED = 4096
_GONE: dict[str, Json] = {"e": "intent", "holes": ["its record can no longer be read"]}
_NEVER_RECORDED = frozenset({"n", "depth", "lane"})
_FALLBACK_MODELS = 16
_LONGEST_PROBLEM = 500


class DirectoryRunSource:
    """A ``RunSource`` over a run directory.

    ``steps`` and ``step_by_id`` read the whole skeleton first, unless it is being read in the background: whoever
    calls ``poll`` or ``index`` before them gets the steps known so far and goes on calling until ``complete`` is true.

    Attributes:
        root: The run's directory.
        run_id: Its name.
        generation: Rises when files were truncated or replaced and all was read again.
    """

    def __init__(self, root: Path, *, check_modes: bool = True, flag: Callable[[], str | None] | None = None) -> None:
        """Open a run directory.

        Args:
            root: The directory; its name is the run's id.
            check_modes: Whether looser modes than 0750 and 0640 are a problem.
            flag: Gives the reason of a flag that was set later.

        Raises:
            StoreError: It is no run directory, or of a newer major format.
        """
        self.root = root
        self.run_id = root.name
        self.generation = 0
        self._check_modes = check_modes
        self._flag = flag
        self._lock = threading.RLock()
        self._meta: dict[str, Json] = {}
        self._meta_stamp: tuple[int, int, int] | None = None
        self._meta_problem = ""
        self._started = False
        self._watcher: Watcher | None = None
        self._bodies = BodyFiles(root)
        self._inputs = InputLists(self._input_of)
        self._begin()
        self._load_meta()
        if self._meta_stamp is None and not self._files.look():
            raise StoreError(f"{root} is no run directory")
        if self._meta_stamp is None and not self._skeleton.writers:
            raise StoreError(f"{root} is no run directory: it has neither run.json nor event files")

    def _begin(self) -> None:
        self._skeleton = Skeleton()
        self._files = EventFiles(self.root, self._skeleton)
        self._steps: OrderedDict[int, Step] = OrderedDict()
        self._lane_names: dict[str, str] = {}
        self._valid_for = (0, 0, 0)

    # What the protocol asks for

    def summary(self) -> RunSummary:
        """The run's row; from its events where ``run.json`` says nothing."""
        with self._lock:
            if not step_count(self._meta):
                self._finish_index()
            return summarise(self.run_id, self._meta, self._facts(), flag=self._flag() if self._flag else None)

    def steps(self) -> StepList:
        """All steps known so far; see the class."""
        self._finish_index()
        return StepList(self)

    def step_by_id(self, step_id: str) -> Step | None:
        """The step with that permanent id."""
        self._finish_index()
        with self._lock:
            packed = self._skeleton.locate(step_id)
            if packed is None:
                return None
            position = self._skeleton.order.position(packed)
            return self.step_at(position) if position < len(self._skeleton.order) else None

    def body(self, ref: BodyRef) -> bytes:
        """The bytes of a body; see ``RunSource.body``."""
        return self._bodies.read(ref)

    def segments(self, step: Step) -> Sequence[Segment]:
        """The full segment list of a model input."""
        with self._lock:
            return self._inputs.segments(step.id)

    def origin(self, step: Step, field: str) -> Origin:
        """How far a field of a step, an attribute (``attrs.NAME``) or its ``input`` may be trusted."""
        if field in _NEVER_RECORDED:
            return Origin.DERIVED
        if field.startswith("attrs."):
            return Origin.RECORDED if field.removeprefix("attrs.") in step.attrs else Origin.ABSENT
        if field in ("input", "segments"):
            if step.input_hash is None:
                return Origin.ABSENT
            return Origin.REBUILT if step.attrs.get("rebuilt") is True else Origin.RECORDED
        value = getattr(step, field, None)
        return Origin.ABSENT if value is None or value == "" else Origin.RECORDED

    def problems(self) -> Sequence[str]:
        """One line for each thing that is damaged, missing or refused."""
        with self._lock:
            found = [self._meta_problem] if self._meta_problem else []
            finished = self.complete and self._status() is not RunStatus.RUNNING
            found.extend(self._files.problems(finished))
            orphans = self._skeleton.orphans() if self.complete else []
            if orphans:
                named = ", ".join(orphans[:5]) + (", …" if len(orphans) > 5 else "")
                found.append(f"{len(orphans)} steps have an outcome but no intent: {named}")
            if self._skeleton.doubled:
                found.append(f"{self._skeleton.doubled} outcomes of steps that had one already")
            found.extend(self._inputs.problems.values())
            found.extend(self._files.loose() if self._check_modes else ())
            return [safe_line(problem[:_LONGEST_PROBLEM]) for problem in found]

    def poll(self) -> bool:
        """Look for what is new, for a few hundredths of a second at most; ``True`` when something changed."""
        self._started = True
        with self._lock:
            changed = self._load_meta()
            if not self._files.look():
                self._files.close()
                self._begin()
                self._bodies.forget()
                self._inputs.forget()
                self.generation += 1
                self._files.look()
                changed = True
        return self._read(time.monotonic() + POLL_BUDGET_S) or changed

    def watch(self, wake: Callable[[], None]) -> Callable[[], None]:
        """Call ``wake`` from a thread when ``poll`` is worth calling; returns the function that stops it."""
        watcher = self._watcher = Watcher(self.root, wake)
        return watcher.stop

    def close(self) -> None:
        """Release files and threads."""
        if self._watcher is not None:
            self._watcher.stop()
        with self._lock:
            self._files.close()
            self._bodies.close()

    # What only a run directory offers

    @property
    def watch_kind(self) -> WatchKind:
        """How new events are noticed: by file events, or by looking every second."""
        return self._watcher.kind if self._watcher is not None else "polling"

    @property
    def complete(self) -> bool:
        """Whether everything that was seen to be there has been read into the skeleton."""
        with self._lock:
            return self._started and not self._files.unread()

    def index(self, seconds: float | None = None) -> bool:
        """Read on, for that long or to the end; returns ``complete``."""
        if not self._started:
            self._started = True
            with self._lock:
                self._files.look()
        self._read(None if seconds is None else time.monotonic() + seconds)
        return self.complete

    def step_count(self) -> int:
        """Number of steps known so far."""
        return len(self._skeleton.order)

    def step_at(self, position: int) -> Step:
        """The step at a display position, from 0.

        Raises:
            IndexError: There is none.
        """
        with self._lock:
            if not 0 <= position < len(self._skeleton.order):
                raise IndexError("no such step")
            self._drop_stale()
            packed = self._skeleton.order.at(position)
            step = self._steps.get(packed)
            if step is None:
                step = self._steps[packed] = self._build(packed, position)
                if len(self._steps) > _STEPS_CACHED:
                    self._steps.popitem(last=False)
            return step

    def positions(
        self,
        *,
        kinds: Collection[Kind] = (),
        effects: Collection[Effect] = (),
        statuses: Collection[StepStatus] = (),
    ) -> array[int]:
        """Positions of the steps of any of these kinds, effects and statuses, sorted; an empty choice allows all.

        Builds no step.
        """
        with self._lock:
            return self._skeleton.select(kinds, effects, statuses)

    def events(self, step: Step) -> Sequence[bytes]:
        """The records of a step as they stand in the files, unknown types and members included."""
        with self._lock:
            packed = self._skeleton.locate(step.id)
            if packed is None:
                return []
            return [self._files.line(writer, offset) for writer, offset in self._skeleton.records_of(packed)]

    def chunks(self, step: Step) -> Sequence[BodyRef]:
        """The stream events of a model call, as far as they came; the way to see what an open step has received."""
        records = [parse_record(line) or {} for line in self.events(step)]
        bodies = [body_ref(record.get("body")) for record in records if record.get("e") == "chunk"]
        return [ref for ref in bodies if ref is not None]

    def input_shape(self, step: Step) -> BodyRef | None:
        """The request object of a model call with its segments' places marked."""
        value = self._input_of(step.id)
        return body_ref(value.get("shape")) if isinstance(value, dict) else None

    def extra_events(self, kind: str | None = None) -> Iterator[ExtraEvent]:
        """The records that belong to no step, of one event type or of all, writer by writer in the order written."""
        self._finish_index()
        with self._lock:
            places = list(self._skeleton.others(kind))
        for writer, offset, name in places:
            with self._lock:
                raw = self._files.line(writer, offset)
                writer_id = self._skeleton.writers[writer].name
            yield ExtraEvent(writer_id, name, raw, parse_record(raw) or {})

    # Below the surface

    def _load_meta(self) -> bool:
        """Read ``run.json`` when it has changed; a newer format is refused only when a run is opened."""
        try:
            status = stat_below(self.root, "run.json")
            stamp = (status.st_mtime_ns, status.st_size, status.st_ino)
            if stamp == self._meta_stamp:
                return False
            self._meta = read_run_json(self.root)
            self._meta_stamp, self._meta_problem = stamp, ""
        except NewerFormat as problem:
            if self._meta_stamp is None:
                raise
            return self._without_meta(str(problem))
        except FileNotFoundError:
            return self._without_meta("there is no run.json; what is shown comes from the events")
        except (OSError, StoreError) as problem:
            return self._without_meta(f"{problem}; what is shown comes from the events")
        return True

    def _without_meta(self, problem: str) -> bool:
        changed = problem != self._meta_problem
        self._meta_problem = problem
        return changed

    def _finish_index(self) -> None:
        if not self._started:
            self.index()

    def _read(self, deadline: float | None) -> bool:
        changed = False
        while True:
            with self._lock:
                more = self._files.read_piece()
                if more:
                    changed = True
                    self._skeleton.settle()
                    self._forget_changed()
            if not more or (deadline is not None and time.monotonic() >= deadline):
                return changed

    def _forget_changed(self) -> None:
        if self._steps:
            for packed in self._skeleton.changed:
                self._steps.pop(packed, None)
        self._skeleton.changed.clear()

    def _drop_stale(self) -> None:
        skeleton = self._skeleton
        valid_for = (skeleton.order.changes, len(skeleton.lanes), skeleton.relinked)
        if valid_for != self._valid_for:
            if len(skeleton.lanes) != self._valid_for[1]:
                self._lane_names = lanes.normalise(skeleton.lanes)
            self._valid_for = valid_for
            self._steps.clear()

    def _build(self, packed: int, position: int) -> Step:
        skeleton = self._skeleton
        lines = [self._files.line(writer, offset) for writer, offset in skeleton.records_of(packed)]
        records = [parse_record(line) or {} for line in lines if not line.startswith(b'{"e":"chunk"')]
        if not records or not records[0]:
            records = [_GONE, *records[1:]]
        above = skeleton.parent(packed)
        return build_step(
            records,
            n=position + 1,
            step_id=self._id_of(packed, records[0]),
            depth=skeleton.depth(packed),
            lane=self._lane_names.get(skeleton.lane(packed), lanes.ROOT),
            parent=None if above is None else self._id_of(above, None),
        )

    def _id_of(self, packed: int, record: Mapping[str, Json] | None) -> str:
        writer, row = unpack(packed)
        rows = self._skeleton.writers[writer]
        seq: Json = rows.seqs[row]
        if row in rows.odd_rows:
            record = record or parse_record(self._files.line(writer, rows.offsets[row])) or {}
            seq = record.get("seq", seq)
        return f"{rows.name}:{seq}"

    def _input_of(self, step_id: str) -> Json:
        with self._lock:
            packed = self._skeleton.locate(step_id)
            if packed is None:
                return None
            writer, row = unpack(packed)
            line = self._files.line(writer, self._skeleton.writers[writer].offsets[row])
        return (parse_record(line) or {}).get("input")

    def _facts(self) -> Facts:
        skeleton = self._skeleton
        first = self.step_at(0) if len(skeleton.order) else None
        ended = self._ended()
        failed = run_status(self._meta.get("status"), ended, True) is not RunStatus.OK
        return Facts(
            ended=ended,
            alive=self._alive(),
            steps=len(skeleton.order) if self.complete or not step_count(self._meta) else 0,
            agent=first.name if first is not None and first.kind is Kind.AGENT else "",
            started_at=skeleton.first_wall if skeleton.last_wall else None,
            ended_at=skeleton.last_wall if ended is not None and skeleton.last_wall else None,
            models=() if texts(self._meta.get("models")) else self._model_names(),
            failing_step=self._last_error() if failed and not self._meta.get("failing_step") else None,
            error=error_info(skeleton.ends[-1].get("error")) if skeleton.ends else None,
            holes=tuple(skeleton.notes),
        )

    def _ended(self) -> RunStatus | None:
        return end_status(self._skeleton.ends[-1].get("status")) if self._skeleton.ends else None

    def _status(self) -> RunStatus:
        return run_status(self._meta.get("status"), self._ended(), self._alive())

    def _alive(self) -> bool:
        owners = [owner_of(self._meta)] if self._meta else [rows.info or {} for rows in self._skeleton.writers]
        return any(liveness.is_presumed_alive(owner, self._files.last_change()) for owner in owners)

    def _model_names(self) -> tuple[str, ...]:
        found = self.positions(kinds=[Kind.MODEL])[:_FALLBACK_MODELS]
        return tuple(dict.fromkeys(name for position in found if (name := self.step_at(position).name)))

    def _last_error(self) -> str | None:
        found = self.positions(statuses=[StepStatus.ERROR, StepStatus.TIMED_OUT])
        return self.step_at(found[-1]).id if found else None

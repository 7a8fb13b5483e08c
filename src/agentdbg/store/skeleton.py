"""The skeleton of a run: its steps paired with their outcomes, linked to their parents and ordered, without any body.

Nothing is kept of a record but what pairing, ordering and jumping need; the rest is read again when it is asked for.
"""

from __future__ import annotations

import re
from array import array
from collections.abc import Collection, Iterator, Sequence
from math import inf, isfinite

from agentdbg.model.records import Json
from agentdbg.store.columns import EFFECTS, KINDS, OPEN, STATUSES, UNKNOWN, WriterRows, pack, unpack
from agentdbg.store.merging import DisplayOrder

_KIND_CODE = {name: code for code, name in enumerate(KINDS)}
_EFFECT_CODE = {name: code for code, name in enumerate(EFFECTS)}
_STATUS_CODE = {name: code for code, name in enumerate(STATUSES)}
_LANE = re.compile(r"\d{1,9}(\.\d{1,9}){0,99}", re.ASCII)
_MAX_NS = 4 * 10**18
_MAX_SEQ = 10**18
_MAX_WALL = 1e11
_MAX_DEPTH = 1000
_DEPTHS_KEPT = 4096
_MAX_NOTES = 100
_MAX_TYPES = 60_000


def split_step_id(step_id: object) -> tuple[str, int] | None:
    """``writer:seq`` as its parts, or ``None`` when it is not one."""
    if not isinstance(step_id, str):
        return None
    writer, _, number = step_id.rpartition(":")
    if len(number) > 18 or not (number.isdigit() and number.isascii()):
        return None
    return writer, int(number)


class Skeleton:
    """All writers of a run and what belongs to no writer alone.

    Attributes:
        writers: Every writer seen.
        order: Display positions.
        lanes: Raw lanes that bear a step.
        ends: Members of the ``end`` events.
        notes: Texts of holes that concern the run as a whole.
        first_wall: Earliest time in the records; infinite when there is none.
        last_wall: Latest time in the records; 0 when there is none.
        changed: Packed rows whose records changed since it was last emptied.
        doubled: Outcomes of steps that had one already.
        relinked: Rises when a step found its parent later than itself.
    """

    def __init__(self) -> None:
        self.writers: list[WriterRows] = []
        self.order = DisplayOrder(self.writers)
        self.lanes: list[str] = []
        self.ends: list[dict[str, Json]] = []
        self.notes: list[str] = []
        self.first_wall = inf
        self.last_wall = 0.0
        self.changed: set[int] = set()
        self.doubled = 0
        self.relinked = 0
        self._late: dict[int, list[tuple[int, int]]] = {}
        self._types: list[str] = []
        self._by_name: dict[str, WriterRows] = {}
        self._lane_index: dict[str, int] = {}
        self._type_index: dict[str, int] = {}
        self._boots: dict[str, int] = {}
        self._orphans: dict[str, list[tuple[str, int, int, int]]] = {}
        self._unlinked: dict[str, list[tuple[int, int]]] = {}
        self._unspawned: dict[int, str] = {}
        self._found: tuple[object, int] = (None, 0)
        self._depths: dict[int, int] = {}

    def add_writer(self, name: str) -> WriterRows:
        """Register a writer's file."""
        rows = WriterRows(name, len(self.writers))
        self.writers.append(rows)
        self._by_name[name] = rows
        return rows

    def add(self, rows: WriterRows, offset: int, record: dict[str, Json]) -> None:
        """Take in one record of a writer's file."""
        kind, seq = record.get("e"), record.get("seq")
        if type(seq) is not int or not 0 <= seq < _MAX_SEQ or not isinstance(kind, str):
            rows.malformed += 1
            self._keep(rows, offset, "malformed")
            return
        rows.records += 1
        if seq > rows.highest:
            rows.highest = seq
        if rows.clock is None:
            self._set_clock(rows, kind, record)
        if kind == "intent" or kind == "step":
            self._add_step(rows, offset, seq, record)
        elif isinstance(of := record.get("of"), str) and ":" in of:
            self._attach(rows, offset, of, kind, _status_code(record.get("status")))
        else:
            self._add_other(rows, offset, kind, record)
        wall = record.get("wall")
        if type(wall) is float and not self.first_wall <= wall <= self.last_wall:
            self._note_time(wall)

    def settle(self) -> None:
        """Link spawned processes to their parents, and place the new steps."""
        for writer, parent in list(self._unspawned.items()):
            found = self.locate(parent)
            if found is not None:
                del self._unspawned[writer]
                self._adopt(self.writers[writer], found)
                self.relinked += 1
        self.order.update()

    def locate(self, step_id: object) -> int | None:
        """The packed row of a step."""
        if step_id == self._found[0]:
            return self._found[1]
        parts = split_step_id(step_id)
        rows = self._by_name.get(parts[0]) if parts else None
        row = rows.find(parts[1]) if rows is not None and parts else None
        return None if rows is None or row is None else pack(rows.index, row)

    def parent(self, packed: int) -> int | None:
        """The packed row of the enclosing step."""
        writer, row = unpack(packed)
        above = self.writers[writer].parents[row]
        return above - 1 if above else None

    def depth(self, packed: int) -> int:
        """Number of enclosing steps; a cycle, which only a forged record can hold, ends the count."""
        above = first = self.parent(packed)
        count = 0
        while above is not None and count < _MAX_DEPTH:
            count += 1
            if above in self._depths:
                count = min(count + self._depths[above], _MAX_DEPTH)
                break
            above = self.parent(above)
        if first is not None:
            if len(self._depths) >= _DEPTHS_KEPT:
                self._depths.clear()
            self._depths[first] = count - 1
        return count

    def lane(self, packed: int) -> str:
        """The raw lane of a step."""
        writer, row = unpack(packed)
        return self.lanes[self.writers[writer].lanes[row]]

    def records_of(self, packed: int) -> list[tuple[int, int]]:
        """``(writer index, offset)`` of every record of a step.

        What came after its outcome, or from another writer, comes last.
        """
        writer, row = unpack(packed)
        found = [(writer, offset) for offset in self.writers[writer].records_of(row)]
        return found + self._late.get(packed, [])

    def others(self, kind: str | None = None) -> Iterator[tuple[int, int, str]]:
        """``(writer index, offset, type)`` of the records that belong to no step, those of unknown steps included."""
        for rows in self.writers:
            for i in range(len(rows.others)):
                name = self._types[rows.other_types[i]]
                if kind is None or name == kind:
                    yield rows.index, rows.others[i], name
        for waiting in list(self._orphans.values()):
            for name, _, writer, offset in waiting:
                if kind is None or name == kind:
                    yield writer, offset, name

    def select(self, kinds: Collection[str], effects: Collection[str], statuses: Collection[str]) -> array[int]:
        """Display positions, sorted, of the steps of any of these kinds, effects and statuses.

        An empty choice allows all.
        """
        kind_ok, effect_ok, status_ok = _allowed(KINDS, kinds), _allowed(EFFECTS, effects), _allowed(STATUSES, statuses)
        found: list[int] = []
        for rows in self.writers:
            base = pack(rows.index, 0)
            found.extend(
                base | row
                for row, (kind, effect, status) in enumerate(zip(rows.kinds, rows.effects, rows.statuses, strict=True))
                if kind_ok[kind] and effect_ok[effect] and status_ok[status]
            )
        placed = len(self.order)
        return array("Q", sorted(position for position in map(self.order.position, found) if position < placed))

    def orphans(self) -> list[str]:
        """Ids of the steps of which something is here, but no intent."""
        return sorted(self._orphans)

    def _set_clock(self, rows: WriterRows, kind: str, record: dict[str, Json]) -> None:
        clock = _nanoseconds(record.get("wall"), 1e9) - _nanoseconds(record.get("mono"))
        boot = record.get("boot") if kind == "writer" else None
        rows.clock = self._boots.setdefault(boot, clock) if isinstance(boot, str) and boot else clock
        if kind == "writer" and isinstance(parent := record.get("parent"), str):
            self._unspawned[rows.index] = parent

    def _add_step(self, rows: WriterRows, offset: int, seq: int, record: dict[str, Json]) -> None:
        row = rows.append(offset, seq, _nanoseconds(record.get("mono")) + (rows.clock or 0))
        rows.kinds.append(_code(_KIND_CODE, record.get("kind")))
        rows.effects.append(_code(_EFFECT_CODE, record.get("effect") or ""))
        rows.statuses.append(OPEN if record["e"] == "intent" else _status_code(record.get("status", "ok")))
        lane = record.get("lane")
        lane_index = self._lane_index.get(lane) if isinstance(lane, str) else None
        rows.lanes.append(self._new_lane(lane) if lane_index is None else lane_index)
        parent = record.get("parent")
        if isinstance(parent, str):
            self._link(rows.index, row, parent)
        elif rows.spawn is not None:
            rows.parents[row] = rows.spawn + 1
        if self._orphans or self._unlinked:
            self._claim(f"{rows.name}:{seq}")

    def _claim(self, step_id: str) -> None:
        """Give a step what was read before it."""
        for writer, row in self._unlinked.pop(step_id, ()):
            self._link(writer, row, step_id)
            self.relinked += 1
        for kind, status, writer, offset in self._orphans.pop(step_id, ()):
            self._attach(self.writers[writer], offset, step_id, kind, status)

    def _link(self, writer: int, row: int, parent: str) -> None:
        found = self.locate(parent)
        if found is None:
            self._unlinked.setdefault(_key(parent), []).append((writer, row))
            return
        self._found = (parent, found)
        if found != pack(writer, row):
            self.writers[writer].parents[row] = found + 1
            self._depths.clear()
            if unpack(found)[0] != writer:
                self.order.must_follow(writer, row, found)

    def _adopt(self, rows: WriterRows, parent: int) -> None:
        """Put the outermost steps of a spawned process below the step that spawned it."""
        rows.spawn = parent
        self._depths.clear()
        unlinked = {row for waiting in self._unlinked.values() for writer, row in waiting if writer == rows.index}
        for row in range(len(rows)):
            if not rows.parents[row] and row not in unlinked and parent != pack(rows.index, row):
                rows.parents[row] = parent + 1
        self.order.must_follow(rows.index, 0, parent)

    def _attach(self, rows: WriterRows, offset: int, of: str, kind: str, status: int) -> None:
        packed = self.locate(of)
        if packed is None:
            self._orphans.setdefault(_key(of), []).append((kind, status, rows.index, offset))
            return
        self.changed.add(packed)
        writer, row = unpack(packed)
        owner = self.writers[writer]
        is_open = owner.statuses[row] == OPEN
        at_home = owner is rows and is_open and row not in owner.odd_rows and offset > owner.offsets[row]
        if kind == "outcome":
            self.doubled += not is_open
            owner.statuses[row] = status if is_open else owner.statuses[row]
        if at_home and kind == "outcome":
            owner.outcomes[row] = offset + 1
        elif at_home:
            owner.attached.append(offset)
            owner.attached_to.append(owner.seqs[row])
        else:
            self._late.setdefault(packed, []).append((rows.index, offset))

    def _add_other(self, rows: WriterRows, offset: int, kind: str, record: dict[str, Json]) -> None:
        if kind == "writer" and rows.info is None:
            rows.info = record
        elif kind == "end" and len(self.ends) < _MAX_NOTES:
            self.ends.append(record)
        elif kind == "hole" and len(self.notes) < _MAX_NOTES:
            self.notes.append(str(record.get("what", ""))[:500])
        self._keep(rows, offset, kind)

    def _keep(self, rows: WriterRows, offset: int, kind: str) -> None:
        code = self._type_index.get(kind)
        if code is None:
            code = len(self._types) if len(self._types) < _MAX_TYPES else 0
            self._type_index[kind] = code
            if code == len(self._types):
                self._types.append(kind)
        rows.others.append(offset)
        rows.other_types.append(code)

    def _new_lane(self, lane: Json) -> int:
        name = lane if isinstance(lane, str) and _LANE.fullmatch(lane) else "0"
        index = self._lane_index.setdefault(name, len(self.lanes))
        if index == len(self.lanes):
            self.lanes.append(name)
        return index

    def _note_time(self, wall: float) -> None:
        if 0 < wall < _MAX_WALL:
            self.first_wall = min(self.first_wall, wall)
            self.last_wall = max(self.last_wall, wall)


def _key(step_id: str) -> str:
    parts = split_step_id(step_id)
    return f"{parts[0]}:{parts[1]}" if parts else step_id


def _allowed(names: Sequence[str], chosen: Collection[str]) -> bytes:
    """For each code, whether it is wanted."""
    return bytes(not chosen or (code < len(names) and names[code] in chosen) for code in range(256))


def _status_code(status: Json) -> int:
    code = _code(_STATUS_CODE, status)
    return UNKNOWN if code == OPEN else code


def _code(codes: dict[str, int], name: Json) -> int:
    return codes.get(name, UNKNOWN) if isinstance(name, str) else UNKNOWN


def _nanoseconds(value: Json, scale: float = 1) -> int:
    if type(value) is int and 0 <= value < _MAX_NS:
        return value if scale == 1 else min(int(value * scale), _MAX_NS)
    if type(value) is float and isfinite(value) and value >= 0:
        return int(min(value * scale, _MAX_NS))
    return 0

"""A recorded run prepared for serving: its calls in order, their outcomes, and what the agent's code drew."""

from __future__ import annotations

import json
import os
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, cast

from agentdbg.model.canonical import loads, loads_json
from agentdbg.model.fingerprint import SCHEME, VolatileRules, drop_volatile, fingerprint
from agentdbg.model.records import BodyRef, Json, Kind, Segment, Step, StepStatus
from agentdbg.model.segments import Part, join_request
from agentdbg.recording.provider_parts import identity_path
from agentdbg.replay.placing import HandOff, Line, Moment, moment_of
from agentdbg.store.journal import ref_from
from agentdbg.store.protocols import BodyMissing

if TYPE_CHECKING:
    from agentdbg.store.reader import DirectoryRunSource
    from agentdbg.store.step_list import ExtraEvent


@dataclass(frozen=True, slots=True)
class RecordedCall:
    """One call that a replay may serve.

    Attributes:
        asked: Position of the intent among all intents and outcomes of served calls.
        ended: Position of the outcome, or ``None`` when the record has none.
        gap: Seconds that had passed since the position before that.
        asked_at: When it was asked, in seconds on the recording machine's monotonic clock.
        ended_at: When it ended, on the same.
        yields: Its event loop turned while the call went on.
        asked_turn: Loop, turn and steps of the intent, as in the record.
        turn: Loop, turn, burst, count and steps of the outcome, as in the record.
        burst: Number of the burst, and the count in it; see `agentdbg.recording.turns`.
        error: Type, module, message and decoded argument list of a recorded exception.
    """

    step: str
    kind: str
    name: str
    lane: str
    fingerprint: str
    arguments_hash: str
    asked: int
    ended: int | None
    status: str
    result: str | None = None
    error: Mapping[str, Json] | None = None
    attrs: Mapping[str, Json] = field(default_factory=dict)
    stream: tuple[str, ...] = ()
    gap: float = 0.0
    yields: bool = False
    asked_turn: tuple[int, ...] = ()
    turn: tuple[int, ...] = ()
    burst: tuple[int, ...] = ()
    asked_at: float = 0.0
    ended_at: float = 0.0


@dataclass(frozen=True, slots=True)
class Cassette:
    """Attributes:
    draws: ``[lane, source, site, value]`` in recorded order.
    missing: Bodies that a served call needs and the record does not have, in words.
    ends_early: The recording process died: the record ends before the run did.
    began: When the run began, in seconds on the recording machine's monotonic clock; 0 where that is not known.
    handoffs: What threads handed to each other, in order.
    """

    calls: tuple[RecordedCall, ...]
    draws: tuple[tuple[str, str, str, Json], ...]
    bodies: Mapping[str, bytes]
    missing: tuple[str, ...]
    ends_early: bool
    surrogates: tuple[tuple[int, str], ...] = ()
    began: float = 0.0
    handoffs: tuple[HandOff, ...] = ()


def volatile_rules(meta: Mapping[str, Json]) -> VolatileRules:
    """The volatile rules that a run was recorded under."""
    rules = meta.get("rules")
    stored = rules.get("volatile") if isinstance(rules, dict) else None
    paths = stored.get("paths") if isinstance(stored, dict) else None
    if not isinstance(stored, dict) or not isinstance(paths, dict):
        return VolatileRules()
    kept = {key: tuple(str(p) for p in value) for key, value in paths.items() if isinstance(value, list)}
    return VolatileRules(str(stored.get("version", "v1")), kept)


def build(source: DirectoryRunSource) -> Cassette:
    """Read everything that serving a run needs."""
    summary = source.summary()
    rules = volatile_rules(summary.meta)
    found = _Builder(source, rules)
    for step in served_steps(source.steps()):
        found.add(step)
    for event in source.extra_events("end"):
        found.note(event.writer, event.members)
    ends_early = summary.status.value in ("lost", "running")
    return found.cassette(ends_early)


def draws_in(events: Iterable[ExtraEvent]) -> tuple[tuple[str, str, str, Json], ...]:
    """``[lane, source, site, value]`` of the draws that were written down, in that order."""
    found: list[tuple[str, str, str, Json]] = []
    for event in events:
        record = event.members
        draws = record.get("draws")
        whole = [draw for draw in draws if isinstance(draw, list) and len(draw) == 3] if isinstance(draws, list) else []
        found.extend((str(record.get("lane", "0")), str(draw[0]), str(draw[1]), draw[2]) for draw in whole)
    return tuple(found)


def served_steps(steps: Any) -> Iterator[Step]:
    """The steps that a replay meets: those that are not inside a call whose outcome is served as a whole."""
    inside: set[str] = set()
    for step in steps:
        if step.parent in inside:
            inside.add(step.id)
            continue
        if step.is_call:
            inside.add(step.id)
        yield step


@dataclass(slots=True)
class _Found:
    call: RecordedCall
    asked: Moment
    ended: Moment | None


class _Builder:
    def __init__(self, source: DirectoryRunSource, rules: VolatileRules) -> None:
        self._source = source
        self._rules = rules
        self._bodies: dict[str, bytes] = {}
        self._missing: list[str] = []
        self._surrogates: list[tuple[int, str]] = []
        self._found: list[_Found] = []
        self._handed: list[tuple[Moment, list[Json]]] = []
        self._began = 0.0

    def add(self, step: Step) -> None:
        """Take one step: redacted integers of all, outcomes of calls."""
        events = [event for event in map(_parsed, self._source.events(step)) if event is not None]
        for event in events:
            self._surrogates.extend(_surrogates(event))
            self.note(step.id, event)
        if not step.is_call:
            return
        intent = next((event for event in events if event.get("e") == "intent"), {})
        outcome = next((event for event in reversed(events) if event.get("e") == "outcome"), None)
        attrs = _mapping((outcome or {}).get("attrs"))
        streams = attrs.pop("stream", None) if "stream" in attrs else None
        refs = [ref for ref in map(ref_from, cast("list[Json]", streams or [])) if ref is not None]
        result = ref_from((outcome or {}).get("result"))
        asked, ended = moment_of(step.id, intent), None if outcome is None else moment_of(step.id, outcome)
        call = RecordedCall(
            step=step.id,
            kind=step.kind.value,
            name=step.name,
            lane=str(intent.get("lane", "0")),
            fingerprint=self._identity(step, intent),
            arguments_hash=step.input_hash or (step.arguments.sha256 if step.arguments else ""),
            asked=0,
            ended=None,
            status=str(outcome.get("status", "ok")) if outcome is not None else StepStatus.OPEN.value,
            result=self._keep(step, result) if result is not None else None,
            error=self._error(step, outcome),
            attrs=attrs,
            stream=tuple(key for key in (self._keep(step, ref) for ref in refs) if key is not None),
            yields=ended is not None
            and len(ended.turn) > 3
            and len(asked.turn) > 1
            and ended.turn[:2] != asked.turn[:2],
            asked_turn=asked.turn,
            turn=() if ended is None else ended.turn,
        )
        self._found.append(_Found(call, asked, ended))
        if not self._began and isinstance(wall := intent.get("wall"), int | float):
            started = self._source.summary().started_at or wall
            self._began = max(0.0, asked.mono / 1e9 - max(0.0, wall - started))

    def note(self, place: str, event: Mapping[str, Json]) -> None:
        if isinstance(found := event.get("handoffs"), list):
            self._handed.append((moment_of(place, event), found))

    def cassette(self, ends_early: bool) -> Cassette:
        """Put the calls' intents and outcomes into one order."""
        ends = [(found.ended, i) for i, found in enumerate(self._found) if found.ended is not None]
        alone = len({found.asked.writer for found in self._found}) <= 1  # the order is that of one process's threads
        line = Line([found.asked for found in self._found], ends, self._handed if alone else ())
        asked: dict[int, dict[str, Any]] = {}
        ended: dict[int, dict[str, Any]] = {}
        for place, (moment, i, is_end) in enumerate(line.moments):
            if is_end:
                burst = line.bursts[len(ended)]
                ended[i] = {"ended": place, "gap": line.gap(place), "burst": burst, "ended_at": moment.mono / 1e9}
            else:
                asked[i] = {"asked": place, "asked_at": moment.mono / 1e9}
        calls = [replace(found.call, **asked[i], **ended.get(i, {})) for i, found in enumerate(self._found)]
        calls.sort(key=lambda call: call.asked)
        missing, surrogates = tuple(self._missing), tuple(self._surrogates)
        draws = draws_in(self._source.extra_events("draws"))
        return Cassette(tuple(calls), draws, self._bodies, missing, ends_early, surrogates, self._began, line.handoffs)

    def _identity(self, step: Step, intent: Mapping[str, Json]) -> str:
        """The stored fingerprint; one of another scheme is computed again from the bodies, where they are there."""
        stored = step.fingerprint or ""
        if stored.startswith(SCHEME):
            return stored
        try:
            about = identity_of(self._source, step, intent)
        except (BodyMissing, ValueError):
            return stored
        kept, _ = drop_volatile(about, self._mentioned(step))
        return fingerprint(step.kind.value, step.name, kept)

    def _mentioned(self, step: Step) -> tuple[str, ...]:
        """The volatile paths whose field occurs in a call at all: looking for bytes is far cheaper than walking it."""
        paths = self._rules.for_call(step.name)
        if step.arguments is None:
            return paths
        body = self._source.body(step.arguments)
        return tuple(path for path in paths if _occurs(path.rpartition(".")[2], body))

    def _keep(self, step: Step, ref: BodyRef) -> str | None:
        if ref.sha256 in self._bodies:
            return ref.sha256
        try:
            self._bodies[ref.sha256] = self._source.body(ref)
        except BodyMissing as problem:
            self._missing.append(f"step {step.n} ({step.name}): {problem}")
            return None
        return ref.sha256

    def _error(self, step: Step, outcome: Mapping[str, Json] | None) -> dict[str, Json] | None:
        error = _mapping((outcome or {}).get("error"))
        if not error:
            return None
        for part in ("args", "state"):
            ref = ref_from(error.pop(part, None))
            key = None if ref is None else self._keep(step, ref)
            if key is not None:
                error[f"{part}_body"] = key
        return error


def identity_of(source: DirectoryRunSource, step: Step, intent: Mapping[str, Json]) -> object:
    """What a call's fingerprint covers.

    Raises:
        BodyMissing: A body that it needs cannot be read.
        ValueError: A body is not what it should be.
    """
    if step.kind is Kind.MODEL and "input" in intent:
        attrs = _mapping(intent.get("attrs"))
        body = join_request(request_parts(source, source.segments(step)))
        return {"path": identity_path(attrs.get("provider"), body, stream=attrs.get("stream") is True), "body": body}
    if step.arguments is None:
        raise BodyMissing("no arguments recorded")
    return loads(source.body(step.arguments))


def request_parts(source: Any, segments: Any) -> list[Part]:
    """The segments of a model input with their values.

    Raises:
        BodyMissing: A segment cannot be read.
    """
    found: list[Segment] = list(segments)
    return [Part(part.kind, part.name, loads_json(source.body(part.ref))) for part in found]


def surrogates_of(source: DirectoryRunSource) -> Iterator[tuple[int, str]]:
    """The integers of a run that stand for redacted ones, each with its placeholder."""
    source = getattr(source, "whole", source)  # a run that is restored knows those from before as well
    for step in source.steps():
        for line in source.events(step):
            if b'"surrogates"' in line and (event := _parsed(line)) is not None:
                yield from _surrogates(event)


def write(cassette: Cassette, directory: str) -> None:
    """Write a cassette for the child process: ``calls.json`` and ``bodies``."""
    offsets: dict[str, list[int]] = {}
    with open(f"{directory}/bodies", "xb") as file:
        for digest, body in cassette.bodies.items():
            offsets[digest] = [file.tell(), len(body)]
            file.write(body)
    calls = [{name: getattr(call, name) for name in RecordedCall.__dataclass_fields__} for call in cassette.calls]
    with open(f"{directory}/calls.json", "x", encoding="ascii") as text:
        found = {"calls": calls, "draws": cassette.draws, "offsets": offsets, "ends_early": cassette.ends_early}
        handed = [{name: getattr(each, name) for name in HandOff.__dataclass_fields__} for each in cassette.handoffs]
        more = {"surrogates": cassette.surrogates, "began": cassette.began, "handoffs": handed}
        text.write(json.dumps({**found, **more}))


def read(directory: str) -> Cassette:
    """Read what ``write`` wrote; bodies are read when they are served."""
    with open(f"{directory}/calls.json", "rb") as file:
        found = json.load(file)
    calls = tuple(
        RecordedCall(
            **{**call, **{name: tuple(call[name] or ()) for name in ("stream", "asked_turn", "turn", "burst")}}
        )
        for call in found["calls"]
    )
    draws = tuple((lane, source, site, value) for lane, source, site, value in found["draws"])
    surrogates = tuple((int(number), str(placeholder)) for number, placeholder in found["surrogates"])
    bodies = _Bodies(f"{directory}/bodies", found["offsets"])
    handed = tuple(HandOff(**{**each, "burst": tuple(each["burst"])}) for each in found["handoffs"])
    return Cassette(calls, draws, bodies, (), bool(found["ends_early"]), surrogates, float(found["began"]), handed)


class _Bodies(Mapping[str, bytes]):
    def __init__(self, path: str, offsets: Mapping[str, list[int]]) -> None:
        self._fd = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
        self._offsets = offsets

    def __getitem__(self, digest: str) -> bytes:
        offset, size = self._offsets[digest]
        return os.pread(self._fd, size, offset)

    def __iter__(self) -> Iterator[str]:
        return iter(self._offsets)

    def __len__(self) -> int:
        return len(self._offsets)


def _occurs(member: str, body: bytes) -> bool:
    return not (member.isascii() and member.isidentifier()) or f'"{member}"'.encode() in body or b"\\u" in body


def _parsed(line: bytes) -> dict[str, Json] | None:
    try:
        event = loads_json(line)
    except ValueError:
        return None
    return event if isinstance(event, dict) else None


def _mapping(value: Json) -> dict[str, Json]:
    return dict(value) if isinstance(value, dict) else {}


def _surrogates(event: Mapping[str, Json]) -> Iterator[tuple[int, str]]:
    pairs = event.get("surrogates")
    for pair in pairs if isinstance(pairs, list) else []:
        if isinstance(pair, list) and len(pair) == 2 and isinstance(pair[0], int) and isinstance(pair[1], str):
            yield pair[0], pair[1]

"""One run of the present code in a regression replay's child: the control lane, or a sample."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import Future, wait
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from agentdbg.model.fingerprint import alpha_fingerprint, drop_volatile
from agentdbg.model.json_text import loads_json
from agentdbg.model.records import Json, Kind
from agentdbg.redaction.gate import Gate
from agentdbg.replay import cassette as cassettes
from agentdbg.replay.cassette import Cassette
from agentdbg.replay.child_process import LOOK_S, ChildReport, ControlPair, Watch, run_child
from agentdbg.replay.child_start import child_command
from agentdbg.replay.cleaning import cleaned
from agentdbg.replay.look_ups import PATIENCE_S
from agentdbg.replay.policy import Stage
from agentdbg.replay.reach import Reach
from agentdbg.replay.restore import Restored
from agentdbg.replay.run import ReplayOptions, ReplayRefused, no_kernel_guard
from agentdbg.replay.sandbox import Sandbox
from agentdbg.replay.spec import (
    child_environment,
    interpreter,
    interpreter_options,
    mapping,
    working_directory,
    write_spec,
)
from agentdbg.replay.start_state import start_state
from agentdbg.store.protocols import BodyMissing
from agentdbg.store.reader import DirectoryRunSource

_PORTS = {"http": 80, "https": 443}
_DNS = ":53"
LOOK_UP_AGAIN_S = 1.0


@dataclass(frozen=True, slots=True)
class Question:
    """What a person is asked.

    Attributes:
        about: ``approval``, or ``tool`` for an external call in a sandbox.
        name: The question, or the tool.
        key: The tool's idempotency key.
    """

    about: str
    name: str
    key: str | None = None


Person = Callable[[Question], "str | bool | None"]
"""Gives the decision of an approval as a text, or a yes to a tool; ``None``: nobody is there."""


@dataclass(frozen=True, slots=True)
class Arrangement:
    """What all lanes of one replay have in common.

    Attributes:
        tape: What is served, edits made.
        prefix: Ids of the calls before the checkpoint; ``None``: up to the first model input that differs.
        edited: Ids of the calls whose outcome was edited.
        arguments: The agent's arguments, where they were edited.
        pins: By tool, the record that answers its calls.
        facts: By step, alpha fingerprint and idempotency key.
        restored: The checkpoint whose state the agent goes on from, instead of being started.
        calls: By recorded tool call, what is put into the arguments of the call that is taken for it.
    """

    tape: Cassette
    prefix: frozenset[str] | None
    facts: Mapping[str, Mapping[str, object]]
    edited: frozenset[str] = frozenset()
    arguments: bytes | None = None
    pins: Mapping[str, Cassette] = field(default_factory=dict)
    sandbox: Sandbox | None = None
    person: Person | None = None
    restored: Restored | None = None
    calls: Mapping[str, Sequence[tuple[Sequence[str | int], Json]]] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Lane:
    """Attributes:
    made: Directory of its record; ``None`` when the agent was not reached.
    """

    report: ChildReport
    made: Path | None
    problems: tuple[str, ...] = ()


class EndsOnly:
    """Somebody who may end a lane, but neither follows nor holds it."""

    def __init__(self, watch: Watch) -> None:
        self._watch = watch

    def settings(self) -> Mapping[str, object]:
        """Nothing."""
        return {}

    def attached(self, control: ControlPair, made: Path) -> None:
        """It is not followed."""

    def heard(self, message: Mapping[str, Any]) -> None:
        """It is not followed."""

    def printed(self, data: bytes) -> None:
        """It is not followed."""

    def waits(self) -> bool:
        """Nothing is held."""
        return False

    def aborted(self) -> bool:
        """Whether it is to end now."""
        return self._watch.aborted()


def _ender(watch: Watch | None) -> Watch | None:
    return None if watch is None else EndsOnly(watch)


def _until_aborted(person: Person | None, watch: Watch | None) -> Person | None:
    """Somebody who is not waited for any more once the replay is to end."""
    if person is None or watch is None:
        return person

    def ask(question: Question) -> str | bool | None:
        answer: Future[str | bool | None] = Future()

        def think() -> None:
            try:
                answer.set_result(person(question))
            except BaseException as problem:  # raised where it is waited for
                answer.set_exception(problem)

        threading.Thread(target=think, name="agentdbg-question", daemon=True).start()
        while not watch.aborted():
            if wait([answer], LOOK_S).done:
                return answer.result()
        return None

    return ask


class Doorkeeper:
    """The parent's part: says what may be reached, opens while a declared read runs, asks a person."""

    def __init__(self, hosts: Sequence[str], person: Person | None, *, is_open: bool) -> None:
        self._reach = Reach(hosts)
        self._person = person
        self._is_open = is_open
        self._lock = threading.Lock()
        self._windows = 0
        self._looked = 0.0

    def numbers(self) -> list[tuple[str, int]]:
        """Addresses of the hosts as they are now."""
        self._reach.look_up()
        self._looked = time.monotonic()
        return self._reach.numbers()

    def reply(self, message: Mapping[str, Any]) -> Mapping[str, object]:
        """Answer the child."""
        if message.get("event") == "window":
            with self._lock:
                self._windows += 1 if message.get("asks") == "open" else -1
            return {}
        if self._person is None:
            return {"answer": None}
        key = message.get("key")
        about = Question(str(message.get("asks")), str(message.get("name")), key if isinstance(key, str) else None)
        return {"answer": self._person(about)}

    def may_connect(self, address: str) -> bool:
        """Whether an address may be reached at this moment."""
        if not self._is_open:
            return False
        if self._windows > 0 or self._reach.written(address) or address.endswith(_DNS):
            return True
        if time.monotonic() - self._looked >= LOOK_UP_AGAIN_S:  # a name may have other addresses by now
            self.numbers()
        return self._reach.written(address)


def run_lane(
    source: DirectoryRunSource,
    plan: Arrangement,
    options: ReplayOptions,
    scratch: Path,
    *,
    control: bool,
    watch: Watch | None = None,
) -> Lane:
    """Run the present code once, in a fresh directory.

    Args:
        source: The recorded run.
        plan: What it is answered from.
        options: Guard, time, what is tolerated.
        scratch: That directory.
        control: Everything is served, nothing may be reached.
        watch: Follows it; the control lane it can only end.

    Raises:
        ReplayRefused: The kernel does not hold it.
    """
    run_id, is_held = f"{source.summary().run_id[:100]}.regression", options.guard != "audit"
    cassettes.write(plan.tape, str(scratch / "cassette"))
    start = start_state(source, working_directory(source, scratch), scratch) if is_held else None
    waiting = replace(plan, person=_until_aborted(plan.person, watch))
    keeper, open_to = _openings(source, waiting, options, control=control)
    with ControlPair() as channel:
        spec = write_spec(
            source,
            scratch,
            run_id,
            tolerate=options.tolerate,
            control_fd=channel.theirs.fileno(),
            start=start,
            control=None if watch is None or control else watch.settings(),
            regression={**_plan_for_child(source, plan, scratch, control=control), **open_to},
            restore=None if plan.restored is None else plan.restored.spec(scratch),
        )
        if plan.arguments is not None:
            (scratch / "arguments").write_bytes(plan.arguments)
        if watch is not None and not control:
            watch.attached(channel, scratch / "store" / "runs" / run_id)
        report = _started(source, spec, plan, options, channel, watch if not control else _ender(watch), keeper)
    if problem := report.first("no_kernel"):
        raise ReplayRefused(no_kernel_guard(str(problem.get("reason")), exact=False))
    made = scratch / "store" / "runs" / run_id
    kept, problems = made if made.is_dir() else None, start.problems if start is not None else ()
    return Lane(cleaned(report, Gate(enabled=bool(spec["redacting"]))), kept, problems)


def _openings(
    source: DirectoryRunSource, plan: Arrangement, options: ReplayOptions, *, control: bool
) -> tuple[Doorkeeper, dict[str, object]]:
    """Who opens what may be reached, and what the child is told of that."""
    hosts = [] if control else hosts_for_all(source, plan.sandbox)
    keeper = Doorkeeper(hosts, None if control else plan.person, is_open=not control)
    told: dict[str, object] = {} if control else {"hosts": hosts, "numbers": keeper.numbers()}
    told |= {"windows": not control and options.guard != "audit", "reads": list(options.reads)}
    return keeper, {**told, "patience": min(PATIENCE_S, options.timeout / 2)}


def _started(
    source: DirectoryRunSource,
    spec: Mapping[str, object],
    plan: Arrangement,
    options: ReplayOptions,
    channel: ControlPair,
    watch: Watch | None,
    keeper: Doorkeeper,
) -> ChildReport:
    scratch = Path(str(spec["scratch"]))
    sandboxed = plan.sandbox.env if plan.sandbox is not None else {}
    given = interpreter_options(mapping(source.summary().meta.get("entry")))
    return run_child(
        child_command(interpreter(source), given, scratch / "spec.json"),
        channel,
        cwd=str(spec["cwd"]),
        env={**child_environment(source, spec, scratch), **options.env, **sandboxed},
        timeout=options.timeout,
        tolerate=options.tolerate,
        watch=watch,
        parent=keeper,
    )


def _plan_for_child(
    source: DirectoryRunSource, plan: Arrangement, scratch: Path, *, control: bool
) -> dict[str, object]:
    stage = Stage.CONTROL if control else Stage.BEFORE if plan.prefix is None else Stage.PREFIX
    places: dict[str, str] = {}
    for number, (tool, tape) in enumerate(plan.pins.items()):
        place = scratch / f"pin-{number}"
        place.mkdir(mode=0o700)
        cassettes.write(tape, str(place))
        places[tool] = str(place)
    return {
        "stage": stage.value,
        "prefix": sorted(plan.prefix or ()),
        "edited": sorted(plan.edited),
        "arguments": {step: [[list(path), value] for path, value in each] for step, each in plan.calls.items()},
        "facts": plan.facts,
        "pins": places,
        "sandbox": None if plan.sandbox is None else plan.sandbox.members(),
        "runs": ids_in_keys(source, plan.tape),
    }


def hosts_for_all(source: DirectoryRunSource, sandbox: Sandbox | None) -> list[str]:
    """What all code may reach: the routes of the run's models, the hosts of the sandbox."""
    return list(dict.fromkeys([*routes(source), *(sandbox.hosts if sandbox is not None else ())]))


def ids_in_keys(source: DirectoryRunSource, tape: Cassette) -> list[str]:
    """What an idempotency key has in it that is made of a run's or a step's id."""
    return [source.summary().run_id, *sorted({call.step.partition(":")[0] for call in tape.calls})]


def routes(source: DirectoryRunSource) -> list[str]:
    """``host:port`` of every model that the run called."""
    found: dict[str, None] = {}
    for step in source.steps():
        url = step.attrs.get("url")
        if step.kind is Kind.MODEL and isinstance(url, str):
            found.setdefault(_host(url))
    return [host for host in found if host]


def _host(url: str) -> str:
    try:
        parts = urlsplit(url)
        host, port = parts.hostname, parts.port or _PORTS.get(parts.scheme)
    except ValueError:
        return ""
    return f"[{host}]:{port}" if host and ":" in host else f"{host}:{port}" if host else ""


def facts_of(source: DirectoryRunSource, tape: Cassette) -> dict[str, dict[str, object]]:
    """By step: the fingerprint with server-minted ids renamed, and the idempotency key."""
    rules = cassettes.volatile_rules(source.summary().meta)
    found: dict[str, dict[str, object]] = {}
    for call in tape.calls:
        step = source.step_by_id(call.step)
        if step is None:
            continue
        about: dict[str, object] = {name: step.attrs.get(name) for name in ("provider", "call_id")}
        about["key"] = step.idempotency_key
        try:
            covered = cassettes.identity_of(source, step, _intent(source, call.step))
            kept, _ = drop_volatile(covered, rules.for_call(step.name))
            about["alpha"] = alpha_fingerprint(step.kind.value, step.name, kept)
        except (BodyMissing, ValueError):
            about["alpha"] = ""  # matched by its plain fingerprint, or by place
        found[call.step] = about
    return found


def _intent(source: DirectoryRunSource, step_id: str) -> dict[str, Any]:
    step = source.step_by_id(step_id)
    for line in source.events(step) if step is not None else ():
        event = loads_json(line)
        if isinstance(event, dict) and event.get("e") == "intent":
            return event
    return {}


__all__ = ["Arrangement", "Doorkeeper", "Lane", "Person", "Question", "facts_of", "routes", "run_lane"]

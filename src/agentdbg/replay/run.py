"""An exact replay from the parent's side: plan, child process, verdict, and the replay published as a run of its own."""

from __future__ import annotations

import json
import os
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, cast

from agentdbg.config.paths import cache_dir
from agentdbg.config.resources import demo_runs_dir
from agentdbg.model.records import Json, Kind, Step
from agentdbg.recording.process import seal
from agentdbg.redaction.keys import load_key
from agentdbg.replay import cassette as cassettes
from agentdbg.replay.outcome import Outcome
from agentdbg.replay.verdict import judge
from agentdbg.store.directory import DirectoryStore
from agentdbg.store.journal import ref_from
from agentdbg.store.protocols import BodyMissing
from agentdbg.store.reader import DirectoryRunSource

GRACE_S = 1.0
_SECRET_NAMES = ("KEY", "TOKEN", "SECRET", "PASSWORD", "PASSWD", "CREDENTIAL")


@dataclass(frozen=True, slots=True)
class ReplayOptions:
    """What is asked of a replay.

    Attributes:
        guard: ``audit``: the audit hook alone. ``auto`` wants kernel layers, which this version does not have.
        timeout: Seconds after which the child is ended.
        trust: Run code that this user did not record without asking.
        tolerate: Ambient effects that stay blocked but are no refusal: patterns over ``event detail``.
        store: Where the replay is published.
        edit_command: The interpreter to use instead of the recorded or current one.
    """

    guard: str
    timeout: float
    trust: bool
    tolerate: Sequence[str]
    store: Any


class ReplayRefused(Exception):
    """Nothing was run, for safety; the message says why and what to do."""


class NotReplayable(Exception):
    """The record does not support an exact replay; the message says why."""


@dataclass(slots=True)
class _ChildReport:
    """What came over the control channel, and how the child ended."""

    messages: list[dict[str, Any]] = field(default_factory=list)
    timed_out: bool = False
    exit_code: int | None = None

    def first(self, event: str) -> dict[str, Any] | None:
        return next((message for message in self.messages if message.get("event") == event), None)

    def all(self, event: str) -> list[dict[str, Any]]:
        return [message for message in self.messages if message.get("event") == event]


def plan(source: DirectoryRunSource, options: ReplayOptions) -> list[str]:
    """What would happen to every recorded call, one line each; what stands in the way first."""
    lines = [f"! {problem}" for problem in _obstacles(source)]
    tape = _tape(source)
    lines += [f"! missing: {what}" for what in tape.missing]
    redacted = sum(1 for body in tape.bodies.values() if "⟦R:".encode() in body)
    if redacted:
        lines.append(f"! {redacted} served values are redacted")
    for call in tape.calls:
        step = source.step_by_id(call.step)
        number = step.n if step is not None else "?"
        what = "serve the recorded outcome" if call.ended is not None else "the record ends here"
        lines.append(f"{number}: {call.kind} {call.name}: {what}")
    return lines


def exact(source: DirectoryRunSource, options: ReplayOptions) -> Outcome:
    """Run the agent's own code again with everything served from the record.

    Raises:
        ReplayRefused: It must not be started.
    """
    if options.guard != "audit":
        raise ReplayRefused("kernel guard layers are not available here; say --guard audit to run under the audit hook alone")
    source.index(None)
    summary = source.summary()
    if not options.trust and not is_trusted(source):
        raise ReplayRefused(
            f"run {summary.run_id} was not recorded by this user, so its code is not started; look at it with 'show', then say --trust"
        )
    obstacles = _obstacles(source)
    tape = _tape(source)
    obstacles += [f"body missing: {what}" for what in tape.missing]
    if obstacles:
        return Outcome(summary.run_id, "not_replayable", obstacles[0], notes=tuple(obstacles[1:]), total=len(tape.calls))
    with _Scratch() as scratch:
        return _replay(source, tape, options, scratch)


def is_trusted(source: DirectoryRunSource) -> bool:
    """Whether this user recorded the run, or it is one of the demo runs that come with the program."""
    root = Path(source.root).resolve()
    demo = demo_runs_dir()
    if demo is not None and root.is_relative_to(Path(demo).resolve()):
        return True
    meta = source.summary().meta
    found = meta.get("seal")
    return isinstance(found, str) and found == seal(load_key().secret, source.summary().run_id, meta.get("entry"))


def _tape(source: DirectoryRunSource) -> cassettes.Cassette:
    source.index(None)
    return cassettes.build(source)


def _obstacles(source: DirectoryRunSource) -> list[str]:
    summary = source.summary()
    entry = _mapping(summary.meta.get("entry"))
    found = [str(reason) for reason in cast("list[Json]", entry.get("not_replayable") or [])]
    if not _mapping(entry.get("callable")):
        found.append("the record has no entry point: no @agentdbg.agent call was its root")
    elif "<locals>" in str(_mapping(entry.get("callable")).get("qualname")):
        found.append("the recorded agent is a local function, which cannot be called again")
    for step in cassettes.served_steps(source.steps()):
        if step.kind in cassettes.CALL_KINDS:
            found += [f"step {step.n} ({step.name}): {hole}" for hole in step.holes if "not replayable" in hole]
    return found


class _Scratch:
    """A private directory for one replay, gone afterwards."""

    def __enter__(self) -> Path:
        base = cache_dir() / "replays"
        base.mkdir(parents=True, exist_ok=True, mode=0o700)
        self.path = Path(tempfile.mkdtemp(prefix="replay-", dir=base)).resolve()
        for name in ("cassette", "store", "tmp", "cwd"):
            (self.path / name).mkdir(mode=0o700)
        return self.path

    def __exit__(self, *_: object) -> None:
        shutil.rmtree(self.path, ignore_errors=True)


def _replay(source: DirectoryRunSource, tape: cassettes.Cassette, options: ReplayOptions, scratch: Path) -> Outcome:
    summary = source.summary()
    run_id = _new_id(options.store, summary.run_id)
    cassettes.write(tape, str(scratch / "cassette"))
    spec = _spec(source, options, scratch, run_id)
    report = _run_child(spec, scratch, options.timeout, _python(summary.meta))
    made = scratch / "store" / "runs" / run_id
    if not made.is_dir():
        return _never_started(summary.run_id, report, len(tape.calls), scratch)
    outcome = judge(source, made, tape, report.messages, report.timed_out)
    outcome = replace(outcome, log=_tail(scratch / "log"))
    _publish(made, options.store, outcome)
    return replace(outcome, replay_run=run_id)


def _never_started(run_id: str, report: _ChildReport, total: int, scratch: Path) -> Outcome:
    refused = tuple(report.all("refused"))
    if refused:
        reason = f"{refused[0].get('effect')} {refused[0].get('detail')} at {refused[0].get('frame')}, before the agent started"
        return Outcome(run_id, "refused", reason, refused=refused, total=total, guard=("audit",))
    failed = report.first("cannot_start")
    if report.timed_out:
        return Outcome(run_id, "timed_out", "the program did not reach the agent in time", total=total, log=_tail(scratch / "log"))
    reason = str(failed.get("reason")) if failed else f"the child ended with status {report.exit_code} before the agent started"
    verdict = "not_replayable" if failed else "crashed"
    return Outcome(run_id, verdict, reason, total=total, guard=("audit",), log=_tail(scratch / "log"))


def _spec(source: DirectoryRunSource, options: ReplayOptions, scratch: Path, run_id: str) -> dict[str, object]:
    summary = source.summary()
    entry = _mapping(summary.meta.get("entry"))
    roots = {key: str(value) for key, value in _mapping(summary.meta.get("roots")).items()}
    arguments = scratch / "arguments"
    ref = ref_from(entry.get("args"))
    arguments.write_bytes(source.body(ref) if ref is not None else b"{}")
    target = _mapping(entry.get("callable"))
    cwd = _expand(str(entry.get("cwd", "")), roots)
    return {
        "cassette": str(scratch / "cassette"),
        "run_id": run_id,
        "meta": {"mode": "exact", "replay_of": summary.run_id, "from_step": 0},
        "roots": roots or {"root": str(scratch / "cwd"), "venv": sys.prefix, "home": os.path.expanduser("~")},
        "entry": target,
        "file": _expand(str(target.get("file", "")), roots),
        "path": [_expand(str(place), roots) for place in cast("list[Json]", entry.get("path") or [])],
        "argv": [str(word) for word in cast("list[Json]", entry.get("argv") or ["agent"])],
        "arguments": str(arguments),
        "items": _items(source),
        "cwd": cwd if os.path.isdir(cwd) else str(scratch / "cwd"),
        "started_at": summary.started_at,
        "allow_write": [str(scratch)],
        "tolerate": list(options.tolerate),
        "environment": _environment(source),
    }


def _items(source: DirectoryRunSource) -> int | None:
    """How many items of a generator agent were consumed, when it was given up before its end."""
    steps = source.steps()
    root: Step | None = steps[0] if len(steps) else None
    if root is None or root.kind is not Kind.AGENT or root.status.value != "partial" or root.result is None:
        return None
    try:
        found = json.loads(source.body(root.result))
    except (BodyMissing, ValueError):
        return None
    items = found.get("items") if isinstance(found, dict) else None
    return len(items) if isinstance(items, list) else None


def _environment(source: DirectoryRunSource) -> dict[str, Json]:
    for event in source.extra_events("environment"):
        ref = ref_from(event.members.get("body"))
        try:
            found = json.loads(source.body(ref)) if ref is not None else None
        except (BodyMissing, ValueError):
            found = None
        if isinstance(found, dict):
            return cast("dict[str, Json]", found)
    return {}


def _child_environment(spec: Mapping[str, Any], scratch: Path) -> dict[str, str]:
    recorded = _mapping(_mapping(spec["environment"]).get("env"))
    environ = {name: value for name, value in os.environ.items() if not name.startswith("AGENTDBG")}
    for name, about in recorded.items():
        value = _mapping(about).get("value")
        if isinstance(value, str) and not name.startswith(("PYTHONPATH", "HOME", "PATH", "AGENTDBG")):
            environ[name] = value
        elif name not in environ and any(word in name.upper() for word in _SECRET_NAMES) and not name.startswith("AGENTDBG"):
            environ[name] = "agentdbg-dummy"
    key_variables = {name: os.environ[name] for name in ("AGENTDBG_REDACTION_KEY", "AGENTDBG_REDACTION_KEY_FILE") if name in os.environ}
    package = str(Path(__file__).resolve().parents[2])
    path = [place for place in cast("list[str]", spec["path"]) if os.path.isdir(place)]
    return {
        **environ,
        **key_variables,
        "AGENTDBG_STORE": str(scratch / "store"),
        "PYTHONDONTWRITEBYTECODE": "1",
        "PYTHONPATH": os.pathsep.join(dict.fromkeys([*path, str(spec["cwd"]), package])),
        "TMPDIR": str(scratch / "tmp"),
    }


def _run_child(spec: dict[str, object], scratch: Path, timeout: float, python: str) -> _ChildReport:
    ours, theirs = socket.socketpair()
    spec["control_fd"] = theirs.fileno()
    (scratch / "spec.json").write_text(json.dumps(spec), encoding="utf-8")
    report = _ChildReport()
    with ours, open(scratch / "log", "wb") as log:
        child = subprocess.Popen(
            [python, "-m", "agentdbg.replay.child", str(scratch / "spec.json")],
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=log,
            cwd=str(spec["cwd"]),
            env=_child_environment(spec, scratch),
            pass_fds=(theirs.fileno(),),
            start_new_session=True,
        )
        theirs.close()
        try:
            _listen(ours, report, time.monotonic() + timeout)
        finally:
            report.exit_code = _end(child)
    return report


def _listen(ours: socket.socket, report: _ChildReport, deadline: float) -> None:
    """Read messages until the child is done, or its grace after the first stop is over."""
    pending = b""
    while True:
        ours.settimeout(max(0.01, deadline - time.monotonic()))
        try:
            data = ours.recv(65536)
        except TimeoutError:
            report.timed_out = not _is_over(report)
            return
        if not data:
            return
        *lines, pending = (pending + data).split(b"\n")
        report.messages += [json.loads(line) for line in lines if line]
        if report.first("done") or report.first("stopped"):
            return
        if _is_over(report):
            deadline = min(deadline, time.monotonic() + GRACE_S)


def _is_over(report: _ChildReport) -> bool:
    return any(report.first(event) for event in ("diverged", "refused", "record_ends", "done", "stopped"))


def _end(child: subprocess.Popen[bytes]) -> int:
    try:
        return child.wait(GRACE_S)
    except subprocess.TimeoutExpired:
        os.killpg(child.pid, signal.SIGKILL)
        return child.wait()


def _publish(made: Path, store: Any, outcome: Outcome) -> None:
    """Move the replay's record into the store as a run like any other, its verdict in ``run.json``."""
    path = made / "run.json"
    try:
        meta = json.loads(path.read_bytes())
    except (OSError, ValueError):
        meta = {"format": "0.1", "run_id": made.name}
    meta.update(mode="exact", replay_of=outcome.source_run, verdict=outcome.verdict, outcome=outcome.members())
    if meta.get("status") == "running":
        meta["status"] = "failed"
        meta["error"] = {"type": outcome.verdict, "message": outcome.reason}
    temporary = path.with_suffix(".tmp")
    fd = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    with open(fd, "wb") as file:
        file.write(json.dumps(meta).encode())
    os.replace(temporary, path)
    target = Path(DirectoryStore(store.location()).path)
    runs = target / "runs"
    runs.mkdir(parents=True, exist_ok=True, mode=0o700)
    if not (target / "store.json").exists():
        (target / "store.json").write_text('{"format":"0.1"}\n', encoding="ascii")
    shutil.move(str(made), str(runs / made.name))


def _new_id(store: Any, run_id: str) -> str:
    runs = Path(store.location()) / "runs"
    number = 1
    while (runs / f"{run_id[:100]}.exact-{number}").exists():
        number += 1
    return f"{run_id[:100]}.exact-{number}"


def _python(meta: Mapping[str, Json]) -> str:
    venv = _mapping(meta.get("roots")).get("venv")
    own = f"{venv}/bin/python" if isinstance(venv, str) else ""
    return own if own and os.access(own, os.X_OK) else sys.executable


def _expand(path: str, roots: Mapping[str, str]) -> str:
    for name, root in roots.items():
        if path == f"{{{name}}}" or path.startswith(f"{{{name}}}/"):
            return root + path[len(name) + 2 :]
    return path


def _tail(path: Path) -> str:
    try:
        return path.read_bytes()[-8000:].decode("utf-8", "replace")
    except OSError:
        return ""


def _mapping(value: object) -> dict[str, Json]:
    return cast("dict[str, Json]", value) if isinstance(value, dict) else {}

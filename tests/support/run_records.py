"""Writes a valid store with runs in it, for tests of everything that reads one."""

from __future__ import annotations

import json
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from agentdbg.model.canonical import dumps
from agentdbg.model.fingerprint import fingerprint
from agentdbg.model.hashing import chain
from agentdbg.store.disk import Disk
from agentdbg.store.journal import FORMAT, RunWriter, ref_members
from agentdbg.store.liveness import here


def make_store(path: Path, *, version: str = FORMAT) -> Path:
    """An empty store."""
    (path / "runs").mkdir(parents=True, mode=0o700)
    path.chmod(0o700)
    store_json = path / "store.json"
    store_json.write_text(json.dumps({"format": version}), encoding="utf-8")
    store_json.chmod(0o600)
    return path


class RunRecords:
    """Writes one run, step by step, as a recorder would.

    Every step method returns the step's permanent id. Further members go into the event as they are.
    """

    def __init__(
        self, store: Path, run_id: str, *, agent: str = "desk", writer: str = "aaaaaaaaaaaa", **meta: object
    ) -> None:
        """Create the run; the store is made when it is not there.

        Args:
            store: Directory of the store.
            run_id: The run's id.
            agent: Name of its root call.
            writer: Id of its only writer.
            meta: Further members of ``run.json``; ``None`` leaves a member out.
        """
        if not (store / "store.json").exists():
            make_store(store)
        self.directory = store / "runs" / run_id
        self._disk = Disk(_complain)
        self._writer = RunWriter.create(self._disk, str(self.directory), writer)
        self._steps = 0
        given: dict[str, object] = {
            "format": FORMAT,
            "run_id": run_id,
            "agent": agent,
            "status": "running",
            "mode": "recorded",
            "started_at": time.time(),
            "owner": here(),
            **meta,
        }
        self._meta = {name: value for name, value in given.items() if value is not None}
        self._writer.meta(self._meta)
        self.event("writer", writer=writer, **here(), python="3.11", parent=None)
        self.root = self.step_id(self.event("intent", kind="agent", name=agent, parent=None, lane="0", fork=None))

    def event(self, event_type: str, **members: Any) -> int:
        """Append any event; returns its sequence number."""
        self._steps += event_type in ("intent", "step")
        return self._writer.event(event_type, {name: value for name, value in members.items() if value is not None})

    def step_id(self, seq: int) -> str:
        """The id of the step whose event has this sequence number."""
        return self._writer.step_id(seq)

    def body(self, value: object) -> dict[str, object]:
        """Store a value in the typed encoding (bytes as they are); returns its reference."""
        return ref_members(self._writer.body(value if isinstance(value, bytes) else dumps(value)))

    def tool(
        self,
        name: str,
        arguments: Mapping[str, object],
        result: object = None,
        *,
        effect: str = "read",
        status: str | None = "ok",
        error: Mapping[str, str] | None = None,
        ms: float = 12.0,
        **members: Any,
    ) -> str:
        """A tool call; ``status=None`` leaves it open, as after a crash."""
        step = self.intent("tool", name, arguments=arguments, effect=effect, **members)
        if status is not None:
            self.outcome(step, status, result, error=error, ms=ms)
        return step

    def model(
        self,
        name: str,
        messages: Sequence[Mapping[str, object]],
        output: object = None,
        *,
        usage: Mapping[str, int] | None = None,
        status: str | None = "ok",
        shape: Mapping[str, object] | None = None,
        **members: Any,
    ) -> str:
        """A model call whose input is a full list of segments; ``shape``: the request without its messages."""
        said = [(_kind(m), str(m.get("role", "")), m) for m in messages]
        head, *rest = [("parameters", "", shape or {"model": name}), *said]
        segments = [{"kind": kind, "name": role, "ref": self.body(value)} for kind, role, value in (head, *rest)]
        listed = {"hash": _chain(segments), "n": len(segments), "base": None, "keep": 0, "add": segments}
        step = self.intent("model", name, input={**listed, "shape": segments[0]["ref"]}, **members)
        if status is not None:
            self.outcome(step, status, output, usage=usage)
        return step

    def note(self, kind: str, name: str, value: object = None, **members: Any) -> str:
        """A note: checkpoint, approval, retrieval, read, config, …"""
        given: dict[str, Any] = {"parent": self.root, "lane": "0", "status": "ok", **members}
        args = None if value is None else self.body(value)
        return self.step_id(self.event("step", kind=kind, name=name, args=args, **given))

    def intent(self, kind: str, name: str, *, arguments: Mapping[str, object] | None = None, **members: Any) -> str:
        """The beginning of a call."""
        given: dict[str, Any] = {"parent": self.root, "lane": "0", **members}
        if arguments is not None:
            given = {"args": self.body(arguments), "fp": fingerprint(kind, name, dict(arguments)), **given}
        return self.step_id(self.event("intent", kind=kind, name=name, **given))

    def outcome(
        self, step: str, status: str = "ok", result: object = None, *, ms: float = 12.0, **members: Any
    ) -> None:
        """The end of a call."""
        ref = None if result is None else self.body(result)
        self.event("outcome", of=step, status=status, ms=ms, result=ref, **members)

    def end(self, status: str = "ok", *, error: Mapping[str, str] | None = None, **meta: object) -> Path:
        """End the root call and the run; returns the run's directory."""
        self.outcome(self.root, "ok" if status == "ok" else "error", error=error)
        self.event("end", status=status, error=error, steps=self._steps)
        self._meta |= {
            "status": status,
            "steps": self._steps,
            "ended_at": time.time(),
            **({"error": error} if error else {}),
            **meta,
        }
        return self.leave()

    def leave(self, **meta: object) -> Path:
        """Stop writing without ending the run; returns its directory."""
        self._writer.meta({**self._meta, **meta})
        self._writer.close()
        return self.directory


def dead_owner() -> dict[str, object]:
    """An ``owner`` that is alive nowhere: a run of it that says *running* is lost."""
    return {**here(), "boot": "00000000-0000-0000-0000-000000000000"}


def _complain(line: str) -> None:
    raise AssertionError(line)


def _kind(message: Mapping[str, object]) -> str:
    return "system" if message.get("role") in ("system", "developer") else "message"


def _chain(segments: Sequence[Mapping[str, object]]) -> str:
    digest = ""
    for segment in segments:
        ref = segment["ref"]
        assert isinstance(ref, dict)
        digest = chain(digest, str(segment["kind"]), str(ref["sha256"]))
    return digest

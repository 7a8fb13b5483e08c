"""Which run a thread of LangGraph was left by: the run that goes on with it says so, and compares what it was shown.

A run is found by its thread id: first among those of this process, then in the store, newest first. Nothing is put into
the agent's own checkpoints for it.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from typing import Any

from agentdbg.model.records import Kind
from agentdbg.recording.process import Recorder, recorder
from agentdbg.recording.run import RunRecording

MOST_THREADS = 1000
MOST_RUNS = 2000
"""So many of the store's newest runs are looked at."""
_here: dict[str, str] = {}
_shown: dict[str, dict[str, str]] = {}


def remember(run: RunRecording, thread: str) -> None:
    """This run is the thread's latest."""
    _here.pop(thread, None)
    _here[thread] = run.run_id
    while len(_here) > MOST_THREADS:
        _shown.pop(_here.pop(next(iter(_here))), None)


def joined(found: Recorder, run: RunRecording, thread: str, *, resuming: bool) -> None:
    """A graph is called inside a run that has another root: the run takes on the thread, and what it continues."""
    facts = run.facts
    known = facts.thread_id is not None
    if not known:
        facts.thread_id = run.gate.text(thread)
    if resuming and facts.continues is None:
        before = earlier(thread)
        facts.continues = before if before != run.run_id else None
    remember(run, thread)
    if not known or facts.continues is not None:
        run.save()


def earlier(thread: str) -> str | None:
    """The run that a thread was left by; none in a replay, which has no other runs."""
    found = recorder()
    if found is None or found.answerer is not None:
        return None
    return _here.get(thread) or found.guard(lambda: _in_store(found.store, thread), None)


def show(run: RunRecording, question: str, state: str) -> None:
    """Keep the hash of the state that a person is asked about."""
    _shown.setdefault(run.run_id, {})[question] = state


def shown(run: RunRecording, question: str) -> tuple[str, str] | None:
    """Run and hash of the state that a person was shown with a question: in this run, or in the one it continues."""
    for run_id in (run.run_id, run.facts.continues):
        if run_id is not None and (state := _shown.get(run_id, {}).get(question)) is not None:
            return run_id, state
    before = run.facts.continues
    if before is None:
        return None
    state = run.recorder.guard(lambda: _shown_in(run.recorder.store, before, question), None)
    return None if state is None else (before, state)


def _in_store(store: str, thread: str) -> str | None:
    latest: tuple[float, str] | None = None
    needle = json.dumps(thread).encode()
    for path in _newest(store):
        try:
            with open(path, "rb") as file:
                text = file.read()
        except OSError:
            continue
        if needle not in text and thread.isascii():
            continue
        meta: dict[str, Any] = json.loads(text)
        if meta.get("thread_id") == thread and meta.get("mode") == "recorded":
            place = (float(meta.get("started_at") or 0.0), str(meta.get("run_id")))
            latest = place if latest is None else max(latest, place)
    return None if latest is None else latest[1]


def _newest(store: str) -> Iterator[str]:
    try:
        with os.scandir(f"{store}/runs") as entries:
            dated = sorted(((entry.stat().st_mtime, entry.path) for entry in entries), reverse=True)
    except OSError:
        return
    for _, path in dated[:MOST_RUNS]:
        yield f"{path}/run.json"


def _shown_in(store: str, run_id: str, question: str) -> str | None:
    from agentdbg.store.directory import DirectoryStore

    source = DirectoryStore(store).open(run_id)
    for step in reversed(source.steps()):
        if step.kind is Kind.APPROVAL and step.attrs.get("question_sha256") == question:
            found = step.attrs.get("state_sha256")
            return str(found) if found else None
    return None

"""The run that a launched program is as a whole: one, whichever of its processes makes the first call of it."""

from __future__ import annotations

import json
import os
import time
from contextlib import suppress
from functools import partial
from typing import TYPE_CHECKING

from agentdbg.recording import launched, root_facts, standard_input, starts
from agentdbg.recording.facts import RunFacts
from agentdbg.recording.run import RunRecording
from agentdbg.store.journal import RunWriter

if TYPE_CHECKING:
    from collections.abc import Sequence

    from agentdbg.recording.process import Recorder

FILE = "program-run"
"""In the launch's directory: the id of the program's own run, from the first process that began it."""
DRAWS = "program-draws"
NOT_YET = "the program that started this process had not begun its run"
_WAIT_S = 1.0
_LOOK_S = 0.005


def begin(recorder: Recorder, name: str) -> RunRecording:
    """Begin the run of this process's program, or take part in it where another process has begun it."""
    place = os.environ.get(launched.LAUNCH, "")
    first = launched.main_pid == os.getpid()
    ours = launched.main_pid != 0 or starts.program  # the program, a fork of it, or started by it ahead of its run
    if not launched.active or recorder.answerer is not None or not ours:
        return RunRecording.start(recorder, name, entry={})
    run_id = begun(place)
    if run_id is None:
        name = starts.program or name
        wanted = recorder.new_run_id(name)
        run_id = _claim(place, wanted)
        if run_id == wanted:
            return _started(recorder, name, wanted, place, first=first)
    _await(f"{recorder.store}/runs/{run_id}/run.json")
    if first:
        return _taken_over(recorder, name, run_id)
    return RunRecording.join(recorder, run_id, name, recorder.store, None)


def begun(place: str) -> str | None:
    """The id of the program's run, when a process of the launch has begun it."""
    try:
        with open(os.path.join(place, FILE), encoding="utf-8") as file:
            return file.read() or None
    except OSError:
        return None


def left_to_end(recorder: Recorder) -> RunRecording | None:
    """The run of a launched program that made no call in this process: children did, or nobody, which is known then."""
    mine = launched.active and launched.main_pid == os.getpid() and recorder.answerer is None
    if not mine or recorder.inherited_scope() is not None:
        return None
    if begun(os.environ.get(launched.LAUNCH, "")) is not None:
        recorder.seen_root = recorder.serving = False
    elif recorder.serving or launched.has_runs():
        return None
    return recorder.implicit_run()


def keep_draws(lane: str, draws: Sequence[object]) -> None:
    """What a process drew that ends before the program's run begins."""
    with suppress(OSError), open(os.path.join(os.environ[launched.LAUNCH], DRAWS), "a", encoding="utf-8") as file:
        file.write(json.dumps({"lane": lane, "draws": draws}) + "\n")


def kept_draws() -> list[dict[str, object]]:
    """What such processes drew, once."""
    place = os.path.join(os.environ.get(launched.LAUNCH, ""), DRAWS)
    try:
        os.rename(place, f"{place}.{os.getpid()}")
        with open(f"{place}.{os.getpid()}", encoding="utf-8") as file:
            return [json.loads(line) for line in file]
    except (OSError, ValueError):
        return []


def _claim(place: str, wanted: str) -> str:
    """The id that the run has from now on: the wanted one, unless another process was faster."""
    draft = os.path.join(place, f"{FILE}.{os.getpid()}")
    try:
        with open(draft, "w", encoding="utf-8") as file:
            file.write(wanted)
        with suppress(FileExistsError):
            os.link(draft, os.path.join(place, FILE))
        os.unlink(draft)
    except OSError:
        return wanted  # the launcher has gone and taken its directory along
    return begun(place) or wanted


def _started(recorder: Recorder, name: str, wanted: str, place: str, *, first: bool) -> RunRecording:
    entry: dict[str, object] = {} if first else {"not_replayable": [NOT_YET]}
    run = RunRecording.start(recorder, name, entry=entry, run_id=wanted)
    if run.run_id != wanted:  # a run of that name was there
        with suppress(OSError), open(os.path.join(place, FILE), "w", encoding="utf-8") as file:
            file.write(run.run_id)
    if not first:
        run.save()
        run.is_child = True
    return run


def _taken_over(recorder: Recorder, name: str, run_id: str) -> RunRecording:
    """The run that a child began, from now on this process's own."""
    run = RunRecording(recorder, RunFacts(run_id, name))
    directory = f"{recorder.store}/runs/{run_id}"
    with suppress(OSError, ValueError, TypeError, KeyError), open(f"{directory}/run.json", "rb") as file:
        run.facts.started_at = min(run.facts.started_at, float(json.load(file)["started_at"]))
    run._writer = RunWriter(recorder.disk, directory, recorder.new_writer_id(), recorder.hello(None))
    recorder.environment(run)
    root_facts.describe(run)
    recorder.guard(partial(standard_input.state.belongs_to, run), None)
    return run


def _await(path: str) -> None:
    """Wait until another process has made the run's directory."""
    until = time.monotonic() + _WAIT_S
    while not os.path.exists(path) and time.monotonic() < until:
        time.sleep(_LOOK_S)

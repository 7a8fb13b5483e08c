"""Where processes stand that a recorded program starts: run, step and lane, handed over in the environment."""

from __future__ import annotations

import atexit
import os
import sys
from _collections_abc import Mapping

from agentdbg.recording import launched, starts
from agentdbg.recording import scope as scopes
from agentdbg.recording.scope import FIRST_INSIDE, Lane, Scope

TYPE_CHECKING = False  # as typing has it: importing typing takes longer than all of this
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    from agentdbg.recording.process import Recorder
    from agentdbg.recording.run import RunRecording

SPAWN = "AGENTDBG_SPAWN"
"""Where a child stands: run, step and lane as JSON, in the environment of its process."""


def inherited(recorder: Recorder) -> Scope | None:
    """The scope that this process was started in; ``None`` when a run's step did not start it."""
    place = _told_place()
    return None if place is None or not place["run"] else quiet(lambda: joined(recorder, place))


def _told_place() -> dict[str, Any] | None:
    told = os.environ.get(SPAWN)
    if not told or not starts.marker:
        return None
    import json

    try:
        place = json.loads(told)
        return None if place["pid"] == os.getpid() else {**place, "run": place["run"]}  # left for its own children
    except (ValueError, KeyError, TypeError):
        return None


def lane_of_start() -> Lane | None:
    """The lane that this process was started in; ``None`` where it is a program of its own."""
    place = quiet(_told_place)
    if place is None:
        return None
    program = scopes.program_run
    program.parent, program.inside = place.get("step"), bool(place.get("inside_tool"))
    starts.program = "" if place["run"] else str(place["agent"]) or "process"
    atexit.register(flush_draws)
    return Lane(str(place["lane"]), int(place["forked_at"]))


def flush_draws(scope: Scope | None = None) -> None:
    """This process ends: what it drew and made no call after belongs to the run too, for others may have got it.

    Args:
        scope: Where it stood; its program's own scope where that is not given.
    """
    program = scopes.program_run
    lanes = [lane for lane in program.drawing if lane.draws]
    if scope is None and lanes and launched.main_pid != os.getpid():
        if quiet(_has_run):
            quiet(program.begin)
        scope = None if program.begun is None else program.begun.scope()
        for lane in lanes if scope is None else []:
            quiet(lambda lane=lane: _keep(lane))  # type: ignore[misc]  # bound
    for lane in [] if scope is None else {*lanes, *scope.run.drawing}:
        quiet(lambda lane=lane, run=scope.run: run.flush_draws(lane))  # type: ignore[union-attr,misc]  # just looked at
    program.drawing.clear()


def _has_run() -> bool:
    """Whether the program that this process belongs to has begun its run."""
    from agentdbg.recording import program_run

    begun = program_run.begun(os.environ.get(launched.LAUNCH, ""))
    return not starts.program or begun is not None or not launched.active


def _keep(lane: Lane) -> None:
    from agentdbg.recording import program_run

    if launched.active and starts.program:
        program_run.keep_draws(lane.path, lane.draws)
        lane.draws = []


_runs: dict[tuple[int, str], RunRecording] = {}


def joined(recorder: Recorder, place: Mapping[str, Any]) -> Scope:
    from agentdbg.recording.run import RunRecording

    key = (os.getpid(), str(place["run"]))
    run = _runs.get(key)
    if run is None:
        run = _runs[key] = RunRecording.join(
            recorder, str(place["run"]), str(place["agent"]), str(place["store"]), place["step"]
        )
        recorder.child_process = True
    lane = Lane(str(place["lane"]), int(place["forked_at"]))
    return Scope(run, place["step"], lane, bool(place["inside_tool"]))


def place_here() -> dict[str, object] | None:
    """Where a process that is started here will stand."""
    outer = starter()
    return ahead_of_run() if outer is None else place_in(outer)


def ahead_of_run() -> dict[str, object] | None:
    """The same where the program's own run has not begun; ``None`` where there may never be one."""
    place = scopes.unbegun()
    if place is None or not _may_begin(place):
        return None
    lane = place.lane.fork(inside=True)
    agent = starts.program or os.path.basename(sys.argv[0] if sys.argv else "")
    about = {"pid": os.getpid(), "run": "", "agent": agent, "store": "", "step": scopes.program_run.parent}
    return {**about, "lane": lane.path, "forked_at": lane.forked_at, "inside_tool": scopes.program_run.inside}


def _may_begin(place: scopes.Unbegun) -> bool:
    from agentdbg.recording.process import existing

    recorder = existing()
    return place.root is scopes.program_run and (recorder is None or not (recorder.seen_root or recorder.serving))


def keep_start(start: starts.Start) -> None:
    """A start ahead of the program's own run; nothing where there may never be one."""
    behind = starts.now.behind
    place = scopes.unbegun() or (behind if isinstance(behind, scopes.Unbegun) else None)
    if place is not None and _may_begin(place):
        members = {**start.members(), "lane": place.lane.path, "parent": None, "child": start.lane}
        if not _waiting:
            atexit.register(_end_program)
        _waiting.append((members, os.getpid()))
        start.noted = True


def _end_program() -> None:
    """A program ends that has started others and made no call itself: they may have made some."""
    from agentdbg.recording.process import existing, recorder

    made = recorder() if existing() is None else None
    if made is not None:
        made.finish()


_waiting: list[tuple[dict[str, object], int]] = []


def flush(run: RunRecording) -> None:
    """The program's run begins: what was started before is of it."""
    waiting, _waiting[:] = list(_waiting), []
    for members, pid in waiting:
        if pid == os.getpid():
            run.event(run.scope(), "process", members)
    if launched.main_pid == os.getpid():
        from agentdbg.recording import program_run

        for drawn in program_run.kept_draws():
            run.event(run.scope(), "draws", drawn)


def starter() -> Scope | None:
    """The scope that a process is started in."""
    from agentdbg.recording.process import existing

    here = scopes.current()
    if here is None:
        recorder, outer = existing(), scopes.here()
        begun = recorder.begun if recorder is not None else None
        if begun is None:
            return None
        here = begun.scope()._replace(lane=_apart(begun)) if outer is None else outer._replace(run=begun)
    return here


_lanes: dict[str, Lane] = {}


def _apart(run: RunRecording) -> Lane:
    """The lane of what is started in no scope: the root, with numbers of its own for what is forked there."""
    found = _lanes.get(run.run_id)
    if found is None:
        found = _lanes[run.run_id] = Lane()
        found.number_from(2 * FIRST_INSIDE)
    return found


def place_in(here: Scope) -> dict[str, object]:
    apart = here.lane is _lanes.get(here.run.run_id)
    inside = here._replace(lane=here.lane.fork(inside=not apart))  # numbered apart: who starts none has the same lanes
    return {
        "pid": os.getpid(),
        "run": inside.run.run_id,
        "agent": inside.run.facts.agent,
        "store": inside.run.recorder.store,
        "step": inside.parent,
        "lane": inside.lane.path,
        "forked_at": inside.lane.forked_at,
        "inside_tool": inside.inside_tool,
    }


def as_text(place: Mapping[str, object]) -> str:
    import json  # not loaded before there is something to say

    return json.dumps(place)


def scope_of(place: Mapping[str, Any]) -> Scope | None:
    """The scope of a place in this process; of a forked child's own run, where it has one."""
    from agentdbg.recording.process import recorder

    found = recorder()
    if found is None or place["run"]:
        return None if found is None else joined(found, place)
    starts.program = str(place["agent"]) or "process"
    run = found.implicit_run()
    lane = Lane(str(place["lane"]), int(place["forked_at"]))
    return None if run is None else Scope(run, place["step"], lane, bool(place["inside_tool"]))


def quiet(function: Callable[[], Any]) -> Any:
    """What ``function`` gives; ``None`` when it fails: a child is not kept from starting for it."""
    try:
        return function()
    except Exception:
        return None

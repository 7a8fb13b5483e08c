"""Replays from a checkpoint: fast-forward and restore, what is served behind it, and every refusal."""

from __future__ import annotations

from pathlib import Path

import pytest

from agentdbg.model.records import Kind
from agentdbg.replay.outcome import Outcome
from agentdbg.replay.prefix import NoSuchStep
from agentdbg.replay.run import ReplayOptions, ReplayRefused, exact
from agentdbg.store.address import open_store
from tests.support.replay_lab import EffectServer, ReplayLab

DESK = """\
import itertools, os, threading, time, random
from dataclasses import dataclass
import agentdbg

numbers = itertools.count(1)


@agentdbg.tool(effect="read")
def look(item):
    return f"{item} {next(numbers)}"


@agentdbg.tool(effect="write")
def put(item, at):
    with open(os.path.join(os.environ["OUTSIDE"], "done"), "a") as file:
        file.write(item)
    return "put"


def rest(seen, when):
    seen = [*seen, look("pen"), look("ink")]
    put(seen[-1], at=[when, time.time(), random.random()])
    agentdbg.checkpoint("put", {"seen": seen}, can_resume=False, unsafe_reasons=["it is put"])
    return {"seen": seen}


def go_on(state, node):
    return rest(state["seen"], state["when"])


@agentdbg.agent(resume=go_on)
def desk(item):
    seen, when = [look("pen"), look("ink")], [time.time(), random.random()]
    agentdbg.checkpoint("looked", {"seen": seen, "when": when}, can_resume=True)
    return rest(seen, when)


if __name__ == "__main__":
    desk("pen")
"""


@pytest.fixture
def lab(tmp_path: Path, byte_code: Path, effect_server: EffectServer, monkeypatch: pytest.MonkeyPatch) -> ReplayLab:
    monkeypatch.setenv("PYTHONPYCACHEPREFIX", str(byte_code))
    return ReplayLab(tmp_path, effect_server)


def checkpoint(lab: ReplayLab, place: int = 0) -> int:
    """Number of a checkpoint's step."""
    source = lab.run()
    try:
        return [step.n for step in source.steps() if step.kind is Kind.CHECKPOINT][place]
    finally:
        source.close()


def from_step(lab: ReplayLab, number: int, prefix: str = "restore", guard: str = "audit") -> Outcome:
    """Replay from a step on, and check that nothing outside changes."""
    source = lab.run()
    options = ReplayOptions(guard, 30, False, (), open_store(str(lab.store)), from_step=number, prefix=prefix)
    with lab.untouched(Path(source.root)), pytest.MonkeyPatch.context() as patch:
        for name in ("OUTSIDE", "AGENTDBG_DEBUG"):
            patch.setenv(name, lab.environment()[name])
        try:
            return exact(source, options)
        finally:
            source.close()


def test_a_restored_run_gets_the_later_outcomes_of_equal_calls_and_the_later_draws(lab: ReplayLab) -> None:
    lab.record(DESK)
    number = checkpoint(lab)
    outcome = from_step(lab, number)
    assert outcome.verdict == "identical", (outcome.reason, outcome.log)
    assert outcome.reason.startswith(f"identical from step {number}, restored: "), outcome.reason
    assert (outcome.served, outcome.total, outcome.from_step) == (3, 3, number)
    again = lab.replay(str(outcome.replay_run))
    assert again.verdict == "not_replayable"
    assert again.reason == f"it was restored at step {number} of run run-1 and has nothing of before: replay that one"
    replayed = lab.run(str(outcome.replay_run))
    assert replayed.summary().meta["from_step"] == number
    assert [step.name for step in replayed.steps()] == ["desk", "look", "look", "put", "put"]
    replayed.close()


def test_a_fast_forward_says_from_where_on_it_was_looked_at(lab: ReplayLab) -> None:
    lab.record(DESK)
    number = checkpoint(lab)
    outcome = from_step(lab, number, "fast-forward")
    assert outcome.verdict == "identical", outcome.reason
    assert f"looked at from step {number} on, fast-forwarded" in outcome.reason
    assert (outcome.served, outcome.from_step) == (5, number)
    lab.write(lab.program.read_text().replace('[look("pen"), look("ink")], [', '[look("pin"), look("ink")], ['))
    outcome = from_step(lab, number, "fast-forward")
    assert outcome.verdict == "diverged"
    assert outcome.reason.startswith(f"on the way to step {number}, where all has to agree: "), outcome.reason


def test_what_goes_on_otherwise_from_the_state_diverges(lab: ReplayLab) -> None:
    lab.record(DESK)
    number = checkpoint(lab)
    lab.write(lab.program.read_text().replace('state["seen"], state', 'state["seen"][1:], state'))
    outcome = from_step(lab, number)
    assert outcome.verdict == "diverged"
    assert outcome.reason.startswith(f"restored at step {number}: step {number + 5}, checkpoint put: $.seen"), (
        outcome.reason
    )
    lab.write(
        lab.program.read_text().replace('look("pen"), look("ink")]\n    put', 'look("cup"), look("ink")]\n    put')
    )
    outcome = from_step(lab, number)
    assert outcome.verdict == "diverged"
    assert "tool look: $.item expected pen, got cup" in outcome.reason, outcome.reason


TYPED = """\
import threading
from dataclasses import dataclass
import agentdbg


@dataclass
class State:
    seen: list
    step: int


@agentdbg.tool(effect="read")
def look(item):
    return item.upper()


class Desk:
    async def on(self, state, node):
        assert type(state["held"]) is State and node == "looked"
        state["held"].seen.append(look("b"))
        found = []
        for item in ("c", "d"):
            worker = threading.Thread(target=lambda item=item: found.append(look(item)))
            worker.start()
            worker.join()
        agentdbg.checkpoint("end", {"held": state["held"], "found": found})
        return found

    @agentdbg.agent(resume="on", factories={"self": lambda: Desk()})
    async def run(self, item):
        state = State([look(item)], 1)
        worker = threading.Thread(target=look, args=("b",))
        worker.start()
        worker.join()
        agentdbg.checkpoint("looked", {"held": state}, can_resume=True)
        return await self.on({"held": state}, "looked")


if __name__ == "__main__":
    import asyncio
    asyncio.run(Desk().run("a"))
"""


def test_typed_state_methods_coroutines_and_later_lanes(lab: ReplayLab) -> None:
    lab.record(TYPED)
    number = checkpoint(lab)
    outcome = from_step(lab, number)
    assert outcome.verdict == "identical", (outcome.reason, outcome.log)
    assert (outcome.served, outcome.total) == (3, 3)
    lab.write(lab.program.read_text().replace("class State:", "class Stand:").replace("State(", "Stand("))
    outcome = from_step(lab, number)
    assert outcome.verdict == "not_replayable"
    assert "no class __main__.State" in outcome.reason
    lab.write(TYPED.replace('resume="on"', 'resume="off"'))
    assert "the resume entry 'off'" in from_step(lab, number).reason
    lab.write(TYPED.replace('resume="on", ', ""))
    assert "has no resume entry any more" in from_step(lab, number).reason
    lab.write(TYPED.replace('if __name__ == "__main__":', "if True:"))
    assert "while it is imported" in from_step(lab, number).reason


REFUSED = """\
import os, sys, threading
import agentdbg

first, second = threading.Event(), threading.Event()


@agentdbg.tool(effect="write")
def put(item):
    first.set()
    assert second.wait(20)
    return item


@agentdbg.tool(effect="read")
def look(item):
    return item


@agentdbg.agent
def helper():
    agentdbg.checkpoint("inside", {}, can_resume=True)


def aside():
    look(1)
    agentdbg.checkpoint("aside", {}, can_resume=True)


def both():
    look(1)
    put(2)


def slow():
    assert first.wait(20)
    look(3)


@agentdbg.agent(name="desk"RESUME)
def desk():
    agentdbg.checkpoint("plain", {})
    agentdbg.checkpoint("unsafe", {}, can_resume=False, unsafe_reasons=["the bank has it"])
    agentdbg.checkpoint("odd", {"held": threading.Lock()}, can_resume=True)
    helper()
    aside_too = threading.Thread(target=aside)
    aside_too.start()
    aside_too.join()
    others = [threading.Thread(target=both), threading.Thread(target=slow)]
    for each in others:
        each.start()
    assert first.wait(20)
    others[1].join()
    agentdbg.checkpoint("amid", {}, can_resume=True)
    second.set()
    others[0].join()
    with open(os.path.join(os.environ["OUTSIDE"], "done"), "a") as file:
        file.write("x")
    agentdbg.checkpoint("late", {}, can_resume=True)
    look(4)


if __name__ == "__main__":
    desk()
"""


def test_every_refusal_names_its_reasons_and_runs_nothing(lab: ReplayLab) -> None:
    lab.record(REFUSED.replace("RESUME", ", resume=lambda state, node: look(4) and None"))
    words = [
        "does not declare that a run may go on from there",
        "declares that nothing may go on from there (the bank has it)",
        "its state cannot be decoded: ",
        "made inside step 5 (helper)",
        "made in a parallel section, lane 0.0",
        "(put) had no outcome yet: an open write",
    ]
    for place, wanted in enumerate(words):
        with pytest.raises(ReplayRefused) as refusal:
            from_step(lab, checkpoint(lab, place))
        assert wanted in str(refusal.value), str(refusal.value)
        assert "; " not in str(refusal.value).replace("from there; ", ""), str(refusal.value)
    number = checkpoint(lab, -1)
    outcome = from_step(lab, number)
    assert outcome.verdict == "identical", outcome.reason
    assert any("file written" in note and note.startswith("not restored: step") for note in outcome.notes)
    with pytest.raises(ReplayRefused, match="is no checkpoint but tool look: checkpoints are steps 2, 3"):
        from_step(lab, number + 1)
    with pytest.raises(NoSuchStep, match="has no step 99"):
        from_step(lab, 99)


def test_without_a_resume_entry_or_as_a_program_it_is_refused(lab: ReplayLab) -> None:
    lab.record(REFUSED.replace("RESUME", ""))
    with pytest.raises(ReplayRefused, match="the agent had no resume entry"):
        from_step(lab, checkpoint(lab, -1))


def test_a_lane_that_was_forked_before_and_shows_behind_is_an_open_one(lab: ReplayLab) -> None:
    lab.record(
        """\
        import threading
        import agentdbg

        go = threading.Event()

        @agentdbg.tool(effect="read")
        def look(item):
            return item

        def aside():
            go.wait(20)
            look(1)

        @agentdbg.agent(resume=lambda state, node: None)
        def desk():
            worker = threading.Thread(target=aside)
            worker.start()
            agentdbg.checkpoint("amid", {}, can_resume=True)
            go.set()
            worker.join()

        if __name__ == "__main__":
            desk()
        """
    )
    with pytest.raises(ReplayRefused, match=r"lane 0\.0 was open, and goes on at step 3 \(look\)|lane 0\.1 was open"):
        from_step(lab, checkpoint(lab))


def test_a_lane_below_one_that_was_open_is_open_too(lab: ReplayLab) -> None:
    lab.record(
        """\
        import threading
        import agentdbg

        began, go = threading.Event(), threading.Event()

        @agentdbg.tool(effect="read")
        def look(item):
            return item

        def aside():
            look(1)
            began.set()
            go.wait(20)
            below = threading.Thread(target=look, args=(2,))
            below.start()
            below.join()

        @agentdbg.agent(resume=lambda state, node: None)
        def desk():
            worker = threading.Thread(target=aside)
            worker.start()
            began.wait(20)
            agentdbg.checkpoint("amid", {}, can_resume=True)
            go.set()
            worker.join()

        if __name__ == "__main__":
            desk()
        """
    )
    with pytest.raises(ReplayRefused, match=r"lane 0\.0\.0 was open, and goes on at step 4 \(look\)"):
        from_step(lab, checkpoint(lab))


def test_under_the_kernels_layers_too(lab: ReplayLab) -> None:
    lab.record(DESK)
    outcome = from_step(lab, checkpoint(lab), guard="auto")
    assert outcome.verdict == "identical", (outcome.reason, outcome.log)

"""What a regression replay's child answers, call by call, without a process."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any

import pytest

from agentdbg.model.records import Effect, Kind, StepStatus
from agentdbg.recording.calls import Call, CallRefused, Made, ReplayStop, Served
from agentdbg.recording.openers import REGISTRY, ToolOpener, ToolOptions
from agentdbg.replay.cassette import Cassette, RecordedCall
from agentdbg.replay.control import Decision, Expected
from agentdbg.replay.free_order import dense
from agentdbg.replay.regression_answers import RegressionAnswers
from tests.support.regression_lab import made, recorded

MODEL, READ, WRITE = Kind.MODEL, Effect.READ, Effect.WRITE


class Bench:
    """Answers from some recorded calls, and what was told."""

    def __init__(
        self, *calls: RecordedCall, stage: str = "before", replies: Mapping[str, Any] | None = None, **plan: Any
    ):
        self.told: list[dict[str, Any]] = []
        bodies = {call.step: json.dumps(f"recorded {call.step}").encode() for call in calls}
        served = tuple(_with_result(call) for call in dense(calls, frozenset(call.step for call in calls)))
        tape = Cassette(served, (), bodies, (), False)
        pins = {
            tool: Cassette((_with_result(call),), (), {call.step: b'"pinned"'}, (), False)
            for tool, call in plan.pop("pins", {}).items()
        }
        self.replies = dict(replies or {})
        self.answers = RegressionAnswers(tape, self.told.append, self.ask, {"stage": stage, **plan}, pins)

    def ask(self, message: dict[str, object]) -> Mapping[str, Any]:
        self.told.append(message)
        return {"answer": self.replies.get(str(message["asks"]))}

    def __call__(self, call: Call) -> Served | None:
        found = self.answers.answer(call)
        if found is not None:
            self.answers.finished(call, StepStatus.OK)
        return found

    def deeds(self) -> list[str]:
        return [f"{each['deed']} {each['name']}" for each in self.told if each["event"] == "ruled"]

    def events(self) -> list[str]:
        return [str(each["event"]) for each in self.told]


def _with_result(call: RecordedCall) -> RecordedCall:
    return replace(call, result=call.step) if call.ended is not None else call


@pytest.fixture
def tools() -> Iterator[dict[str, ToolOpener]]:
    before = dict(REGISTRY)
    yield REGISTRY
    REGISTRY.clear()
    REGISTRY.update(before)


def declare(name: str, **options: Any) -> None:
    wanted = {"effect": "write", "name": name, "key": None, "dry_run": None, "status": None, "volatile": (), **options}
    ToolOpener(lambda **_: None, ToolOptions(**wanted))


def test_everything_is_served_while_nothing_differs() -> None:
    bench = Bench(recorded("m", "gpt", kind=MODEL), recorded("r", "look"), recorded("w", "pay"))
    calls = [
        made("gpt", kind=MODEL, mark="fp:m"),
        made("look", effect=READ, mark="fp:r"),
        made("pay", effect=WRITE, mark="fp:w"),
    ]
    assert [found.step for call in calls if (found := bench(call))] == ["m", "r", "w"]
    assert not bench.answers.live
    assert bench.told == []


def test_at_the_first_model_input_that_differs_it_goes_live_and_stays_so() -> None:
    bench = Bench(recorded("m", "gpt", kind=MODEL), recorded("r", "look"), recorded("n", "gpt", kind=MODEL))
    assert bench(made("gpt", kind=MODEL, mark="other")) is None
    assert bench(made("look", effect=READ, mark="fp:r")) is None
    assert bench(made("gpt", kind=MODEL, mark="fp:n")) is None
    assert bench.answers.live
    assert bench.told[0] == {"event": "live", "step": bench.told[0]["step"], "recorded": "m"}
    assert bench.deeds() == ["live gpt", "live with drift check look", "live gpt"]


def test_ids_that_a_server_makes_up_are_no_difference() -> None:
    bench = Bench(recorded("m", "gpt", kind=MODEL), facts={"m": {"alpha": "a"}})
    found = bench(made("gpt", kind=MODEL, mark="other", alpha="a"))
    assert found is not None and found.step == "m"


def test_a_tool_that_differs_ahead_of_every_model_input_is_decided_by_the_table() -> None:
    bench = Bench(recorded("w", "pay"), recorded("m", "gpt", kind=MODEL))
    with pytest.raises(CallRefused, match="pay is not run"):
        bench(made("pay", effect=WRITE, mark="other"))
    assert bench(made("gpt", kind=MODEL, mark="fp:m")) is not None
    assert not bench.answers.live


def test_before_the_checkpoint_the_place_is_enough() -> None:
    calls = [recorded("m", "gpt", kind=MODEL), recorded("w", "pay"), recorded("n", "gpt", kind=MODEL)]
    bench = Bench(*calls, stage="prefix", prefix=["m", "w"])
    assert bench(made("gpt", kind=MODEL, mark="new prompt")) is not None
    assert bench(made("pay", effect=None, mark="new amount")) is not None
    assert bench(made("gpt", kind=MODEL, mark="fp:n")) is None
    assert bench.events() == ["touched", "live", "ruled"]


def test_before_the_checkpoint_nothing_runs_that_the_record_does_not_have() -> None:
    bench = Bench(recorded("r", "look"), recorded("m", "gpt", kind=MODEL), stage="prefix", prefix=["r", "m"])
    with pytest.raises(ReplayStop):
        bench(made("read_all", effect=Effect.NONE))
    assert bench.told[-1]["event"] == "prefix_changed"
    assert bench.told[-1]["recorded"] == "r"
    with pytest.raises(ReplayStop):
        bench(made("look", mark="fp:r"))


def test_a_line_of_execution_that_is_past_its_cut_goes_live_while_others_are_not() -> None:
    calls = [recorded("a", "look", lane="0.0"), recorded("b", "look", lane="0.1")]
    bench = Bench(*calls, stage="prefix", prefix=["a", "b"])
    assert bench(made("look", mark="fp:a", lane="0.0")) is not None
    assert bench(made("more", effect=READ, lane="0.0")) is None
    assert bench(made("look", mark="changed", lane="0.1")) is not None


def test_from_the_first_step_nothing_is_served_but_writes() -> None:
    bench = Bench(recorded("m", "gpt", kind=MODEL), recorded("w", "pay"), stage="prefix", prefix=[])
    assert bench(made("gpt", kind=MODEL, mark="fp:m")) is None
    found = bench(made("pay", effect=WRITE, mark="fp:w"))
    assert found is not None and found.step == "w"


def test_a_write_that_the_record_lacks_gets_its_dry_run(tools: object) -> None:
    seen: list[dict[str, object]] = []

    def dry(**given: object) -> dict[str, str]:
        seen.append(given)
        return {"would": "pay"}

    declare("pay", dry_run=dry)
    bench = Bench(recorded("w", "pay"), stage="prefix", prefix=[])
    found = bench(made("pay", effect=WRITE, given={"amount": 3}))
    assert isinstance(found, Made)
    assert (found.value, found.attrs) == ({"would": "pay"}, {"dry_run": True})
    assert seen == [{"amount": 3}]
    assert bench.deeds() == ["dry-run pay"]


def test_a_dry_run_may_be_a_coroutine_where_the_tool_is_one(tools: object) -> None:
    async def pretend(amount: int) -> int:
        return amount

    declare("pay", dry_run=pretend)
    bench = Bench(stage="prefix", prefix=[])
    call = made("pay", effect=WRITE, given={"amount": 3})
    found = asyncio.run(bench.answers.answer_async(call))
    assert isinstance(found, Made) and found.value == 3


def test_a_dry_run_that_fails_fails_as_the_tool_would(tools: object) -> None:
    def pretend() -> None:
        raise LookupError("no such order")

    declare("pay", dry_run=pretend)
    with pytest.raises(LookupError):
        Bench(stage="prefix", prefix=[])(made("pay", effect=WRITE, given={}))


@pytest.mark.parametrize(("done", "dry_run"), [(True, False), (False, True), (False, False)])
def test_a_write_in_doubt_is_settled_by_its_look_up(tools: object, done: bool, dry_run: bool) -> None:
    options = {"dry_run": lambda **_: "pretended"} if dry_run else {}
    declare("pay", status=lambda key: {"paid": key} if done else None, **options)
    bench = Bench(recorded("w", "pay", ended=None), stage="prefix", prefix=[])
    call = made("pay", effect=Effect.EXTERNAL, mark="fp:w", given={"key": "k"})
    if done or dry_run:
        found = bench(call)
        assert isinstance(found, Made)
        assert found.value == ({"paid": "k"} if done else "pretended")
    else:
        with pytest.raises(CallRefused, match="was not done while recording"):
            bench(call)
    assert [each["done"] for each in bench.told if each["event"] == "settled"] == [done]


@pytest.mark.parametrize("awaits", [False, True])
def test_a_look_up_that_fails_settles_nothing(tools: object, awaits: bool) -> None:
    def ask(key: str) -> None:
        raise LookupError("down")

    async def ask_later(key: str) -> None:
        ask(key)

    declare("pay", status=ask_later if awaits else ask)
    bench = Bench(recorded("w", "pay", ended=None), stage="prefix", prefix=[])
    call = made("pay", effect=Effect.EXTERNAL, mark="fp:w", given={"key": "k"})
    with pytest.raises(CallRefused, match="look-up failed with LookupError"):
        asyncio.run(bench.answers.answer_async(call)) if awaits else bench(call)
    assert bench.deeds()[-1] == "refuse pay"


def test_a_write_in_doubt_without_a_look_up_is_not_made() -> None:
    bench = Bench(recorded("w", "pay", ended=None), stage="prefix", prefix=[])
    with pytest.raises(CallRefused, match="in doubt"):
        bench(made("pay", effect=WRITE, mark="fp:w"))


def test_the_same_question_gets_the_recorded_decision_another_one_nobodys() -> None:
    bench = Bench(recorded("q", "pay?", kind=Kind.APPROVAL), stage="prefix", prefix=[])
    found = bench(made("pay?", kind=Kind.APPROVAL, mark="fp:q"))
    assert found is not None and found.step == "q"
    found = bench(made("pay more?", kind=Kind.APPROVAL))
    assert isinstance(found, Made) and found.value == "pending"


def test_a_person_may_decide_another_question() -> None:
    bench = Bench(stage="prefix", prefix=[], replies={"approval": "approved"})
    found = bench(made("pay more?", kind=Kind.APPROVAL))
    assert isinstance(found, Made) and found.value == "approved"


SANDBOX = {"name": "s", "tools": ["pay"], "hosts": []}


def test_in_a_sandbox_a_write_is_made() -> None:
    bench = Bench(recorded("w", "pay"), stage="prefix", prefix=[], sandbox=SANDBOX)
    assert bench(made("pay", effect=WRITE, mark="fp:w")) is None
    with pytest.raises(CallRefused):
        bench(made("send", effect=WRITE))


@pytest.mark.parametrize(
    ("key", "yes", "is_made"),
    [("k-1", True, True), ("k-1", False, False), ("k-2", True, False), (None, True, False), ("run-9-1", True, False)],
)
def test_in_a_sandbox_an_external_call_needs_its_recorded_key_and_a_yes(
    key: str | None, yes: bool, is_made: bool
) -> None:
    bench = Bench(
        recorded("w", "pay"),
        recorded("x", "pay"),
        stage="prefix",
        prefix=[],
        sandbox=SANDBOX,
        facts={"w": {"key": "k-1"}, "x": {"key": "run-9-1"}},
        runs=["run-9"],
        replies={"tool": yes},
    )
    call = made("pay", effect=Effect.EXTERNAL, key=key)
    if is_made:
        assert bench(call) is None
    else:
        with pytest.raises(CallRefused):
            bench(call)


def test_a_no_leaves_the_recorded_result() -> None:
    bench = Bench(recorded("w", "pay"), stage="prefix", prefix=[], sandbox=SANDBOX, facts={"w": {"key": "k"}})
    found = bench(made("pay", effect=Effect.EXTERNAL, mark="fp:w", key="k"))
    assert found is not None and found.step == "w"


def test_a_pinned_tool_is_answered_by_its_record_alone() -> None:
    bench = Bench(recorded("r", "look"), pins={"look": recorded("other", "look")})
    found = bench(made("look", effect=READ, mark="anything"))
    assert found is not None and found.result == b'"pinned"'
    with pytest.raises(CallRefused, match="pinned"):
        bench(made("look", effect=READ, mark="anything"))


def test_an_edited_outcome_is_served_wherever_its_call_is_made() -> None:
    bench = Bench(recorded("a", "look"), recorded("b", "look"), stage="prefix", prefix=[], edited=["b"])
    assert bench(made("look", effect=READ, mark="changed")) is None
    found = bench(made("look", effect=READ, mark="changed"))
    assert found is not None and found.step == "b"


def test_the_control_lane_serves_everything_and_says_which_inputs_differ() -> None:
    bench = Bench(recorded("m", "gpt", kind=MODEL), recorded("w", "pay"), stage="control")
    assert bench(made("gpt", kind=MODEL, mark="other")) is not None
    assert bench(made("pay", effect=None, mark="other")) is not None
    assert bench.events() == ["touched"]
    with pytest.raises(ReplayStop):
        bench(made("look", effect=READ))
    assert bench.told[-1]["event"] == "control_ends"


def test_the_parent_knows_while_a_tool_reads() -> None:
    bench = Bench(stage="prefix", prefix=[], windows=True)
    call = made("look", effect=READ)
    assert bench.answers.answer(call) is None
    assert bench.told[-2] == {"event": "window", "asks": "open"}
    bench.answers.finished(call, StepStatus.OK)
    assert bench.told[-1] == {"event": "window", "asks": "close"}


def test_a_read_is_left_unbothered_by_the_order_of_what_never_comes() -> None:
    bench = Bench(recorded("r", "look"), recorded("s", "look"))
    assert bench(made("look", effect=READ, mark="changed")) is None
    found = bench(made("look", effect=READ, mark="fp:s"))
    assert found is not None and found.step == "s"
    assert not bench.answers.report()["order_lost"]


class Person:
    """Decides every call in the same way."""

    def __init__(self, action: str, value: Any = None) -> None:
        self.decision = Decision(action, value)
        self.holding = False
        self.expected: list[Expected] = []

    def before(self, call: Call, expected: Expected) -> Decision:
        self.expected.append(expected)
        return self.decision

    async def before_async(self, call: Call, expected: Expected) -> Decision:
        return self.before(call, expected)

    def release_all(self) -> None:
        pass


def test_a_person_who_holds_a_call_sees_what_is_about_to_happen_to_it() -> None:
    bench = Bench(recorded("r", "look"), recorded("w", "pay"))
    person = bench.answers.gate = Person("go")
    assert bench(made("look", effect=READ, mark="fp:r")) is not None
    with pytest.raises(CallRefused):
        bench(made("pay", effect=WRITE, mark="other"))
    assert [each.recorded for each in person.expected] == ["r", None]
    assert person.expected[0].choices == ("live", "serve", "refuse", "result")
    assert person.expected[1].choices == ("refuse", "result")
    assert "without a dry run" in person.expected[1].problem


@pytest.mark.parametrize(
    ("action", "effect", "is_served"), [("live", READ, False), ("serve", READ, True), ("live", WRITE, True)]
)
def test_a_person_decides_where_the_table_allows_it(action: str, effect: Effect, is_served: bool) -> None:
    bench = Bench(recorded("r", "look"))
    bench.answers.gate = Person(action)
    found = bench(made("look", effect=effect, mark="fp:r"))
    assert (found is not None) is is_served


def test_a_person_may_refuse_a_call_or_give_its_result() -> None:
    bench = Bench(recorded("r", "look"), recorded("s", "look"))
    bench.answers.gate = Person("refuse")
    with pytest.raises(CallRefused, match="a person decided so"):
        bench(made("look", effect=READ, mark="fp:r"))
    bench.answers.gate = Person("result", {"price": 3})
    found = bench(made("look", effect=READ, mark="fp:s"))
    assert isinstance(found, Made) and found.value == {"price": 3}
    assert bench.events()[-1] == "edited"


def test_a_model_that_a_person_lets_run_is_where_the_replay_goes_live() -> None:
    bench = Bench(recorded("m", "gpt", kind=MODEL))
    bench.answers.gate = Person("live")
    assert bench(made("gpt", kind=MODEL, mark="fp:m")) is None
    assert bench.answers.live

"""What a run comes to, apart from its wording, and how far samples agree."""

from __future__ import annotations

from dataclasses import replace

from agentdbg.model.records import Effect, ErrorInfo, Kind, RunStatus, RunSummary, Step
from agentdbg.replay.stability import Conclusion, conclusion_of, is_decided, stability_of
from tests.support.memory_source import MemorySource

ROOT = Step(0, "r", Kind.AGENT, "run")


def run(*steps: tuple[Kind, str, object], result: object = None, error: str | None = None) -> MemorySource:
    """A run with these steps: kind, name, arguments."""
    source = MemorySource(RunSummary("run", RunStatus.OK, error=ErrorInfo(error, "") if error else None))
    source.add(replace(ROOT, result=source.put(result)))
    for number, (kind, name, about) in enumerate(steps):
        attrs = {"final": True} if name == "final state" else {}
        step = Step(
            0,
            f"s{number}",
            kind,
            name,
            parent="r",
            depth=1,
            effect=Effect.READ,
            arguments=source.put(about),
            attrs=attrs,
        )
        source.add(step)
    return source


def of(*steps: tuple[Kind, str, object], **more: object) -> Conclusion:
    return conclusion_of(run(*steps, **more))  # type: ignore[arg-type]


PAY = (Kind.TOOL, "pay", {"amount": 3})


def test_the_same_calls_and_state_are_the_same_whatever_was_said() -> None:
    a = of(PAY, (Kind.CHECKPOINT, "final state", "DONE"), result={"status": "ok", "text": "All is well."})
    b = of(PAY, (Kind.CHECKPOINT, "final state", "DONE"), result={"status": "ok", "text": "It went fine, thanks."})
    assert a.same_as(b)
    assert a.unlike(b) == ""


def test_each_part_of_a_conclusion_counts() -> None:
    base = of(PAY, (Kind.CHECKPOINT, "final state", "DONE"), result={"status": "ok"})
    others = {
        "arguments of pay": of(
            (Kind.TOOL, "pay", {"amount": 4}), (Kind.CHECKPOINT, "final state", "DONE"), result={"status": "ok"}
        ),
        "path pay → pay pay": of(PAY, PAY, (Kind.CHECKPOINT, "final state", "DONE"), result={"status": "ok"}),
        'final state "DONE" → "LEFT"': of(PAY, (Kind.CHECKPOINT, "final state", "LEFT"), result={"status": "ok"}),
        "structured answer": of(PAY, (Kind.CHECKPOINT, "final state", "DONE"), result={"status": "no"}),
        "error none → Down": of(PAY, (Kind.CHECKPOINT, "final state", "DONE"), result={"status": "ok"}, error="Down"),
    }
    for words, other in others.items():
        assert not base.same_as(other), words
        assert base.unlike(other) == words


def test_ids_that_a_server_makes_up_do_not_count() -> None:
    a, b = (of((Kind.TOOL, "pay", {"for": f"call_{n}23456789"})) for n in "78")
    assert a.same_as(b)


def test_free_text_alone_says_nothing() -> None:
    assert of(result="I have looked into it.").says_nothing()
    assert of(result={"text": "I have looked into it."}).says_nothing()
    assert not of(result={"risk": "high", "text": "I have looked into it."}).says_nothing()
    assert not of(PAY, result="done").says_nothing()


def test_an_approval_counts_by_what_it_allows_not_by_its_words() -> None:
    def asked(question: str, allowed: list[str]) -> Conclusion:
        return of(
            (Kind.APPROVAL, question, {"question": question, "state": question, "allowed": allowed, "policy": "p"})
        )

    assert asked("Pay?", ["pay"]).same_as(asked("Shall I pay it?", ["pay"]))
    assert not asked("Pay?", ["pay"]).same_as(asked("Pay?", ["pay", "send"]))


def test_the_last_checkpoints_status_is_the_final_state_where_none_is_declared() -> None:
    source = run()
    for number, status in enumerate(("NEW", "PAID")):
        source.add(Step(0, f"c{number}", Kind.CHECKPOINT, "node", parent="r", depth=1, attrs={"status": status}))
    assert conclusion_of(source).final == "PAID"


def test_steps_inside_a_call_are_its_own_business() -> None:
    source = run(PAY)
    source.add(Step(0, "inner", Kind.HTTP, "POST x", parent="s0", depth=2, arguments=source.put({})))
    assert conclusion_of(source).path == ("pay",)


def test_samples_agree_as_a_fraction_and_are_decided_when_two_differ() -> None:
    a, b = of(PAY), of((Kind.TOOL, "pay", {"amount": 4}))
    assert str(stability_of([a, a, b])) == "2/3"
    assert str(stability_of([])) == "0/0"
    assert not is_decided([a], 3)
    assert not is_decided([a, a], 3)
    assert is_decided([a, b], 3)
    assert is_decided([a, a, a], 3)

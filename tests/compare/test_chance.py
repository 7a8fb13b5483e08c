from __future__ import annotations

from pathlib import Path

import pytest

from agentdbg.compare.chance import CLOCK, REDACTION, VERSION, Chance
from agentdbg.compare.fields import MISSING, FieldChange
from agentdbg.config.resources import demo_runs_dir
from agentdbg.model.records import RunStatus, RunSummary
from agentdbg.store.directory import DirectoryStore
from tests.support.memory_source import MemorySource
from tests.support.run_records import RunRecords


def chance(
    *, tags: tuple[str, str] = ("", ""), kids: tuple[str, str] = ("k", "k"), tag: str = "policy_version"
) -> Chance:
    left, right = (
        MemorySource(
            RunSummary(
                run_id,
                RunStatus.OK,
                tags={tag: value} if value else {},
                meta={"rules": {"redaction": {"version": "r1", "kid": kid}}},
            )
        )
        for run_id, value, kid in zip("ab", tags, kids, strict=True)
    )
    return Chance(left, right)


def kind(before: object, after: object, about: Chance | None = None) -> str:
    return (about or chance()).kind_of(FieldChange("~", "$", before, after))  # type: ignore[arg-type]  # plain JSON


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("call_9f53f7e1ae7d4a3ea5b667c6", "call_b70c746561a64a14974b72c5"),
        ("chatcmpl-6b9a87b574b649f4ba4558ae", "chatcmpl-9d3a5fc47c84426caed6c5a3"),
        ("at 2026-11-29T18:45:20.850690+00:00.", "at 2026-11-29T18:45:25.156170+00:00."),
        ("Sun, 29 Nov 2026 18:45:20 GMT", "Mon, 30 Nov 2026 08:00:00 GMT"),
        (1795977920, 1795977925),
        (1795977920.25, 1795977925.5),
        ("id 2f07f691-cff4-4971-a429-806b40696f68", "id ddaacb05-1d6e-4abf-8180-8e63c83e1116"),
    ],
)
def test_times_and_ids_say_nothing(before: object, after: object) -> None:
    assert kind(before, after) == CLOCK


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("refund 240 EUR", "refund 500 EUR"),
        ("ordered 2026-01-01T00:00:00Z, 240 EUR", "ordered 2026-01-02T00:00:00Z, 500 EUR"),
        (500, 300),
        (1, True),
        ("a", None),
        ("f" * 64, "e" * 64),
        ("call_9f53f7e1ae7d4a3ea5b667c6 yes", "call_b70c746561a64a14974b72c5 no"),
        ("", "x"),
    ],
)
def test_anything_else_says_something(before: object, after: object) -> None:
    assert kind(before, after) == ""


def test_a_field_that_one_side_lacks_says_something() -> None:
    assert chance().kind_of(FieldChange("-", "$.at", "2026-11-29T18:45:20Z", MISSING)) == ""


def test_a_declared_version_is_known_by_its_tag() -> None:
    about = chance(tags=("p-2026-07", "p-2026-06"))
    assert kind("p-2026-07", "p-2026-06", about) == VERSION
    assert kind("under p-2026-07 it is", "under p-2026-06 it is", about) == VERSION
    assert kind("p-2026-07", "p-2026-05", about) == ""


def test_another_case_is_no_version() -> None:
    assert kind("T-1", "T-2", chance(tags=("T-1", "T-2"), tag="ticket")) == ""


def test_values_redacted_under_two_keys_cannot_be_told_apart() -> None:
    before, after = "call ⟦R:phone:16:74107ce012d6⟧", "call ⟦R:phone:16:0123456789ab⟧"
    assert kind(before, after, chance(kids=("k1", "k2"))) == REDACTION
    assert kind(before, after, chance(kids=("k1", "k1"))) == ""
    assert kind(before, "call ⟦R:phone:12:0123456789ab⟧", chance(kids=("k1", "k2"))) == ""


def test_drawn_values_are_known_from_the_record(tmp_path: Path) -> None:
    store = DirectoryStore(tmp_path / "s")
    drawn = {"a": ("blue-7", "0xf", "0x4"), "b": ("green-9", "0x1", "0x6")}
    for run_id, (choice, first, last) in drawn.items():
        run = RunRecords(tmp_path / "s", run_id)
        draws = [["choice", "x.py:f", choice], ["getrandbits.4", "x.py:f", first], ["getrandbits.4", "x.py:f", last]]
        run.event("draws", lane="0", draws=draws)
        run.end()
    about = Chance(store.open("a"), store.open("b"))
    assert kind("colour blue-7", "colour green-9", about) == CLOCK
    assert kind("colour blue-7, number 5", "colour green-9, number 7", about) == CLOCK
    assert kind("colour blue-7, number 5", "colour green-9, number 8", about) == ""
    assert kind("number 5", "number 7", about) == ""


def test_the_clock_line_of_the_shipped_runs_says_nothing() -> None:
    store = DirectoryStore(demo_runs_dir())
    about = Chance(store.open("refund-incident"), store.open("refund-before-policy-change"))
    before = "Desk time 2026-11-29T18:45:20.850690+00:00, request 2f07f691-cff4-4971-a429-806b40696f68."
    after = "Desk time 2026-11-29T18:45:25.156170+00:00, request ddaacb05-1d6e-4abf-8180-8e63c83e1116."
    assert kind(before, after, about) == CLOCK

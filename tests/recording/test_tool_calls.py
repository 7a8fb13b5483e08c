"""What stands with the intent of a tool call beside its arguments."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

import agentdbg
from agentdbg.model.records import Effect
from agentdbg.recording.openers import REGISTRY
from tests.support.recorded import only_run, recording


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Path]:
    with recording(tmp_path / "store"):
        yield tmp_path / "store"


def test_an_undeclared_effect_counts_as_external_and_says_so(store: Path) -> None:
    @agentdbg.tool
    def undeclared() -> None: ...

    @agentdbg.tool(effect="external")
    def declared() -> None: ...

    @agentdbg.agent
    def desk() -> None:
        undeclared()
        declared()

    desk()
    found = only_run(store)
    assert found.named("undeclared").effect is Effect.EXTERNAL is found.named("declared").effect
    assert dict(found.named("undeclared").attrs) == {"effect_declared": False}
    assert dict(found.named("declared").attrs) == {}


def test_volatile_arguments_do_not_count_for_the_identity(store: Path) -> None:
    @agentdbg.tool(effect="read", volatile=["at", "$.options.trace"])
    def look(order: str, at: float, options: dict[str, object]) -> None: ...

    @agentdbg.agent
    def desk() -> None:
        look("o1", 1.0, {"trace": 1, "deep": True})
        look("o1", 2.0, {"trace": 2, "deep": True})
        look("o1", 2.0, {"trace": 2, "deep": False})

    desk()
    found = only_run(store)
    first, second, third = (step.fingerprint for step in found.steps if step.name == "look")
    assert first == second != third
    assert "$.at" in str(found.source.summary().meta["rules"])


def test_dry_runs_and_status_look_ups_are_known_by_name() -> None:
    def dry(amount: int) -> str:
        return "dry"

    @agentdbg.tool(effect="write", name="pay-out", dry_run=dry)
    def pay(amount: int) -> str:
        return "paid"

    assert REGISTRY["pay-out"].options.dry_run is dry

"""How far an effect came, and which are repeated."""

from __future__ import annotations

from pathlib import Path

from agentdbg.cli import effects
from agentdbg.cli.effects import effects_of
from agentdbg.model.records import Effect, Kind, Step
from agentdbg.store.directory import DirectoryStore


def step(n: int, *, effect: Effect | None = Effect.WRITE, **members: object) -> Step:
    return Step(n, f"w:{n}", Kind.TOOL, "pay", effect, **members)  # type: ignore[arg-type]


def test_reads_are_no_effects_and_the_same_key_twice_is_repeated() -> None:
    found = list(
        effects_of(
            [
                step(1, effect=Effect.READ, fingerprint="fp1:a"),
                step(2, fingerprint="fp1:a"),
                step(3, fingerprint="fp1:a"),
                step(4, fingerprint="fp1:b", idempotency_key="k"),
                step(5, fingerprint="fp1:c", idempotency_key="k", attrs={"refused": True}),
                step(6, fingerprint="fp1:c", idempotency_key="k"),
                step(7),
                step(8),
            ]
        )
    )
    assert [(effect.step.n, effect.repeated) for effect in found] == [
        (2, False),
        (3, True),
        (4, False),
        (5, False),
        (6, True),
        (7, False),
        (8, False),
    ]


def test_choosing_the_outward_steps_first_gives_the_same_effects(store: Path) -> None:
    source = DirectoryStore(store).open("refund-7")
    found = list(effects.effects_of(effects.outward_steps(source)))
    assert len(found) == 3
    assert found == list(effects.effects_of(source.steps()))

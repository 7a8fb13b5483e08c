"""What a run did outside: every write and external call with how far it came."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from agentdbg.model.outward import OUTWARD, how_far
from agentdbg.model.records import Kind, Step
from agentdbg.store.protocols import RunSource


@dataclass(frozen=True, slots=True)
class DoneEffect:
    """One write or external call.

    Attributes:
        step: The call.
        state: ``done``, ``in_doubt``, ``refused``; where a replay did not make it ``served`` from the record,
            ``dry_run``, ``looked_up`` by its status, or ``put_in`` by a person.
        repeated: Whether the same effect was done before in this run.
    """

    step: Step
    state: str
    repeated: bool

    def members(self) -> dict[str, object]:
        """The effect, as in ``effects[]``."""
        step = self.step
        return {
            "step": step.n,
            "name": step.name,
            "state": self.state,
            "key": step.idempotency_key,
            "repeated": self.repeated,
            "id": step.id,
            "effect": step.effect,
        }


def effects_of(steps: Iterable[Step]) -> Iterator[DoneEffect]:
    """All effects of a run, in the order of its steps. Two are the same when their keys are, or their fingerprints."""
    seen: set[str] = set()
    for step in steps:
        if step.effect not in OUTWARD:
            continue
        state = how_far(step)
        identity = step.idempotency_key or step.fingerprint
        reached = state in ("done", "in_doubt") and identity is not None
        yield DoneEffect(step, state, reached and identity in seen)
        if reached and identity is not None:
            seen.add(identity)


def outward_steps(source: RunSource) -> Iterator[Step]:
    """The writes and external calls of a run; of a long one only these are built where the source can choose them."""
    steps = source.steps()
    choose = getattr(source, "positions", None)
    return iter(steps) if choose is None else (steps[n] for n in choose(effects=OUTWARD))


def undeclared(steps: Iterable[Step]) -> int:
    """Number of tool calls of which nothing says how far they reach, as in other tools' files."""
    return sum(step.kind is Kind.TOOL and step.effect is None for step in steps)

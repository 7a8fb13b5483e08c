"""How a replay ended: verdict, first divergence, counts, what was refused."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field

from agentdbg.compare.answers import Answer
from agentdbg.compare.trajectory import Divergence


@dataclass(frozen=True, slots=True)
class Outcome:
    """Attributes:
    verdict: ``identical``, ``recording_ended``, ``diverged``, ``refused``, ``not_replayable``, ``aborted``,
        ``timed_out`` or ``crashed``; of a regression replay ``same``, ``unaffected``, ``changed``, ``flaky``,
        ``prefix_changed`` or ``needs_data`` too.
    reason: One line for people.
    refused: Effects that were stopped: ``effect detail step frame`` each.
    uncovered: Effects of the recorded run that no seam saw and no call covers, as the record has them.
    answers: The six answers; none when nothing was run.
    rules_used: Volatile paths through which calls matched although their bytes differ.
    contained: Changes that the copy-on-write view took in: ``effect detail`` each.
    guard: Layers that held.
    denied: Calls that a regression replay refused to the agent.
    drift: Live reads that gave something else than recorded.
    samples: What each sample of a regression replay came to.
    edits: Values that were replaced: recorded ones, and those of calls that a person held.
    findings: Calls that were not made, or not as the agent wanted, and why.
    touched: Model inputs that the present code changes.
    stability: How many samples agree, as a fraction.
    store: Where the replay's run is published; empty when there is none.
    inspected: How many lines of pdb a person had evaluated in the program.
    restored: It went on from the state of checkpoint ``from_step``: nothing before that was run.
    """

    source_run: str
    verdict: str
    reason: str
    replay_run: str | None = None
    first_divergence: Divergence | None = None
    answers: tuple[Answer, ...] = ()
    served: int = 0
    unconsumed: int = 0
    total: int = 0
    refused: tuple[Mapping[str, object], ...] = ()
    tolerated: tuple[Mapping[str, object], ...] = ()
    uncovered: tuple[Mapping[str, object], ...] = ()
    rules_used: tuple[str, ...] = ()
    contained: tuple[Mapping[str, object], ...] = ()
    guard: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()
    log: str = ""
    mode: str = field(default="exact")
    store: str = ""
    from_step: int = 0
    restored: bool = False
    live: int = 0
    dry_run: int = 0
    denied: int = 0
    drift: tuple[Mapping[str, object], ...] = ()
    samples: tuple[Mapping[str, object], ...] = ()
    edits: tuple[Mapping[str, object], ...] = ()
    findings: tuple[Mapping[str, object], ...] = ()
    touched: tuple[Mapping[str, object], ...] = ()
    stability: str | None = None
    sandbox: str | None = None
    inspected: int = 0

    def members(self) -> dict[str, object]:
        """The JSON document of ``agentdbg replay``, without its schema."""
        return {
            "mode": self.mode,
            "source_run": self.source_run,
            "replay_run": self.replay_run,
            "from_step": self.from_step,
            **({"prefix": "restore"} if self.restored else {}),
            "verdict": self.verdict,
            "reason": self.reason,
            "first_divergence": asdict(self.first_divergence) if self.first_divergence else None,
            "cause": self.first_divergence.cause if self.first_divergence else None,
            "answers": [answer.members() for answer in self.answers],
            "counts": {
                "served": self.served,
                "live": self.live,
                "dry_run": self.dry_run,
                "refused": len(self.refused) + self.denied,
                "tolerated": len(self.tolerated),
                "unconsumed": self.unconsumed,
            },
            "hit_rate": round(self.served / self.total, 4) if self.total else None,
            "rules_used": list(self.rules_used),
            "uncovered_effects": [dict(effect) for effect in (*self.refused, *self.uncovered)],
            "tolerated_effects": [dict(effect) for effect in self.tolerated],
            "contained_writes": [dict(each) for each in self.contained],
            "guard": list(self.guard),
            "drift": [dict(each) for each in self.drift],
            "samples": [dict(each) for each in self.samples],
            "edits": [dict(each) for each in self.edits],
            "inspected": self.inspected,
            "notes": list(self.notes),
            **(self._of_regression() if self.mode == "regression" else {}),
        }

    def _of_regression(self) -> dict[str, object]:
        return {
            "findings": [dict(each) for each in self.findings],
            "touched": [dict(each) for each in self.touched],
            "stability": self.stability,
            "sandbox": self.sandbox,
        }

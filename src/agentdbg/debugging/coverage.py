"""What the debugger says about effects that no seam saw: marks, counts, and the section of the summary."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Final

from agentdbg.compare.unseen import UnseenEffect, uncovered_count, unseen
from agentdbg.debugging.document import Row, Span, Tone, row, span
from agentdbg.model.records import RunSummary, Step

SIGN: Final = "»"
LISTED: Final = 12


@dataclass(slots=True)
class Coverage:
    """The effects of a run that no seam saw, counted by what they mean; the first few of each.

    Attributes:
        uncovered: Not inside a call that a replay serves: an exact replay has to stop them.
        contradicting: Inside a tool that declared less.
        covered: Number of those inside a call.
        temporary: Number of temporary files among the others.
    """

    uncovered: list[UnseenEffect] = field(default_factory=list)
    contradicting: list[UnseenEffect] = field(default_factory=list)
    count: int = 0
    contradictions: int = 0
    covered: int = 0
    temporary: int = 0

    def feed(self, step: Step) -> None:
        """Take one step into account."""
        found = unseen(step)
        if found is None:
            return
        if found.contradicts:
            self.contradictions += 1
            if len(self.contradicting) < LISTED:
                self.contradicting.append(found)
        if found.uncovered:
            self.count += 1
            if len(self.uncovered) < LISTED:
                self.uncovered.append(found)
        elif found.covered:
            self.covered += 1
        else:
            self.temporary += 1


def uncovered_word(count: int) -> str:
    """A number of uncovered effects, in words."""
    return f"{count:,} effect{'' if count == 1 else 's'} not covered"


def uncovered_spans(summary: RunSummary, coverage: Coverage | None = None) -> list[Span]:
    """What a status line or a row of the run list says about them; nothing where there are none."""
    count = max(uncovered_count(summary) or 0, coverage.count if coverage is not None else 0)
    return [span(f"  {SIGN} {uncovered_word(count)}", Tone.WARN)] if count else []


def coverage_rows(summary: RunSummary, coverage: Coverage) -> list[Row]:
    """The rows of the summary's section: what an exact replay has to stop comes first."""
    total = coverage.count + coverage.covered + coverage.temporary
    if not total:
        looked = uncovered_count(summary) is not None
        return [row(("none" if looked else "nobody looked", Tone.DIM))]
    rows = [
        row((f"{SIGN} {uncovered_word(coverage.count)}", Tone.WARN if coverage.count else Tone.DIM), _aside(coverage))
    ]
    rows.extend(_listed(coverage.uncovered, coverage.count))
    if coverage.contradictions:
        rows.append(row(("! tools that did more than they declare", Tone.ERROR)))
        rows.extend(_listed(coverage.contradicting, coverage.contradictions))
    return rows


def _aside(coverage: Coverage) -> Span:
    parts = [f"{coverage.covered:,} inside calls"] if coverage.covered else []
    parts += [f"{coverage.temporary:,} temporary"] if coverage.temporary else []
    return span(f"   {' · '.join(parts)}" if parts else "", Tone.DIM)


def _listed(effects: list[UnseenEffect], count: int) -> list[Row]:
    rows = []
    for effect in effects:
        declared = f"  declared {effect.contradicts}" if effect.contradicts else ""
        rows.append(row((f"{effect.step.n:>7}  ", Tone.DIM), effect.what, (declared, Tone.WARN)))
        rows.append(row(" " * 9, (effect.place, Tone.DIM)))
    if count > len(effects):
        rows.append(row(" " * 9, (f"and {count - len(effects):,} more", Tone.DIM)))
    return rows

"""What the status line of the debugger says."""

from __future__ import annotations

from agentdbg.debugging import marks
from agentdbg.debugging.coverage import uncovered_spans
from agentdbg.debugging.document import Span, Tone, duration_words, span
from agentdbg.debugging.marks import STATUS_SIGNS, status_tone
from agentdbg.debugging.modes import mode_spans
from agentdbg.debugging.session import Session
from agentdbg.model.lineage import edit_count
from agentdbg.model.records import RunSummary


def status_spans(session: Session, *, watching: str) -> tuple[list[Span], list[Span]]:
    """The left and the right part.

    Args:
        session: The session.
        watching: How new events are noticed, where the run is live.
    """
    summary = session.summary
    left = [span(" "), *_mode(summary), span(summary.run_id, Tone.STRONG), span("  ")]
    left.append(span(f"{STATUS_SIGNS[summary.status]} {summary.status}", status_tone(summary.status)))
    left.extend(uncovered_spans(summary, session.overview.coverage if session.overview is not None else None))
    if summary.flag:
        left.append(span("  ⚑ flagged", Tone.WARN))
    left.extend(
        [span("  step ", Tone.DIM), span(f"{session.cursor + 1}", Tone.STRONG), span(f"/{session.count}", Tone.DIM)]
    )
    left.extend(_step(session))
    right = [*_filter(session), *_compared(session), *_search(session), *_tail(session, watching), span(" ")]
    return left, right


def _mode(summary: RunSummary) -> list[Span]:
    found = mode_spans(summary.mode, edit_count(summary))
    return [*found, span(" ")] if found else []


def _step(session: Session) -> list[Span]:
    step = session.current
    if step is None:
        return [span("  no step yet", Tone.DIM)]
    spans = [span(f"  {step.kind} ", Tone.DIM), span(step.name[:40])]
    found = session.marks_of(step)
    if found:
        spans.append(span(f"  {found[0].sign} {found[0].word}", found[0].tone))
    elif step.latency_ms is not None:
        spans.append(span(f"  {duration_words(step.latency_ms)}", Tone.DIM))
    return spans


def _compared(session: Session) -> list[Span]:
    compared = session.diffs.compared
    if compared is None:
        return []
    return [span("= " if compared.difference.same else "≠ ", Tone.ACCENT), span(f"{compared.other_id}  ")]


def _filter(session: Session) -> list[Span]:
    filtered = session.filtered
    if filtered is None:
        return []
    return [span(f"filter: {filtered.words[:24]} ", Tone.ACCENT), span(f"{session.rows} shown  ", Tone.DIM)]


def _search(session: Session) -> list[Span]:
    return [span(f"/{session.query[:24]} ", Tone.ACCENT), span("esc closes  ", Tone.DIM)] if session.query else []


def _tail(session: Session, watching: str) -> list[Span]:
    if session.indexing:
        return [span("reading the record …", Tone.DIM)]
    if not marks.is_live(session.summary):
        return [span(f"▼ {session.unseen} new: G goes there", Tone.ACCENT)] if session.unseen else []
    spans = []
    if session.follow:
        spans.append(span("▼ following", Tone.OK))
    elif session.unseen:
        spans.append(span(f"▼ {session.unseen} new: F follows", Tone.ACCENT))
    else:
        spans.append(span("not following", Tone.DIM))
    return [*spans, span(f" · {watching}", Tone.DIM)]

"""Summary: the run at a glance: task, answer, what was done outside, what is missing."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime

from agentdbg.debugging.coverage import coverage_rows
from agentdbg.debugging.dialects import read_message
from agentdbg.debugging.document import (
    Block,
    Document,
    Row,
    Section,
    Stop,
    Tone,
    computed,
    duration_words,
    fixed,
    note,
    row,
)
from agentdbg.debugging.marks import STATUS_SIGNS, status_tone
from agentdbg.debugging.modes import MODE_WORDS
from agentdbg.debugging.overview import Overview, Tally
from agentdbg.debugging.session import Session
from agentdbg.debugging.tabs.common import effect_span, heading, labelled, missing_row
from agentdbg.debugging.tabs.output import read_answer
from agentdbg.debugging.tabs.speech import spoken_in, text_rows
from agentdbg.model.canonical import dumps_json, loads_json
from agentdbg.model.records import Kind, Mode, RunSummary, Step
from agentdbg.model.safe_text import SafeText
from agentdbg.store.protocols import BodyMissing

_FIRST_STEPS = 50
_LISTED = 12


def summary_tab(session: Session) -> Document:
    """The document of the Summary tab."""
    sections: list[Section] = []
    problems = [*session.source.problems(), *session.summary.holes]
    if problems:
        sections.append(fixed("problems", [_problem(line) for line in problems[:_LISTED]]))
        sections.append(note("problems.gap", ""))
    sections.append(fixed("run", _run_rows(session.summary, session.count)))
    overview = session.overview
    sections.extend(_twin(session))
    sections.append(_texts("task", "Task", lambda: _task(session)))
    sections.append(_texts("final", "Answer", lambda: _final(session)))
    if overview is None:
        sections.append(note("pending", "looking through the run …"))
    else:
        sections.append(fixed("effects", _effects(overview), title=heading("Effects outside")))
        rows = coverage_rows(session.summary, overview.coverage)
        sections.append(fixed("coverage", rows, title=heading("Effects that no seam saw")))
        sections.append(fixed("facts", _facts(overview), title=heading("Run facts")))
    return Document(tuple(sections))


def _twin(session: Session) -> list[Section]:
    """The run to compare with: looked for on a worker, once."""
    diffs = session.diffs
    if diffs.suggest is None or session.live:
        return []
    suggest = diffs.suggest

    def look(stop: Stop) -> Block:
        found = diffs.twin = diffs.twin or suggest(stop)
        run_id, why = found
        if run_id is None:
            return Block([row((why, Tone.DIM))])
        return Block([labelled("Run", (run_id, Tone.STRONG)), labelled("Why", why)])

    return [computed("twin", heading("Suggested twin", ("  = and enter compares", Tone.DIM)), look)]


def _problem(text: str) -> Row:
    return row(("! ", Tone.WARN), (text, Tone.WARN))


def _run_rows(summary: RunSummary, steps: int) -> list[Row]:
    status = (f"{STATUS_SIGNS[summary.status]} {summary.status}", status_tone(summary.status))
    took = None
    if summary.started_at is not None and summary.ended_at is not None:
        took = (summary.ended_at - summary.started_at) * 1000
    rows = [
        labelled("Run", (summary.run_id, Tone.STRONG), f"  {summary.agent}"),
        labelled("Status", status, f"  {steps} steps" + (f" in {duration_words(took)}" if took is not None else "")),
    ]
    if summary.error is not None:
        rows.append(labelled("Error", (f"{summary.error.type}: {summary.error.message}", Tone.ERROR)))
    if summary.mode is not Mode.RECORDED:
        rows.append(labelled("Replay", (MODE_WORDS[summary.mode], Tone.WARN), f"  of {summary.replay_of or 'unknown'}"))
        rows += [labelled("Edited", (words, Tone.WARN)) for words in _edited(summary)]
    if summary.verdict is not None:
        rows.append(labelled("Verdict", (summary.verdict, Tone.STRONG)))
    if summary.flag is not None:
        rows.append(labelled("Flagged", ("⚑ " + summary.flag, Tone.WARN)))
    if summary.started_at is not None:
        rows.append(labelled("Started", _local(summary.started_at)))
    if summary.thread_id is not None:
        rows.append(labelled("Thread", summary.thread_id))
    if summary.tags:
        rows.append(labelled("Tags", " ".join(f"{key}={value}" for key, value in summary.tags.items())))
    return rows


def _local(seconds: float) -> str:
    try:
        return datetime.fromtimestamp(seconds, UTC).astimezone().strftime("%Y-%m-%d %H:%M:%S")
    except (OverflowError, OSError, ValueError):
        return "at no known time"


def _texts(key: str, title: str, lines: Callable[[], list[SafeText | Row]]) -> Section:
    def load() -> Block:
        try:
            return Block(lines() or [row(("not recorded", Tone.DIM))])
        except BodyMissing as problem:
            return Block([missing_row(problem)])

    return Section(key, heading(title), load)


def _task(session: Session) -> list[SafeText | Row]:
    """The last thing a user said in the first model call, else what the root was called with."""
    first = [session.steps[index] for index in range(min(_FIRST_STEPS, session.count))]
    for step in first:
        if step.kind is Kind.MODEL:
            for segment in reversed(session.source.segments(step)):
                if segment.kind == "message" and segment.name == "user":
                    spoken = spoken_in(session.source.body(segment.ref))
                    return text_rows(spoken.text) if spoken is not None else []
            break
    for step in first:
        if step.kind is Kind.AGENT and step.arguments is not None:
            return _value_rows(session.source.body(step.arguments))
    return []


def _final(session: Session) -> list[SafeText | Row]:
    """What the root returned, else the last words of a model."""
    root = session.steps[0] if session.count else None
    if root is not None and root.kind is Kind.AGENT and root.result is not None:
        return _value_rows(session.source.body(root.result))
    last = session.overview.last_model if session.overview is not None else None
    if last is not None and last < session.count:
        spoken = read_answer(session.source, session.steps[last])
        if spoken is not None and spoken.text:
            return text_rows(spoken.text)
    return []


def _value_rows(data: bytes) -> list[SafeText | Row]:
    try:
        spoken = read_message(loads_json(data))
    except ValueError:
        spoken = None
    return text_rows(spoken.text if spoken is not None and spoken.text else data.decode("utf-8", "replace"))


def _effects(overview: Overview) -> list[Row]:
    rows: list[Row] = []
    for word, tally, tone in (
        ("done", overview.done, Tone.OK),
        ("in doubt", overview.in_doubt, Tone.WARN),
        *([("served", overview.served, Tone.DIM)] if overview.served.count else []),
        *([("dry runs", overview.instead, Tone.DIM)] if overview.instead.count else []),
        ("refused", overview.refused, Tone.WARN),
        ("repeated", overview.repeated, Tone.ERROR),
    ):
        if tally.count or word != "repeated":
            rows.append(labelled(word, (f"{tally.count}", tone if tally.count else Tone.DIM)))
        rows.extend(_listed(tally))
    return rows


def _listed(tally: Tally) -> list[Row]:
    rows = [_step_row(step) for step in tally.steps[:_LISTED]]
    if tally.count > _LISTED:
        rows.append(row(" " * 14, (f"and {tally.count - _LISTED} more", Tone.DIM)))
    return rows


def _step_row(step: Step) -> Row:
    key = f"  key {step.idempotency_key}" if step.idempotency_key else ""
    effect = effect_span(step.effect)
    gap = " " * (10 - len(effect.text))
    return row(" " * 14, (f"{step.n:>5}  ", Tone.DIM), effect, gap, step.name, (key, Tone.DIM))


def _facts(overview: Overview) -> list[Row]:
    kinds = " · ".join(f"{count} {kind}" for kind, count in sorted(overview.kinds.items(), key=lambda pair: -pair[1]))
    rows = [labelled("Final state", (overview.final_state, Tone.STRONG))] if overview.final_state else []
    rows.append(labelled("Steps", kinds or "none"))
    if overview.models:
        rows.append(labelled("Models", " · ".join(f"{name} x{count}" for name, count in overview.models.items())))
    if overview.input_tokens or overview.output_tokens:
        cached = f" · {overview.cached_tokens:,} cached" if overview.cached_tokens else ""
        rows.append(labelled("Tokens", f"{overview.input_tokens:,} in{cached} · {overview.output_tokens:,} out"))
    rows.append(_counted("Errors", overview.errors, Tone.ERROR))
    rows.append(_counted("Approvals", overview.approvals, Tone.ACCENT))
    rows.append(_counted("Holes", overview.holes, Tone.WARN))
    return rows


def _counted(label: str, tally: Tally, tone: Tone) -> Row:
    where = ", ".join(f"{step.n} {step.name}" for step in tally.steps[:4]) + (" …" if tally.count > 4 else "")
    return labelled(label, (str(tally.count), tone if tally.count else Tone.DIM), f"  {where}" if where else "")


def _edited(summary: RunSummary) -> list[str]:
    """The values that a replay went on from in the place of the recorded ones."""
    edits = summary.meta.get("edits")
    found = [each for each in edits if isinstance(each, dict)] if isinstance(edits, list) else []
    return [f"{each.get('step')}:{each.get('path')} = {dumps_json(each.get('value'))}" for each in found]

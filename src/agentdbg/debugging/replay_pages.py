"""What the replay screens say, as documents: the plan before, where it stands and what it printed while, the end."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import groupby
from typing import TYPE_CHECKING, Final

from agentdbg.debugging.document import Block, Document, Row, Section, Span, Tone, fixed, note, row, span
from agentdbg.debugging.live_replay import LiveReplay
from agentdbg.model.safe_text import safe_line
from agentdbg.replay.plan import FACT, OBSTACLE, WARNING, Plan
from agentdbg.replay.policy import Deed
from agentdbg.replay.session_events import Paused

if TYPE_CHECKING:
    from agentdbg.replay.outcome import Outcome
    from agentdbg.replay.plan import Row as PlanRow

MODE_WORDS: Final = {"exact": " EXACT ", "regression": " LIVE "}
_DEEDS: Final = {
    Deed.SERVE.value: Tone.OK,
    Deed.LIVE.value: Tone.ACCENT,
    Deed.CHECKED.value: Tone.ACCENT,
    Deed.DRY_RUN.value: Tone.WARN,
    Deed.ASK.value: Tone.WARN,
    Deed.REFUSE.value: Tone.ERROR,
    Deed.STOP.value: Tone.ERROR,
}
_WEIGHTS: Final = {
    OBSTACLE: ("✗ in the way", Tone.ERROR),
    WARNING: ("! warning", Tone.WARN),
    FACT: ("· note", Tone.DIM),
}
GOOD: Final = ("identical", "same", "unaffected")
_LISTED: Final = 20
_NAME: Final = 24


def plan_document(plan: Plan | None) -> Document:
    """What will happen; nothing yet while the plan is being made."""
    if plan is None:
        return Document((note("pending", "making the plan …"),))
    counted = ", ".join(f"{count} {what}" for what, count in plan.counts.items()) or "none"
    head = [_labelled("runs", plan.command), _labelled("calls", counted)]
    for remark in plan.remarks:
        words, tone = _WEIGHTS[remark.weight]
        where = f"step {remark.step}: " if remark.step is not None else ""
        head.append(row((f"{words:<14}", Tone.LABEL), (where + remark.text, tone)))
    sections = [fixed("head", head)]
    if plan.rows:
        title = row(("What happens to each recorded call", Tone.HEADING))
        sections.append(fixed("calls", _plan_rows(plan.rows), title=title))
    return Document(tuple(sections))


def live_document(live: LiveReplay) -> Document:
    """What there is to know of a running replay, what matters most first."""
    sections = [
        *(_ending(live)),
        *(_where(held) for held in live.held),
        *_question(live),
        *_effects(live),
        _output(live),
    ]
    return Document(tuple(sections))


def state_spans(live: LiveReplay) -> list[Span]:
    """Where a replay stands, in a few words."""
    if live.ended is not None:
        verdict = live.outcome.verdict if live.outcome is not None else "not run"
        tone = Tone.OK if verdict in GOOD else Tone.WARN if verdict == "aborted" else Tone.ERROR
        return [span(f"{'✓' if verdict in GOOD else '✗'} {verdict}", tone)]
    if live.question is not None:
        return [span("? asks you", Tone.WARN)]
    held = live.held
    if held:
        more = f" and {len(held) - 1} more" if len(held) > 1 else ""
        return [span(f"‖ paused before {_called(held[0])}{more}", Tone.WARN)]
    return [span("● running", Tone.ACCENT), span(f"  {live.calls} calls", Tone.DIM)]


def _called(held: Paused) -> str:
    number = f"step {held.call.recorded}, " if held.call.recorded is not None else ""
    return f"{number}{held.call.kind} {held.call.name}"


def _plan_rows(rows: Sequence[PlanRow]) -> list[Row]:
    from rich.cells import cell_len, set_cell_size

    kinds = max(len(each.kind) for each in rows)
    names = min(max(cell_len(safe_line(each.name)) for each in rows), _NAME)
    effects = max(len(each.effect or "") for each in rows)
    found = []
    for each in rows:
        name = str(safe_line(each.name))
        name = set_cell_size(name, names) if cell_len(name) <= names else set_cell_size(name, names - 1) + "…"
        place = f"{each.step:>5}  {each.kind:<{kinds}}  {name}  {each.effect or '':<{effects}}  "
        what = (f"{each.what}  ", _DEEDS.get(each.what, Tone.WARN))
        found.append(row((place, Tone.LABEL), what, (each.why, Tone.DIM)))
    return found


def _labelled(label: str, value: str, tone: Tone = Tone.PLAIN) -> Row:
    return row((f"{label:<14}", Tone.LABEL), (value, tone))


def _ending(live: LiveReplay) -> Iterator[Section]:
    ended = live.ended
    if ended is None:
        return
    title = row(("How it ended", Tone.HEADING))
    if ended.outcome is None:
        yield fixed("end", [_labelled("refused" if ended.refused else "not run", ended.error, Tone.WARN)], title=title)
        return
    rows = list(_outcome_rows(ended.outcome))
    if live.published:
        rows.insert(1, _labelled("", "enter opens both runs side by side, at the first difference", Tone.ACCENT))
    yield fixed("end", rows, title=title)


def _outcome_rows(found: Outcome) -> Iterator[Row]:
    yield _labelled("verdict", found.verdict, Tone.OK if found.verdict in GOOD else Tone.WARN)
    yield _labelled("reason", found.reason)
    at = found.first_divergence
    if at is not None:
        yield _labelled("first at", f"step {at.step}, {at.kind} {at.name}  {at.path}")
        yield _labelled("cause", at.cause)
        yield _labelled("recorded", at.expected)
        yield _labelled("replayed", at.got)
    yield _labelled("served", f"{found.served} of {found.total} calls")
    if found.live or found.dry_run or found.denied:
        yield _labelled("not served", f"{found.live} live, {found.dry_run} dry runs, {found.denied} refused")
    if found.stability:
        yield _labelled("samples", f"{found.stability} agree")
    for each in (*found.findings, *found.drift)[:_LISTED]:
        yield _labelled("finding", _members(each), Tone.WARN)
    if found.replay_run:
        yield _labelled("kept as", found.replay_run)
    yield _labelled("guard", ", ".join(found.guard) or "none")
    for words in found.notes[:_LISTED]:
        yield _labelled("note", words)


def _members(each: Mapping[str, object]) -> str:
    return ", ".join(f"{name} {value}" for name, value in each.items() if value not in (None, "", ()))


def _where(held: Paused) -> Section:
    """The program's stack at a held call."""
    rows: list[Row] = []
    if held.problem:
        rows.append(row(("≠ going on ends the replay: ", Tone.ERROR), (held.problem, Tone.WARN)))
    if held.choices:
        rows.append(row(("d decides: ", Tone.LABEL), (", ".join(("go", *held.choices)), Tone.ACCENT)))
    for own, frames in groupby(held.where, lambda frame: frame.own):
        listed = list(frames)
        if not own:
            rows.append(row((f"  … {len(listed)} frames of libraries", Tone.DIM)))
            continue
        for frame in listed:
            name = frame.file.rpartition("/")[2]
            rows.append(row((f"▸ {name}:{frame.line} ", Tone.STRONG), (frame.function, Tone.ACCENT)))
            rows.append(row(("    ", Tone.PLAIN), (frame.source, Tone.PLAIN)))
            rows += [row((f"    {key} = ", Tone.LABEL), (value, Tone.DIM)) for key, value in frame.locals]
    title = row(("Paused before ", Tone.HEADING), (_called(held), Tone.STRONG), (f"  {held.why}", Tone.DIM))
    return fixed(f"where {held.call.id}", rows, title=title)


def _question(live: LiveReplay) -> Iterator[Section]:
    asked = live.question
    if asked is None:
        return
    if asked.about == "approval":
        words = f"{asked.name}: type the decision as the program takes it; empty: nobody decides"
    else:
        words = f"external call, for real, in the sandbox: {asked.name}: type yes to make it"
    yield fixed("question", [_labelled("asked", words, Tone.WARN)], title=row(("It asks you", Tone.HEADING)))


def _effects(live: LiveReplay) -> Iterator[Section]:
    if not live.effects:
        return
    rows = [
        row(
            ("· tolerated " if each.tolerated else "✗ stopped ", Tone.DIM if each.tolerated else Tone.ERROR),
            (f"{each.effect} {each.detail}", Tone.PLAIN),
            (f"  {each.frame}", Tone.DIM),
        )
        for each in live.effects[:_LISTED]
    ]
    if len(live.effects) > _LISTED:
        rows.append(row((f"  and {len(live.effects) - _LISTED:,} more", Tone.DIM)))
    yield fixed("effects", rows, title=row(("Effects outside", Tone.HEADING)))


def _output(live: LiveReplay) -> Section:
    lines: Sequence[str] = tuple(live.log)
    title = row(("Program output ", Tone.HEADING), (f"{len(lines):,} lines" if lines else "nothing yet", Tone.DIM))
    return Section("output", title, lambda: Block([safe_line(line) for line in lines]))

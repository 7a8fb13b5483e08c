"""What the screen of a running replay says, as documents: where it stands, what it printed, and its end."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import groupby
from typing import Final

from agentdbg.debugging.document import Block, Document, Row, Section, Span, Tone, fixed, row, span
from agentdbg.debugging.held_calls import choices_in_words
from agentdbg.debugging.live_replay import LiveReplay
from agentdbg.debugging.outcome_pages import outcome_sections, verdict_tone, verdict_words
from agentdbg.i18n.catalogue import message
from agentdbg.i18n.phrases import phrase
from agentdbg.model.safe_text import safe_line
from agentdbg.replay.session_events import Paused
from agentdbg.replay.where import Frame

_LISTED: Final = 20


def live_document(live: LiveReplay) -> Document:
    """What there is to know of a running replay, what matters most first."""
    sections = [
        *_ending(live),
        *(_where(held, live.mode) for held in live.held),
        *_quiet(live),
        *_question(live),
        *(_effects(live) if live.outcome is None else ()),
        _output(live),
    ]
    return Document(tuple(sections))


def state_spans(live: LiveReplay) -> list[Span]:
    """Where a replay stands, in a few words."""
    if live.ended is not None:
        if live.outcome is None:
            return [span(f"✗ {message('outcome.not_run')}", Tone.ERROR)]
        return [span(verdict_words(live.outcome), verdict_tone(live.outcome.verdict))]
    if live.question is not None:
        return [span(message("live.asks"), Tone.WARN)]
    held = live.held
    if held:
        more = phrase(f" and {len(held) - 1} more") if len(held) > 1 else ""
        return [span(phrase(f"‖ paused {_before(held[0])} {_called(held[0])}") + more, Tone.WARN)]
    if live.quiet:
        return [span(message("live.quiet"), Tone.WARN), span(f"  {_place(live.quiet[0])}", Tone.DIM)]
    if not live.sample:  # no record grows yet: of a regression replay the control lane runs
        return [span(message(f"live.begins.{live.mode}"), Tone.ACCENT)]
    return [span(phrase("● running"), Tone.ACCENT), span(phrase(f"  {live.calls} calls"), Tone.DIM)]


def _before(held: Paused) -> str:
    return "at" if held.call.kind == "line" else "before"


def _place(frame: Frame) -> str:
    return str(safe_line(f"{frame.file.rpartition('/')[2]}:{frame.line} {frame.function}"))


def _called(held: Paused) -> str:
    number = f"step {held.call.recorded}, " if held.call.recorded is not None else ""
    return f"{number}{held.call.kind} {held.call.name}"


def _labelled(label: str, value: str, tone: Tone = Tone.PLAIN) -> Row:
    return row((f"{label:<14}", Tone.LABEL), (value, tone))


def _ending(live: LiveReplay) -> Iterator[Section]:
    if live.ended is not None:
        yield from outcome_sections(live.ended, opens=bool(live.published), state=live.final_state)


def _where(held: Paused, mode: str) -> Section:
    """The program's stack at a held call."""
    rows: list[Row] = []
    if held.problem:
        words = "≠ going on ends the replay: " if mode == "exact" else "≠ when it goes on, "
        rows.append(row((phrase(words), Tone.ERROR), (phrase(held.problem), Tone.WARN)))
    if held.choices:
        rows.append(row((phrase("d decides: "), Tone.LABEL), (choices_in_words(held.choices), Tone.ACCENT)))
    for own, frames in groupby(held.where, lambda frame: frame.own):
        listed = list(frames)
        if not own:
            rows.append(row((phrase(f"  … {len(listed)} frames of libraries"), Tone.DIM)))
            continue
        for frame in listed:
            name = frame.file.rpartition("/")[2]
            rows.append(row((f"▸ {name}:{frame.line} ", Tone.STRONG), (frame.function, Tone.ACCENT)))
            rows.append(row(("    ", Tone.PLAIN), (frame.source, Tone.PLAIN)))
            rows += [row((f"    {key} = ", Tone.LABEL), (value, Tone.DIM)) for key, value in frame.locals]
    paused, called = phrase(f"Paused {_before(held)} "), phrase(_called(held))
    title = row((paused, Tone.HEADING), (called, Tone.STRONG), (f"  {phrase(held.why)}", Tone.DIM))
    return fixed(f"where {held.call.id}", rows, title=title)


def _quiet(live: LiveReplay) -> Iterator[Section]:
    """Where a program is that was asked to pause and makes no call."""
    if not live.quiet or live.ended is not None or live.held:
        return
    rows = [row((message("live.quiet.long"), Tone.WARN))]
    for frame in live.quiet[:_LISTED]:
        rows.append(row((f"▸ {_place(frame)}", Tone.STRONG)))
        rows.append(row(("    ", Tone.PLAIN), (frame.source, Tone.PLAIN)))
    yield fixed("quiet", rows, title=row((message("live.quiet.title"), Tone.HEADING)))


def _question(live: LiveReplay) -> Iterator[Section]:
    asked = live.question
    if asked is None:
        return
    rows = [row((asked.name, Tone.STRONG))]
    if asked.about == "approval":
        rows.append(row((message("live.ask.approval"), Tone.WARN)))
    else:
        rows.append(row((message("live.ask.external"), Tone.WARN)))
        rows.append(_labelled(message("live.ask.key"), asked.key or "–"))
    title = row((message(f"live.asks.{'approval' if asked.about == 'approval' else 'external'}"), Tone.HEADING))
    yield fixed("question", rows, title=title)


def _effects(live: LiveReplay) -> Iterator[Section]:
    if not live.effects:
        return
    rows = [
        row(
            (phrase("· tolerated " if each.tolerated else "✗ stopped "), Tone.DIM if each.tolerated else Tone.ERROR),
            (f"{each.effect} {each.detail}", Tone.PLAIN),
            (f"  {each.frame}", Tone.DIM),
        )
        for each in live.effects[:_LISTED]
    ]
    if len(live.effects) > _LISTED:
        rows.append(row((phrase(f"  and {len(live.effects) - _LISTED:,} more"), Tone.DIM)))
    yield fixed("effects", rows, title=row((phrase("Effects outside"), Tone.HEADING)))


def _output(live: LiveReplay) -> Section:
    lines: Sequence[str] = tuple(live.log)
    count = (
        f"{len(lines):,} line{'s' if len(lines) > 1 else ''}"
        if lines
        else "nothing yet"
        if live.ended is None
        else "nothing"
    )
    title = row((phrase("Program output "), Tone.HEADING), (phrase(count), Tone.DIM))
    return Section("output", title, lambda: Block([safe_line(line) for line in lines]))

"""How a replay ended, as a page: the verdict first, what to do next, then everything that it rests on."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Final

from agentdbg.debugging.document import Row, Section, Tone, fixed, row, span
from agentdbg.debugging.plan_pages import DEEDS
from agentdbg.debugging.texts import padded, said
from agentdbg.i18n.catalogue import message
from agentdbg.i18n.phrases import phrase

if TYPE_CHECKING:
    from agentdbg.compare.answers import Answer
    from agentdbg.compare.trajectory import Divergence
    from agentdbg.replay.outcome import Outcome
    from agentdbg.replay.session_events import Ended

GOOD: Final = ("identical", "recording_ended", "same", "unaffected")
_HALF: Final = ("aborted", "changed", "flaky", "prefix_changed", "needs_data", "not_replayable")
_CAME_TO: Final = (*GOOD, "changed", "flaky")
_LISTED: Final = 20
_LOG_SHOWN: Final = ("crashed", "timed_out", "not_replayable")
_CHANGED: Final = {"yes": Tone.WARN, "no": Tone.DIM, "unknown": Tone.PLAIN}
_QUESTION: Final = 22


def verdict_tone(verdict: str) -> Tone:
    """How a verdict is said."""
    if verdict in GOOD:
        return Tone.OK
    return Tone.WARN if verdict in _HALF else Tone.ERROR


def verdict_words(found: Outcome) -> str:
    """The verdict with its sign; under which rules, and after what."""
    sign = "✓" if found.verdict in GOOD else "✗" if verdict_tone(found.verdict) is Tone.ERROR else "≠"
    rules = len(found.rules_used)
    verdict = phrase(found.verdict)
    if rules and found.verdict == "identical":
        key = "replay.under_rules" if rules > 1 else "replay.under_one_rule"
        verdict = message(key, verdict=verdict, count=rules)
    return f"{sign} {verdict}"


def outcome_sections(ended: Ended, *, opens: bool, state: str = "") -> Iterator[Section]:
    """How it ended.

    Args:
        ended: The end.
        opens: Whether there is a replayed run to look at.
        state: The final state that the replayed run came to, where it is known.
    """
    title = row((message("outcome.title"), Tone.HEADING))
    found = ended.outcome
    if found is None:
        key = "outcome.refused" if ended.refused else "outcome.not_run"
        yield fixed("end", [said(message(key), phrase(ended.error), Tone.WARN)], title=title)
        return
    yield fixed("end", list(_head(found, opens=opens, state=state)), title=title)
    if found.verdict == "refused" and found.refused:
        yield _list("stopped", [_effect(each, "✗", Tone.ERROR) for each in found.refused])
    if found.answers:
        yield fixed("answers", list(map(_answer, found.answers)), title=_titled("outcome.answers"))
    lists: tuple[tuple[str, Sequence[Row]], ...] = (
        ("samples", [_sample(each) for each in found.samples] if len(found.samples) > 1 else ()),
        ("findings", [_finding(each) for each in found.findings]),
        ("drift", [_drift(each) for each in found.drift]),
        ("touched", [_touched(each) for each in found.touched]),
        ("stopped", [_effect(each, "✗", Tone.ERROR) for each in found.refused] if found.verdict != "refused" else ()),
        ("uncovered", [_effect(each, "!", Tone.WARN) for each in found.uncovered]),
        ("contained", [_effect(each, "·", Tone.PLAIN) for each in found.contained]),
        ("tolerated", [_effect(each, "·", Tone.DIM) for each in found.tolerated]),
        ("notes", [row(("· ", Tone.DIM), phrase(words)) for words in found.notes]),
    )
    for name, rows in lists:
        if rows:
            yield _list(name, rows)
    if found.log and found.verdict in _LOG_SHOWN:
        lines = [row(line) for line in found.log.splitlines()[-_LISTED:]]
        yield fixed("end log", lines, title=_titled("outcome.log"))


def _list(name: str, rows: Sequence[Row]) -> Section:
    shown = list(rows[:_LISTED])
    if (more := len(rows) - len(shown)) > 0:
        shown.append(row((message("outcome.more", count=more), Tone.DIM)))
    title = row((message(f"outcome.{name}"), Tone.HEADING), (f"  {len(rows)}", Tone.DIM))
    return fixed(f"end {name}", shown, title=title)


def _titled(key: str) -> Row:
    return row((message(key), Tone.HEADING))


def _head(found: Outcome, *, opens: bool, state: str) -> Iterator[Row]:
    yield said(message("replay.verdict"), verdict_words(found), verdict_tone(found.verdict))
    if opens:
        where = "first" if found.first_divergence is not None else "both"
        yield said("", message(f"outcome.next.{where}"), Tone.ACCENT)
    yield said(message("replay.reason"), phrase(found.reason))
    if state and found.verdict in _CAME_TO:
        yield said(message("outcome.came_to"), state, Tone.STRONG)
    if found.first_divergence is not None:
        yield from _divergence(found.first_divergence)
    yield said(message("plan.calls"), _calls(found))
    if found.from_step:
        key = "restored" if found.restored else found.mode
        yield said(message("dialog.start"), message(f"outcome.from.{key}", step=found.from_step))
    for edit in found.edits:
        yield said(message("replay.edits"), f"{edit.get('step')}:{edit.get('path')} = {edit.get('value')}", Tone.WARN)
    if found.stability and len(found.samples) > 1:
        yield said(message("dialog.samples"), message("outcome.agree", stability=found.stability))
    if found.sandbox:
        yield said(message("dialog.sandbox"), found.sandbox, Tone.WARN)
    if found.rules_used:
        yield said(message("replay.rules_used"), ", ".join(found.rules_used[:_LISTED]))
    yield said(message("outcome.guard"), ", ".join(map(phrase, found.guard)) or message("outcome.no_guard"))
    if found.replay_run:
        yield said(message("outcome.kept"), found.replay_run)


def _divergence(at: Divergence) -> Iterator[Row]:
    yield said(message("outcome.first"), f"{message('column.step')} {at.step}, {at.kind} {at.name}  {at.path}")
    yield said(message("replay.cause"), phrase(at.cause))
    yield said(message("replay.expected"), _told(at.expected), Tone.GONE)
    yield said(message("replay.got"), _told(at.got), Tone.NEW)


def _told(value: str) -> str:
    """A value as it is; in the place of one, why there is none."""
    return phrase(value) if value.startswith("(") else value


def _calls(found: Outcome) -> str:
    """What became of the calls; a share says how much of the record was used."""
    share = f" ({100 * found.served / found.total:.0f} %)" if found.total else ""
    parts = [message("outcome.calls.served", served=found.served, total=found.total) + share]
    counts = (
        ("live", found.live),
        ("dry_run", found.dry_run),
        ("refused", len(found.refused) + found.denied),
        ("unconsumed", found.unconsumed),
    )
    parts += [message(f"outcome.calls.{name}", count=count) for name, count in counts if count]
    return " · ".join(parts)


def _answer(answer: Answer) -> Row:
    changed = answer.changed
    words = message(f"outcome.{changed}")
    if answer.intended is not None and changed == "yes":
        words += f", {message('outcome.intended' if answer.intended else 'outcome.unintended')}"
    label = padded(message(f"question.{answer.question}"), _QUESTION)
    tone = Tone.OK if changed == "yes" and answer.intended else _CHANGED.get(changed, Tone.PLAIN)
    return row((f"{label}  ", Tone.LABEL), (f"{words}  ", tone), (phrase(answer.evidence), Tone.DIM))


def _sample(each: Mapping[str, object]) -> Row:
    came_to = str(each.get("final_state") or each.get("error") or message("outcome.no_state"))
    verdict = str(each.get("verdict"))
    path = each.get("path")
    taken = f"  {' › '.join(map(str, path))}" if isinstance(path, Sequence) and not isinstance(path, str) else ""
    return row(
        (f"{each.get('replay_run')}  ", Tone.LABEL),
        (f"{phrase(verdict)}  ", verdict_tone(verdict)),
        (came_to, Tone.STRONG),
        (taken, Tone.DIM),
    )


def _finding(each: Mapping[str, object]) -> Row:
    step = f"{message('outcome.replay_step', step=each['step'])}: " if each.get("step") else ""
    deed = str(each.get("deed"))
    return row(
        (f"{phrase(deed)}  ", DEEDS.get(deed, Tone.WARN)),
        (f"{step}{each.get('name')}", Tone.PLAIN),
        (f"  {phrase(str(each.get('reason')))}", Tone.DIM),
    )


def _drift(each: Mapping[str, object]) -> Row:
    return row(
        (f"{message('column.step')} {each.get('step')}: {each.get('name')} {each.get('path')}  ", Tone.PLAIN),
        (str(each.get("expected")), Tone.GONE),
        (" → ", Tone.DIM),
        (str(each.get("got")), Tone.NEW),
    )


def _touched(each: Mapping[str, object]) -> Row:
    step = f"{message('column.step')} {each['step']}: " if each.get("step") else ""
    path = f" {each['path']}" if each.get("path") else ""
    return row((f"{step}{each.get('name')}{path}", Tone.PLAIN), (f"  {phrase(str(each.get('cause')))}", Tone.DIM))


def _effect(each: Mapping[str, object], sign: str, tone: Tone) -> Row:
    """An effect, then the place in the program that it came from."""
    what = " ".join(str(each[name]) for name in ("effect", "what", "detail") if each.get(name))
    where = str(each.get("frame") or each.get("place") or "")
    step = f"  {message('column.step')} {each['step']}" if isinstance(each.get("step"), int) else ""
    return row(
        span(f"{sign} ", tone),
        (phrase(what), Tone.PLAIN),
        (step, Tone.DIM),
        (f"  {where}" if where else "", Tone.LABEL),
    )

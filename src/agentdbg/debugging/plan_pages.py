"""The plan of a replay as a page: what would be started, what to know before, then every recorded call's fate."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Final

from agentdbg.debugging.document import Document, Row, Section, Tone, fixed, note, row, span
from agentdbg.debugging.texts import padded, said
from agentdbg.i18n.catalogue import message
from agentdbg.i18n.phrases import phrase
from agentdbg.model.safe_text import safe_line
from agentdbg.replay.plan import FACT, OBSTACLE, WARNING, Plan
from agentdbg.replay.policy import Deed

if TYPE_CHECKING:
    from agentdbg.debugging.replay_dialog import Prepared
    from agentdbg.replay.plan import Remark
    from agentdbg.replay.plan import Row as PlanRow
    from agentdbg.replay.starting import Starting

DEEDS: Final = {
    Deed.SERVE.value: Tone.OK,
    Deed.LIVE.value: Tone.ACCENT,
    Deed.CHECKED.value: Tone.ACCENT,
    Deed.DRY_RUN.value: Tone.WARN,
    Deed.ASK.value: Tone.WARN,
    Deed.REFUSE.value: Tone.ERROR,
    Deed.STOP.value: Tone.ERROR,
}
_SIGNS: Final = {OBSTACLE: "✗", WARNING: "!", FACT: "·"}
_SAYS: Final = {OBSTACLE: Tone.ERROR, WARNING: Tone.WARN, FACT: Tone.PLAIN}
_NAME: Final = 24
_NARROW_NAME: Final = 16
_WORDS_LISTED: Final = 40


def plan_document(prepared: Prepared | None, *, wide: bool = True) -> Document:
    """What will happen; nothing yet while the plan is being made. Names are cut shorter where it is not ``wide``."""
    if prepared is None:
        return Document((note("pending", message("plan.pending")),))
    plan = prepared.plan
    sections = [fixed("head", list(_head(prepared)))]
    if prepared.starting is not None:
        sections += _starting(prepared.starting)
    if plan.rows:
        title = row((message("plan.each_call"), Tone.HEADING))
        sections.append(fixed("calls", _calls(plan.rows, _NAME if wide else _NARROW_NAME), title=title))
    return Document(tuple(sections))


def _head(prepared: Prepared) -> Iterator[Row]:
    plan = prepared.plan
    if plan.command:
        yield said(message("plan.runs"), phrase(plan.command))
        yield said(message("plan.calls"), _counted(plan))
    for remark in plan.remarks:
        yield _remark(remark)
    if prepared.no_restore and not any(each.about == "restore" for each in plan.obstacles):
        yield said(
            f"· {message('plan.about.restore')}", message("plan.no_restore", why=phrase(prepared.no_restore)), Tone.DIM
        )


def _counted(plan: Plan) -> str:
    first = _listed(plan.counts) or message("plan.no_calls")
    if not plan.counts_then:
        return first
    return message("plan.then", first=first, later=_listed(plan.counts_then))


def _listed(counts: Mapping[str, int]) -> str:
    return ", ".join(f"{count} {phrase(what)}" for what, count in counts.items())


def _remark(remark: Remark) -> Row:
    where = f"{message('column.step')} {remark.step}: " if remark.step is not None else ""
    label = f"{_SIGNS[remark.weight]} {message(f'plan.about.{remark.about}')}"
    return said(label, where + phrase(remark.text), _SAYS[remark.weight])


def _starting(found: Starting) -> Iterator[Section]:
    """What would be started: all of it recorded by somebody else, shown before anybody is asked to trust it."""
    rows = [said(name, value) for name, value in found.facts if value]
    rows += [said(f"argv[{place}]", word) for place, word in enumerate(found.argv[:_WORDS_LISTED])]
    if (more := len(found.argv) - _WORDS_LISTED) > 0:
        rows.append(said("", message("plan.more_words", count=more), Tone.DIM))
    yield fixed("starting", rows, title=row((message("plan.would_start"), Tone.HEADING)))
    lines = found.difference.splitlines()
    count = message("plan.difference_lines", count=len(lines)) if lines else message("plan.no_difference")
    title = row((message("plan.difference"), Tone.HEADING), (f"  {count}", Tone.DIM))
    shown = [row((line, _line_tone(line))) for line in lines]
    yield fixed("difference", shown, title=title, raw=found.difference.encode("utf-8", "surrogatepass"), open_=False)


def _line_tone(line: str) -> Tone:
    return {"+": Tone.NEW, "-": Tone.GONE, "@": Tone.LABEL}.get(line[:1], Tone.DIM)


def _calls(rows: Sequence[PlanRow], most: int) -> list[Row]:
    from rich.cells import cell_len

    kinds = max(len(each.kind) for each in rows)
    names = min(max(cell_len(safe_line(each.name)) for each in rows), most)
    effects = max(len(each.effect or "") for each in rows)
    fates = max(cell_len(_fate(each)) for each in rows)
    found = []
    for each in rows:
        place = f"{each.step:>5}  {each.kind:<{kinds}}  {padded(each.name, names)}  {each.effect or '':<{effects}}  "
        first = [span(phrase(each.what), DEEDS.get(each.what, Tone.WARN))]
        if each.then:
            first += [span(" → ", Tone.DIM), span(phrase(each.then), DEEDS.get(each.then, Tone.WARN))]
        gap = " " * (fates - cell_len(_fate(each)) + 2)
        found.append(row((place, Tone.LABEL), *first, gap, (phrase(each.why), Tone.DIM)))
    return found


def _fate(each: PlanRow) -> str:
    return " → ".join(phrase(fate) for fate in (each.what, each.then) if fate)

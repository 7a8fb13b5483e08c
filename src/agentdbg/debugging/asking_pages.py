"""What the ask screen shows: first the price, then each answer beside the recorded one."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import zip_longest
from typing import Final

from agentdbg.compare.text import diff_text
from agentdbg.debugging.asking import Asking
from agentdbg.debugging.differences import text_lines_of
from agentdbg.debugging.divergences import DiffView
from agentdbg.debugging.document import (
    Block,
    Document,
    Halves,
    Line,
    Row,
    Section,
    Span,
    Tone,
    duration_words,
    fixed,
    note,
    row,
    span,
)
from agentdbg.debugging.jsontext import pretty
from agentdbg.debugging.tabs.common import heading, labelled
from agentdbg.debugging.tabs.speech import json_rows, text_rows
from agentdbg.model.canonical import dumps_json
from agentdbg.model.records import Json
from agentdbg.replay.ask import Estimate, Sample
from agentdbg.replay.conclusions import Conclusion

VERDICTS: Final = {
    "same": ("same: the recorded conclusion", Tone.OK),
    "changed": ("changed: another conclusion than the recorded one", Tone.ERROR),
    "flaky": ("flaky: the answers do not agree", Tone.WARN),
    "cannot_tell": ("cannot tell: free text alone has no conclusion", Tone.DIM),
    "redacted": ("cannot tell: the recorded conclusion holds redacted values", Tone.WARN),
    "failed": ("failed: no answer came", Tone.ERROR),
}
_STATES: Final = {"waiting": "waits", "sent": "asked …", "failed": "failed", "given_up": "given up"}
HEAD: Final = f"    {'answer':<10}{'conclusion':<12}{'took':>7}  {'in / out':>13}  what it comes to"


def price_words(price: Estimate) -> str:
    """The price, or that nobody knows it."""
    if price.price is None or price.dollars is None:
        return "price unknown"
    dollars = price.dollars
    shown = (
        f"${dollars:.2f}" if dollars >= 0.1 or dollars == 0 else f"${dollars:.4f}" if dollars >= 0.0001 else "< $0.0001"
    )
    return f"about {shown} ({price.price.source})"


def status_spans(asking: Asking) -> list[Span]:
    """Where it stands, for the status line."""
    edited = asking.question is not None and asking.question.edits
    first = [span("EDITED ", Tone.WARN)] if edited else []
    if asking.state == "ready":
        return [*first, span("nothing is sent yet ", Tone.DIM)]
    if asking.state == "asking" or asking.asked is None:
        return [*first, span(f"{asking.done} of {len(asking.samples)} answered ", Tone.WARN)]
    asked = asking.asked
    words, tone = VERDICTS[asked.verdict]
    count = len(asked.answered)
    stable = (
        f"  {asked.agreeing} of {count} agree, {asked.wordings} wording{'' if asked.wordings == 1 else 's'} "
        if count
        else ""
    )
    return [*first, span(words, tone), span(stable, Tone.DIM)]


def sample_row(asking: Asking, sample: Sample, letters: dict[str, str]) -> Row:
    """One answer in the list."""
    name = "recorded" if sample.n == 0 else f"sample {sample.n}"
    if sample.conclusion is None:
        tone = Tone.ERROR if sample.state == "failed" else Tone.DIM
        return row(f"{name:<10}", (f"{_STATES.get(sample.state, sample.state):<12}", tone), (sample.problem, tone))
    letter = letters.get(sample.conclusion.key, "?")
    before = asking.recorded.conclusion.key if asking.recorded and asking.recorded.conclusion else None
    sign, tone = ("=", Tone.OK) if sample.conclusion.key == before else ("≠", Tone.WARN)
    if sample.n == 0 or before is None:
        sign, tone = " ", Tone.STRONG
    usage = sample.usage
    tokens = f"{usage.input or '–'} / {usage.output or '–'}" if usage is not None else "–"
    return row(
        f"{name:<10}",
        (f"{sign} {letter:<10}", tone),
        (f"{duration_words(sample.latency_ms):>7}  ", Tone.DIM),
        (f"{tokens:>13}  ", Tone.DIM),
        *_in_short(sample.conclusion),
    )


def ask_document(asking: Asking, sample: Sample | None, *, wide: bool) -> Document:
    """The page below the list: the price before, the selected answer after.

    Args:
        asking: The call.
        sample: The selected answer.
        wide: Whether two columns fit.
    """
    if asking.state == "ready":
        return Document(tuple(_price_sections(asking)))
    if sample is None:
        return Document((note("empty", "no answer yet"),))
    return Document(tuple(_answer_sections(asking, sample, wide=wide)))


def _price_sections(asking: Asking) -> Iterator[Section]:
    question, price = asking.question, asking.price
    if question is None or price is None:
        yield fixed("problem", [row(("cannot be asked: ", Tone.WARN), asking.problem)])
        yield note("start", "u names an address, m another model, e changes the request.")
        return
    if question.placeholders:
        many = f"{question.placeholders} value{'s' if question.placeholders > 1 else ''} of the request"
        yield fixed("redacted", [row(("! ", Tone.WARN), (f"{many} redacted: placeholders are sent", Tone.WARN))])
    known = price.price is not None
    hint = "" if known else f"  [prices] in agentdbg.toml: '{question.model}' = 'IN/OUT', dollars per million tokens"
    rows = [
        labelled("Price", (price_words(price), Tone.STRONG), (hint, Tone.DIM)),
        labelled("", f"{price.samples} × about {price.input_tokens:,} tokens in, {price.output_tokens:,} out"),
        labelled("Samples", (str(asking.wish.samples), Tone.STRONG), ("  + and - change it", Tone.DIM)),
        labelled("Model", question.model, ("  m asks another one", Tone.DIM)),
        labelled("Goes to", question.route.url, ("  u sends it elsewhere", Tone.DIM)),
        labelled("Key", question.route.variable or "none"),
    ]
    yield fixed("price", rows)
    yield from _otherwise(asking)
    if question.notes:
        yield fixed("notes", [row(("! ", Tone.WARN), each) for each in question.notes], title=heading("To know"))
    yield note("start", "No agent code and no tool runs. enter sends it at this price; esc leaves.")
    text = dumps_json(question.body)
    yield Section("request", heading("Request"), lambda: Block(json_rows(text), raw=text.encode()), open=False)


def _answer_sections(asking: Asking, sample: Sample, *, wide: bool) -> Iterator[Section]:
    if sample.conclusion is None:
        words = sample.problem or _STATES.get(sample.state, sample.state)
        rows = [labelled("Status", (sample.state.replace("_", " "), Tone.WARN)), labelled("", words)]
        if asking.question is not None:
            rows.append(labelled("Went to", asking.question.route.url))
        yield fixed("state", rows)
        yield from _otherwise(asking)
        if asking.state == "done":
            yield note("again", "r goes back to the price: there m asks another model, u sends it elsewhere.")
        return
    yield fixed("facts", list(_facts(sample)))
    if sample.n:
        yield from _otherwise(asking)
    before = asking.recorded.conclusion if asking.recorded is not None and sample.n else None
    found = sample.conclusion
    yield fixed_lines("conclusion", heading("Conclusion"), list(_conclusions(before, found, wide=wide)))
    lines = list(_wording(before, found, wide=wide))
    yield fixed_lines("wording", heading("Wording"), lines, raw=found.wording.encode("utf-8", "surrogatepass"))
    raw = dumps_json(sample.output)
    yield Section("answer", heading("Answer"), lambda: Block(json_rows(raw), raw=raw.encode()), open=False)


def _otherwise(asking: Asking) -> Iterator[Section]:
    """In what the question is another than the recorded one."""
    edits = asking.question.edits if asking.question is not None else ()
    if edits:
        yield fixed("edits", [row(("~ ", Tone.WARN), edit) for edit in edits], title=heading("Edited"))


def fixed_lines(key: str, title: Row, lines: Sequence[Line], raw: bytes | None = None) -> Section:
    """A section whose lines are known already."""
    return Section(key, title, lambda: Block(lines, raw=raw))


def _facts(sample: Sample) -> Iterator[Row]:
    usage = sample.usage
    if sample.model:
        yield labelled("Model", sample.model)
    if usage is not None:
        yield labelled("Tokens", f"{usage.input} in · {usage.cached or 0} cached · {usage.output} out")
    yield labelled(
        "Took", duration_words(sample.latency_ms), f"  asked {sample.attempts}×" if sample.attempts > 1 else ""
    )
    if sample.stop_reason:
        yield labelled("Stop reason", sample.stop_reason)
    if sample.problem:
        yield labelled("Problem", (sample.problem, Tone.WARN))


def _conclusions(before: Conclusion | None, found: Conclusion, *, wide: bool) -> Iterator[Line]:
    if before is not None and before.key == found.key:
        if found.can_tell:
            yield row(("= ", Tone.OK), ("the recorded conclusion", Tone.DIM))
            yield from _lines(found)
        else:
            yield row(("free text, as recorded: what it concludes, nobody can tell", Tone.DIM))
        return
    if before is None:
        yield from _lines(found)
    elif wide:
        yield Halves(row(("recorded", Tone.LABEL)), row(("this sample", Tone.LABEL)))
        for left, right in zip_longest(_lines(before), _lines(found), fillvalue=()):
            yield Halves(left, right)
    else:
        yield row(("recorded", Tone.LABEL))
        yield from (row(("- ", Tone.ERROR), *each) for each in _lines(before))
        yield row(("this sample", Tone.LABEL))
        yield from (row(("+ ", Tone.OK), *each) for each in _lines(found))


def _lines(found: Conclusion) -> Iterator[Row]:
    for call in found.tool_calls:
        yield row(("→ ", Tone.ACCENT), (call.name, Tone.TOOL))
        yield from _json(call.arguments)
    if found.is_structured:
        yield from _json(found.structured)
    if not found.can_tell:
        yield row(("no tool call: free text", Tone.DIM))


def _json(value: Json) -> Iterator[Row]:
    for line in pretty(dumps_json(value)):
        yield row(f"  {line}")


def _wording(before: Conclusion | None, found: Conclusion, *, wide: bool) -> Iterator[Line]:
    if not found.wording and not (before and before.wording):
        yield row(("no text", Tone.DIM))
    elif before is None:
        yield from text_rows(found.wording)
    elif before.wording == found.wording:
        yield row(("= ", Tone.OK), ("word for word as recorded", Tone.DIM))
        yield from text_rows(found.wording)
    else:
        view = DiffView.SIDE if wide else DiffView.UNIFIED
        yield from text_lines_of(diff_text(before.wording, found.wording), view)


def _in_short(found: Conclusion) -> Iterator[Span]:
    for number, call in enumerate(found.tool_calls):
        yield span("; " if number else "", Tone.DIM)
        yield span(call.name, Tone.TOOL)
        yield span(f" {dumps_json(call.arguments)}"[:200], Tone.PLAIN)
    if found.is_structured:
        yield span(dumps_json(found.structured)[:200])
    if not found.can_tell:
        yield span("free text  ", Tone.DIM)
        yield span(" ".join(found.wording[:200].split()))

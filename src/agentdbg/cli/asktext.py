"""What ``agentdbg ask`` prints for people: the price before, the answers side by side after."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from agentdbg.cli.output import NOTHING, block, console, print_table, text
from agentdbg.debugging.document import duration_words
from agentdbg.i18n.catalogue import message
from agentdbg.model.canonical import dumps_json

if TYPE_CHECKING:
    from agentdbg.cli.invocation import Invocation
    from agentdbg.replay.ask import Asked, Estimate, Sample
    from agentdbg.replay.ask_request import Question


def print_question(invocation: Invocation, question: Question, price: Estimate) -> None:
    """Say what will be sent where, what is special about it, and what it costs; to stderr, before anything is sent."""
    out = console(invocation, stderr=True)
    if question.placeholders:
        out.print(text(message("ask.placeholders", count=question.placeholders), "yellow"))
    for note in question.notes:
        out.print(text(f"! {note}"))
    for edit in question.edits:
        out.print(text(message("ask.edited", edit=edit)))
    out.print(text(message("ask.goes_to", model=question.model, step=question.step.n, url=question.route.url)))
    out.print(text(price_words(price)))


def price_words(price: Estimate) -> str:
    """The price, or that nobody knows it."""
    tokens = message("ask.tokens", count=price.samples, input=price.input_tokens, output=price.output_tokens)
    if price.price is None or price.dollars is None:
        return f"{tokens}: {message('ask.price_unknown')}"
    return f"{tokens}: {message('ask.price', dollars=dollar_words(price.dollars), source=price.price.source)}"


def dollar_words(dollars: float) -> str:
    """A sum for people: two figures that count, cents at least."""
    if dollars == 0 or dollars >= 0.1:
        return f"${dollars:.2f}"
    return f"${dollars:.4f}" if dollars >= 0.0001 else "< $0.0001"


def print_answers(invocation: Invocation, asked: Asked) -> None:
    """Print conclusions in one table, then each different wording once."""
    out = console(invocation)
    letters = _letters(asked)
    samples = [*([asked.recorded] if asked.recorded is not None else []), *asked.samples]
    columns = [message(f"ask.{name}") for name in ("sample", "conclusion", "calls", "took", "tokens_used", "model")]
    print_table(invocation, columns, [_row(sample, letters) for sample in samples])
    out.print()
    out.print(text(verdict_words(asked)))
    for wording, numbers in _wordings(samples).items():
        out.print()
        out.print(text(message("ask.wording", samples=", ".join(numbers)), "bold"))
        out.print(block(wording))


def verdict_words(asked: Asked) -> str:
    """Verdict and stability in a line."""
    count = len(asked.answered)
    verdict = message(f"ask.verdict.{asked.verdict}")
    if not count:
        return verdict
    stability = message("ask.stability", agreeing=asked.agreeing, of=count, wordings=asked.wordings)
    return f"{verdict} ({stability})"


def _letters(asked: Asked) -> dict[str, str]:
    """A letter for each conclusion, the recorded one first."""
    samples = [*([asked.recorded] if asked.recorded is not None else []), *asked.answered]
    keys = dict.fromkeys(sample.conclusion.key for sample in samples if sample.conclusion is not None)
    return {key: chr(ord("A") + min(place, 25)) for place, key in enumerate(keys)}


def _row(sample: Sample, letters: dict[str, str]) -> list[object]:
    name = message("ask.recorded") if sample.n == 0 else str(sample.n)
    if sample.conclusion is None:
        took = NOTHING if sample.latency_ms is None else duration_words(sample.latency_ms)
        return [name, sample.state.replace("_", " "), sample.problem, took, "", ""]
    usage = sample.usage
    tokens = f"{usage.input} / {usage.output}" if usage is not None else ""
    took = duration_words(sample.latency_ms)
    calls = "; ".join(_calls(sample))
    return [name, letters[sample.conclusion.key], calls, took, tokens, sample.model]


def _calls(sample: Sample) -> Iterator[str]:
    found = sample.conclusion
    if found is None:
        return
    for call in found.tool_calls:
        yield f"{call.name}({dumps_json(call.arguments)})"
    if found.is_structured:
        yield dumps_json(found.structured)
    if not found.can_tell:
        yield message("ask.free_text")
    if sample.problem:
        yield sample.problem


def _wordings(samples: list[Sample]) -> dict[str, list[str]]:
    found: dict[str, list[str]] = {}
    for sample in samples:
        if sample.conclusion is not None and sample.conclusion.wording:
            name = message("ask.recorded") if sample.n == 0 else str(sample.n)
            found.setdefault(sample.conclusion.wording, []).append(name)
    return found

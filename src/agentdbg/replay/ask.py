"""``ask``: one recorded model call sent again, several times, edited or not; no agent code, no tools."""

from __future__ import annotations

import queue
import threading
from collections import Counter
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from agentdbg.config.prices import Price, price_of
from agentdbg.config.resources import demo_runs_dir
from agentdbg.model.canonical import loads_json
from agentdbg.model.records import Json, Step, Usage
from agentdbg.recording.providers import read_response
from agentdbg.redaction.gate import Gate
from agentdbg.replay.ask_request import Question, wants_json
from agentdbg.replay.ask_wire import GivenUp, Reply, SendFailed, send
from agentdbg.replay.conclusions import Conclusion, conclude
from agentdbg.replay.trust import is_trusted
from agentdbg.store.notes import append
from agentdbg.store.protocols import BodyMissing, RunSource, RunStore
from agentdbg.store.reader import DirectoryRunSource

ASKS = "asks.jsonl"
AT_ONCE = 4
WAITING, SENT, ANSWERED, FAILED, GIVEN_UP = "waiting", "sent", "answered", "failed", "given_up"
_TICK_S = 0.05
_ERROR_CHARACTERS = 500


@dataclass(frozen=True, slots=True)
class Sample:
    """One answer, or what became of it.

    Attributes:
        n: Its number, from 1; 0 for the recorded answer.
        state: ``waiting``, ``sent``, ``answered``, ``failed`` or ``given_up``.
        conclusion: What the answer comes to.
        model: The model that answered, as it calls itself.
        usage: Tokens.
        latency_ms: From sending to the last byte.
        stop_reason: Why the model stopped.
        attempts: How often it was sent; a busy server is asked again.
        problem: What went wrong, or is being waited for.
        output: The whole answer, redacted.
    """

    n: int
    state: str = WAITING
    conclusion: Conclusion | None = None
    model: str = ""
    usage: Usage | None = None
    latency_ms: float | None = None
    stop_reason: str = ""
    attempts: int = 0
    problem: str = ""
    output: Json = None

    def members(self) -> dict[str, object]:
        """As in the JSON document."""
        return {
            "sample": self.n,
            "state": self.state,
            "conclusion": self.conclusion.members() if self.conclusion else None,
            "text": self.conclusion.wording if self.conclusion else None,
            "model": self.model or None,
            "tokens": _tokens(self.usage),
            "latency_ms": round(self.latency_ms, 1) if self.latency_ms is not None else None,
            "stop_reason": self.stop_reason or None,
            "attempts": self.attempts,
            "error": self.problem or None,
            "output": self.output,
        }


@dataclass(frozen=True, slots=True)
class Estimate:
    """What asking will cost, about.

    Attributes:
        samples: How often it is asked.
        input_tokens: About how many go in, each time.
        output_tokens: About how many come out, each time.
        price: The model's; ``None`` where it is not known.
    """

    samples: int
    input_tokens: int
    output_tokens: int
    price: Price | None

    @property
    def dollars(self) -> float | None:
        """For all samples together."""
        one = self.price.of(self.input_tokens, self.output_tokens) if self.price is not None else None
        return one * self.samples if one is not None else None

    def members(self) -> dict[str, object]:
        """As in the JSON document."""
        return {
            "input_tokens": self.input_tokens,
            "output_tokens": self.output_tokens,
            "samples": self.samples,
            "usd": round(self.dollars, 6) if self.dollars is not None else None,
            "source": self.price.source if self.price is not None else None,
        }


@dataclass(frozen=True, slots=True)
class Asked:
    """All answers to one question.

    Attributes:
        recorded: The answer of the record; ``None`` where it has none.
        interrupted: Whether the user stopped it.
    """

    question: Question
    recorded: Sample | None
    samples: tuple[Sample, ...]
    interrupted: bool = False

    @property
    def answered(self) -> tuple[Sample, ...]:
        """Those that were answered."""
        return tuple(sample for sample in self.samples if sample.conclusion is not None)

    @property
    def agreeing(self) -> int:
        """How many answers come to what most come to."""
        counted = Counter(sample.conclusion.key for sample in self.answered if sample.conclusion is not None)
        return max(counted.values(), default=0)

    @property
    def wordings(self) -> int:
        """How many different texts there are."""
        return len({sample.conclusion.wording for sample in self.answered if sample.conclusion is not None})

    @property
    def verdict(self) -> str:
        """``same``, ``changed``, ``flaky``, ``cannot_tell``, ``redacted`` or ``failed``.

        ``redacted``: the recorded conclusion holds redacted values, so that nobody can tell whether this is the same.
        """
        answers = [sample.conclusion for sample in self.answered if sample.conclusion is not None]
        before = self.recorded.conclusion if self.recorded is not None else None
        if not answers:
            return "failed"
        if self.agreeing < len(answers):
            return "flaky"
        found = answers[0]
        if before is None or (not before.can_tell and not found.can_tell):
            same_words = before is not None and {before.wording} == {each.wording for each in answers}
            return "same" if same_words else "cannot_tell"
        if before.key == found.key:
            return "same"
        return "redacted" if before.hides(found) else "changed"

    def members(self) -> dict[str, object]:
        """The JSON document of ``agentdbg ask``, without its schema, price and run."""
        count = len(self.answered)
        return {
            "step": self.question.step.n,
            "id": self.question.step.id,
            "url": self.question.route.url,
            "model_asked": self.question.model,
            "edits": list(self.question.edits),
            "placeholders": self.question.placeholders,
            "notes": list(self.question.notes),
            "verdict": self.verdict,
            "stability": {"agreeing": self.agreeing, "of": count, "fraction": self.agreeing / count if count else None},
            "wordings": self.wordings,
            "interrupted": self.interrupted,
            "recorded": self.recorded.members() if self.recorded is not None else None,
            "samples": [sample.members() for sample in self.samples],
        }


def estimate(question: Question, samples: int, own: Mapping[str, str] | None = None) -> Estimate:
    """What asking will cost, about.

    Args:
        question: What is asked.
        samples: How often.
        own: The user's own prices.
    """
    return Estimate(samples, question.input_tokens, question.output_tokens, price_of(question.model, own))


def is_own(source: RunSource) -> bool:
    """Whether this user recorded the run, so that the addresses in it are believed."""
    return isinstance(source, DirectoryRunSource) and is_trusted(source)


def recorded_answer(source: RunSource, step: Step, question: Question | None) -> Sample | None:
    """The answer that the record has; without a question, whatever was asked, it is read as a text."""
    if step.result is None:
        return None
    try:
        output = loads_json(source.body(step.result))
    except (BodyMissing, ValueError):
        return None
    return Sample(
        n=0,
        state=ANSWERED,
        conclusion=conclude(output, structured=question is not None and wants_json(question.provider, question.body)),
        model=str(step.attrs.get("model") or step.attrs.get("model_asked") or step.name),
        usage=step.usage,
        latency_ms=step.latency_ms,
        stop_reason=str(step.attrs.get("stop_reason") or ""),
        attempts=1,
        problem=step.error.message if step.error is not None else "",
        output=output,
    )


def ask(
    question: Question,
    samples: int,
    *,
    recorded: Sample | None,
    timeout: float,
    stop: threading.Event,
    changed: Callable[[Sample], None] = lambda _: None,
    redacting: bool = True,
) -> Asked:
    """Send the call, several times at once, until all answers are there or the user stops.

    Args:
        question: What is sent.
        samples: How often.
        recorded: The recorded answer.
        timeout: Seconds for one answer.
        stop: Set to stop: what is there is kept.
        changed: Told of every sample that has changed, in the caller's thread.
        redacting: Whether answers are redacted, as everything that is written is.
    """
    news: queue.Queue[Sample] = queue.Queue()
    asking = _Asking(question, timeout, stop, news.put, Gate(enabled=redacting))
    found = {n: Sample(n) for n in range(1, samples + 1)}
    waiting: queue.SimpleQueue[int] = queue.SimpleQueue()
    for n in found:
        waiting.put(n)
    for _ in range(min(samples, AT_ONCE)):
        threading.Thread(target=asking.work, args=(waiting,), daemon=True).start()
    interrupted = False
    try:
        while any(sample.state in (WAITING, SENT) for sample in found.values()) and not interrupted:
            with suppress(queue.Empty):
                sample = news.get(timeout=_TICK_S)
                found[sample.n] = sample
                changed(sample)
            interrupted = stop.is_set() and news.empty()
    except KeyboardInterrupt:
        stop.set()
        interrupted = True
    late = [Sample(n, GIVEN_UP) if s.state in (WAITING, SENT) else s for n, s in found.items()]
    return Asked(question, recorded, tuple(late), interrupted)


class _Asking:
    """Sends samples, in threads that a stop leaves behind."""

    def __init__(
        self, question: Question, timeout: float, stop: threading.Event, tell: Callable[[Sample], None], gate: Gate
    ) -> None:
        self._question = question
        self._timeout = timeout
        self._stop = stop
        self._tell = tell
        self._gate = gate
        self._data = question.data()
        self._headers = [("Content-Type", "application/json"), *question.headers, *question.route.headers]

    def work(self, waiting: queue.SimpleQueue[int]) -> None:
        """Send one after the other."""
        while not self._stop.is_set():
            try:
                n = waiting.get_nowait()
            except queue.Empty:
                return
            self._tell(Sample(n, SENT))
            self._tell(self._sample(n))

    def _sample(self, n: int) -> Sample:
        def say(what: str) -> None:
            self._tell(Sample(n, SENT, problem=what))

        url = self._question.route.url
        try:
            reply = send(url, self._headers, self._data, timeout=self._timeout, stop=self._stop, say=say)
            return self._read(n, reply)
        except GivenUp:
            return Sample(n, GIVEN_UP)
        except SendFailed as problem:
            return Sample(n, FAILED, problem=self._clean(str(problem)), attempts=1)
        except Exception as problem:  # one answer that nobody expected must not lose the others
            return Sample(n, FAILED, problem=self._clean(f"{type(problem).__name__}: {problem}"), attempts=1)

    def _read(self, n: int, reply: Reply) -> Sample:
        found = read_response(self._question.provider, self._without_keys(reply.body))
        took = reply.seconds * 1000
        if not 200 <= reply.status < 300 or found.error or found.output is None or isinstance(found.output, str):
            words = found.error or (found.output if isinstance(found.output, str) else "") or "; ".join(found.missing)
            hint = _hint(reply, self._question)
            problem = self._clean(f"HTTP {reply.status} {words}".strip()[:_ERROR_CHARACTERS]) + hint
            return Sample(n, FAILED, problem=problem, latency_ms=took, attempts=reply.attempts)
        output = self._gate.value(found.output)
        return Sample(
            n=n,
            state=ANSWERED,
            conclusion=conclude(output, structured=wants_json(self._question.provider, self._question.body)),
            model=self._gate.text(found.model or ""),
            usage=found.usage,
            latency_ms=took,
            stop_reason=self._gate.text(found.stop_reason or ""),
            attempts=reply.attempts,
            problem=self._clean("; ".join(found.missing)),
            output=output,
        )

    def _without_keys(self, body: bytes) -> bytes:
        """The answer without the key that was sent, should the server say it back."""
        for secret in self._question.route.secrets:
            body = body.replace(secret.encode(), b"[key]")
        return body

    def _clean(self, text: str) -> str:
        for secret in self._question.route.secrets:
            text = text.replace(secret, "[key]")
        return self._gate.text(text)


def save(source: RunSource, store: RunStore, asked: Asked, price: Estimate) -> None:
    """Keep the answers with the run's notes.

    Raises:
        OSError: They cannot be written.
        StoreError: Something else has their name.
    """
    location = getattr(source, "notes_location", None)
    directory = source.root if isinstance(source, DirectoryRunSource) and location is None else None
    if directory is not None and Path(directory).resolve().is_relative_to(demo_runs_dir().resolve()):
        directory = None
    note = {"e": "ask", **asked.members(), "price": price.members()}
    append(str(location or store.location()), source.summary().run_id, directory, note, file=ASKS)


def _hint(reply: Reply, question: Question) -> str:
    if reply.status not in (401, 403):
        return ""
    if question.route.variable:
        return f" (the key is from {question.route.variable})"
    return "" if not question.route.headers else " (no key was sent: say --base-url URL to send one there)"


def _tokens(usage: Usage | None) -> dict[str, int | None] | None:
    return None if usage is None else {"input": usage.input, "output": usage.output, "cached": usage.cached}

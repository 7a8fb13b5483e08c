"""A recorded model call on its way to be asked again: what is wanted, its price, and the answers as they come."""

from __future__ import annotations

import queue
import threading
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Final, TypeAlias

from agentdbg.config.settings import Settings, settings
from agentdbg.model.canonical import loads_json
from agentdbg.model.json_path import BadPath, Path, split_edit
from agentdbg.model.records import Json, Kind, Step
from agentdbg.replay import ask as asks
from agentdbg.replay.ask import ANSWERED, FAILED, GIVEN_UP, Asked, Estimate, Sample
from agentdbg.replay.ask_request import AskRefused, CannotAsk, Question, prepare
from agentdbg.replay.ask_route import KeyMissing, RouteRefused, RouteUnknown
from agentdbg.store.files import StoreError
from agentdbg.store.protocols import RunSource, RunStore

MOST_SAMPLES: Final = 100
FIRST_SAMPLES: Final = 3
_LOOKED: Final = 500
_NOT_NOW: Final = "the answers are on their way: x stops"


News: TypeAlias = "Sample | tuple[Asked, str]"


def not_askable(steps: Sequence[Step], index: int) -> str:
    """That a step is no model call, and which one is nearest."""
    looked = (*range(index, max(index - _LOOKED, -1), -1), *range(index + 1, min(index + _LOOKED, len(steps))))
    near = next((steps[at].n for at in looked if steps[at].kind is Kind.MODEL), None)
    there = f"step {near} is one: / and #{near} goes there" if near is not None else "o asks one again"
    return f"this is no model call: {there}"


@dataclass(frozen=True, slots=True)
class AskWish:
    """What the user wants.

    Attributes:
        body: A whole request in the place of the recorded one.
    """

    samples: int = FIRST_SAMPLES
    model: str | None = None
    base_url: str | None = None
    edits: tuple[tuple[Path, Json], ...] = ()
    body: dict[str, Json] | None = field(default=None, hash=False)


class Asking:
    """One model call, asked again. Nothing is sent before :meth:`start`.

    Attributes:
        wish: What is wanted.
        question: What would be sent; ``None`` while it cannot be.
        problem: Why it cannot be sent, in words.
        price: What it costs, about.
        recorded: The recorded answer.
        samples: The answers, as far as they came.
        asked: All of them, once they are there.
        state: ``ready``, ``asking`` or ``done``.
        message: What the last action has to say.
    """

    def __init__(self, source: RunSource, store: RunStore, step: Step, configured: Settings | None = None) -> None:
        """Prepare to ask.

        Args:
            source: The run; stays open until the caller closes it.
            store: Where it lies.
            step: The model call.
            configured: Settings, instead of the user's own.
        """
        found = configured or settings()
        self.source, self.store, self.step = source, store, step
        self.run_id = source.summary().run_id
        self._prices: Mapping[str, str] = found.table("prices")
        self._timeout = found.seconds("ask.timeout")
        self._redacting = found.flag("recording.redaction")
        self._own = asks.is_own(source)
        self._news: queue.SimpleQueue[News] = queue.SimpleQueue()
        self._stop = threading.Event()
        self.wish = AskWish()
        self.question: Question | None = None
        self.problem = ""
        self.price: Estimate | None = None
        self.recorded: Sample | None = None
        self.samples: list[Sample] = []
        self.asked: Asked | None = None
        self.state = "ready"
        self.message = ""
        self._prepare()

    @property
    def rows(self) -> list[Sample]:
        """The recorded answer, then the samples."""
        return [*([self.recorded] if self.recorded is not None else []), *self.samples]

    @property
    def done(self) -> int:
        """How many answers need no more waiting for."""
        return sum(sample.state in (ANSWERED, FAILED, GIVEN_UP) for sample in self.samples)

    def letters(self) -> dict[str, str]:
        """A letter for each conclusion, the recorded one first."""
        keys = dict.fromkeys(row.conclusion.key for row in self.rows if row.conclusion is not None)
        return {key: chr(ord("A") + min(place, 25)) for place, key in enumerate(keys)}

    # What is wanted

    def more(self) -> None:
        """One sample more."""
        self._wish(replace(self.wish, samples=min(self.wish.samples + 1, MOST_SAMPLES)))

    def fewer(self) -> None:
        """One sample less."""
        self._wish(replace(self.wish, samples=max(self.wish.samples - 1, 1)))

    def choose_model(self, name: str) -> None:
        """Ask another model; an empty name is the recorded one."""
        self._wish(replace(self.wish, model=name.strip() or None))

    def choose_address(self, url: str) -> None:
        """Send it elsewhere; an empty address is the recorded one."""
        self._wish(replace(self.wish, base_url=url.strip() or None))

    def add_edit(self, text: str) -> None:
        """Change a place of the request; an empty text takes all edits back."""
        if not text.strip():
            self._wish(replace(self.wish, edits=(), body=None))
            return
        try:
            edit = split_edit(text.strip())
        except BadPath as problem:
            self.message = str(problem)
            return
        self._wish(replace(self.wish, edits=(*self.wish.edits, edit)))

    def take_request(self, text: str) -> None:
        """Take over a whole request that the user has edited."""
        try:
            body = loads_json(text)
        except ValueError as problem:
            self.message = f"the request stays as it was: no JSON ({problem})"
            return
        if isinstance(body, dict):
            self._wish(replace(self.wish, body=body, edits=()))
        else:
            self.message = "the request stays as it was: it has to be a JSON object"

    def again(self) -> None:
        """Back to the price, to ask once more."""
        if self.state == "done":
            self.state, self.asked, self.samples = "ready", None, []
            self.message = "nothing is sent yet"

    # Asking

    def start(self, wake: Callable[[], None]) -> None:
        """Send it, at the price shown.

        Args:
            wake: Called from another thread when there is news; then :meth:`take_in`.
        """
        question = self.question
        if self.state != "ready" or question is None:
            self.message = {"asking": _NOT_NOW, "done": "answered: r asks again"}.get(self.state, self.problem)
            return
        self.state, self._stop = "asking", threading.Event()
        self._news = queue.SimpleQueue()
        self.samples = [Sample(n) for n in range(1, self.wish.samples + 1)]
        words = (question, self.wish.samples, self._stop, self._news, wake)
        threading.Thread(target=self._ask, args=words, daemon=True).start()

    def stop(self) -> None:
        """Do not wait any longer; what came is kept."""
        if self.state == "asking":
            self._stop.set()
            self.message = "stopped: what came is kept, what is on its way may still be charged"
        else:
            self.message = "nothing is on its way"

    def close(self) -> None:
        """Wait for nothing any more."""
        self._stop.set()

    def take_in(self) -> None:
        """Take in what came since."""
        while True:
            try:
                news = self._news.get_nowait()
            except queue.Empty:
                return
            if isinstance(news, Sample):
                self.samples[news.n - 1] = news
            else:
                self.asked, self.message = news
                self.samples, self.state = list(self.asked.samples), "done"

    def _ask(
        self,
        question: Question,
        count: int,
        stop: threading.Event,
        news: queue.SimpleQueue[News],
        wake: Callable[[], None],
    ) -> None:
        def changed(sample: Sample) -> None:
            news.put(sample)
            wake()

        asked = asks.ask(
            question,
            count,
            recorded=self.recorded,
            timeout=self._timeout,
            stop=stop,
            changed=changed,
            redacting=self._redacting,
        )
        news.put((asked, self._kept(asked)))
        wake()

    def _kept(self, asked: Asked) -> str:
        """Keep the answers, though the user may have left; why that cannot be, in words."""
        try:
            asks.save(self.source, self.store, asked, asks.estimate(asked.question, len(asked.samples), self._prices))
        except (OSError, StoreError, ValueError) as problem:
            return f"the answers are not kept: {problem}"
        return ""

    def _wish(self, wish: AskWish) -> None:
        if self.state != "ready":
            self.message = _NOT_NOW if self.state == "asking" else "answered: r asks again"
            return
        before, self.wish, self.message = self.wish, wish, ""
        bad = self._prepare()
        if bad:
            self.wish, self.message = before, bad
            self._prepare()

    def _prepare(self) -> str:
        """Make the question; returns what is wrong with the wish itself."""
        wish = self.wish
        try:
            self.question = prepare(
                self.source,
                self.step,
                edits=wish.edits,
                model=wish.model,
                base_url=wish.base_url,
                body=wish.body,
                trusted=self._own,
            )
        except BadPath as problem:
            return str(problem)
        except (CannotAsk, AskRefused, RouteUnknown, RouteRefused, KeyMissing) as problem:
            self.question, self.price, self.problem = None, None, str(problem)
            self.recorded = asks.recorded_answer(self.source, self.step, None)
            return ""
        self.problem = ""
        self.price = asks.estimate(self.question, wish.samples, self._prices)
        self.recorded = asks.recorded_answer(self.source, self.step, self.question)
        return ""

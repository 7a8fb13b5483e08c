"""The replay dialog, without a terminal: choices, the plan that follows from them, then the start."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Final

from agentdbg.debugging.live_replay import LiveReplay
from agentdbg.debugging.replay_wish import AUTO, LISTS, MOST_SAMPLES, START, TYPED, Choice, Facts, Wish, choices_of
from agentdbg.debugging.replay_words import BadWords, read_words
from agentdbg.i18n.catalogue import message
from agentdbg.model.records import Kind
from agentdbg.replay.edits import BadEdit, parse_edit
from agentdbg.replay.intents import BadIntent, parse_intent
from agentdbg.replay.pinned import BadPin, Pin
from agentdbg.replay.plan import OBSTACLE, Plan, Remark, plan_exact, plan_regression
from agentdbg.replay.prefix import NoSuchStep
from agentdbg.replay.regression import RegressionOptions
from agentdbg.replay.restore import CannotResume, checkpoint_at, refusals
from agentdbg.replay.sandbox import BadSandbox, sandbox_names
from agentdbg.replay.session import ReplaySession
from agentdbg.replay.session_events import Event
from agentdbg.replay.starting import Starting, starting
from agentdbg.store.protocols import RunSource, RunStore
from agentdbg.store.reader import DirectoryRunSource

if TYPE_CHECKING:
    from agentdbg.replay.regression_lane import Person

NOT_OURS: Final = "recorded by another tool: its code cannot be run again (evidence tier only); o asks a model call"
_ABOUT: Final = {
    BadEdit: "edit",
    BadIntent: "intent",
    BadPin: "pin",
    BadSandbox: "sandbox",
    BadWords: "words",
    NoSuchStep: "edit",
}


@dataclass(frozen=True, slots=True)
class Prepared:
    """What follows from a wish.

    Attributes:
        no_restore: As of `Facts`; sandboxes and places likewise.
        starting: What would be started; ``None`` for a run that is started without asking.
    """

    plan: Plan
    no_restore: str | None = None
    sandboxes: tuple[str, ...] = ()
    places: Mapping[str, str] = field(default_factory=dict)
    starting: Starting | None = None


class ReplayDialog:
    """The choices on screen, and the plan that follows from them. The plan is made elsewhere: `make`, then `adopt`.

    Attributes:
        row: Index of the selected choice.
        prepared: What follows from the wish as it is; ``None`` while the plan is being made.
        message: What the last action has to say.
    """

    def __init__(
        self,
        source: DirectoryRunSource,
        store: RunStore,
        step: int,
        *,
        wish: Wish | None = None,
        opener: Callable[[str], RunSource] | None = None,
    ) -> None:
        """Ask about a run.

        Args:
            source: The recorded run.
            store: Where it was found.
            step: Number of the selected step.
            wish: What was asked of it before.
            opener: Opens the run at an address, for pins.
        """
        self.source = source
        self.store = store
        self.wish = replace(wish, step=max(step, 1), trust="no") if wish is not None else Wish(max(step, 1))
        self.row = 0
        self.prepared: Prepared | None = None
        self.message = ""
        self._opener = opener
        self._facts = Facts()
        self._pins: dict[str, DirectoryRunSource] = {}

    @property
    def choices(self) -> Sequence[Choice]:
        """What can be chosen."""
        return choices_of(self.wish, self._facts)

    @property
    def plan(self) -> Plan | None:
        """The plan of the wish as it is."""
        return self.prepared.plan if self.prepared is not None else None

    @property
    def run_id(self) -> str:
        """The run that is to be replayed."""
        return self.source.summary().run_id

    @property
    def selected(self) -> Choice:
        """The selected choice."""
        return self.choices[min(self.row, len(self.choices) - 1)]

    def change(self) -> None:
        """The next value of the selected choice."""
        self._change(1)

    def change_back(self) -> None:
        """The previous value of the selected choice."""
        self._change(-1)

    def typed(self) -> tuple[str, str, str]:
        """What `take` wants now: the choice's key, words for the prompt, what stands in it at first."""
        key = self.selected.key if self.selected.key in TYPED else "edits"
        first = {
            "edits": f"{self.wish.step}:result=",
            "start": str(self.wish.step),
            "samples": self.wish.samples,
            "words": self.wish.words,
        }
        hint = ", ".join(self._tools()) if key == "pins" else ""
        return key, message(f"dialog.{key}.typed", hint=hint), first.get(key, "")

    def take(self, key: str, text: str) -> None:
        """Take a typed value; of a list, one more, and an empty text takes all away."""
        text = text.strip()
        if key in LISTS and not text:
            self._wish(self.wish.having(key, ()))
        elif key in LISTS:
            self.add(key, text)
        elif key == "start":
            self._take_start(text)
        elif key == "words":
            self._take_words(text)
        elif text.isascii() and text.isdecimal() and 1 <= int(text) <= MOST_SAMPLES:
            self._wish(self.wish.having(key, str(int(text))))
        else:
            self.message = message("dialog.samples.typed")

    def add(self, key: str, *texts: str) -> None:
        """Add edits, pins or intents; of an exact replay the latter two make a regression replay."""
        try:
            for text in texts:
                self._check(key, text)
        except (BadEdit, BadIntent, BadPin) as problem:
            self.message = str(problem)
            return
        listed = tuple(dict.fromkeys((*getattr(self.wish, key), *texts)))
        wish = self.wish.having(key, listed)
        self._wish(wish if key == "edits" else wish.having("mode", "regression"))

    def edit_with(self, _step: int, *edits: str) -> None:
        """Go on from a value edited, in the place of what was edited there before."""
        self.add("edits", *edits)

    def restore_with(self, step: int, *edits: str) -> None:
        """Go on from a checkpoint's state, edited."""
        self.wish = replace(self.wish, start=str(step), prefix="restore")
        self.add("edits", *edits)

    def live(self, wake: Callable[[], None]) -> LiveReplay:
        """The replay that was asked for, not started yet; it closes the run."""

        def make(listener: Callable[[Event], None], person: Person) -> ReplaySession:
            options = self.wish.options(self.store, person, self._open_pins(self.wish))
            return ReplaySession(self.source, options, pause=self.wish.begin == "paused", listener=listener)

        return LiveReplay(self.source, make, wake)

    def close(self) -> None:
        """Close the runs that pins are read from."""
        for opened in self._pins.values():
            opened.close()
        self._pins.clear()

    def make(self) -> Callable[[], Prepared]:
        """What makes the plan of the wish as it is now; takes a while, and may be called off the user's thread."""
        wish = self.wish
        return lambda: self._prepare(wish)

    def adopt(self, prepared: Prepared, wish: Wish) -> bool:
        """Take what was made; ``False`` when the wish has changed meanwhile."""
        if wish != self.wish:
            return False
        self.prepared = prepared
        trusted = prepared.plan.trusted if prepared.plan.command else self._facts.trusted
        self._facts = Facts(trusted, prepared.places, prepared.no_restore, prepared.sandboxes)
        return True

    def may_start(self) -> bool:
        """Whether the replay can be started; else the message says why not."""
        if self.plan is None:
            self.message = message("dialog.not_planned")
            return False
        if not self.plan.obstacles:
            return True
        first = self.plan.obstacles[0]
        self.message = message("dialog.obstacle", what=first.text)
        keys = [choice.key for choice in self.choices]
        if first.about == "trust":
            self.message = message("dialog.obstacle.trust")
            self.row = keys.index("trust")
        return False

    # -- inside -----------------------------------------------------------------------------------

    def _places(self, wish: Wish) -> dict[str, str]:
        """The selected step, and the checkpoint at or before it."""
        steps = self.source.steps()
        number = min(wish.step, len(steps))
        before = next((step for step in reversed(steps[:number]) if step.kind is Kind.CHECKPOINT), None)
        offered = [steps[number - 1]] if number > 1 else []
        offered += [before] if before is not None and before.n != number else []
        return {
            str(step.n): message("dialog.start.step_named", step=step.n, name=f"{step.kind} {step.name}")
            for step in offered
        }

    def _tools(self) -> list[str]:
        return list(dict.fromkeys(step.name for step in self.source.steps() if step.kind is Kind.TOOL))

    def _check(self, key: str, text: str) -> None:
        if key == "edits":
            parse_edit(text)
        elif key == "intents":
            parse_intent(text)
        else:
            tool, equals, address = text.partition("=")
            if not tool or (equals and not address):
                raise BadPin(message("dialog.pins.typed", hint=""))
            if not equals and tool not in self._tools():
                raise BadPin(message("dialog.pins.unknown", tool=tool, hint=", ".join(self._tools())))

    def _take_start(self, text: str) -> None:
        number = int(text) if text.isascii() and text.isdecimal() else None
        if number is not None or text in ("", AUTO, START):
            self._wish(self.wish.having("start", text if number is None else str(number) if number else START))
        else:
            self.message = message("dialog.start.typed")

    def _take_words(self, text: str) -> None:
        try:
            read_words(text)
        except BadWords as problem:
            self.message = str(problem)
        else:
            self._wish(self.wish.having("words", text))

    def _prepare(self, wish: Wish) -> Prepared:
        names: tuple[str, ...] = ()
        try:
            names = tuple(sandbox_names())
            options = wish.options(self.store, pins=self._open_pins(wish))
            if isinstance(options, RegressionOptions):
                plan = plan_regression(self.source, options)
            else:
                plan = plan_exact(self.source, options)
        except tuple(_ABOUT) as problem:
            remark = Remark(OBSTACLE, _ABOUT[type(problem)], str(problem))
            plan = Plan(self.run_id, wish.mode, wish.guard, wish.number, "", True, (remark,))
        told = starting(self.source) if plan.command and not plan.trusted else None
        return Prepared(plan, self._no_restore(wish), names, self._places(wish), told)

    def _no_restore(self, wish: Wish) -> str | None:
        if wish.number is None:
            return None
        try:
            return "; ".join(refusals(self.source, checkpoint_at(self.source, wish.number)))
        except (CannotResume, NoSuchStep) as problem:
            return str(problem)

    def _open_pins(self, wish: Wish) -> list[Pin]:
        return [self._pin(*text.partition("=")[::2]) for text in wish.pins]

    def _pin(self, tool: str, address: str) -> Pin:
        if not address:
            return Pin(tool)
        if address not in self._pins:
            try:
                opened = self._opener(address) if self._opener is not None else self.store.open(address)
            except Exception as problem:  # whatever is wrong with that run stands in the way of this plan
                raise BadPin(message("dialog.pins.no_run", run=address, why=str(problem))) from problem
            if not isinstance(opened, DirectoryRunSource):
                with suppress(Exception):
                    opened.close()
                raise BadPin(message("dialog.pins.not_ours", run=address))
            self._pins[address] = opened
        return Pin(tool, self._pins[address])

    def _change(self, by: int) -> None:
        choice = self.selected
        if len(choice.values) < 2:
            self.message = choice.help
            return
        self._wish(self.wish.changed(choice, by))
        if left_out := self.wish.left_out():
            self.message = message("dialog.left_out", count=left_out)

    def _wish(self, wish: Wish) -> None:
        self.message = ""
        if wish != self.wish:
            self.wish, self.prepared = wish, None
            self._facts = replace(self._facts, no_restore=None)

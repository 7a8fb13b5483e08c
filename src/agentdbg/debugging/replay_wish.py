"""What a user asks of a replay before it is started: a few choices, the plan that follows from them, then the start."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Final

from agentdbg.config.settings import settings
from agentdbg.debugging.live_replay import LiveReplay
from agentdbg.replay.edits import BadEdit, parse_edit
from agentdbg.replay.plan import OBSTACLE, Plan, Remark, plan_exact, plan_regression
from agentdbg.replay.prefix import NoSuchStep
from agentdbg.replay.publishing import target_of
from agentdbg.replay.regression import RegressionOptions
from agentdbg.replay.run import ReplayOptions
from agentdbg.replay.session import ReplaySession
from agentdbg.replay.session_events import Event
from agentdbg.store.protocols import RunStore
from agentdbg.store.reader import DirectoryRunSource

if TYPE_CHECKING:
    from agentdbg.replay.regression_lane import Person

_SAMPLES: Final = ("1", "3", "5", "10")
NOT_OURS: Final = "this run was not recorded by agentdbg: its code cannot be run again (evidence tier only)"


@dataclass(frozen=True, slots=True)
class Choice:
    """One thing to choose.

    Attributes:
        values: What there is to choose from; one alone is shown and cannot be changed.
        help: What the value that is chosen means.
    """

    key: str
    label: str
    values: tuple[str, ...]
    value: str
    help: str


@dataclass(frozen=True, slots=True)
class Wish:
    """Attributes:
    step: The step that was selected: a regression replay may go live there.
    start: ``beginning`` (exact), ``auto``, or the number of a step.
    begin: ``running``, or ``paused`` before the first call.
    edits: As ``--edit`` takes them.
    """

    step: int
    mode: str = "exact"
    start: str = "auto"
    guard: str = "auto"
    code: str = "current"
    samples: str = "1"
    begin: str = "running"
    trust: str = "no"
    edits: tuple[str, ...] = ()

    def choices(self, *, trusted: bool) -> tuple[Choice, ...]:
        """What can be chosen with the choices so far."""
        live = self.mode == "regression"
        found = [
            Choice("mode", "mode", ("exact", "regression"), self.mode, _MODES[self.mode]),
            Choice("begin", "begin", ("running", "paused"), self.begin, _BEGIN[self.begin]),
            Choice("guard", "guard", ("auto", "audit"), self.guard, _GUARDS[self.guard]),
            Choice("code", "code", ("current", "recorded"), self.code, _CODES[self.code]),
        ]
        if live:
            starts = ("auto", str(self.step))
            words = _AUTO if self.start == "auto" else "served before this step, live from it on"
            found.insert(1, Choice("start", "from step", starts, self.start, words))
            found.append(Choice("samples", "samples", _SAMPLES, self.samples, "runs it so often at most"))
            count = str(len(self.edits)) if self.edits else "none"
            found.append(Choice("edits", "edits", (count,), count, "; ".join(self.edits) or "e adds one"))
        else:
            found.insert(1, Choice("start", "from step", ("0",), "0", "an exact replay runs from the beginning"))
        if not trusted:
            found.append(Choice("trust", "trust", ("no", "yes"), self.trust, _TRUST[self.trust]))
        return tuple(found)

    def changed(self, choice: Choice, by: int) -> Wish:
        """The wish with another value of a choice."""
        at = choice.values.index(choice.value) if choice.value in choice.values else 0
        value = choice.values[(at + by) % len(choice.values)]
        if len(choice.values) < 2:
            return self
        named: dict[str, Any] = {choice.key: value}
        return replace(self, **named)

    def options(self, store: RunStore, person: Person | None = None) -> ReplayOptions | RegressionOptions:
        """What the replay's engine takes.

        Raises:
            BadEdit: An edit is none.
        """
        known = settings()
        seconds, tolerate = known.seconds("replay.timeout"), known.items("replay.tolerate")
        target = target_of(store)
        options = ReplayOptions(self.guard, seconds, self.trust == "yes", tolerate, target, code=self.code)
        if self.mode == "exact":
            return options
        return RegressionOptions(
            options,
            start=None if self.start == "auto" else int(self.start),
            samples=int(self.samples),
            edits=tuple(map(parse_edit, self.edits)),
            person=person,
        )


_MODES: Final = {
    "exact": "the agent's own code, every answer from the record",
    "regression": "models and reads are live; writes are never made",
}
_BEGIN: Final = {"running": "until a breakpoint, or P", "paused": "held before its first call"}
_GUARDS: Final = {
    "auto": "audit hook and the kernel's layers",
    "audit": "the audit hook alone: code below Python is not held",
}
_CODES: Final = {"current": "as it lies on this machine now", "recorded": "commit, difference and untracked files"}
_AUTO: Final = "live from the first model input that differs"
_TRUST: Final = {
    "no": "somebody else's run: its code is not started",
    "yes": "starts the program below, under the guard",
}


class ReplayDialog:
    """The choices on screen, and the plan that follows from them. The plan is made elsewhere: `make`, then `adopt`.

    Attributes:
        row: Index of the selected choice.
        plan: Of the wish as it is; ``None`` while it is being made.
        message: What the last action has to say.
    """

    def __init__(self, source: DirectoryRunSource, store: RunStore, step: int) -> None:
        """Ask about a run.

        Args:
            source: The recorded run.
            store: Where it was found.
            step: Number of the selected step.
        """
        self.source = source
        self.store = store
        self.wish = Wish(max(step, 1))
        self.row = 0
        self.plan: Plan | None = None
        self.message = ""
        self._trusted: bool | None = None

    @property
    def choices(self) -> Sequence[Choice]:
        """What can be chosen."""
        return self.wish.choices(trusted=self._trusted is not False)

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

    def add_edit(self, text: str) -> None:
        """Go on from another value somewhere: ``STEP:PATH=JSON``; an empty text takes the edits away."""
        if not text.strip():
            self._wish(replace(self.wish, edits=()))
            return
        try:
            parse_edit(text.strip())
        except BadEdit as problem:
            self.message = str(problem)
            return
        self._wish(replace(self.wish, mode="regression", edits=(*self.wish.edits, text.strip())))

    def live(self, wake: Callable[[], None]) -> LiveReplay:
        """The replay that was asked for, not started yet; it closes the run."""

        def make(listener: Callable[[Event], None], person: Person) -> ReplaySession:
            options = self.wish.options(self.store, person)
            return ReplaySession(self.source, options, pause=self.wish.begin == "paused", listener=listener)

        return LiveReplay(self.source, make, wake)

    def make(self) -> Callable[[], Plan]:
        """What makes the plan of the wish as it is now; takes a while, and may be called off the user's thread."""
        wish, source, store = self.wish, self.source, self.store

        def made() -> Plan:
            try:
                options = wish.options(store)
                if isinstance(options, RegressionOptions):
                    return plan_regression(source, options)
                return plan_exact(source, options)
            except (BadEdit, NoSuchStep) as problem:
                run_id = source.summary().run_id
                return Plan(run_id, wish.mode, wish.guard, None, "", True, (Remark(OBSTACLE, "edit", str(problem)),))

        return made

    def adopt(self, plan: Plan, wish: Wish) -> bool:
        """Take a plan that was made; ``False`` when the wish has changed meanwhile."""
        if wish != self.wish:
            return False
        self.plan = plan
        if plan.command:
            self._trusted = plan.trusted
        return True

    def may_start(self) -> bool:
        """Whether the replay can be started; else the message says why not."""
        if self.plan is None:
            self.message = "the plan is being made: nothing runs before it has been shown"
            return False
        if not self.plan.obstacles:
            return True
        first = self.plan.obstacles[0]
        self.message = f"cannot be started: {first.text}"
        if first.about == "trust":
            self.message = "look at what would be started, then set trust to yes"
            self.row = len(self.choices) - 1
        return False

    def _change(self, by: int) -> None:
        choice = self.selected
        if len(choice.values) < 2:
            self.message = choice.help
        else:
            self._wish(self.wish.changed(choice, by))

    def _wish(self, wish: Wish) -> None:
        self.message = ""
        if wish != self.wish:
            self.wish, self.plan = wish, None

"""What a user may ask of a replay before it is started: a few choices, each with what its value means."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, Final

from agentdbg.config.settings import settings
from agentdbg.debugging.replay_words import KNOWN, check_words
from agentdbg.i18n.catalogue import message
from agentdbg.replay.edits import parse_edit
from agentdbg.replay.intents import parse_intent
from agentdbg.replay.pinned import Pin
from agentdbg.replay.publishing import target_of
from agentdbg.replay.regression import RegressionOptions
from agentdbg.replay.restore import FAST_FORWARD, RESTORE
from agentdbg.replay.run import ReplayOptions
from agentdbg.replay.sandbox import sandbox
from agentdbg.store.protocols import RunStore

if TYPE_CHECKING:
    from agentdbg.replay.regression_lane import Person

AUTO, START, NONE = "auto", "start", "none"
MOST_SAMPLES: Final = 100
_SAMPLES: Final = ("1", "3", "5", "10")
TYPED: Final = ("start", "samples", "edits", "pins", "intents", "words")
"""Choices whose value may be typed."""
LISTS: Final = ("edits", "pins", "intents")
"""Of those, the ones that grow by what is typed."""


@dataclass(frozen=True, slots=True)
class Choice:
    """One thing to choose.

    Attributes:
        values: What there is to choose from; one alone is shown and cannot be changed.
        help: What the value that is chosen means.
    """

    key: str
    values: tuple[str, ...]
    value: str
    help: str

    @property
    def label(self) -> str:
        """Its name, for people."""
        return message(f"dialog.{self.key}")


@dataclass(frozen=True, slots=True)
class Facts:
    """What is known of the run that choices depend on.

    Attributes:
        trusted: Whether its code is started without asking; ``None`` while nobody has looked.
        places: Numbers of the steps that are offered to start from, each with the step in words.
        no_restore: Why the state cannot be restored at the chosen step; empty: it can; ``None``: nobody has looked.
        sandboxes: Names of those that are declared.
    """

    trusted: bool | None = None
    places: Mapping[str, str] = field(default_factory=dict)
    no_restore: str | None = None
    sandboxes: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Wish:
    """Attributes:
    step: The step that was selected.
    start: ``auto`` (of a regression alone), ``start``, or the number of a step; empty: what the mode does by itself.
    prefix: Way to that step.
    begin: ``running``, or ``paused`` before the first call.
    sandbox: Name of one, or ``none``.
    pins: As ``--pin`` takes them; intents and edits likewise.
    words: Further options in the words of the command line.
    """

    step: int
    mode: str = "exact"
    start: str = ""
    prefix: str = FAST_FORWARD
    guard: str = "auto"
    code: str = "current"
    samples: str = "1"
    begin: str = "running"
    sandbox: str = NONE
    trust: str = "no"
    pins: tuple[str, ...] = ()
    intents: tuple[str, ...] = ()
    edits: tuple[str, ...] = ()
    words: str = ""

    @property
    def is_live(self) -> bool:
        """Whether models may be asked."""
        return self.mode == "regression"

    @property
    def number(self) -> int | None:
        """The step to start from, where one is named."""
        return int(self.start) if self.start.isdecimal() else None

    @property
    def way(self) -> str:
        """The way to the start: there is a choice only to a step that is named."""
        return self.prefix if self.number is not None else FAST_FORWARD

    @property
    def begins_at(self) -> str:
        """The start as it is shown."""
        if not self.start or (self.start == AUTO and not self.is_live):
            return AUTO if self.is_live else START
        return self.start

    @property
    def edit_count(self) -> int:
        """How many recorded values are edited."""
        return len(self.edits)

    def left_out(self) -> int:
        """How many pins and intents an exact replay does not take."""
        return 0 if self.is_live else len(self.pins) + len(self.intents)

    def changed(self, choice: Choice, by: int) -> Wish:
        """The wish with another value of a choice."""
        if len(choice.values) < 2:
            return self
        at = choice.values.index(choice.value) if choice.value in choice.values else 0
        return self.having(choice.key, choice.values[(at + by) % len(choice.values)])

    def having(self, key: str, value: str | tuple[str, ...]) -> Wish:
        """The wish with another value."""
        named: dict[str, Any] = {key: value}
        return replace(self, **named)

    def options(
        self, store: RunStore, person: Person | None = None, pins: Sequence[Pin] = ()
    ) -> ReplayOptions | RegressionOptions:
        """What the replay's engine takes.

        Raises:
            BadEdit: An edit is none.
            BadIntent: An intent is none.
            BadSandbox: The sandbox cannot be used.
            BadWords: The further options cannot be used.
        """
        known = settings()
        words = check_words(self.words, live=self.is_live, guard=self.guard)
        edits = tuple(map(parse_edit, self.edits))
        options = ReplayOptions(
            self.guard,
            words.timeout or known.seconds("replay.timeout"),
            self.trust == "yes",
            known.items("replay.tolerate"),
            target_of(store),
            self.code,
            words.moves,
            words.env,
            from_step=self.number or 0,
            prefix=self.way,
            image=words.image,
            engine=known.text("replay.engine") or "",
        )
        if not self.is_live:
            return replace(options, edits=edits)
        first = 1 if self.begins_at == START else self.number
        return RegressionOptions(
            replace(options, reads=known.items("replay.reads")),
            start=None if first is None else max(first, 1),
            samples=int(self.samples),
            edits=edits,
            pins=tuple(pins),
            intents=tuple(map(parse_intent, self.intents)),
            sandbox=None if self.sandbox == NONE else sandbox(self.sandbox),
            person=person,
        )


def choices_of(wish: Wish, facts: Facts) -> tuple[Choice, ...]:
    """What can be chosen with the choices so far."""
    found = [_plain(wish, "mode", ("exact", "regression")), _start(wish, facts)]
    if wish.number is not None:
        found.append(_prefix(wish, facts))
    found += [
        _plain(wish, "begin", ("running", "paused")),
        _plain(wish, "guard", ("auto", "audit")),
        _plain(wish, "code", ("current", "recorded")),
    ]
    if wish.is_live:
        values = _SAMPLES if wish.samples in _SAMPLES else (*_SAMPLES, wish.samples)
        found.append(Choice("samples", values, wish.samples, message("dialog.samples.help")))
        found.append(_sandbox(wish, facts))
    found += [_list(wish, key) for key in (LISTS if wish.is_live else LISTS[:1])]
    found.append(_words(wish))
    if facts.trusted is False:
        found.append(_plain(wish, "trust", ("no", "yes")))
    return tuple(found)


def _plain(wish: Wish, key: str, values: tuple[str, ...]) -> Choice:
    value = str(getattr(wish, key))
    return Choice(key, values, value, message(f"dialog.{key}.{value}"))


def _start(wish: Wish, facts: Facts) -> Choice:
    """Where a replay is looked at from, or goes live."""
    value = wish.begins_at
    values = (*((AUTO,) if wish.is_live else ()), START, *facts.places)
    if value not in values:
        values = (*values, value)
    kind = value if value in (AUTO, START) else "step"
    step = facts.places.get(value, message("dialog.start.a_step", step=value))
    return Choice("start", values, value, message(f"dialog.start.{wish.mode}.{kind}", step=step))


def _prefix(wish: Wish, facts: Facts) -> Choice:
    """Restoring is offered where it is possible; where it is not, the plan has the reasons."""
    possible = facts.no_restore == "" or wish.prefix == RESTORE
    values = (FAST_FORWARD, RESTORE) if possible else (FAST_FORWARD,)
    key = "no_restore" if facts.no_restore and wish.prefix != RESTORE else wish.prefix
    return Choice("prefix", values, wish.prefix, message(f"dialog.prefix.{key}"))


def _sandbox(wish: Wish, facts: Facts) -> Choice:
    values = (NONE, *facts.sandboxes)
    undeclared = wish.sandbox == NONE and not facts.sandboxes
    key = "undeclared" if undeclared else NONE if wish.sandbox == NONE else "named"
    return Choice("sandbox", values, wish.sandbox, message(f"dialog.sandbox.{key}"))


def _list(wish: Wish, key: str) -> Choice:
    listed: tuple[str, ...] = getattr(wish, key)
    count = str(len(listed)) if listed else NONE
    return Choice(key, (count,), count, "; ".join(listed) or message(f"dialog.{key}.help"))


def _words(wish: Wish) -> Choice:
    """Further options: how many, and which."""
    count = sum(each.partition("=")[0] in KNOWN for each in wish.words.split())
    value = str(count) if count else NONE
    return Choice("words", (value,), value, wish.words or message("dialog.words.help"))

"""What threads and widgets tell the screens. Every crossing from a thread is one of these."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

from textual.message import Message

from agentdbg.debugging.compared import ComparedRun
from agentdbg.debugging.document import Block
from agentdbg.debugging.filtering import Filtered
from agentdbg.debugging.hunt import Hunt
from agentdbg.debugging.overview import Overview
from agentdbg.model.records import RunSummary

if TYPE_CHECKING:
    from agentdbg.debugging.replay_dialog import Prepared
    from agentdbg.debugging.replay_wish import Wish


class Woken(Message):
    """The run's files have changed; many of these count as one."""

    def can_replace(self, message: Message) -> bool:
        """A newer wake-up makes an older one needless."""
        return isinstance(message, Woken)


@dataclass
class BlocksLoaded(Message):
    """Bodies that were too big to read in a key's own frame.

    Attributes:
        generation: Document they belong to; an older one is stale.
        blocks: Content by section key.
    """

    generation: int
    blocks: Mapping[str, Block]


@dataclass
class Hunted(Message):
    """A search is over."""

    hunt: Hunt


@dataclass
class Gathered(Message):
    """The pass over the whole run is over."""

    overview: Overview


@dataclass
class FilteredSteps(Message):
    """A filter has looked at every step."""

    filtered: Filtered


@dataclass
class Compared(Message):
    """Two runs have been compared.

    Attributes:
        compared: What came out; ``None`` when they could not be.
        problem: Why not, in words.
    """

    compared: ComparedRun | None
    problem: str = ""


@dataclass
class Sifted(Message):
    """More is known about which differences are chance."""

    compared: ComparedRun


@dataclass
class RunsListed(Message):
    """Rows of the run list.

    Attributes:
        runs: All rows so far.
        done: Whether the store has been read to its end.
        problem: Why it could not be, in words.
    """

    runs: list[RunSummary]
    done: bool
    problem: str = ""


@dataclass
class Planned(Message):
    """The plan of a replay has been made.

    Attributes:
        wish: What it is the plan of; a newer wish makes it stale.
        problem: Why it could not be made, in words.
    """

    wish: Wish
    prepared: Prepared | None
    problem: str = ""


class ReplayNews(Message):
    """Something has happened in a running replay; many of these count as one."""

    def can_replace(self, message: Message) -> bool:
        """A newer one makes an older one needless."""
        return isinstance(message, ReplayNews)


class AskNews(Message):
    """An answer of a model came, or all did; many of these count as one."""

    def can_replace(self, message: Message) -> bool:
        """A newer one makes an older one needless."""
        return isinstance(message, AskNews)

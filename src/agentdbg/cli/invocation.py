"""One call of the program: the global options, and what commands reach through them."""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING

from agentdbg.cli.addresses import Outside
from agentdbg.cli.errors import Status, Trouble
from agentdbg.cli.twins import TWIN, open_twin
from agentdbg.config.paths import store_url
from agentdbg.config.settings import Settings, settings
from agentdbg.i18n.catalogue import choose_language, message

if TYPE_CHECKING:
    from agentdbg.store.protocols import RunSource, RunStore


@dataclass
class Invocation:
    """The global options of one call.

    Attributes:
        bare_word: First word of ``agentdbg WORD``, which was taken for a run.
        status: Exit status to end with when the reader of a pipe goes away early.
    """

    store: str | None = None
    json: bool = False
    no_color: bool = False
    lang: str | None = None
    debug: bool = False
    bare_word: str | None = None
    status: Status = Status.SAME
    _warned: set[str] = field(default_factory=set)
    _outside: Outside = field(default_factory=Outside)

    def begin(self) -> None:
        """Make language and warnings ready before a command runs."""
        choose_language(self.settings.text("lang") or "auto")
        self.warn(self.settings.problems)

    @cached_property
    def settings(self) -> Settings:
        """Settings, the global options among them."""
        given = {"lang": self.lang} if self.lang else {}
        return settings(given)

    @property
    def store_address(self) -> str:
        """Address of the store that commands use."""
        return store_url(self.store, self.settings)

    def warn(self, lines: Sequence[str]) -> None:
        """Say each line once, on stderr."""
        for line in lines:
            if line not in self._warned:
                self._warned.add(line)
                complain(line)

    def open_store(self, address: str | None = None) -> RunStore:
        """Open the store.

        Raises:
            Trouble: It cannot be opened.
        """
        from agentdbg.store.address import AddressError, open_store

        try:
            return open_store(address or self.store_address)
        except (AddressError, ValueError) as error:
            raise Trouble(str(error), Status.NOTHING) from error

    def resolve(self, address: str, store: RunStore | None = None, before: RunSource | None = None) -> RunSource:
        """Open the run that an address names: in the store, or a pack, or the file of another tool.

        Args:
            address: As in the command line contract.
            store: Where to look first.
            before: The run named before it, which ``@twin`` is the twin of.

        Raises:
            Trouble: There is no such run, or it cannot be read.
        """
        from agentdbg.store.address import AddressError, resolve

        try:
            store = store or self.open_store()
            if address == TWIN:
                return open_twin(self, store, before)
            outside = self._outside.open(address, store)
            return resolve(store, address) if outside is None else outside
        except (AddressError, ValueError) as error:
            raise Trouble(self._not_found(str(error)), Status.NOTHING) from error

    def close(self) -> None:
        """Remove what was unpacked for this call."""
        self._outside.close()

    def _not_found(self, line: str) -> str:
        """The line, with the command that a bare word may have been meant for."""
        return line + self.command_meant()

    def command_meant(self) -> str:
        """Words that name the command that a bare word may have been meant for, if any."""
        if self.bare_word is None:
            return ""
        from difflib import get_close_matches

        from agentdbg.cli.commands import COMMANDS

        near = get_close_matches(self.bare_word, list(COMMANDS), n=1, cutoff=0.7)
        return message("error.did_you_mean_command", command=near[0]) if near else ""


def complain(line: str) -> None:
    """Write one line for people to stderr, whatever is in it."""
    from agentdbg.model.safe_text import safe_line

    with suppress(OSError):  # nobody can be told; the exit status remains
        print(f"agentdbg: {safe_line(line)}", file=sys.stderr, flush=True)


def on_terminal() -> bool:
    """Whether a full-screen program can run here."""
    return sys.stdin.isatty() and sys.stdout.isatty() and os.environ.get("TERM") != "dumb"

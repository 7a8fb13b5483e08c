"""``@twin``: the nearest good run of the run that is named before it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from agentdbg.cli.errors import Status, Trouble
from agentdbg.i18n.catalogue import message

if TYPE_CHECKING:
    from agentdbg.cli.invocation import Invocation
    from agentdbg.store.protocols import RunSource, RunStore

TWIN: Final = "@twin"


def open_twin(invocation: Invocation, store: RunStore, before: RunSource | None) -> RunSource:
    """Open the twin of a run and say on stderr why it is the one.

    Raises:
        Trouble: No run is named before it, or that run has no twin.
    """
    if before is None:
        raise Trouble(message("error.twin_of_what"))
    from agentdbg.compare import twin

    home = home_of(before) or store
    found = twin.find(home, before)
    if found is None:
        raise Trouble(twin.missing(before, home), Status.NOTHING)
    invocation.warn([message("twin.chosen", run=found.run_id, why=found.why)])
    return home.open(found.run_id)


def home_of(source: RunSource) -> RunStore | None:
    """The store that a run lies in, where it was named by its path."""
    from agentdbg.store.directory import DirectoryStore
    from agentdbg.store.reader import DirectoryRunSource

    if not isinstance(source, DirectoryRunSource) or source.root.parent.name != "runs":
        return None
    return DirectoryStore(source.root.parent.parent)

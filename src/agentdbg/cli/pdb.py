"""``agentdbg replay --pdb N``: an exact replay held before a call, with pdb on the terminal there."""

from __future__ import annotations

from typing import TYPE_CHECKING

from agentdbg.cli.errors import Status, Trouble
from agentdbg.i18n.catalogue import message

if TYPE_CHECKING:
    from agentdbg.replay.outcome import Outcome
    from agentdbg.replay.run import ReplayOptions
    from agentdbg.store.reader import DirectoryRunSource


def replay_in_pdb(source: DirectoryRunSource, options: ReplayOptions, step: int) -> Outcome:
    """Replay up to the first call at or behind a step, then let the user talk to pdb; leaving it stops the replay."""
    from agentdbg.replay.pdb_talk import converse
    from agentdbg.replay.session import CannotDo, ReplaySession
    from agentdbg.replay.session_events import Paused

    source.index(None)
    session = ReplaySession(source, options)
    try:
        session.run_to(step)
    except CannotDo as problem:
        raise Trouble(str(problem), Status.TROUBLE) from problem
    session.start()
    try:
        talked = False
        for event in session.events():
            if isinstance(event, Paused) and not talked:
                talked = True
                converse(session, welcome=message("replay.pdb"))
                session.abort()  # it is over already, or the user has left
    finally:
        session.abort()
    return session.wait()

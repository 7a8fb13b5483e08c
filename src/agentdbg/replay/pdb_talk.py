"""``pdb`` in a replay that is held, line by line: what somebody types, what it says, where the program comes to.

    talk = PdbTalk(session)
    print(talk.where())
    print(talk.say("n"))

`converse` does it on a terminal, with readline where there is one.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from queue import Empty, SimpleQueue
from typing import Final, TypeAlias

from agentdbg.replay.session import ReplaySession
from agentdbg.replay.session_events import Ended, Event, Inspected, NoCall, Paused, Printed, Refused
from agentdbg.replay.session_values import CannotDo
from agentdbg.replay.where import Frame

PROMPT: Final = "(pdb) "
NOT_HELD: Final = "the replay has to be held for pdb: pause it before the next call"
WELCOME: Final = (
    "pdb in the replayed program: n s r c until go on, p w up down l b look; q goes back, the replay stays where it is"
)
_WAITS: Final = "it goes on when its turn has come: {what} is held too; the next line is for that one\n"
LOOK_S: Final = 0.5
_LEAVES: Final = ("q", "quit", "exit")
_COMMANDS: Final = (
    *("args", "break", "clear", "continue", "down", "help", "list", "longlist", "next", "pp", "quit", "return"),
    *("step", "until", "up", "whatis", "where"),
)


class PdbTalk:
    """A conversation with pdb where a replay is held; to be closed."""

    def __init__(self, session: ReplaySession) -> None:
        self._session = session
        self._heard: SimpleQueue[Event] = SimpleQueue()
        self.close = session.overhear(self._heard.put)

    def where(self) -> str:
        """Where the program is held.

        Raises:
            CannotDo: It is not.
        """
        return _standing(self._held())

    def names(self) -> list[str]:
        """Variables where the program is held."""
        own = next((frame for held in self._session.held for frame in held.where if frame.own), None)
        return [] if own is None else [name for name, _ in own.locals]

    def say(self, line: str, seconds: float | None = None) -> str:
        """One line; waits for what comes of it: where the program is held next, where the line lets it go on.

        Raises:
            CannotDo: The program is not held.
            TimeoutError: Nothing came of it in that time.
        """
        held = self._held()
        with suppress(Empty):
            while True:
                self._heard.get_nowait()
        self._session.inspect(line, held.call.id)
        said: list[str] = []
        moves, until = False, None if seconds is None else time.monotonic() + seconds
        while True:
            try:
                event = self._heard.get(timeout=LOOK_S)
            except Empty:
                if moves and (others := self._session.held):
                    return "".join([*said, _WAITS.format(what=f"{others[0].call.kind} {others[0].call.name}")])
                if until is not None and time.monotonic() > until:
                    raise TimeoutError("the program goes on") from None
                continue
            said.append(_told(event))
            if isinstance(event, Paused | Ended) or (isinstance(event, Inspected) and not event.moves):
                return "".join(said)
            moves = moves or isinstance(event, Inspected)

    def _held(self) -> Paused:
        held = self._session.held
        if not held:
            raise CannotDo(NOT_HELD)
        return held[-1] if held[-1].why == "pdb" else held[0]


Read: TypeAlias = Callable[[str], str]
Write: TypeAlias = Callable[[str], object]


def converse(session: ReplaySession, read: Read = input, write: Write = print, *, welcome: str = WELCOME) -> None:
    """Talk to pdb on a terminal until somebody leaves it, or the replay is over."""
    talk = PdbTalk(session)
    try:
        with _readline(talk.names):
            write(welcome)
            write(talk.where().rstrip())
            while session.state != "over" and _exchange(session, talk, read, write):
                pass
    except CannotDo as problem:
        write(str(problem))
    finally:
        talk.close()


def _exchange(session: ReplaySession, talk: PdbTalk, read: Read, write: Write) -> bool:
    """One line and what comes of it; ``False`` when somebody leaves."""
    try:
        line = read(PROMPT)
        if line.strip() in _LEAVES:
            return False
        if said := talk.say(line).rstrip():
            write(said)
    except EOFError:
        return False
    except KeyboardInterrupt:
        if session.held:
            write("")
            return True
        session.pause()
        write("the replay pauses before its next call")
        return False
    return True


@contextmanager
def _readline(names: Callable[[], list[str]]) -> Iterator[None]:
    """Line editing, history and completion, where there is readline; as it was afterwards."""
    try:
        import readline
    except ImportError:
        yield
        return
    found: list[str] = []

    def complete(text: str, number: int) -> str | None:
        if number == 0:
            found[:] = sorted(word for word in {*names(), *_COMMANDS} if word.startswith(text))
        return found[number] if number < len(found) else None

    before = readline.get_completer()
    readline.set_completer(complete)
    readline.parse_and_bind("tab: complete")
    try:
        yield
    finally:
        readline.set_completer(before)


def _told(event: Event) -> str:
    if isinstance(event, Inspected | Printed):
        return event.text
    if isinstance(event, Paused):
        return _standing(event)
    if isinstance(event, Refused):
        return f"refused: {event.effect} {event.detail}\n"
    if isinstance(event, NoCall):
        return "".join(f"it makes no call: {frame.file}:{frame.line} {frame.function}\n" for frame in event.where)
    if isinstance(event, Ended):
        return f"the replay is over: {event.error if event.outcome is None else event.outcome.verdict}\n"
    return ""


def _standing(held: Paused) -> str:
    if held.said:
        return held.said
    own = next((frame for frame in held.where if frame.own), None)
    return f"held before {held.call.kind} {held.call.name}\n{_placed(own) if own is not None else ''}"


def _placed(frame: Frame) -> str:
    return f"> {frame.file}({frame.line}){frame.function}()\n-> {frame.source}\n"

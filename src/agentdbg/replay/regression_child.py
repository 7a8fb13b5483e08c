"""The parts of a regression replay's child process: who answers, what may be reached, how the parent is asked."""

from __future__ import annotations

import itertools
import threading
from collections.abc import Callable, Mapping
from typing import Any

from agentdbg.recording import pins
from agentdbg.recording.exchange_marker import inside_exchange
from agentdbg.replay import cassette as cassettes
from agentdbg.replay.cassette import Cassette
from agentdbg.replay.doing import May
from agentdbg.replay.reach import Reach
from agentdbg.replay.regression_answers import RegressionAnswers
from agentdbg.replay.wire import SAFE, Piece, Wire, place_of

_CONNECTS = ("socket.connect", "socket.sendto", "socket.sendmsg")
_LOOKS_UP = ("socket.getaddrinfo", "socket.gethostbyname", "socket.gethostbyaddr")
GONE_S = 3600.0


class Asker:
    """Asks the parent and waits for its reply, in any thread."""

    def __init__(self, tell: Callable[[Mapping[str, object]], None]) -> None:
        self._tell = tell
        self._numbers = itertools.count(1)
        self._waiting: dict[int, tuple[threading.Event, dict[str, Any]]] = {}

    def ask(self, message: dict[str, object]) -> Mapping[str, Any]:
        """The parent's reply; empty when there is none."""
        number = next(self._numbers)
        came, reply = self._waiting[number] = (threading.Event(), {})
        self._tell({**message, "ask": number})
        came.wait(GONE_S)
        self._waiting.pop(number, None)
        return reply

    def take(self, command: Mapping[str, Any]) -> None:
        """A reply has come."""
        found = self._waiting.get(int(command.get("ask") or 0))
        if found is not None:
            found[1].update(command)
            found[0].set()


class RegressionChild:
    """Attributes:
    answers: Answers the program's calls.
    """

    def __init__(self, plan: Mapping[str, Any], tape: Cassette, tell: Callable[[Mapping[str, object]], None]) -> None:
        """Take the plan out of the specification: see `RegressionAnswers`; ``hosts`` may be reached by all code."""
        self._asker = Asker(tell)
        tapes = {place: cassettes.read(place) for place in set((plan.get("pins") or {}).values())}
        pinned = {tool: _only(tapes[place], tool) for tool, place in (plan.get("pins") or {}).items()}
        self.answers = RegressionAnswers(tape, tell, self._asker.ask, plan, pinned)
        self._is_open = bool(plan.get("hosts") is not None)
        self._reach = Reach([str(each) for each in plan.get("hosts") or ()])
        self._reach.add_numbers(plan.get("numbers") or ())
        self._refuse: Callable[[str, str], None] = lambda event, detail: None
        self._learn_look_ups()

    def take(self, command: Mapping[str, Any]) -> None:
        """A reply of the parent's."""
        self._asker.take(command)

    def slept(self, skipped: Callable[[float], None]) -> Callable[[float], None]:
        """What a sleep does: it is skipped as far as the record goes, and takes its time afterwards."""

        def sleep(seconds: float) -> None:
            if self.answers.live:
                pins.real_sleep(seconds)
            else:
                skipped(seconds)

        return sleep

    def allows(self, event: str, args: tuple[object, ...]) -> bool:
        """Whether an effect may happen: the network alone, for who may use it."""
        if not self._is_open:
            return False
        if event in _CONNECTS:
            if self._reach.address(args[1]):
                return True
            if may := self.answers.doing.may():
                self.answers.doing.note("reached", address=place_of(args[1]))
            return bool(may)
        if event in _LOOKS_UP:
            known = self._reach.name(args[0], args[1] if len(args) > 1 else None)
            return known or bool(self.answers.doing.may())
        return False

    def watch_wire(self, refuse: Callable[[str, str], None]) -> None:
        """From now on what goes out is looked at as well, and ``refuse`` stops what may not."""
        self._refuse = self.answers.doing.stop = refuse
        if self._is_open:  # else there is no connection
            Wire(self.sends).install()

    def sends(self, piece: Piece) -> None:
        """Something is about to go out over a connection.

        Raises:
            Refused: It may not.
        """
        doing = self.answers.doing
        may, is_open = doing.may(), self._is_for_all(piece.address)
        if may is May.NOTHING:
            if not (is_open or piece.is_sealed or piece.is_second):  # what a library sends by itself
                self._refuse("socket.send", place_of(piece.address))
        elif not inside_exchange():  # else the client's seam knows better what it is
            for request in piece.requests:
                if request.method in SAFE or self.answers.requests.only_read(request.name):
                    continue
                if may is May.READ and not is_open:
                    self._refuse("http.request", request.name)
                doing.note("sent", what=request.name)
            if piece.is_first and not (piece.is_http or piece.is_sealed or is_open):
                doing.note("spoke", address=place_of(piece.address))

    def _is_for_all(self, address: object) -> bool:
        if isinstance(address, tuple | bytes) or str(address).startswith(("/", "@")):
            return self._reach.address(address)
        return self._reach.name(address, None)

    def _learn_look_ups(self) -> None:
        """Addresses that allowed names turn out to have are allowed."""
        import _socket

        look_up = _socket.getaddrinfo

        def getaddrinfo(host: Any, *args: Any, **kwargs: Any) -> Any:
            found = look_up(host, *args, **kwargs)
            self._reach.learn(host, [each[4] for each in found])
            return found

        _socket.getaddrinfo = getaddrinfo  # where ``socket`` looks it up at every call


def _only(tape: Cassette, tool: str) -> Cassette:
    calls = tuple(call for call in tape.calls if call.kind == "tool" and call.name == tool)
    return Cassette(calls, (), tape.bodies, (), False)

"""The first process of a replay, to which all others are linked: which call is which, and what may be started.

Each process waits for the turns of its own calls by itself; which recorded call a call is, is settled here, and
whatever one of them has in the replay's record the others are told.
"""

from __future__ import annotations

import _thread
import re
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from typing import Any

from agentdbg.model.records import Kind, StepStatus
from agentdbg.recording import starts
from agentdbg.recording.calls import Call, ReplayStop
from agentdbg.recording.starts import WORKER, Start
from agentdbg.replay.answers import ExactAnswers
from agentdbg.replay.cassette import RecordedCall
from agentdbg.replay.kin import HELPER, Kin, is_helper, real_seconds, runs, used
from agentdbg.replay.process_link import Line, listen

COMES_S = 60.0
"""So long a process that was started may need until it says so."""
MOST_WORKERS = 256
IDLE_S, IDLE_DUE_S = 2.0, 10.0
"""How long what the program left behind may do nothing: for its own sake; while the record has calls left."""
_LOOK_S = 0.02
_REDACTED = re.compile("⟦R:[^⟧]*⟧")


class Ledger:
    """The starts of a record: each may be made once; of a pool's workers it is not known how many there have to be."""

    def __init__(self, recorded: Sequence[Mapping[str, Any]]) -> None:
        self._left = Counter(_key(str(each["how"]), str(each.get("what", ""))) for each in recorded)
        self._workers = MOST_WORKERS if any(each["how"] == WORKER for each in recorded) else 0
        self._left = Counter({key: count for key, count in self._left.items() if key[0] != WORKER})

    def take(self, start: Start) -> bool:
        """Whether a start is due; it is made then."""
        if start.how == HELPER:
            return True
        if start.how == WORKER:
            self._workers -= 1
            return self._workers >= 0
        key = _key(start.how, start.what)
        self._left[key] -= 1
        return self._left[key] >= 0

    def left(self) -> list[str]:
        """What the record has and the replay did not start."""
        return [in_words(how, what) for (how, what), count in self._left.items() for _ in range(max(0, count))]


def _key(how: str, what: str) -> tuple[str, str]:
    return how, _REDACTED.sub("⟦R⟧", what)


def in_words(how: str, what: str) -> str:
    """A start as people say it."""
    return {"fork": "os.fork", "process": f"multiprocessing, {what}", WORKER: "workers of a pool"}.get(how, what)


class SharedAnswers(ExactAnswers):
    """Answers of the first process, and matches the calls of the others."""

    hub: Hub | None = None

    def _match(self, call: Call) -> RecordedCall | None:
        recorded = super()._match(call)
        if recorded is not None and self.hub is not None:
            self.hub.took(recorded.asked)
        return recorded

    def finished(self, call: Call, status: StepStatus) -> None:
        """An outcome is in the replay's record."""
        super().finished(call, status)
        recorded = self._matched.get(call.step)
        if recorded is not None and recorded.ended is not None and self.hub is not None:
            self.hub.took(recorded.ended)

    def latch(self, stop: ReplayStop, message: dict[str, object]) -> ReplayStop:
        """End the replay once, in all processes."""
        found = super().latch(stop, message)
        if found is stop and self.hub is not None:
            self.hub.broadcast({"stop": str(stop)})
        return found

    def match_other(self, call: Call) -> RecordedCall | None:
        """The recorded call that one of another process is."""
        with self._changed:
            recorded = self._take_match(call)
            if recorded is not None:
                self._order.take(recorded.asked)
            return recorded

    def take_other(self, place: int) -> None:
        """Another process has something in the replay's record."""
        if 0 <= place < self._order.end:
            self._order.take(place)

    def join(self, enter: Callable[[list[int]], None]) -> None:
        """Let a process in that is told of everything from now on; ``enter`` gets what was before."""
        with self._changed:
            enter(self._order.taken())


class _Peer:
    """Another process, as the first one knows it."""

    def __init__(self, line: Line) -> None:
        self.line = line
        self.pid = 0
        self.role = ""
        self.busy = 0

    @property
    def works(self) -> bool:
        """Whether the program may wait for it."""
        if self.role == WORKER:
            return self.busy > 0 or runs(self.pid)
        return self.role == "child"


class Hub:
    """Where the others are linked to. ``about`` gives what a new process has to know; thread-safe."""

    def __init__(
        self,
        address: str,
        answers: SharedAnswers,
        recorded: Sequence[Mapping[str, Any]],
        tell: Callable[[Mapping[str, object]], None],
        about: Callable[[], dict[str, object]],
    ) -> None:
        self._answers, self._tell, self._about = answers, tell, about
        self._ledger = Ledger(recorded)
        self._lock = _thread.RLock()
        self._peers: list[_Peer] = []
        self._due: list[float] = []
        self._server = listen(address)
        self.notes: Counter[str] = Counter()
        self._last: dict[str, list[str]] = {}
        answers.hub = self
        _thread.start_new_thread(self._accept, ())

    # -- starts -----------------------------------------------------------------------------------

    def may_start(self, start: Start) -> bool:
        """Whether a start is due; then a process is expected."""
        with self._lock:
            found = self._ledger.take(start)
            if found:
                self._due.append(real_seconds())
        return found

    def start_failed(self) -> None:
        """A start that was due came to nothing: nobody is expected."""
        with self._lock:
            del self._due[-1:]

    def unstarted(self) -> list[str]:
        """What the record has and the replay did not start."""
        with self._lock:
            return self._ledger.left()

    # -- who is there -----------------------------------------------------------------------------

    def others(self) -> bool:
        """Whether there is any other process that takes part."""
        with self._lock:
            return self._expected() or any(peer.role in ("child", WORKER) for peer in self._peers)

    def run(self) -> bool:
        """Whether another process runs, or is about to."""
        with self._lock:
            return self._expected() or any(peer.role != HELPER and runs(peer.pid) for peer in self._peers)

    def work(self) -> bool:
        """Whether the program may be waiting for another process: real time passes then."""
        with self._lock:
            return self._expected() or any(peer.works for peer in self._peers)

    def _expected(self) -> bool:
        now = real_seconds()
        return any(now - each < COMES_S for each in self._due)

    def await_others(self, left: Callable[[], int], stopped: Callable[[], object]) -> None:
        """Let what the program left behind come to its end, as long as it does anything."""
        before: object = None
        since = real_seconds()
        while stopped() is None and self._left_behind():
            found = self._marks(left())
            now = real_seconds()
            if found != before:
                before, since = found, now
            if now - since > (IDLE_DUE_S if left() else IDLE_S):
                with self._lock:
                    self.notes["left"] = sum(peer.role == "child" for peer in self._peers)
                return
            _wait(_LOOK_S)

    def _left_behind(self) -> bool:
        with self._lock:
            return self._expected() or any(peer.role == "child" or peer.busy for peer in self._peers)

    def _marks(self, left: int) -> object:
        with self._lock:
            return left, [(peer.pid, used(peer.pid)) for peer in self._peers]

    # -- telling ----------------------------------------------------------------------------------

    def took(self, place: int) -> None:
        """The first process has something in the replay's record."""
        self.broadcast({"take": place})

    def broadcast(self, message: Mapping[str, object], but: object = None) -> None:
        """Tell all others, apart from the one that it came from."""
        with self._lock:
            for peer in self._peers:
                if peer is not but:
                    peer.line.send(message)

    def forget(self) -> None:
        """This is a forked process now, and not the first one any more."""
        with suppress(OSError):
            self._server.close()
        for peer in self._peers:
            peer.line.close()

    # -- serving ----------------------------------------------------------------------------------

    def _accept(self) -> None:
        while True:
            try:
                connection, _ = self._server.accept()
            except OSError:
                return
            _thread.start_new_thread(self._serve, (Line(connection),))

    def _serve(self, line: Line) -> None:
        peer = _Peer(line)

        def take(message: Mapping[str, Any]) -> None:
            answer = self._do(peer, message)
            if "id" in message:
                line.send({**(answer or {}), "answers": message["id"]})

        line.read_all(take)
        with self._lock:
            self._peers = [each for each in self._peers if each is not peer]
        line.close()

    def _do(self, peer: _Peer, message: Mapping[str, Any]) -> dict[str, object] | None:
        method = {
            "hello": self._hello,
            "match": self._match,
            "take": self._take,
            "latch": self._latch,
            "tell": self._pass_on,
            "start": self._start,
            "failed": lambda peer, message: self.start_failed(),
            "state": self._state,
            "end": self._end,
        }.get(str(message.get("do")))
        return None if method is None else method(peer, message)

    def _hello(self, peer: _Peer, message: Mapping[str, Any]) -> dict[str, object]:
        peer.pid, argv = int(message["pid"]), [str(word) for word in message["argv"]]
        kind = str(message["kind"])
        self._tell({"event": "process", "pid": peer.pid})
        with self._lock:
            expected = kind == "preexec" or bool(self._due)
            if kind != "preexec":
                del self._due[:1]
        if not expected:
            found = f"{'a forked process' if kind == 'fork' else ' '.join(argv)[:1000]}"
            told: dict[str, object] = {"event": "refused", "effect": "process", "detail": found, "frame": "?"}
            self._answers.latch(ReplayStop("a process that is not in the record"), {**told, "step": None})
            return {"refused": True}
        helper = is_helper(argv) if kind == "exec" else ""
        peer.role = HELPER if helper else kind if kind == "preexec" else "child"
        taken: list[int] = []

        def enter(before: list[int]) -> None:
            taken.extend(before)
            with self._lock:
                self._peers.append(peer)

        self._answers.join(enter)
        stop = self._answers.stopped()
        return {**self._about(), "role": helper or "child", "taken": taken, "stop": None if stop is None else str(stop)}

    def _match(self, peer: _Peer, message: Mapping[str, Any]) -> dict[str, object]:
        step, name, lane, mark = (str(message[each]) for each in ("step", "name", "lane", "fingerprint"))
        try:
            found = self._answers.match_other(Call(step, Kind(str(message["kind"])), name, None, lane, mark, "", ""))
        except ReplayStop as stop:
            return {"stop": str(stop)}
        if found is not None:
            self.broadcast({"take": found.asked}, but=peer)
        return {"recorded": None if found is None else found.step}

    def _take(self, peer: _Peer, message: Mapping[str, Any]) -> None:
        place = int(message["place"])
        self._answers.take_other(place)
        self.broadcast({"take": place}, but=peer)

    def _latch(self, _peer: _Peer, message: Mapping[str, Any]) -> dict[str, object]:
        self._answers.latch(ReplayStop(str(message["stop"])), dict(message["message"]))
        return {}

    def _pass_on(self, _peer: _Peer, message: Mapping[str, Any]) -> None:
        self._tell(dict(message["message"]))

    def _start(self, _peer: _Peer, message: Mapping[str, Any]) -> dict[str, object]:
        return {"may": self.may_start(Start(str(message["how"]), str(message["what"])))}

    def _state(self, peer: _Peer, message: Mapping[str, Any]) -> None:
        said = message["said"]
        with self._lock:
            if said == WORKER:
                peer.role = WORKER
            else:
                peer.busy += 1 if said == "busy" else -1

    def _end(self, _peer: _Peer, message: Mapping[str, Any]) -> None:
        with self._lock:
            self.notes["unpinned"] += int(message.get("unpinned") or 0)
            self.notes["order_lost"] += bool(message.get("order_lost"))
            self._last["leaky"] = [*self._last.get("leaky", ()), *map(str, message.get("leaky") or ())]

    def report(self) -> dict[str, object]:
        """What there is to say of the others, for the outcome."""
        with self._lock:
            leaky = sorted(set(self._last.get("leaky", ())))
            return {"unstarted": self._ledger.left(), "left_behind": self.notes["left"], "leaky_others": leaky}


def _wait(seconds: float) -> None:
    """Wait in real time."""
    import select

    select.select([], [], [], seconds)


def first_process(
    spec: Mapping[str, Any],
    answers: SharedAnswers,
    tell: Callable[[Mapping[str, object]], None],
    about: Callable[[], dict[str, object]],
) -> tuple[Hub, Kin]:
    """Make this the first process of a replay whose record has Python children."""
    told = spec["processes"]
    hub = Hub(str(told["address"]), answers, told["starts"], tell, about)
    starts.failed = hub.start_failed
    return hub, Kin(str(told["address"]), told["own"], hub.may_start, "first")

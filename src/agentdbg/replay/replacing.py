"""What is put in the place of a regression replay's calls: by an edit, or by a person who holds them.

Runs in the child process, on the standard library.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from typing import Any

from agentdbg.model.json_text import json_bytes
from agentdbg.model.records import Json
from agentdbg.recording import scope as scopes
from agentdbg.recording.calls import Call, Rearranged, Served
from agentdbg.replay.answers import ExactAnswers, outcome_of
from agentdbg.replay.cassette import RecordedCall
from agentdbg.replay.control import Decision
from agentdbg.replay.doing import Decided, Doing
from agentdbg.replay.edit_streams import CannotEditStream
from agentdbg.replay.edited_results import with_result
from agentdbg.replay.free_order import FreeOrder
from agentdbg.replay.policy import Match, Stage
from agentdbg.replay.rearranging import NOT_MADE, CannotRearrange, edited_arguments, rearranged
from agentdbg.replay.recorded_calls import RecordedCalls

_REPLACES = ("result", "arguments")


class ReplacingAnswers(ExactAnswers):
    """The part of a regression replay's answers that takes results and arguments from somebody."""

    _order: FreeOrder
    _plan: Mapping[str, Any]
    _stage: Stage
    _calls: RecordedCalls
    _rearranged: set[str]
    """Calls that are made with other arguments than the program gave them."""
    doing: Doing

    @abstractmethod
    def _case(self, call: Call) -> Decided:
        """What the table says of a call; nothing is changed by asking."""

    def _instead(self, call: Call, choice: Decision) -> Served | tuple[Call, Rearranged | None] | None:
        """What is put in a call's place, or the call that is made; ``None`` when what a person wants cannot be done."""
        if choice.action == "go" and (edits := self._argument_edits(call)):
            return self._with_edits(call, edits)
        if choice.action not in _REPLACES:
            return call, None
        try:
            return self._result(call, choice.value) if choice.action == "result" else self._with(call, choice.value)
        except (CannotEditStream, CannotRearrange, *NOT_MADE) as problem:
            self._tell({"event": "not_done", "step": call.step, "name": call.name, "reason": str(problem)})
            return None

    def _with(self, call: Call, wanted: Json, *, by_edit: bool = False) -> tuple[Call, Rearranged]:
        made, other = rearranged(call, wanted)
        self._spoken_for(call)
        self._rearranged.add(call.step)
        self.doing.edited(call, "arguments", wanted, by_edit=by_edit)
        return made, other

    def _with_edits(self, call: Call, edits: Sequence[Sequence[Any]]) -> tuple[Call, Rearranged | None]:
        try:
            return self._with(call, edited_arguments(call, edits), by_edit=True)
        except CannotRearrange as problem:
            self._tell({"event": "not_edited", "step": call.step, "name": call.name, "reason": str(problem)})
            return call, None

    def _argument_edits(self, call: Call) -> Sequence[Sequence[Any]]:
        """The edits of the recorded call that this one is."""
        wanted: Mapping[str, Any] = self._plan.get("arguments") or {}
        if not wanted or self._stage is Stage.CONTROL or is_nested():
            return ()
        with self._changed:
            recorded, _ = self._meant(call, wanted.keys())
        found: Sequence[Sequence[Any]] = () if recorded is None else wanted[recorded.step]
        return found

    def _meant(self, call: Call, within: Collection[str]) -> tuple[RecordedCall | None, Match]:
        """The recorded call that this one is, among some: by what it asks, else by its own place alone."""
        recorded, match = self._calls.find(call, within, by_place=False)
        if recorded is not None:
            return recorded, match
        there = self._calls.at_place(call)
        open_there, _ = self._calls.find(call, within, by_place=True)
        return (there, Match.PLACE) if there is not None and there is open_there else (None, Match.NONE)

    def _result(self, call: Call, value: Json) -> Served:
        """The result that a person gave; of an exchange, the recorded response with another body."""
        with self._changed:
            decided = self._case(call)
        recorded = decided.recorded
        if recorded is None or "http_status" not in recorded.attrs:
            given = self.doing.given(call, value)
            self._spoken_for(call)
            return given
        tape = decided.tape or self._cassette
        body = value.encode() if isinstance(value, str) and not recorded.stream else json_bytes(value)
        provider = (self._plan.get("facts") or {}).get(recorded.step, {}).get("provider")
        changed, bodies = with_result(tape, recorded, body, provider)
        self._spoken_for(call)
        self.doing.edited(call, "result", value)
        return outcome_of(replace(tape, bodies=bodies), changed)

    def _spoken_for(self, call: Call) -> None:
        """Something else happens than what is recorded of a call: its outcome is not served, and does not come."""
        if not is_nested():
            with self._changed:
                decided = self._case(call)
                if decided.recorded is not None and decided.tape is None:
                    self._calls.take(call, decided.recorded)
        self._order.let_go()


def is_nested() -> bool:
    """Whether a call is made by the body of a live tool."""
    here = scopes.current()
    return here is not None and here.inside_tool

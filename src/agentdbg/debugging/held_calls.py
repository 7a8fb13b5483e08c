"""What a user decides about a held call: its arguments or its result as text to edit, and back."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Final

from agentdbg.i18n.catalogue import message
from agentdbg.model.safe_text import safe_line
from agentdbg.replay.session import CannotDo, ReplaySession
from agentdbg.replay.session_events import Paused

EDITED: Final = ("arguments", "result")


def value_text(session: ReplaySession, held: Paused, what: str) -> str:
    """The held call's arguments, or what is recorded as its result, as JSON to edit; ``null`` where there is none."""
    value = held.arguments if what == "arguments" else session.recorded_result(held)
    text = json.dumps(value, ensure_ascii=False, indent=2)
    return "".join(each if _is_plain(each) else json.dumps(each)[1:-1] for each in text) + "\n"


def decide(session: ReplaySession, held: Paused | None, text: str) -> str:
    """Decide: ``go``, ``live``, ``serve``, ``refuse``, ``result=JSON``, ``arguments=JSON``; says what is wrong."""
    action, equals, raw = text.strip().partition("=")
    action = action.strip()
    if action in EDITED and not equals:
        return message("live.decide.value", what=action)
    try:
        value = json.loads(raw) if equals else None
    except (ValueError, RecursionError) as problem:
        return message("live.decide.no_json", problem=problem)
    try:
        session.decide(action, value, None if held is None else held.call.id, encoded=True)
    except CannotDo as problem:
        return str(problem)
    return ""


def _is_plain(character: str) -> bool:
    """Whether a character is seen as what it is, by any editor."""
    return character == "\n" or str(safe_line(character)) == character


def choices_in_words(choices: Sequence[str]) -> str:
    """What may be decided, those with a value marked."""
    return ", ".join(("go", *(f"{choice}[=JSON]" if choice in EDITED else choice for choice in choices)))

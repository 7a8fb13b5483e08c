"""A person's typed decision, as the program takes decisions: a typed *no* must not be a text that counts as true."""

from __future__ import annotations

from collections.abc import Iterable

from agentdbg.model.json_text import loads_json
from agentdbg.model.records import Json

PENDING = "pending"
_YES = frozenset(("true", "yes", "y", "1", "ok", "approve", "approved", "allow", "allowed"))
_TRUTH = {"true": True, "false": False}


def decision_of(answer: object, recorded: Iterable[Json]) -> object:
    """What an approval gives.

    Args:
        answer: As it was typed; ``None`` or nothing: nobody decides.
        recorded: The decisions of the recorded run, which show what the program takes.
    """
    if answer is None or answer == "":
        return PENDING
    known = [each for each in recorded if each is not None and each != PENDING]
    if not isinstance(answer, str) or answer in known:
        return answer
    word = answer.strip().lower()
    if known and all(isinstance(each, bool) for each in known):
        return word in _YES
    if word in _TRUTH:
        return _TRUTH[word]
    if any(not isinstance(each, str) for each in known):
        try:
            return loads_json(answer)
        except ValueError:
            return answer
    return answer


__all__ = ["PENDING", "decision_of"]

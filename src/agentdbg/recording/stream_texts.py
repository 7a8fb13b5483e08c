"""Texts that grow by pieces while a stream is put together."""

from __future__ import annotations

from typing import TypeAlias

from agentdbg.model.records import Json

JsonObject: TypeAlias = "dict[str, Json]"


class GrowingTexts:
    """Texts inside objects, joined on request: many pieces cost no more than their length."""

    def __init__(self) -> None:
        self._growing: dict[tuple[int, str], tuple[JsonObject, list[str]]] = {}

    def add(self, holder: JsonObject, member: str, piece: Json) -> None:
        """Append ``piece``, if it is a text, to the text under ``member``."""
        if not isinstance(piece, str):
            return
        key = (id(holder), member)
        if key not in self._growing:
            start = holder.get(member)
            self._growing[key] = (holder, [start] if isinstance(start, str) else [])
            holder[member] = ""
        self._growing[key][1].append(piece)

    def put(self, holder: JsonObject, member: str, value: Json) -> None:
        """Set the whole value, whatever grew there."""
        self._growing.pop((id(holder), member), None)
        holder[member] = value

    def grows(self, holder: JsonObject, member: str) -> bool:
        """Whether pieces were added to the text under ``member``."""
        return (id(holder), member) in self._growing

    def join(self) -> None:
        """Write the texts into their objects."""
        for (_, member), (holder, pieces) in self._growing.items():
            pieces[:] = ["".join(pieces)]
            holder[member] = pieces[0]


def index_of(value: Json, default: int) -> int:
    """``value`` if it is an index, else ``default``."""
    return value if isinstance(value, int) and not isinstance(value, bool) and value >= 0 else default


def update(whole: JsonObject, news: JsonObject) -> None:
    """Set the members of ``news``; a null replaces nothing."""
    for member, value in news.items():
        if value is not None or member not in whole:
            whole[member] = value

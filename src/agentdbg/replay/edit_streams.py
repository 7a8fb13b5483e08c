"""Edits of streamed results: the text that came in pieces is replaced inside the recorded events.

The new text comes with the first piece, the further ones are empty; events that repeat the finished text get it too.
What the events then come to is put together again: a stream that does not carry the edit is refused, not served.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import cast

from agentdbg.model.canonical import dumps, loads
from agentdbg.model.json_text import dumps_json, loads_json
from agentdbg.model.records import Json
from agentdbg.recording.providers import Assembler, text_channels, token_copies
from agentdbg.recording.stream_framing import Framing, StreamEvent, framing_of

_LISTED = 12


class CannotEditStream(Exception):
    """The recorded events cannot carry an edit; the message says why."""


@dataclass(slots=True)
class _Row:
    """One recorded event: when it came, as it came, and its data where that is JSON."""

    ms: Json
    raw: str
    event: StreamEvent | None = None
    data: Json = None


def edited_parts(
    parts: Sequence[bytes], provider: str, headers: Json, before: Json, after: Json
) -> tuple[tuple[bytes, ...], Json]:
    """The stream's bodies with an edit made in them, and the result that they come to.

    Args:
        parts: The recorded bodies of the stream.
        provider: Shape of the model call.
        headers: Recorded headers of the response.
        before: The recorded result, put together.
        after: The same, edited.

    Raises:
        CannotEditStream: They cannot carry it.
    """
    framing = framing_of(_content_type(headers), provider, streams=True)
    if framing is None:
        raise CannotEditStream("it is no stream of events that is known")
    read = [[_Row(row[0], str(row[1])) for row in cast("list[list[Json]]", loads(part))] for part in parts]
    rows = [row for part in read for row in part]
    _parse(framing, rows)
    texts = _texts(provider, rows)
    for place, old, new in _changes(before, after):
        _replace(provider, rows, texts, place, old, new)
    for row in rows:
        if row.event is not None and isinstance(row.data, dict):
            row.raw = framing.rebuild(row.event, dumps_json(row.data)).decode("utf-8", "surrogateescape")
    came_to = _put_together(provider, rows)
    if _first_difference(came_to, after):
        raise CannotEditStream(f"its pieces cannot say that: {_first_difference(came_to, after)}")
    return tuple(dumps([[row.ms, row.raw] for row in part]) for part in read), came_to


def _parse(framing: Framing, rows: Sequence[_Row]) -> None:
    for row in rows:
        events = framing.feed(row.raw.encode("utf-8", "surrogateescape"))
        if len(events) != 1 or events[0].data is None:
            continue
        try:
            row.data = loads_json(events[0].data)
        except ValueError:
            continue  # [DONE], a ping
        row.event = events[0]


def _texts(provider: str, rows: Sequence[_Row]) -> dict[str, list[tuple[dict[str, Json], str]]]:
    """By channel, the places of its pieces in order."""
    found: dict[str, list[tuple[dict[str, Json], str]]] = defaultdict(list)
    for row in rows:
        if row.event is not None:
            for name, holder, member in text_channels(provider, row.event.event, row.data):
                found[name].append((holder, member))
    return found


def _changes(before: Json, after: Json, at: str = "result") -> Iterator[tuple[str, list[Json], list[Json]]]:
    """What differs: a place, the recorded values from the leaf outwards, and what they are to be."""
    if before == after and type(before) is type(after):
        return
    pairs: list[tuple[str, Json, Json]] = []
    if isinstance(before, dict) and isinstance(after, dict) and before.keys() == after.keys():
        pairs = [(f"{at}.{key}", before[key], after[key]) for key in before]
    elif isinstance(before, list) and isinstance(after, list) and len(before) == len(after):
        pairs = [(f"{at}[{i}]", old, new) for i, (old, new) in enumerate(zip(before, after, strict=True))]
    if not pairs:
        yield at, [before], [after]
    for place, old, new in pairs:
        for where, olds, news in _changes(old, new, place):
            yield where, [*olds, before], [*news, after]


def _replace(
    provider: str,
    rows: Sequence[_Row],
    texts: Mapping[str, list[tuple[dict[str, Json], str]]],
    place: str,
    olds: Sequence[Json],
    news: Sequence[Json],
) -> None:
    """Replace a text, or the innermost value around the change that came as a text."""
    for old, new in zip(olds, news, strict=True):
        names = [name for name, pieces in texts.items() if _says("".join(_piece(each) for each in pieces), old)]
        if not names:
            continue
        whole = "".join(_piece(each) for each in texts[names[0]])
        instead = new if isinstance(old, str) else dumps_json(new)
        if not isinstance(instead, str):
            break
        for name in names:
            for number, (holder, member) in enumerate(texts[name]):
                holder[member] = "" if number else instead
        for row in rows:
            if row.event is not None:
                row.data = _with(row.data, whole, instead)
                for holder, member in token_copies(provider, row.data):
                    holder[member] = []
        return
    kinds = ", ".join(sorted(texts)[:_LISTED]) or "none"
    raise CannotEditStream(f"{place} did not come in pieces of text; what did: {kinds}")


def _says(text: str, value: Json) -> bool:
    """Whether a joined text is a value, as it is or as JSON."""
    if isinstance(value, str):
        return bool(text) and text == value
    try:
        return bool(text) and isinstance(value, dict | list) and loads_json(text) == value
    except ValueError:
        return False


def _piece(place: tuple[dict[str, Json], str]) -> str:
    return str(place[0][place[1]])


def _with(value: Json, old: str, new: str) -> Json:
    """A value with every text that is the whole old one replaced, in place."""
    if isinstance(value, dict):
        for key, item in value.items():
            value[key] = _with(item, old, new)
    elif isinstance(value, list):
        value[:] = [_with(item, old, new) for item in value]
    elif value == old:
        return new
    return value


def _put_together(provider: str, rows: Sequence[_Row]) -> Json:
    found = Assembler(provider)
    for row in rows:
        if row.event is not None:
            found.feed(row.event.event, row.data)
    return found.result(ended=True).output


def _first_difference(came_to: Json, wanted: Json) -> str:
    return next((place for place, _, _ in _changes(came_to, wanted)), "")


def _content_type(headers: Json) -> str:
    pairs = [pair for pair in headers if isinstance(pair, list) and len(pair) == 2] if isinstance(headers, list) else []
    return next((str(value) for name, value in pairs if str(name).lower() == "content-type"), "")

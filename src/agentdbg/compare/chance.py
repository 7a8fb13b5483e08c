"""Tells differences that say something from times, server-minted ids, drawn values and declared versions.

Two recordings of the same task never agree in these, so the first *telling* difference is looked for behind them. What
is passed over here is still a difference; it is only never taken for the reason of another one.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from functools import cached_property
from typing import Final, Protocol, runtime_checkable

from agentdbg.compare.fields import FieldChange, Missing
from agentdbg.model.fingerprint import alpha_rename, strip_placeholders
from agentdbg.model.records import HASH_DRAW, Json, RunSummary
from agentdbg.store.protocols import RunSource

CLOCK, VERSION, REDACTION = "clock", "version", "redaction"
MAX_DRAWS: Final = 20_000
_PAIRED_DRAWS: Final = 64
_SHORTEST_DRAW: Final = 6
_SHORTEST_LABEL: Final = 4
_TIME: Final = re.compile(
    r"\d{4}-\d\d-\d\d[T ]\d\d:\d\d(?::\d\d(?:[.,]\d+)?)?(?:Z|[+-]\d\d:?\d\d)?"
    r"|[A-Z][a-z]{2}, \d\d [A-Z][a-z]{2} \d{4} \d\d:\d\d:\d\d(?: GMT)?"
    r"|(?<![\w.])1[4-9]\d{8}(?:\d{3}|\.\d+)?(?!\w|\.\d)"
)
_NUMBER: Final = re.compile(r"(?<![\w.])\d{1,18}(?!\w|\.\d)")
_VERSION_TAG: Final = re.compile(r"(version|revision|release|commit|build)s?$", re.IGNORECASE)
_EPOCH: Final = range(1_400_000_000, 2_000_000_000)


class Chance:
    """What two runs had from chance, the clock or their declared versions."""

    def __init__(self, a: RunSource, b: RunSource) -> None:
        self._a, self._b = a, b
        self._versions = _label_pairs(a.summary(), b.summary())
        self._two_keys = _key_id(a.summary()) != _key_id(b.summary())

    def label(self, before: object, after: object) -> str:
        """The name of the version or tag that two values are, in either run; empty when they are none."""
        return self._versions.get((str(before), str(after)), "") if isinstance(before, str | int | float) else ""

    def kind_of(self, change: FieldChange) -> str:
        """What a change is that says nothing: ``clock``, ``version`` or ``redaction``; empty when it says something.

        ``clock`` are times, ids and drawn values; ``version`` is a declared label; ``redaction`` are values that were
        redacted under two keys, so that nobody can tell whether they are equal.
        """
        before, after = change.before, change.after
        if isinstance(before, Missing) or isinstance(after, Missing):
            return ""
        if isinstance(before, int) and isinstance(after, int) and before in _EPOCH and after in _EPOCH:
            return CLOCK
        if isinstance(before, float) and isinstance(after, float) and int(before) in _EPOCH and int(after) in _EPOCH:
            return CLOCK
        if self.label(before, after):
            return VERSION
        return self._texts(before, after) if isinstance(before, str) and isinstance(after, str) else ""

    def telling(self, changes: Iterable[FieldChange]) -> list[FieldChange]:
        """The changes that say something."""
        return [change for change in changes if not self.kind_of(change)]

    def _texts(self, before: str, after: str) -> str:
        if self._two_keys and _bare(before) == _bare(after):
            return REDACTION
        left, right = self._without_chance(before, 0), self._without_chance(after, 1)
        if left == right or ((left, right) != (before, after) and self._drawn_numbers(left, right)):
            return CLOCK
        for a, b in self._versions:
            if len(a) >= _SHORTEST_LABEL and len(b) >= _SHORTEST_LABEL:
                left, right = left.replace(a, "$version"), right.replace(b, "$version")
        return VERSION if left == right else ""

    def _without_chance(self, text: str, side: int) -> str:
        pattern = self._drawn[side]
        text = pattern.sub("$drawn", text) if pattern is not None else text
        return alpha_rename(_TIME.sub("$time", _bare(text) if self._two_keys else text))

    @cached_property
    def _draws(self) -> tuple[list[list[Json]], list[list[Json]]]:
        return _draws(self._a), _draws(self._b)

    @cached_property
    def _drawn(self) -> tuple[re.Pattern[str] | None, re.Pattern[str] | None]:
        return _pattern(self._draws[0]), _pattern(self._draws[1])

    @cached_property
    def _offsets(self) -> frozenset[int]:
        """By how much the random integers of the second run differ from those drawn at the same places of the first."""
        left, right = (_random_integers(draws) for draws in self._draws)
        pairs = [(x, y) for site in left for x, y in zip(left[site], right.get(site, []), strict=False)][:_PAIRED_DRAWS]
        return frozenset(y - x for x, y in pairs)

    def _drawn_numbers(self, left: str, right: str) -> bool:
        """Whether two texts differ only in numbers that differ by as much as what the runs drew."""
        if _NUMBER.sub("#", left) != _NUMBER.sub("#", right):
            return False
        numbers = zip(_NUMBER.findall(left), _NUMBER.findall(right), strict=True)
        return all(int(y) - int(x) in self._offsets for x, y in numbers if x != y)


@runtime_checkable
class _Draws(Protocol):
    """A source that keeps the values its run drew."""

    def extra_events(self, kind: str | None = None) -> Iterable[_Event]:
        """Events that belong to no step."""


class _Event(Protocol):
    @property
    def members(self) -> Mapping[str, Json]:
        """The event."""


def _draws(source: RunSource) -> list[list[Json]]:
    found: list[list[Json]] = []
    if not isinstance(source, _Draws):
        return found
    for event in source.extra_events("draws"):
        listed = event.members.get("draws")
        if isinstance(listed, list):
            whole = (draw for draw in listed if isinstance(draw, list) and len(draw) == 3)
            found.extend(draw for draw in whole if draw[0] != HASH_DRAW)
        if len(found) >= MAX_DRAWS:
            break
    return found[:MAX_DRAWS]


def _pattern(draws: Sequence[list[Json]]) -> re.Pattern[str] | None:
    texts = {str(value) for _, _, value in draws if isinstance(value, str | int | float)}
    long = sorted((text for text in texts if len(text) >= _SHORTEST_DRAW), key=len, reverse=True)
    return re.compile("|".join(map(re.escape, long))) if long else None


def _random_integers(draws: Sequence[list[Json]]) -> dict[tuple[str, str], list[int]]:
    """Drawn integers by source and site; of several in a row at one site the last, which is the one that was taken."""
    found: dict[tuple[str, str], list[int]] = defaultdict(list)
    last: tuple[str, str] | None = None
    for source, site, value in draws:
        place = (str(source), str(site))
        number = _integer(value) if place[0].startswith(("getrandbits", "rand")) else None
        if number is None:
            last = None
        elif place == last:
            found[place][-1] = number
        else:
            found[place].append(number)
            last = place
    return found


def _integer(value: Json) -> int | None:
    if isinstance(value, int):
        return value
    try:
        return int(value, 0) if isinstance(value, str) else None
    except ValueError:
        return None


def _bare(text: str) -> str:
    """A text whose placeholders keep nothing but kind and length."""
    return strip_placeholders(text.encode("utf-8", "surrogatepass")).decode("utf-8", "surrogatepass")


def _key_id(run: RunSummary) -> Json:
    rules = run.meta.get("rules")
    redaction = rules.get("redaction") if isinstance(rules, Mapping) else None
    return redaction.get("kid") if isinstance(redaction, Mapping) else None


def _label_pairs(a: RunSummary, b: RunSummary) -> dict[tuple[str, str], str]:
    """Versions, and tags that name one, that both runs have and that differ; each pair of values with its name."""
    left, right = ({**_version_values(run), **_version_tags(run)} for run in (a, b))
    return {(left[name], right[name]): name for name in left if name in right and left[name] != right[name]}


def _version_values(run: RunSummary) -> dict[str, str]:
    given = run.meta.get("versions")
    if not isinstance(given, Mapping):
        return {}
    return {name: str(about.get("value") if isinstance(about, Mapping) else about) for name, about in given.items()}


def _version_tags(run: RunSummary) -> dict[str, str]:
    """A tag that only says which case a run is about is no version: another case is another input."""
    return {name: value for name, value in run.tags.items() if _VERSION_TAG.search(name)}

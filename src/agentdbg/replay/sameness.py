"""What counts as the same in an exact replay: bytes, up to volatile fields and to another key's placeholders."""

from __future__ import annotations

import re
from collections.abc import Hashable, Mapping

from agentdbg.compare.trajectory import step_key
from agentdbg.model.canonical import dumps, loads
from agentdbg.model.fingerprint import drop_volatile, strip_placeholders
from agentdbg.model.hashing import sha256_hex
from agentdbg.model.records import BodyRef, Json, Step
from agentdbg.redaction.bijection import PlaceholderBijection
from agentdbg.replay.cassette import surrogates_of, volatile_rules
from agentdbg.store.protocols import BodyMissing
from agentdbg.store.reader import DirectoryRunSource

_ADDRESS = re.compile(r"\b0x[0-9a-fA-F]{6,16}\b|(?<=cancel scope )[0-9a-f]{6,16}\b")


def without_addresses(text: str) -> str:
    """A text without addresses of objects, as ``repr`` and anyio's cancel scopes give them."""
    return _ADDRESS.sub("0x", text)


class ReplaySameness:
    """Bodies are the same when their bytes are, or when only volatile fields or another key's placeholders differ.

    Attributes:
        used: Concrete paths of volatile fields through which bodies matched although their bytes differ.
    """

    def __init__(self, recorded: DirectoryRunSource, replayed: DirectoryRunSource) -> None:
        self.used: list[str] = []
        self._recorded, self._replayed = recorded, replayed
        self._rules = volatile_rules(recorded.summary().meta)
        kids = [_kid(source.summary().meta) for source in (recorded, replayed)]
        self._bijection = PlaceholderBijection(*kids) if kids[0] != kids[1] else None
        if self._bijection is not None:
            self._bijection.surrogates(surrogates_of(recorded), surrogates_of(replayed))

    def bodies(self, a: BodyRef | None, b: BodyRef | None) -> bool:
        """Whether two bodies are the same."""
        if a is None or b is None:
            return a is b
        if a.sha256 == b.sha256:
            return True
        try:
            left, right = self._recorded.body(a), self._replayed.body(b)
        except BodyMissing:
            return False
        return self._alike(left, right) or self._without_volatile(left, right)

    def texts(self, a: str, b: str) -> bool:
        """Whether two short texts are the same, but for addresses in memory: those are new in every process."""
        if a == b or (self._bijection is not None and self._bijection.same(a, b)):
            return True
        return without_addresses(a) == without_addresses(b)

    def key(self, step: Step) -> Hashable:
        """What identifies a step's content when lanes are paired."""
        if self._bijection is None:
            return step_key(step)
        found = (self._stripped(step.arguments), self._stripped(step.result))
        return (step.kind, step.name, step.status, step.fingerprint, *found)

    def _stripped(self, ref: BodyRef | None) -> str | None:
        for source in (self._recorded, self._replayed):
            try:
                return None if ref is None else sha256_hex(strip_placeholders(source.body(ref)))
            except BodyMissing:
                continue
        return None

    def _alike(self, left: bytes, right: bytes) -> bool:
        if left == right:
            return True
        if self._bijection is None:
            return False
        return bool(self._bijection.same(left.decode("utf-8", "replace"), right.decode("utf-8", "replace")))

    def _without_volatile(self, left: bytes, right: bytes) -> bool:
        paths = [path for found in self._rules.paths.values() for path in found]
        try:
            kept_left, dropped = drop_volatile(loads(left), paths)
            kept_right, dropped_right = drop_volatile(loads(right), paths)
        except ValueError:
            return False
        if not dropped or dropped != dropped_right or not self._alike(dumps(kept_left), dumps(kept_right)):
            return False
        self.used.extend(path for path in dropped if path not in self.used)
        return True


def _kid(meta: Mapping[str, Json]) -> str:
    rules = meta.get("rules")
    redaction = rules.get("redaction") if isinstance(rules, dict) else None
    return str(redaction.get("kid", "")) if isinstance(redaction, dict) else ""

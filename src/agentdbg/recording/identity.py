"""The identity of this run's calls: fingerprints under the run's volatile rules."""

from __future__ import annotations

import re

from agentdbg.model.canonical import canonical
from agentdbg.model.fingerprint import (
    SCHEME,
    VolatileRules,
    alpha_fingerprint,
    drop_volatile,
    fingerprint,
    strip_placeholders,
)
from agentdbg.model.hashing import sha256_hex
from agentdbg.model.json_text import text_of
from agentdbg.model.records import Kind
from agentdbg.recording.encoding import Encoded


class CallIdentity:
    """Makes the fingerprints of one run.

    Attributes:
        volatile: The rules, which are stored with the run.
    """

    def __init__(self, volatile: VolatileRules | None = None) -> None:
        self.volatile = volatile or VolatileRules()
        self._needles: dict[str, re.Pattern[bytes]] = {}

    def declare(self, tool: str, paths: tuple[str, ...]) -> None:
        """Add a tool's volatile paths to the rules."""
        self.volatile = VolatileRules(self.volatile.version, {**self.volatile.paths, tool: paths})
        self._needles = {}

    def fingerprint(self, kind: Kind, name: str, arguments: Encoded | None, about: object) -> str:
        """Fingerprint of a call; ``about`` is what it covers when that is not the arguments."""
        if about is not None or arguments is None:
            data = canonical([str.__str__(kind), name, about])
            if not self._may_be_volatile(name, data):
                return SCHEME + sha256_hex(strip_placeholders(data))
            kept, _ = drop_volatile(about, self.volatile.for_call(name))
            return fingerprint(kind.value, name, kept)
        if self._may_be_volatile(name, arguments.data):
            kept, _ = drop_volatile(arguments.value, self.volatile.for_call(name))
            return fingerprint(kind.value, name, kept)
        if arguments.simple and name.isascii():  # the same bytes, without looking at every value again
            data = text_of([str.__str__(kind), name, arguments.tree], sort=True, floats=False)
            return SCHEME + sha256_hex(strip_placeholders(data) if not data.isascii() else data)
        return fingerprint(kind.value, name, arguments.value)

    def alpha(self, kind: Kind, name: str, arguments: Encoded | None, about: object) -> str:
        """The same with server-minted ids renamed."""
        covered = about if about is not None or arguments is None else arguments.value
        kept, _ = drop_volatile(covered, self.volatile.for_call(name))
        return alpha_fingerprint(kind.value, name, kept)

    def _may_be_volatile(self, name: str, data: bytes) -> bool:
        """Whether a volatile field's name occurs at all: looking for bytes is cheaper than walking the arguments."""
        needles = self._needles.get(name)
        if needles is None:
            last = [path.rpartition(".")[2] for path in self.volatile.for_call(name)]
            plain = all(word.isidentifier() and word.isascii() for word in last)
            needles = self._needles[name] = re.compile(f'"(?:{"|".join(last)})"'.encode() if plain else b"")
        return needles.search(data) is not None

"""A value on its way to disk: encoded at call time, through the run's redaction gate, copied by being written."""

from __future__ import annotations

from dataclasses import dataclass

from agentdbg.model.canonical import Unencodable, from_tree, tree_bytes, tree_of
from agentdbg.redaction.gate import Gate


@dataclass(frozen=True, slots=True)
class Encoded:
    """Attributes:
    data: Redacted bytes in the typed encoding.
    tree: The same as a JSON tree.
    plain: The tree holds no typed objects, so that it is its own value.
    holes: What could not be encoded, in words.
    """

    data: bytes
    tree: object
    plain: bool
    holes: tuple[str, ...] = ()

    @property
    def value(self) -> object:
        """The redacted value, for fingerprints."""
        return self.tree if self.plain else from_tree(self.tree)


def encode(value: object, gate: Gate) -> Encoded:
    """Encode and redact; a value that cannot be encoded becomes a marked placeholder, never an exception."""
    try:
        tree, opaque = tree_of(value)
    except Unencodable as problem:
        name = f"{type(value).__module__}.{type(value).__qualname__}"
        tree, opaque = {"$": "opaque", "v": name}, (f"$: {name}: {problem}",)
    redacted = gate.value(tree)
    holes = tuple(f"not replayable from here: cannot encode {place}" for place in opaque)
    return Encoded(tree_bytes(redacted), redacted, tree is value, holes)

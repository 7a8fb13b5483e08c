"""Lossless JSON for recorded values: stored bytes, canonical bytes, and reading both back.

Plain JSON stays plain. Everything else becomes an object whose only members are ``"$"`` (a type name) and ``"v"``; see
``store/FORMAT.md`` and ``typed.py``.
"""

from __future__ import annotations

from collections.abc import Callable

from agentdbg.model.json_text import PLAIN, WITH_FLOATS, dumps_json, loads_json, plainness, text_of
from agentdbg.model.typed import Encoder, Opaque, Unencodable, escape_surrogates, from_tree

__all__ = [
    "Opaque",
    "Unencodable",
    "canonical",
    "dumps",
    "dumps_json",
    "escape_surrogates",
    "from_tree",
    "loads",
    "loads_json",
    "narrowed_paths",
    "opaque_paths",
    "tree_bytes",
    "tree_of",
]


def dumps(value: object) -> bytes:
    """Encode ``value`` as stored bytes: typed encoding, mapping order kept.

    Raises:
        Unencodable: ``value`` is cyclic or has too many nodes.
    """
    return _serialise(value, sort=False)


def canonical(value: object) -> bytes:
    """Encode ``value`` so that equal values, and only those, give equal bytes: mapping order is irrelevant.

    Raises:
        Unencodable: ``value`` is cyclic or has too many nodes.
    """
    return _serialise(value, sort=True)


def loads(raw: bytes | str) -> object:
    """Decode what ``dumps`` or ``canonical`` wrote; unknown types become ``Opaque``.

    Raises:
        ValueError: ``raw`` is not JSON.
    """
    tree = loads_json(raw)
    if isinstance(raw, bytes) and b'"$"' not in raw and b"\\u" not in raw:
        return tree  # plain JSON is its own value
    return from_tree(tree)


def tree_of(value: object, binary: Callable[[bytes], bytes] | None = None) -> tuple[object, tuple[str, ...]]:
    """The JSON tree of ``value`` (the value itself when it is plain JSON), and what in it could not be encoded.

    Args:
        value: What is encoded.
        binary: Gets every bytes object, and gives what is encoded in its place.

    Raises:
        Unencodable: ``value`` is cyclic or has too many nodes.
    """
    if plainness(value, 0):
        return value, ()
    encoder = Encoder(sort=False, binary=binary)
    try:
        tree = encoder.tree(value, 0, "$")
    except RecursionError as problem:
        raise Unencodable("no stack left to encode it") from problem
    return tree, tuple(encoder.opaque)


def narrowed_paths(value: object) -> tuple[str, ...]:
    """JSON paths and types of the parts of ``value`` that are read back as their base type (an enum, a named tuple)."""
    encoder = Encoder(sort=False)
    try:
        encoder.tree(value, 0, "$")
    except (Unencodable, RecursionError):
        return ()
    return tuple(encoder.narrowed)


def tree_bytes(tree: object) -> bytes:
    """The stored bytes of a JSON tree made by ``tree_of``."""
    plain = plainness(tree, 0)
    try:
        return text_of(tree, sort=False, floats=plain != PLAIN)
    except (TypeError, UnicodeEncodeError):
        return _serialise(tree, sort=False)


def opaque_paths(value: object) -> tuple[str, ...]:
    """JSON paths of the parts of ``value`` that cannot be encoded, with their type names."""
    if plainness(value, 0):
        return ()
    encoder = Encoder(sort=False)
    try:
        encoder.tree(value, 0, "$")
    except (Unencodable, RecursionError) as problem:
        return (f"$: {problem}",)
    return tuple(encoder.opaque)


def _serialise(value: object, *, sort: bool) -> bytes:
    plain = plainness(value, 0)
    if plain:
        try:
            return text_of(value, sort=sort, floats=plain == WITH_FLOATS)
        except (TypeError, UnicodeEncodeError):
            pass  # a lone surrogate somewhere
    encoder = Encoder(sort=sort)
    try:
        tree = encoder.tree(value, 0, "$")
    except RecursionError as problem:
        raise Unencodable("no stack left to encode it") from problem
    return text_of(tree, sort=sort, floats=True)

"""A value on its way to disk: encoded at call time, through the run's redaction gate, copied by being written."""

from __future__ import annotations

from typing import NamedTuple

from agentdbg.model.canonical import Unencodable, from_tree, tree_bytes, tree_of
from agentdbg.model.hashing import sha256_hex
from agentdbg.model.json_text import PLAIN, WITH_FLOATS, loads_json, plainness, text_of
from agentdbg.model.typed import ONLY_MEMBERS
from agentdbg.recording.error_trees import frozen, origins, set_apart
from agentdbg.recording.interrupts import let_through
from agentdbg.recording.validation_errors import is_validation_error, parts
from agentdbg.redaction.gate import Gate

_TRIES = 3
"""Another thread may change a mapping while it is walked."""
_SALVAGE_DEPTH = 3


class Encoded(NamedTuple):
    """Attributes:
    data: Redacted bytes in the typed encoding.
    digest: Their SHA-256 in hex.
    tree: The same as a JSON tree; of a plain value, parts of the value itself: not to be kept beyond the call.
    plain: The tree holds no typed objects, so that it is its own value.
    holes: What could not be encoded, in words.
    simple: Plain, without floats that JSON writers spell differently, and nothing in it was redacted.
    """

    data: bytes
    digest: str
    tree: object
    plain: bool
    holes: tuple[str, ...] = ()
    simple: bool = False

    @property
    def gaps(self) -> tuple[str, ...]:
        """Holes in what is written down; an object whose members are there leaves none, though it is not made again."""
        return tuple(hole for hole in self.holes if not hole.endswith(ONLY_MEMBERS))

    @property
    def value(self) -> object:
        """The redacted value, for fingerprints."""
        return self.tree if self.plain else from_tree(self.tree)


def encode(value: object, gate: Gate) -> Encoded:
    """Encode and redact; a value that cannot be encoded becomes a marked placeholder, never an exception."""
    try:
        plain = plainness(value, 0)
        if plain:
            data = text_of(value, sort=False, floats=plain == WITH_FLOATS)
            digest = sha256_hex(data)
            if not gate.enabled or _is_clean(data, digest, gate):
                return Encoded(data, digest, value, True, (), plain == PLAIN)
    except Exception as problem:  # a lone surrogate, another thread's change: the long way copes with all of it
        let_through(problem)
    tree, opaque = _tree(value, "$", 0, gate)
    redacted = gate.value(tree)
    holes = tuple(gate.text(f"not replayable from here: cannot encode {place}") for place in opaque)
    data = tree_bytes(redacted)
    return Encoded(data, sha256_hex(data), redacted, tree is value, holes)


def _is_clean(data: bytes, digest: str, gate: Gate) -> bool:
    """Whether there is nothing to redact in a plain value; what was looked at before is known by its hash."""
    if gate.is_clean(digest):
        return True
    learned = gate.learned
    tree = loads_json(data)  # what is written is what is looked at, whatever another thread does to the value
    if not gate.is_dull(data, tree) and gate.value(tree) is not tree:
        return False
    gate.keep_clean(digest, learned)
    return True


def _tree(value: object, path: str, depth: int, gate: Gate) -> tuple[object, tuple[str, ...]]:
    problem = ""
    for _ in range(_TRIES):
        try:
            tree, opaque = tree_of(value, gate.body)
            return tree, opaque if path == "$" else tuple(path + place.removeprefix("$") for place in opaque)
        except Unencodable as error:
            problem = str(error)
            break
        except Exception as error:  # the agent's own classes take part: properties, __hash__, items()
            let_through(error)
            problem = f"{type_name(error)} while it was read"
    if depth < _SALVAGE_DEPTH:
        found = _salvaged(value, path, depth + 1, gate)
        if found is not None:
            return found
    name = type_name(value)
    return {"$": "opaque", "v": name}, (f"{path}: {name}: {problem}",)


def _salvaged(value: object, path: str, depth: int, gate: Gate) -> tuple[object, tuple[str, ...]] | None:
    """The members of a mapping or list one by one, when one of them cannot be encoded at all."""
    holes: list[str] = []

    def member(item: object, place: str) -> object:
        tree, opaque = _tree(item, place, depth, gate)
        holes.extend(opaque)
        return tree

    if type(value) is dict and all(type(key) is str and key.isascii() for key in value) and "$" not in value:
        return {key: member(item, f"{path}.{key}") for key, item in value.copy().items()}, tuple(holes)
    if type(value) is list:
        return [member(item, f"{path}[{i}]") for i, item in enumerate(value.copy())], tuple(holes)
    return None


def type_name(value: object) -> str:
    """Module and name of a value's type; a class may lie about both."""
    kind = type(value)
    module = str(kind.__module__)
    module = "__main__" if module == "__mp_main__" else module  # a spawned worker's, or a replay's
    found = f"{module}.{kind.__qualname__}"
    return found if found.isprintable() else ascii(found)


def error_message(error: BaseException) -> str:
    """What an exception says, if it can."""
    try:
        return str(error)
    except Exception as problem:
        let_through(problem)
        return f"<no message: {type(problem).__name__}>"


def error_members(error: BaseException, gate: Gate) -> dict[str, object]:
    """What an exception carries beside its arguments (``status_code``, ``body``), as far as it can be encoded whole."""
    try:
        members = {**vars(error), **set_apart(error)}
    except Exception as problem:
        let_through(problem)
        return {}
    kept = {name: frozen(value) for name, value in members.items() if type(name) is str} | origins(error)
    return {name: value for name, value in kept.items() if not encode(value, gate).holes}


def error_arguments(error: BaseException) -> object:
    """What an exception was made of, for a replay to make it again."""
    try:
        if is_validation_error(type(error)):
            return parts(error)
        arguments = list(error.args)
        if isinstance(error, OSError) and len(arguments) == 2 and error.filename is not None:
            second = getattr(error, "filename2", None)  # the constructor takes both out of the arguments
            arguments += [error.filename] if second is None else [error.filename, None, second]
        return [frozen(each) for each in arguments]
    except Exception as problem:
        let_through(problem)
        return error  # the placeholder says which class hides them

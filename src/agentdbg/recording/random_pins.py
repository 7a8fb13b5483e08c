"""The functions of ``random``: what its shared generator gives is noted and given back. Its state is its own."""

from __future__ import annotations

import random
from types import ModuleType
from typing import Any, cast

from agentdbg.recording import pins
from agentdbg.recording.scope import _current

_base_random = random.Random.random
_base_bits = random.Random.getrandbits


class NotedRandom(random.Random):
    """The module-level generator of ``random``, noting what it gives. State and numbers are those of its base."""

    def random(self) -> float:
        value = _base_random(self)  # in a replay too, so that what the record does not have goes on from there
        if _current.get() is None:
            return value
        return cast(float, pins.note("random", 1, lambda: value, pins.same, pins.same))

    def getrandbits(self, k: int, /) -> int:
        value = _base_bits(self, k)
        if _current.get() is None:
            return value
        return cast(
            int, pins.note(f"getrandbits.{k}", 1, lambda: value, lambda frozen: int(cast(str, frozen), 16), hex)
        )

    def __reduce__(self) -> tuple[Any, ...]:
        return random.Random, (), self.getstate()  # a copy is the agent's own


def install(module: ModuleType) -> None:
    """Note the module's functions: most are methods of one object and follow its class, two are bound to C code."""
    shared: random.Random = module._inst
    bound = {name: getattr(module, name) for name in ("random", "getrandbits")}
    if any(getattr(function, "__self__", None) is not shared for function in bound.values()):
        pins.problems.append("random is not pinned: somebody has replaced its functions")
        return
    shared.__class__ = NotedRandom
    for name in bound:
        setattr(module, name, getattr(shared, name))
    pins.rebind(pins.stand_ins({id(function): getattr(module, name) for name, function in bound.items()}))

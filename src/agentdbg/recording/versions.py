"""Versions that nobody declared, derived from what a run sends to its model."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from agentdbg.model.hashing import sha256_hex

if TYPE_CHECKING:
    from agentdbg.recording.facts import RunFacts

_LENGTH = 16


def derive_versions(facts: RunFacts, segments: Sequence[tuple[str, str]]) -> None:
    """Versions of prompt and tool schemas, of the first input that has them. ``segments``: kind and hash of each."""
    for name, kind in (("prompt", "system"), ("tool_schema", "tool_schema")):
        if name not in facts.versions:
            found = [digest for kind_of_part, digest in segments if kind_of_part == kind]
            if found:
                facts.versions[name] = {"value": sha256_hex("".join(found).encode())[:_LENGTH], "origin": "derived"}


def derive_route(facts: RunFacts, base: str, model: str) -> None:
    """Version of the model route: base URL and model asked for."""
    if "model_route" not in facts.versions:
        value = sha256_hex(f"{base}\0{model}".encode("utf-8", "surrogatepass"))[:_LENGTH]
        facts.versions["model_route"] = {"value": value, "origin": "derived"}

"""What a request's headers say of where it comes from: its id, its trace, the run that sent it."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from urllib.parse import unquote

from agentdbg.recording.process import RUN_ID

RUN_KEY = "agentdbg.run"
"""The member of W3C baggage that names the sending run."""
_TRACEPARENT = re.compile(r"[0-9a-f]{2}-([0-9a-f]{32})-[0-9a-f]{16}-[0-9a-f]{2}")
_LONGEST = 200


def wanted(headers: Iterable[tuple[str, str]]) -> dict[str, str]:
    """The headers that are read here, by lower-case name; several ``baggage`` headers are one list."""
    found: dict[str, str] = {}
    for name, value in headers:
        key = name.lower()
        if key == "baggage" and key in found:
            found[key] += f",{value}"
        elif key in ("x-request-id", "traceparent", "baggage"):
            found.setdefault(key, value)
    return found


def request_id(headers: Mapping[str, str]) -> str | None:
    """The id that a proxy or client gave the request."""
    return headers.get("x-request-id", "")[:_LONGEST] or None


def trace_id(headers: Mapping[str, str]) -> str | None:
    """The trace id of ``traceparent``."""
    found = _TRACEPARENT.match(headers.get("traceparent", "").strip())
    return found[1] if found is not None and set(found[1]) != {"0"} else None


def parent_run(headers: Mapping[str, str]) -> str | None:
    """The run that ``baggage`` names; nothing that is no run id gets through."""
    for member in headers.get("baggage", "").split(","):
        key, _, value = member.partition("=")
        run = unquote(value.partition(";")[0].strip())
        if key.strip() == RUN_KEY and RUN_ID.match(run):
            return run
    return None

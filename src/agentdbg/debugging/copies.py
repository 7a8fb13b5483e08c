"""What can be copied from where the user is: a value, its path, a model call as curl or Python, the way back here."""

from __future__ import annotations

import shlex
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Final

from agentdbg.debugging.session import Session
from agentdbg.debugging.statefields import Path
from agentdbg.model.canonical import dumps_json, loads_json
from agentdbg.model.headers import request_headers
from agentdbg.model.records import Json, Kind, Step
from agentdbg.model.segments import Part, join_request

_SECRET: Final = ("authorization", "x-api-key", "api-key", "x-goog-api-key")
_KEY: Final = "$API_KEY"
_KEPT: Final = ("anthropic-version", "openai-organization")


@dataclass(frozen=True, slots=True)
class Copy:
    """One entry of the copy menu.

    Attributes:
        what: What it is, in a few words.
        load: Makes the text; may read bodies.
    """

    what: str
    load: Callable[[], str]


def copies(session: Session, value: str, path: Path | None, address: str, store: str) -> list[Copy]:
    """The entries that make sense here, the most wanted first.

    Args:
        session: Where the user is.
        value: The value under the cursor.
        path: Path of the field under the cursor, where it has one.
        address: Address of the run.
        store: Address of the store it lies in; empty where the run's own says it.
    """
    step = session.current
    found = [Copy("value under the cursor", lambda: value)] if value else []
    if path is not None:
        found.append(Copy("path of the field", lambda: json_path(path)))
    if step is not None:
        found.append(Copy(f"id of step {step.n}", lambda: step.id))
        found.extend(_calls(session, step))
    found.append(Copy("command that reopens this view", lambda: reopening(session, address, store)))
    return found


def json_path(path: Path) -> str:
    """A path as other tools read it."""
    parts = (
        f"[{part}]" if isinstance(part, int) else f".{part}" if part.isidentifier() else f"[{dumps_json(part)}]"
        for part in path
    )
    return "$" + "".join(parts)


def reopening(session: Session, address: str, store: str) -> str:
    """The command that opens this run at this step, compared as it is now."""
    words = ["agentdbg", *(["--store", store] if store else []), address]
    if session.current is not None:
        words += ["--step", str(session.current.n)]
    if session.diffs.compared is not None:
        words += ["--with", session.diffs.compared.other_id]
    return shlex.join(words)


def _calls(session: Session, step: Step) -> Iterator[Copy]:
    url = step.attrs.get("url")
    if step.kind is Kind.MODEL and isinstance(url, str) and session.source.segments(step):
        yield Copy(
            "model call as curl",
            lambda: as_curl(url, _request(session, step), headers_of(step, session.source.step_by_id)),
        )
        yield Copy(
            "model call as Python",
            lambda: as_python(url, _request(session, step), headers_of(step, session.source.step_by_id)),
        )


def as_curl(url: str, body: Json, headers: list[tuple[str, str]]) -> str:
    """A request for the shell; the key comes from ``$API_KEY``."""
    lines = [f"curl {shlex.quote(url)}"]
    for name, value in [("content-type", "application/json"), *headers]:
        known = value.removesuffix(_KEY)
        quoted = shlex.quote(f"{name}: {known}") + (f'"{_KEY}"' if known != value else "")
        lines.append(f"  -H {quoted}")
    lines.append(f"  --data {shlex.quote(dumps_json(body))}")
    return " \\\n".join(lines) + "\n"


def as_python(url: str, body: Json, headers: list[tuple[str, str]]) -> str:
    """The same request for Python."""
    given = ", ".join(
        f"{name!r}: {value.removesuffix(_KEY)!r} + os.environ['API_KEY']"
        if value.endswith(_KEY)
        else f"{name!r}: {value!r}"
        for name, value in headers
    )
    return (
        "import json, os, httpx\n\n"
        f"body = json.loads({dumps_json(body)!r})\n"
        f"answer = httpx.post({url!r}, json=body, headers={{{given}}}, timeout=60)\n"
        "print(answer.text)\n"
    )


def headers_of(step: Step, step_by_id: Callable[[str], Step | None] = lambda _: None) -> list[tuple[str, str]]:
    """The headers that matter; secret ones were not recorded and come from the environment."""
    found: list[tuple[str, str]] = []
    for header, value in request_headers(step, step_by_id):
        name = header.lower()
        if name in _SECRET:
            found.append((name, f"Bearer {_KEY}" if value.lower().startswith("bearer ") else _KEY))
        elif name in _KEPT:
            found.append((name, value))
    return found


def _request(session: Session, step: Step) -> Json:
    source = session.source
    return join_request(
        [Part(part.kind, part.name, loads_json(source.body(part.ref))) for part in source.segments(step)]
    )

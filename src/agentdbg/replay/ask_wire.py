"""Sends one request and reads its answer, with the standard library's client: proxies as set, no redirects."""

from __future__ import annotations

import email.utils
import http.client
import threading
import time
import urllib.error
import urllib.request
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

MOST_BYTES: Final = 64 * 1024 * 1024
MOST_ATTEMPTS: Final = 4
LONGEST_WAIT_S: Final = 60.0
_BUSY: Final = (429, 503, 529)
_PIECE: Final = 64 * 1024
Say = Callable[[str], None]


class SendFailed(Exception):
    """No answer came; the message says why."""


class GivenUp(Exception):
    """The user did not want to wait any longer."""


@dataclass(frozen=True, slots=True)
class Reply:
    """Attributes:
    status: HTTP status.
    headers: Names in lower case.
    body: The bytes of the body.
    seconds: From sending to the last byte, of the last attempt.
    attempts: How often it was sent.
    """

    status: int
    headers: Mapping[str, str]
    body: bytes
    seconds: float
    attempts: int


def send(
    url: str, headers: Sequence[tuple[str, str]], data: bytes, *, timeout: float, stop: threading.Event, say: Say
) -> Reply:
    """Send a request; a busy server is asked again when it says so. Nothing else is sent twice: it may have been paid.

    Args:
        url: Where to.
        headers: All headers but length and host.
        data: The body.
        timeout: Seconds for one attempt.
        stop: Set when the user does not want to wait any longer.
        say: Told what is being waited for.

    Raises:
        SendFailed: No answer came.
        GivenUp: ``stop`` was set.
    """
    for attempt in range(1, MOST_ATTEMPTS + 1):
        if stop.is_set():
            raise GivenUp
        reply = _once(url, headers, data, timeout, stop, attempt)
        wait = _wait(reply, attempt)
        if wait is None or attempt == MOST_ATTEMPTS:
            return reply
        say(f"{reply.status}: waiting {wait:.0f} s")
        if stop.wait(wait):
            raise GivenUp
    raise AssertionError("the last attempt returns")


def _once(
    url: str, headers: Sequence[tuple[str, str]], data: bytes, timeout: float, stop: threading.Event, attempt: int
) -> Reply:
    if not url.startswith(("http://", "https://")):
        raise SendFailed(f"{url[:100]} is no web address")
    request = urllib.request.Request(url, data=data, headers=dict(headers), method="POST")
    began = time.monotonic()
    try:
        with _opener().open(request, timeout=timeout) as answer:
            body = _read(answer, began + timeout, stop)
            found = {str(name).lower(): str(value) for name, value in answer.headers.items()}
            return Reply(answer.status, found, body, time.monotonic() - began, attempt)
    except TimeoutError as problem:
        raise SendFailed(f"no whole answer within {timeout:g} s") from problem
    except urllib.error.URLError as problem:
        if isinstance(problem.reason, TimeoutError):
            raise SendFailed(f"no whole answer within {timeout:g} s") from problem
        raise SendFailed(f"cannot be reached: {problem.reason}") from problem
    except http.client.HTTPException as problem:
        raise SendFailed(f"the answer broke off: {type(problem).__name__} {problem}".rstrip()) from problem
    except (OSError, ValueError) as problem:
        raise SendFailed(f"cannot be sent: {problem}") from problem


def _opener() -> urllib.request.OpenerDirector:
    """Web addresses alone, and whatever status comes back is an answer: a redirect would take the key elsewhere."""
    opener = urllib.request.OpenerDirector()
    for handler in (urllib.request.ProxyHandler, urllib.request.HTTPHandler, urllib.request.HTTPSHandler):
        opener.add_handler(handler())
    return opener


def _read(answer: http.client.HTTPResponse, deadline: float, stop: threading.Event) -> bytes:
    pieces: list[bytes] = []
    size = 0
    while piece := answer.read1(_PIECE):
        size += len(piece)
        pieces.append(piece)
        if size > MOST_BYTES:
            raise SendFailed(f"the answer has more than {MOST_BYTES // 1_000_000} MB")
        if time.monotonic() > deadline:
            raise TimeoutError
        if stop.is_set():
            raise GivenUp
    if answer.length:
        raise http.client.IncompleteRead(b"".join(pieces), answer.length)
    return b"".join(pieces)


def _wait(reply: Reply, attempt: int) -> float | None:
    """Seconds to wait before the next attempt; ``None`` when this answer is the last word."""
    if reply.status not in _BUSY:
        return None
    asked = _retry_after(reply.headers)
    wait = float(2 ** (attempt - 1)) if asked is None else asked
    return wait if wait <= LONGEST_WAIT_S else None


def _retry_after(headers: Mapping[str, str]) -> float | None:
    text = headers.get("retry-after-ms", "")
    if text.replace(".", "", 1).isdigit():
        return float(text) / 1000
    text = headers.get("retry-after", "").strip()
    if text.replace(".", "", 1).isdigit():
        return float(text)
    try:
        return max(0.0, email.utils.parsedate_to_datetime(text).timestamp() - time.time()) if text else None
    except (ValueError, OverflowError, TypeError):
        return None

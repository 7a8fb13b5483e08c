"""Model calls through the recorded HTTP client with an answer that needs no socket: many calls in little time."""

from __future__ import annotations

import json
from typing import Any

import httpx2

URL = "http://model.test/v1/chat/completions"


class Model:
    """Answers chat requests at once with what it is told.

    Attributes:
        sent: Bytes of all requests and responses so far.
    """

    def __init__(self) -> None:
        self.sent = 0
        self._answer = b""
        self._client = httpx2.Client(transport=httpx2.MockTransport(self._respond))

    def ask(self, request: dict[str, Any], answer: dict[str, Any]) -> None:
        """Send ``request`` and read ``answer``."""
        body = _text(request)
        self._answer = _text(answer)
        self.sent += len(body) + len(self._answer)
        self._client.post(URL, content=body, headers={"content-type": "application/json"}).read()

    def _respond(self, request: httpx2.Request) -> httpx2.Response:
        length = str(len(self._answer))
        headers = {"content-type": "application/json", "content-length": length}
        return httpx2.Response(200, headers=headers, stream=httpx2.ByteStream(self._answer))


def _text(value: dict[str, Any]) -> bytes:
    return json.dumps(value, ensure_ascii=False, separators=(",", ":")).encode()

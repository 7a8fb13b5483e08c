"""Whoever watches sockets from below is told which of them a seam looks after."""

from __future__ import annotations

from pathlib import Path

import pytest

from agentdbg.recording.exchange_marker import inside_exchange, passing
from tests.support.http_lab import HttpLab
from tests.support.plain_server import PlainServer


def test_telemetry_outside_of_every_run_is_marked() -> None:
    assert not inside_exchange()
    with pytest.raises(KeyError), passing():
        assert inside_exchange()
        raise KeyError
    assert not inside_exchange()


PROGRAM = """
import os, socket, httpx, agentdbg
from agentdbg.recording.exchange_marker import inside_exchange
URL = "http://127.0.0.1:" + os.environ["PORT"]
seen = []
connect = socket.socket.connect

class Watching(httpx.HTTPTransport):
    def handle_request(self, request):
        seen.append(inside_exchange())
        return super().handle_request(request)

@agentdbg.agent
def agent():
    with httpx.Client(transport=Watching()) as client:
        client.get(URL + "/step")
        client.post(URL + "/v1/traces", content=b"x", headers={"content-type": "application/x-protobuf"})
    return [*seen, inside_exchange()]

if __name__ == "__main__":
    agent()
"""


def test_recorded_exchanges_and_telemetry_are_marked_within_a_run(tmp_path: Path) -> None:
    lab = HttpLab(tmp_path, PlainServer())
    try:
        lab.record(PROGRAM)
        assert lab.returned() == [True, True, False]
    finally:
        lab.provider.stop()

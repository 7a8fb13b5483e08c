"""``boto3`` is recorded below signing and retries, Bedrock's event streams as they are read, and replays exactly."""

from __future__ import annotations

import json
import struct
import zlib
from collections.abc import Iterator
from pathlib import Path

import pytest

from agentdbg.model.records import Kind, StepStatus
from tests.support import plain_server
from tests.support.http_clients import VERSIONS, python_at_hand, python_with
from tests.support.http_lab import HttpLab
from tests.support.plain_server import PlainServer

HEAD = """
import json, os, sys, boto3
from botocore.config import Config
from botocore.exceptions import BotoCoreError, ClientError
import agentdbg
URL = "http://127.0.0.1:" + os.environ["PORT"]
ASK = {"modelId": "m.one", "messages": [{"role": "user", "content": [{"text": "hello"}]}]}

def client(name, url=URL):
    retries = {"total_max_attempts": 2, "mode": "standard"}
    settings = Config(retries=retries, read_timeout=0.3, s3={"addressing_style": "path"})
    keys = {"aws_access_key_id": "a", "aws_secret_access_key": "b"}
    return boto3.client(name, endpoint_url=url, region_name="us-east-1", config=settings, **keys)

def bedrock():
    model = client("bedrock-runtime")
    found = [model.converse(**ASK)["output"], list(model.converse_stream(**ASK)["stream"])]
    stream = model.converse_stream(**ASK)["stream"]
    for event in stream:
        found.append(event)
        break
    stream.close()
    found.append(json.loads(model.invoke_model(modelId="m.two", body=json.dumps({"a": 1}))["body"].read()))
    return found
"""

FIRST = (
    HEAD
    + """
@agentdbg.agent
def agent():
    return bedrock()

if __name__ == "__main__":
    agent()
"""
)

STORAGE = (
    HEAD
    + """
def tried(call):
    try:
        return call()["ResponseMetadata"]["HTTPStatusCode"]
    except (BotoCoreError, ClientError) as error:
        return [type(error).__name__, str(error)]

@agentdbg.agent
def agent():
    found = bedrock()
    storage = client("s3")
    body = storage.get_object(Bucket="bucket", Key="big")["Body"]
    found.append([len(piece) for piece in body.iter_chunks(1000)])
    body = storage.get_object(Bucket="bucket", Key="big")["Body"]
    found.append(len(body.read(7)))
    body.close()
    found.append(storage.put_object(Bucket="bucket", Key="new", Body=b"content")["ResponseMetadata"]["HTTPStatusCode"])
    for key in ("missing", "hang", "busy"):
        found.append(tried(lambda: storage.get_object(Bucket="bucket", Key=key)))
    found.append(tried(lambda: client("s3", "http://127.0.0.1:1").list_buckets()))
    return found

if __name__ == "__main__":
    agent()
"""
)


def message(kind: str, payload: dict[str, object]) -> bytes:
    """One message of AWS's binary event stream."""
    body, heads = json.dumps(payload).encode(), b""
    for name, value in ((":message-type", "event"), (":event-type", kind), (":content-type", "application/json")):
        heads += bytes([len(name)]) + name.encode() + b"\x07" + struct.pack(">H", len(value)) + value.encode()
    prelude = struct.pack(">II", 16 + len(heads) + len(body), len(heads))
    data = prelude + struct.pack(">I", zlib.crc32(prelude)) + heads + body
    return data + struct.pack(">I", zlib.crc32(data))


USAGE = {"usage": {"inputTokens": 3, "outputTokens": 2, "totalTokens": 5}, "metrics": {"latencyMs": 1}}
ANSWER = {
    "output": {"message": {"role": "assistant", "content": [{"text": "hello"}]}},
    "stopReason": "end_turn",
    **USAGE,
}
STREAM = [
    message("messageStart", {"role": "assistant"}),
    *(
        message("contentBlockDelta", {"contentBlockIndex": 0, "delta": {"text": text}})
        for text in ("hel", "lo ", "日本")
    ),
    message("contentBlockStop", {"contentBlockIndex": 0}),
    message("messageStop", {"stopReason": "end_turn"}),
    message("metadata", dict(USAGE)),
]
MISSING = b"<Error><Code>NoSuchKey</Code><Message>nothing there</Message></Error>"
XML = ("content-type", "application/xml")


@pytest.fixture
def lab(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[HttpLab]:
    routes = {
        "/model/m.one/converse": lambda h: h.send(json.dumps(ANSWER).encode()),
        "/model/m.one/converse-stream": lambda h: h.pieces("application/vnd.amazon.eventstream", STREAM),
        "/model/m.two/invoke": lambda h: h.send(b'{"x": 1}'),
        "/bucket/big": lambda h: h.send(b"x" * 5500, ("content-type", "application/octet-stream")),
        "/bucket/new": lambda h: h.send(b"", XML),
        "/bucket/missing": lambda h: h.send(MISSING, XML, status=404),
        "/bucket/busy": lambda h: h.send(b"<Error><Code>SlowDown</Code></Error>", XML, status=503),
        "/bucket/hang": plain_server._hang,
    }
    for path, route in routes.items():
        monkeypatch.setitem(plain_server.ROUTES, path, route)
    lab = HttpLab(tmp_path, PlainServer())
    yield lab
    lab.provider.stop()


def identical_thrice(lab: HttpLab) -> None:
    for _ in range(3):
        outcome = lab.replay_without_server()
        assert (outcome.verdict, outcome.unconsumed) == ("identical", 0), outcome.reason


def test_bedrock_is_recorded_and_replays_exactly(lab: HttpLab) -> None:
    lab.python = python_at_hand()
    lab.record(FIRST)
    models = lab.steps(Kind.MODEL)
    assert [step.name for step in models[:3]] == ["m.one"] * 3
    assert [step.status for step in models[:3]] == [StepStatus.OK, StepStatus.OK, StepStatus.PARTIAL]
    assert "hello 日本" in json.dumps(lab.body(models[1].result), ensure_ascii=False)
    identical_thrice(lab)


@pytest.mark.wide
@pytest.mark.parametrize("version", VERSIONS)
def test_storage_retries_and_errors_replay(lab: HttpLab, version: tuple[tuple[str, ...], str]) -> None:
    lab.python = python_with(version)
    lab.record(STORAGE)
    steps = lab.steps(Kind.HTTP, Kind.MODEL)
    sent = [step for step in steps if ":1/" not in step.name]
    assert len(sent) == len(lab.provider.requests), "each attempt is a step"
    found = lab.returned()
    assert found[-4][0] == "NoSuchKey" and found[-3][0] == "ReadTimeoutError" and found[-2][0] == "ClientError"
    assert found[-1][0] == "EndpointConnectionError"
    by_key: dict[str, list[StepStatus | None]] = {}
    for step in steps:
        by_key.setdefault(step.name.rpartition("/")[2], []).append(step.status)
    assert by_key["hang"] == [StepStatus.TIMED_OUT] * 2 and by_key["busy"] == [StepStatus.ERROR] * 2
    assert by_key["big"] == [StepStatus.OK, StepStatus.PARTIAL]
    identical_thrice(lab)

"""Known telemetry passes unrecorded and costs a replay no socket; nothing else is taken for it."""

from __future__ import annotations

import gzip
import json
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from agentdbg.model.records import Kind
from agentdbg.recording import telemetry
from agentdbg.recording.telemetry import recognise
from tests.support.http_lab import HttpLab
from tests.support.plain_server import PlainServer

JSON = [("content-type", "application/json")]
FORM = [("content-type", "multipart/form-data")]
PROTOBUF = [("Content-Type", "application/x-protobuf")]
SPAN = json.dumps({"resourceSpans": []}).encode()
TRACE = json.dumps({"data": [{"object": "trace", "id": "trace_1"}, {"object": "trace.span"}]}).encode()
RUN = "0f8fad5b-d9cb-469f-a165-70867728950e"

TELEMETRY = [
    ("OpenTelemetry", "POST", "localhost:4318", "/v1/traces", PROTOBUF, b"\x0a\x00"),
    ("OpenTelemetry", "POST", "cloud.langfuse.com", "/api/public/otel/v1/traces", PROTOBUF, b""),
    ("OpenTelemetry", "POST", "logfire-us.pydantic.dev", "/v1/metrics", PROTOBUF, None),
    ("OpenTelemetry", "POST", "localhost:4318", "/v1/logs", JSON, json.dumps({"resourceLogs": []}).encode()),
    ("OpenTelemetry", "POST", "x", "/v1/traces", [*JSON, ("content-encoding", "gzip")], gzip.compress(SPAN, mtime=0)),
    ("OpenAI traces", "POST", "api.openai.com", "/v1/traces/ingest", [*JSON, ("OpenAI-Beta", "traces=v1")], b"{}"),
    ("OpenAI traces", "POST", "127.0.0.1:80", "/v1/traces/ingest", JSON, TRACE),
    ("LangSmith", "POST", "api.smith.langchain.com", "/runs/multipart", FORM, None),
    ("LangSmith", "POST", "eu.api.smith.langchain.com", "/runs", JSON, b"{}"),
    ("LangSmith", "PATCH", "api.smith.langchain.com", f"/runs/{RUN}", JSON, b"{}"),
    ("LangSmith", "POST", "own.example", "/api/v1/runs/batch", JSON, b'{"post": [], "patch": []}'),
    ("LangSmith", "GET", "api.smith.langchain.com", "/info", [], b""),
    ("Sentry", "POST", "o1.ingest.sentry.io", "/api/45/envelope/", [("X-Sentry-Auth", "Sentry sentry_key=a")], b"{}"),
    ("Sentry", "POST", "own.example", "/api/45/store/", [("X-Sentry-Auth", "Sentry sentry_key=a")], b"{}"),
    ("PostHog", "POST", "us.i.posthog.com", "/batch/", JSON, b"{}"),
    ("PostHog", "POST", "own.example", "/batch/", JSON, b'{"api_key": "phc_1", "batch": []}'),
    ("Datadog", "PUT", "localhost:8126", "/v0.5/traces", [("Datadog-Meta-Lang", "python")], b"\x90"),
    ("Datadog", "POST", "http-intake.logs.datadoghq.eu", "/api/v2/logs", JSON, b"[]"),
    ("Langfuse", "POST", "own.example", "/api/public/ingestion", JSON, b'{"batch": [], "metadata": {}}'),
    ("Logfire", "GET", "logfire-api.pydantic.dev", "/v1/info", [], b""),
    ("Segment", "POST", "api.segment.io", "/v1/batch", JSON, b"{}"),
    ("Zipkin", "POST", "localhost:9411", "/api/v2/spans", JSON, b'[{"traceId": "a", "id": "b"}]'),
]  # fmt: skip

BUSINESS = [
    ("POST", "api.openai.com", "/v1/chat/completions", JSON, b'{"messages": []}'),
    ("POST", "api.openai.com", "/v1/batches", JSON, b"{}"),
    ("POST", "shop.example", "/v1/traces", JSON, b'{"parcel": 7}'),
    ("GET", "shop.example", "/v1/traces", PROTOBUF, b""),
    ("POST", "shop.example", "/v1/traces/ingest", JSON, b'{"data": [{"object": "parcel"}]}'),
    ("POST", "shop.example", "/v1/traces/ingest", JSON, b'{"data": []}'),
    ("POST", "shop.example", "/runs", JSON, b'{"distance": 5}'),
    ("POST", "shop.example", "/runs/batch", JSON, b'{"runs": []}'),
    ("POST", "shop.example", "/runs/batch", JSON, b'{"post": [], "amount": 5}'),
    ("POST", "shop.example", "/runs/multipart", FORM, b'name="file"'),
    ("POST", "notsmith.langchain.com.evil.example", "/runs", JSON, b"{}"),
    ("POST", "shop.example", "/batch/", JSON, b'{"batch": [{"refund": 100}]}'),
    ("POST", "shop.example", "/api/45/store/", JSON, b"{}"),
    ("POST", "shop.example", "/api/public/ingestion", JSON, b'{"batch": [], "refund": 1}'),
    ("POST", "shop.example", "/api/v2/spans", JSON, b'[{"id": "b"}]'),
    ("POST", "us.i.posthog.com", "/flags/", JSON, b'{"api_key": "phc_1"}'),
    ("GET", "api.smith.langchain.com", "/commits/owner/prompt", [], b""),
    ("POST", "shop.example", "/api/v2/logs", JSON, b"[]"),
    ("GET", "shop.example", "/v1/info", [], b""),
]


@pytest.mark.parametrize(("name", "method", "host", "path", "headers", "content"), TELEMETRY)
def test_telemetry_is_known(name: str, method: str, host: str, path: str, headers: list, content: bytes) -> None:
    reply = recognise(method, host, path, "", headers, content)
    assert reply is not None and reply.name == name
    assert reply.status < 300 and (reply.status != 204 or not reply.body)


@pytest.mark.parametrize(("method", "host", "path", "headers", "content"), BUSINESS)
def test_a_request_of_the_agents_own_is_none(method: str, host: str, path: str, headers: list, content: bytes) -> None:
    assert recognise(method, host, path, "", headers, content) is None


@given(
    st.sampled_from(sorted({row[3] for row in TELEMETRY})),
    st.sampled_from(["POST", "PUT", "GET"]),
    st.dictionaries(st.sampled_from(["amount", "messages", "items", "model"]), st.integers(), min_size=1),
)
def test_a_body_of_another_shape_is_never_taken_for_telemetry(path: str, method: str, body: dict[str, int]) -> None:
    assert recognise(method, "127.0.0.1:8000", path, "", JSON, json.dumps(body).encode()) is None


@settings(max_examples=30)
@given(st.text(), st.text(), st.text(), st.text(), st.binary() | st.none())
def test_nothing_makes_it_raise(method: str, host: str, path: str, value: str, content: bytes | None) -> None:
    recognise(method, host, path, value, [("content-encoding", value)], content)
    for row in TELEMETRY:
        recognise(row[1], host, row[3], value, [("content-type", value), ("content-encoding", "gzip")], content)


PROGRAM = """
import asyncio, json, os, threading, httpx, httpx2, agentdbg
URL = "http://127.0.0.1:" + os.environ["PORT"]
ASK = {"model": "m", "messages": [{"role": "user", "content": "hello"}]}
TRACE = {"data": [{"object": "trace", "id": "trace_" + os.urandom(4).hex()}]}

def export():
    for module in (httpx, httpx2):
        answer = module.post(URL + "/v1/traces/ingest", json=TRACE)
        assert answer.status_code in (200, 204), answer.status_code

async def export_async():
    async with httpx2.AsyncClient() as client:
        headers = {"content-type": "application/x-protobuf"}
        answer = await client.post(URL + "/v1/traces", content=os.urandom(9), headers=headers)
        answer.raise_for_status()

background = threading.Thread(target=export)
background.start()  # belongs to no run

@agentdbg.agent
def agent():
    export()
    found = [httpx2.post(URL + "/v1/chat/completions", json=ASK).json()["choices"][0]["message"]["content"]]
    exporter = threading.Thread(target=export)
    exporter.start()
    asyncio.run(export_async())
    found.append(httpx.post(URL + "/v1/traces", json={"parcel": 7}).json())
    exporter.join()
    return found

if __name__ == "__main__":
    agent()
    background.join()
"""


@pytest.fixture
def lab(tmp_path: Path) -> Iterator[HttpLab]:
    lab = HttpLab(tmp_path, PlainServer())
    yield lab
    lab.provider.stop()


def test_telemetry_reaches_its_receiver_but_neither_the_record_nor_a_replay(lab: HttpLab) -> None:
    lab.record(PROGRAM)
    paths = [seen.path for seen in lab.provider.requests]
    assert paths.count("/v1/traces/ingest") == 6 and paths.count("/v1/traces") == 2
    steps = lab.steps(Kind.HTTP, Kind.MODEL)
    assert [step.kind for step in steps] == [Kind.MODEL, Kind.HTTP]
    assert lab.body(steps[1].arguments)["body"] == {"parcel": 7}
    ids = [json.loads(seen.body)["data"][0]["id"] for seen in lab.provider.requests if seen.path.endswith("ingest")]
    assert not any(found.encode() in lab.everything() for found in ids)
    for _ in range(3):
        outcome = lab.replay_without_server()
        assert (outcome.verdict, outcome.unconsumed) == ("identical", 0), outcome.reason


@pytest.mark.parametrize("row", telemetry._TABLE, ids=lambda row: row.path)
def test_the_quick_look_at_a_path_lets_every_row_of_the_table_through(row: telemetry._Endpoint) -> None:
    @settings(max_examples=8, database=None)
    @given(st.from_regex(row.path))
    def let_through(path: str) -> None:
        assert any(hint in path for hint in telemetry._HINTS), path

    let_through()

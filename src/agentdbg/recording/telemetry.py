"""Known telemetry on the wire: traces, metrics, logs and usage reports that libraries send beside the agent's work.

It is let through while recording, as if nobody looked, and is neither a step nor part of a fingerprint: its batches
depend on timing. In a replay it is answered as its receiver would, without a socket. Each row of the table asks for
more than a path, so that a request of the agent's own is not taken for one: a host, a header, or the shape of the
body. What changes the program (feature flags, prompts, settings) is not telemetry.
"""

from __future__ import annotations

import functools
import re
import zlib
from collections.abc import Callable, Sequence

from agentdbg.model.canonical import loads_json

Headers = Sequence[tuple[str, str]]
_LONGEST_LOOK = 64 * 1024 * 1024


class Reply:
    """What a replay answers: ``name`` is the kind of telemetry, for people."""

    __slots__ = ("body", "content_type", "name", "status")

    def __init__(self, name: str, status: int, content_type: str, body: bytes) -> None:
        self.name = name
        self.status = status
        self.content_type = content_type
        self.body = body

    @property
    def headers(self) -> list[tuple[str, str]]:
        """Headers of the answer."""
        kind = [("content-type", self.content_type)] if self.content_type else []
        return [*kind, ("content-length", str(len(self.body)))] if self.status != 204 else kind


class _Sent:
    """A request that may be telemetry; ``content`` is ``None`` when it is streamed."""

    __slots__ = ("content", "headers", "host", "query")

    def __init__(self, host: str, query: str, headers: dict[str, str], content: bytes | None) -> None:
        self.host = host
        self.query = query
        self.headers = headers
        self.content = content

    @property
    def kind(self) -> str:
        return self.headers.get("content-type", "").partition(";")[0].strip().lower()

    def json(self) -> object:
        """The body as JSON, unpacked; ``None`` when it is something else."""
        body = self.content or b""
        encoding = self.headers.get("content-encoding", "").lower()
        try:
            if encoding in ("gzip", "deflate"):
                body = zlib.decompressobj(zlib.MAX_WBITS | 32).decompress(body, _LONGEST_LOOK)
            return loads_json(body)
        except (ValueError, zlib.error):
            return None


Test = Callable[[_Sent], bool]
Answer = tuple[int, str, bytes]


class _Endpoint:
    """One row of the table: what a request must be like, and the answer."""

    __slots__ = ("methods", "name", "path", "reply", "test")

    def __init__(self, name: str, path: str, test: Test, reply: Answer, methods: tuple[str, ...]) -> None:
        self.name = name
        self.path = path
        self.test = test
        self.reply = reply
        self.methods = methods


def recognise(method: str, host: str, path: str, query: str, headers: Headers, content: bytes | None) -> Reply | None:
    """Read a request as telemetry; ``None`` if it is not known to be. Never raises.

    Args:
        host: Host, with a port or without.
        content: The body as it is sent, ``None`` when it is streamed.
    """
    if not any(hint in path for hint in _HINTS):
        return None
    rows = _rows_for(path)
    if not rows:
        return None
    sent = _Sent(_bare(host), query, {name.lower(): value for name, value in headers}, content)
    return next((_answer(row, sent) for row in rows if method.upper() in row.methods and row.test(sent)), None)


@functools.lru_cache(maxsize=256)
def _rows_for(path: str) -> tuple[_Endpoint, ...]:
    return tuple(row for row in _TABLE if re.search(row.path, path) is not None)


def _answer(row: _Endpoint, sent: _Sent) -> Reply:
    status, kind, body = row.reply
    if kind == _AS_SENT:
        kind, body = (sent.kind, b"{}") if sent.kind == "application/json" else (_PROTOBUF, b"")
    return Reply(row.name, status, kind, body)


def _bare(host: str) -> str:
    found = host.rpartition("@")[2].lower()
    return found.rpartition(":")[0] if re.search(r":\d+\Z", found) else found


def _at(*domains: str) -> Test:
    """A host in one of these domains."""
    return lambda sent: any(sent.host == domain or sent.host.endswith("." + domain) for domain in domains)


def _header(name: str, value: str = "") -> Test:
    """A header that holds this."""
    return lambda sent: name in sent.headers and value in sent.headers[name]


def _either(*tests: Test) -> Test:
    return lambda sent: any(test(sent) for test in tests)


def _members(required: Sequence[str], allowed: Sequence[str] = ()) -> Test:
    """A JSON object with one of the required members and no others than the allowed ones."""

    def test(sent: _Sent) -> bool:
        found = sent.json()
        return isinstance(found, dict) and bool(found.keys() & set(required)) and found.keys() <= {*required, *allowed}

    return test


def _otlp(sent: _Sent) -> bool:
    if sent.kind == _PROTOBUF:
        return True
    return sent.kind == "application/json" and _members(("resourceSpans", "resourceMetrics", "resourceLogs"))(sent)


def _traces_ingest(sent: _Sent) -> bool:
    if _header("openai-beta", "traces=")(sent):
        return True
    found = sent.json()
    items = found.get("data") if isinstance(found, dict) else None
    return isinstance(items, list) and bool(items) and all(_is_span(item) for item in items)


def _is_span(item: object) -> bool:
    return isinstance(item, dict) and item.get("object") in ("trace", "trace.span")


def _logfire(sent: _Sent) -> bool:
    return sent.host.startswith("logfire") and _at("pydantic.dev")(sent)


def _runs_multipart(sent: _Sent) -> bool:
    if sent.kind != "multipart/form-data" or "x-api-key" not in sent.headers:
        return False
    return sent.content is None or re.search(rb'name="?(post|patch|feedback|attachment)\.', sent.content) is not None


def _key(prefix: str) -> Test:
    """A JSON object with a project's key of this kind."""

    def test(sent: _Sent) -> bool:
        found = sent.json()
        key = (found.get("api_key") or found.get("token")) if isinstance(found, dict) else None
        return isinstance(key, str) and key.startswith(prefix)

    return test


_PROTOBUF = "application/x-protobuf"
_AS_SENT = "as sent"
_EMPTY = (200, "application/json", b"{}")
_NOTHING = (204, "", b"")
_LANGSMITH = _at("smith.langchain.com")
_DONE = (202, "application/json", b"{}")
_POSTHOG = _either(_at("posthog.com"), _key("phc_"))
_DATADOG = _at("datadoghq.com", "datadoghq.eu", "ddog-gov.com")
_UUID = r"[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}"


def _row(name: str, path: str, test: Test, reply: Answer | None = None, *methods: str) -> _Endpoint:
    return _Endpoint(name, path, test, reply or _EMPTY, methods or ("POST",))


_TABLE = (
    _row("OpenTelemetry", r"/v1/(traces|metrics|logs)/?\Z", _otlp, (200, _AS_SENT, b"")),
    _row("OpenAI traces", r"/v1/traces/ingest\Z", _traces_ingest, _NOTHING),
    _row("LangSmith", r"/runs/batch\Z", _either(_LANGSMITH, _members(("post", "patch"))), _DONE),
    _row("LangSmith", r"/runs/multipart\Z", _either(_LANGSMITH, _runs_multipart), _DONE),
    _row("LangSmith", rf"/runs(/{_UUID})?\Z", _LANGSMITH, _DONE, "POST", "PATCH"),
    _row("LangSmith", r"/info\Z", _LANGSMITH, None, "GET"),
    _row(
        "Sentry",
        r"/api/\d+/(envelope|store)/?\Z",
        _either(_header("x-sentry-auth", "sentry_"), lambda sent: "sentry_key=" in sent.query),
    ),
    _row("PostHog", r"\A/(batch/?|capture/?|e/|i/v0/e/)\Z", _POSTHOG, (200, "application/json", b'{"status":1}')),
    _row("Datadog", r"\A/v0\.[3-7]/(traces|stats)\Z", _header("datadog-meta-lang"), None, "POST", "PUT"),
    _row(
        "Datadog",
        r"/api/v2/(apmtelemetry|llmobs|logs|spans|series)\Z",
        _either(_DATADOG, _header("dd-telemetry-api-version")),
    ),
    _row(
        "Datadog",
        r"\A/(api/v1/series|api/intake/llm-obs/.*|evp_proxy/v\d/api/.*)\Z",
        _either(_DATADOG, _header("x-datadog-evp-subdomain")),
    ),
    _row(
        "Langfuse",
        r"/api/public/ingestion\Z",
        _either(_header("x-langfuse-sdk-name"), _header("x_langfuse_sdk_name"), _members(("batch",), ("metadata",))),
        (207, "application/json", b'{"successes":[],"errors":[]}'),
    ),
    _row("Logfire", r"\A/v1/info\Z", _logfire, None, "GET"),
    _row("Opik", r"/v1/private/(traces|spans)/batch\Z", _members(("traces", "spans")), _NOTHING),
    _row("Braintrust", r"\A/logs3\Z", _at("braintrust.dev", "braintrustdata.com")),
    _row("Weave", r"/call/(start|end|upsert_batch)\Z", _at("trace.wandb.ai")),
    _row("AgentOps", r"/v\d/(create|update)_(session|events|agent)\Z", _at("api.agentops.ai")),
    _row("Honeycomb", r"\A/1/(batch|events)/", _header("x-honeycomb-team")),
    _row("Elastic APM", r"\A/intake/v2/events\Z", lambda sent: sent.kind == "application/x-ndjson", (202, "", b"")),
    _row(
        "New Relic",
        r"\A/(agent_listener/invoke_raw_method|trace/v1|metric/v1|log/v1)\Z",
        _at("newrelic.com", "nr-data.net"),
    ),
    _row("Application Insights", r"\A/v2(\.\d)?/track\Z", _at("applicationinsights.azure.com", "visualstudio.com")),
    _row("Segment", r"\A/v1/(batch|import|track)\Z", _at("segment.io", "segment.com")),
    _row("Mixpanel", r"\A/(track|import|engage)/?\Z", _at("mixpanel.com")),
    _row("Amplitude", r"\A/(2/httpapi|batch)\Z", _at("amplitude.com")),
    _row("Zipkin", r"/api/v2/spans\Z", lambda sent: _is_zipkin(sent.json()), (202, "", b"")),
    _row("Hugging Face", r"\A/api/telemetry/", _at("huggingface.co"), _NOTHING, "HEAD", "GET", "POST"),
)  # fmt: skip
_HINTS = (
    "/traces", "/metrics", "/logs", "/runs", "/info", "/envelope", "/store", "/batch", "/capture", "/e/", "/stats",
    "/apmtelemetry", "/llm", "/spans", "/series", "/evp_proxy/", "/ingestion", "/call/", "/create_", "/update_",
    "/intake/", "/agent_listener/", "/trace/", "/metric/", "/log/", "/track", "/import", "/engage", "/httpapi",
    "/telemetry/", "/events",
)  # fmt: skip
"""Each row's paths have one of these in them: most requests are told by that, before any pattern is made."""


def _is_zipkin(found: object) -> bool:
    return (
        isinstance(found, list)
        and bool(found)
        and all(isinstance(span, dict) and "traceId" in span and "id" in span for span in found)
    )

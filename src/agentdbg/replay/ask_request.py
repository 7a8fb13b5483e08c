"""A recorded model call made ready to be sent again: its request put together, edited, and looked at."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from urllib.parse import urlsplit

from agentdbg.model.canonical import dumps_json, loads_json
from agentdbg.model.headers import request_headers
from agentdbg.model.json_path import BadPath, Path, replaced, words
from agentdbg.model.records import Json, Kind, Origin, Step
from agentdbg.model.segments import Part, join_request
from agentdbg.recording.provider_parts import mapping, mappings, text
from agentdbg.recording.providers import (
    CHAT,
    CONVERSE,
    GEMINI,
    MESSAGES,
    OLLAMA_CHAT,
    OLLAMA_GENERATE,
    RESPONSES,
    ModelRequest,
    recognise,
)
from agentdbg.redaction.placeholder import pattern
from agentdbg.replay.ask_route import Route, RouteUnknown, route_for, with_model, without_streaming
from agentdbg.store.protocols import BodyMissing, RunSource

_KEPT = ("anthropic-version", "anthropic-beta", "openai-organization", "openai-project", "openai-beta")
_VERSION = ("anthropic-version", "2023-06-01")
_CHARACTERS_PER_TOKEN = 4
_NAMED = 8
"""How many model calls a message names."""


class CannotAsk(Exception):
    """The record does not hold a model call that can be sent again; the message says why."""


class AskRefused(Exception):
    """The call would change something outside; the message says what, and what to do."""


@dataclass(frozen=True, slots=True)
class Question:
    """A model call that can be sent.

    Attributes:
        step: The recorded call.
        provider: Shape of the call.
        route: Where it goes and with which key.
        headers: Further headers.
        body: The request.
        model: The model asked for.
        edits: What was changed, in words.
        placeholders: How many redacted values it has, which are sent as their placeholders.
        notes: What differs from the recorded call, in words.
        input_tokens: About how many tokens go in.
        output_tokens: About how many come out.
    """

    step: Step
    provider: str
    route: Route
    headers: tuple[tuple[str, str], ...]
    body: dict[str, Json]
    model: str
    edits: tuple[str, ...]
    placeholders: int
    notes: tuple[str, ...]
    input_tokens: int
    output_tokens: int

    def data(self) -> bytes:
        """The request's bytes."""
        return _bytes(self.body)


def recorded_request(source: RunSource, step: Step) -> dict[str, Json]:
    """The request of a recorded model call.

    Raises:
        CannotAsk: It is no model call, or its request is not in the record.
    """
    if step.kind is not Kind.MODEL:
        raise CannotAsk(f"step {step.n} is no model call, but {step.kind} {step.name}; {_model_calls(source)}")
    segments = source.segments(step)
    if not segments:
        raise CannotAsk(f"the request of step {step.n} is not in the record")
    try:
        parts = [Part(part.kind, part.name, loads_json(source.body(part.ref))) for part in segments]
    except (BodyMissing, ValueError) as problem:
        raise CannotAsk(f"the request of step {step.n} cannot be read: {problem}") from problem
    body = join_request(parts)
    if not isinstance(body, dict):
        raise CannotAsk(f"the request of step {step.n} is no JSON object")
    return body


def _model_calls(source: RunSource) -> str:
    """The steps that can be asked again, in words."""
    found = [str(step.n) for step in source.steps() if step.kind is Kind.MODEL]
    if not found:
        return "the run has none"
    return f"model calls are {', '.join(found[:_NAMED])}{', …' if len(found) > _NAMED else ''}"


def prepare(
    source: RunSource,
    step: Step,
    *,
    edits: Sequence[tuple[Path, Json]] = (),
    model: str | None = None,
    base_url: str | None = None,
    body: dict[str, Json] | None = None,
    environ: Mapping[str, str] = os.environ,
    trusted: bool,
) -> Question:
    """Make a recorded model call ready to be sent again.

    Raises also what ``route_for`` does.

    Args:
        source: The run.
        step: The call.
        edits: Places in the request, each with its new value.
        model: Another model.
        base_url: Where to send it instead.
        body: A whole request in the place of the recorded one.
        environ: Where keys are looked up.
        trusted: Whether this user recorded the run.

    Raises:
        CannotAsk: The record does not support it.
        AskRefused: It would change something outside.
        BadPath: An edit leads nowhere.
    """
    recorded = recorded_request(source, step)
    url = str(step.attrs.get("url") or "")
    asked = _recognised(url, recorded)
    url = with_model(url, model) if model else url
    sent, said = _edited(recorded, body, edits, model, asked)
    _refuse_effects(sent)
    sent, unstreamed = _in_one_piece(sent, asked)
    found = recognise("POST", urlsplit(url).path or asked.path, "application/json", _bytes(sent)) or asked
    headers = {name.lower(): value for name, value in request_headers(step, source.step_by_id)}
    name, plain = model or found.model, without_streaming(url)
    route = route_for(plain, asked.provider, headers, environ, base_url=base_url, model=name, trusted=trusted)
    kept = _headers(asked.provider, headers)
    placeholders = len(set(pattern().findall(dumps_json(sent))))
    notes = dict.fromkeys([*_origin_notes(source, step), *unstreamed, *found.absent, *_dropped(headers)])
    into, out = _tokens(step, _in_one_piece(recorded, asked)[0], sent)
    return Question(step, asked.provider, route, kept, sent, name, said, placeholders, tuple(notes), into, out)


def _recognised(url: str, body: dict[str, Json]) -> ModelRequest:
    raw = _bytes(body)
    paths = [urlsplit(url).path] if url else ["/responses", "/chat/completions", "/v1/messages", ":generateContent"]
    found = next(filter(None, (recognise("POST", path, "application/json", raw) for path in paths)), None)
    if found is None:
        raise CannotAsk("the recorded request has the shape of no known provider")
    if found.provider == CONVERSE or "/invoke" in found.path.rpartition("/model/")[2]:
        raise RouteUnknown("Bedrock wants signed requests, which is not supported")
    return found


def _bytes(body: dict[str, Json]) -> bytes:
    return dumps_json(body).encode("utf-8", "surrogatepass")


def _edited(
    recorded: dict[str, Json],
    body: dict[str, Json] | None,
    edits: Sequence[tuple[Path, Json]],
    model: str | None,
    asked: ModelRequest,
) -> tuple[dict[str, Json], tuple[str, ...]]:
    said = ["the whole request"] if body is not None and body != recorded else []
    sent: Json = recorded if body is None else body
    for path, value in edits:
        sent = replaced(sent, path, value)
        said.append(f"{words(path)} = {dumps_json(value)}")
    if not isinstance(sent, dict):
        raise BadPath("the request must stay a JSON object")
    if model and model != asked.model:
        said.append(f"model {model} instead of {asked.model or 'the recorded one'}")
        if "model" in sent or asked.provider != GEMINI:
            sent = {**sent, "model": model}
    return sent, tuple(said)


def _refuse_effects(body: dict[str, Json]) -> None:
    """Nothing that the provider would change, or let others change, on our behalf."""
    servers = [*mappings(body.get("mcp_servers")), *(t for t in mappings(body.get("tools")) if t.get("type") == "mcp")]
    if servers:
        named = text(servers[0].get("name")) or text(servers[0].get("server_label")) or "an MCP server"
        member = "mcp_servers" if body.get("mcp_servers") else "tools"
        raise AskRefused(
            f"the request lets the provider call the tools of {named}, which may write: "
            f"send it without, with --edit '{member}=[]'"
        )
    if body.get("conversation"):
        raise AskRefused(
            "the request adds to a conversation that the provider keeps: send it without, with --edit conversation=null"
        )


def _in_one_piece(body: dict[str, Json], asked: ModelRequest) -> tuple[dict[str, Json], list[str]]:
    sent = dict(body)
    if asked.provider in (OLLAMA_CHAT, OLLAMA_GENERATE) or sent.get("stream"):
        sent["stream"] = False
        sent.pop("stream_options", None)
    sent.pop("background", None)
    return sent, ["asked for a stream; sent to be answered in one piece"] if asked.stream else []


def _origin_notes(source: RunSource, step: Step) -> list[str]:
    if source.origin(step, "input") is Origin.RECORDED:
        return []
    return ["the request is rebuilt, not recorded: what was really sent may have been something else"]


def _headers(provider: str, recorded: Mapping[str, str]) -> tuple[tuple[str, str], ...]:
    known = {name: recorded[name] for name in _KEPT if name in recorded and not pattern().search(recorded[name])}
    if provider == MESSAGES:
        known.setdefault(*_VERSION)
    return tuple(known.items())


def _dropped(recorded: Mapping[str, str]) -> list[str]:
    lost = [name for name in _KEPT if name in recorded and pattern().search(recorded[name])]
    return [f"left out, as its value is redacted: header {name}" for name in lost]


def _tokens(step: Step, recorded: dict[str, Json], sent: dict[str, Json]) -> tuple[int, int]:
    """About how many tokens go in and come out: as recorded where it is the same call, else by size."""
    usage = step.usage
    size, before = len(_bytes(sent)), len(_bytes(recorded))
    known = usage.input if usage is not None else None
    into = round(known * size / max(before, 1)) if known else size // _CHARACTERS_PER_TOKEN
    limit = _limit(sent)
    out = usage.output if usage is not None and usage.output else limit or 500
    return into, min(out, limit) if limit else out


def _limit(body: dict[str, Json]) -> int:
    holders = (body, mapping(body.get("generationConfig")), mapping(body.get("options")))
    names = ("max_tokens", "max_completion_tokens", "max_output_tokens", "maxOutputTokens", "num_predict")
    found = [holder.get(name) for holder in holders for name in names]
    return next((value for value in found if isinstance(value, int) and value > 0), 0)


def wants_json(provider: str, body: Mapping[str, Json]) -> bool:
    """Whether a structured answer was asked for."""
    if provider == RESPONSES:
        return text(mapping(mapping(body.get("text")).get("format")).get("type")) in ("json_schema", "json_object")
    if provider == GEMINI:
        config = mapping(body.get("generationConfig"))
        return config.get("responseMimeType") == "application/json" or bool(config.get("responseSchema"))
    if provider in (OLLAMA_CHAT, OLLAMA_GENERATE):
        return bool(body.get("format"))
    if provider == MESSAGES:
        return bool(body.get("output_format")) or bool(mapping(body.get("output_config")).get("format"))
    return provider == CHAT and text(mapping(body.get("response_format")).get("type")) in ("json_schema", "json_object")

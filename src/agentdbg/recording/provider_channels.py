"""Where the text is inside one event of a model stream, so that it can be replaced in place as it passes."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from agentdbg.model.records import Json
from agentdbg.recording.provider_delta_texts import CHANNELS, Channel, count_of, spelled_out
from agentdbg.recording.provider_parts import CHAT, COMPLETIONS, MESSAGES, RESPONSES, mapping, mappings, text

__all__ = ["Channel", "blank_tokens", "text_channels", "token_copies"]

_NO_TEXT = frozenset(
    ("id", "type", "role", "name", "index", "format", "data", "signature", "encrypted_content", "finish_reason")
)
_DEPTH = 8
_PART_MEMBERS = {"output_text": "text", "text": "text", "refusal": "refusal", "reasoning_text": "reasoning_text"}
_ITEM_MEMBERS = ("arguments", "input", "code")
_RESPONSE_NAMES = {
    "function_call_arguments": "arguments",
    "mcp_call_arguments": "arguments",
    "mcp_call.arguments": "arguments",
    "custom_tool_call_input": "input",
    "code_interpreter_call_code": "code",
    "code_interpreter_call.code": "code",
    "audio.transcript": "transcript",
}


def text_channels(provider: str, event_name: str | None, data: Json) -> list[Channel]:
    """Find the pieces of running text in one parsed event, in the order of the text.

    The pieces of one channel, over all events, make one text: a secret may be cut anywhere between them. One event may
    hold several pieces, also of the same channel. Everything else in the event (ids, finished texts, opaque data) is
    whole in itself.
    """
    if not isinstance(data, dict):
        return []
    find = _CHANNELS.get(provider)
    return [] if find is None else list(find(text(data.get("type")) or event_name or "", data))


def token_copies(provider: str, data: Json) -> list[tuple[dict[str, Json], str]]:
    """Find what repeats the text token by token beside the channels: bytes and alternatives in log probabilities.

    No rule can recognise a secret there, so whoever changes the text has to empty them.
    """
    if not isinstance(data, dict):
        return []
    holders: list[dict[str, Json]] = []
    if provider in CHANNELS:
        return list(spelled_out(data))
    if provider in (CHAT, COMPLETIONS):
        for choice in mappings(data.get("choices")):
            logprobs = mapping(choice.get("logprobs"))
            holders += [token for member in logprobs.values() for token in mappings(member)]
    elif provider == RESPONSES:
        holders += mappings(data.get("logprobs"))
    return [(token, member) for token in holders for member in ("bytes", "top_logprobs") if token.get(member)]


def blank_tokens(provider: str, output: Json) -> bool:
    """Empty the log probabilities of a redacted response: they spell the text token by token.

    Returns whether there were any.
    """
    if not isinstance(output, dict):
        return False
    if provider in CHANNELS:
        copies = list(spelled_out(output))
        for holder, member in copies:
            holder[member] = []
        return bool(copies)
    holders: list[dict[str, Json]] = []
    for member in ("choices", "output"):
        for item in mappings(output.get(member)):
            holders += [item, *mappings(item.get("content"))]
    found = [holder for holder in holders if holder.get("logprobs")]
    for holder in found:
        holder["logprobs"] = None if provider in (CHAT, COMPLETIONS) else []
    return bool(found)


def _chat(_: str, data: dict[str, Json]) -> Iterator[Channel]:
    for position, choice in enumerate(mappings(data.get("choices"))):
        name = f"choices.{count_of(choice, 'index', position)}"
        if isinstance(choice.get("text"), str):
            yield f"{name}.text", choice, "text"
        yield from _strings(name, mapping(choice.get("delta")), 0)
        for member, tokens in mapping(choice.get("logprobs")).items():
            yield from _tokens(f"{name}.logprobs.{member}", tokens)


def _strings(name: str, holder: dict[str, Json], depth: int) -> Iterator[Channel]:
    """Every text in a delta that is not a label, by its path; the level ``function`` of a tool call is left out."""
    for member, value in holder.items():
        inner = name if member in ("function", "custom") else f"{name}.{member}"
        if isinstance(value, str):
            if member not in _NO_TEXT:
                yield inner, holder, member
        elif depth >= _DEPTH:
            continue
        elif isinstance(value, dict):
            yield from _strings(inner, value, depth + 1)
        else:
            for position, item in enumerate(mappings(value)):
                indexed = "index" in item or member == "tool_calls"
                item_name = f"{inner}.{count_of(item, 'index', position)}" if indexed else inner
                yield from _strings(item_name, item, depth + 1)


def _tokens(name: str, tokens: Json) -> Iterator[Channel]:
    for token in mappings(tokens):
        if isinstance(token.get("token"), str):
            yield name, token, "token"


def _responses(kind: str, data: dict[str, Json]) -> Iterator[Channel]:
    name = kind.removeprefix("response.")
    item = _item(data)
    if name == "output_item.added":
        yield from _started(item, mapping(data.get("item")), _ITEM_MEMBERS)
    elif name in ("content_part.added", "reasoning_summary_part.added"):
        yield from _part_added(item, name, data)
    elif name.startswith("shell_call_"):
        yield from _shell(item, name, data)
    elif name.endswith(".delta") and name != "audio.delta":
        yield from _response_delta(item, name.removesuffix(".delta"), data)


def _part_added(item: str, name: str, data: dict[str, Json]) -> Iterator[Channel]:
    part = mapping(data.get("part"))
    if name.startswith("reasoning_summary"):
        channel = f"{item}.{count_of(data, 'summary_index', 0)}.summary"
    else:
        kind = _PART_MEMBERS.get(text(part.get("type")) or "", "text")
        channel = f"{item}.{count_of(data, 'content_index', 0)}.{kind}"
    for member in ("text", "refusal"):
        if text(part.get(member)):
            yield channel, part, member


def _response_delta(item: str, name: str, data: dict[str, Json]) -> Iterator[Channel]:
    if name in _PART_MEMBERS:
        part = f"{item}.{count_of(data, 'content_index', 0)}"
        if isinstance(data.get("delta"), str):
            yield f"{part}.{_PART_MEMBERS[name]}", data, "delta"
        yield from _tokens(f"{part}.logprobs", data.get("logprobs"))
        return
    if name in ("reasoning_summary_text", "reasoning_summary"):
        channel = f"{item}.{count_of(data, 'summary_index', 0)}.summary"
    elif name == "audio.transcript":
        channel = "audio.transcript"
    else:
        channel = f"{item}.{_RESPONSE_NAMES.get(name, name)}"
    if isinstance(data.get("delta"), str):
        yield channel, data, "delta"
    elif isinstance(data.get("delta"), dict):
        yield from _strings(channel, mapping(data["delta"]), 0)


def _item(data: dict[str, Json]) -> str:
    """Name of the output item, by its place: the ids differ from event to event with some proxies."""
    place = count_of(data, "output_index", -1)
    return f"output.{place}" if place >= 0 else text(data.get("item_id")) or "output.0"


def _shell(item: str, name: str, data: dict[str, Json]) -> Iterator[Channel]:
    command = count_of(data, "command_index", 0)
    if name == "shell_call_command.added" and text(data.get("command")):
        yield f"{item}.commands.{command}", data, "command"
    elif name == "shell_call_command.delta" and isinstance(data.get("delta"), str):
        yield f"{item}.commands.{command}", data, "delta"
    elif name == "shell_call_output_content.delta":
        delta = mapping(data.get("delta"))
        for member in ("stdout", "stderr"):
            if isinstance(delta.get(member), str):
                yield f"{item}.{member}.{command}", delta, member


def _messages(kind: str, data: dict[str, Json]) -> Iterator[Channel]:
    block = f"block.{count_of(data, 'index', 0)}"
    if kind == "content_block_start":
        yield from _started(block, mapping(data.get("content_block")), ("text", "thinking"))
    elif kind == "content_block_delta":
        delta = mapping(data.get("delta"))
        for member, value in delta.items():
            if isinstance(value, str) and member not in _NO_TEXT:
                yield f"{block}.{'input_json' if member == 'partial_json' else member}", delta, member


def _started(name: str, holder: dict[str, Json], members: tuple[str, ...]) -> Iterator[Channel]:
    for member in members:
        if text(holder.get(member)):
            yield f"{name}.{member}", holder, member


_CHANNELS: dict[str, Callable[[str, dict[str, Json]], Iterator[Channel]]] = {
    CHAT: _chat,
    COMPLETIONS: _chat,
    RESPONSES: _responses,
    MESSAGES: _messages,
    **CHANNELS,
}

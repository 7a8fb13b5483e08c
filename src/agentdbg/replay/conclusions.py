"""What a model's answer comes to, apart from its wording: tool calls with their arguments, or structured output."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass

from agentdbg.model.canonical import canonical, loads_json
from agentdbg.model.records import Json
from agentdbg.recording.provider_parts import mapping, mappings, text
from agentdbg.redaction.placeholder import OPEN

FREE_TEXT = "text"
"""Key of an answer that calls no tool and has no structure: what it concludes, nobody can tell."""


@dataclass(frozen=True, slots=True)
class ToolCall:
    """A tool that the model wants called."""

    name: str
    arguments: Json


@dataclass(frozen=True, slots=True)
class Conclusion:
    """Attributes:
    tool_calls: In an order that does not depend on the answer's.
    structured: The answer, where one of a given structure was asked for.
    is_structured: Whether it has one.
    wording: The text, as the model put it.
    """

    tool_calls: tuple[ToolCall, ...] = ()
    structured: Json = None
    is_structured: bool = False
    wording: str = ""

    @property
    def key(self) -> str:
        """Equal for equal conclusions, and for no others."""
        if not self.tool_calls and not self.is_structured:
            return FREE_TEXT
        calls = [[call.name, call.arguments] for call in self.tool_calls]
        return canonical([calls, self.structured if self.is_structured else None]).decode()

    @property
    def can_tell(self) -> bool:
        """Whether it says more than a free text does."""
        return self.key != FREE_TEXT

    def hides(self, other: Conclusion) -> bool:
        """Whether redacted values keep one from telling that this is another conclusion: it calls the same tools."""
        names, others = ([call.name for call in each.tool_calls] for each in (self, other))
        return OPEN in self.key and names == others

    def members(self) -> dict[str, object] | None:
        """As in JSON documents; ``None`` for a free text."""
        if not self.can_tell:
            return None
        calls = [{"name": call.name, "arguments": call.arguments} for call in self.tool_calls]
        return {"tool_calls": calls, **({"structured": self.structured} if self.is_structured else {})}


def conclude(output: Json, *, structured: bool) -> Conclusion:
    """Read the answer of a model, in whatever provider's shape.

    Args:
        output: The response object; of a stream the assembled one.
        structured: Whether a structured answer was asked for.
    """
    if isinstance(output, list):
        output = next(iter(mappings(output)), None)
    body = mapping(output)
    calls = sorted(_calls(body), key=lambda call: (call.name, canonical(call.arguments)))
    wording = "\n".join(piece for piece in _texts(body) if piece)
    if structured and not calls:
        try:
            return Conclusion((), loads_json(wording), True, wording)
        except ValueError:
            pass  # not what was asked for: a text like any other
    return Conclusion(tuple(calls), None, False, wording)


def _messages(body: dict[str, Json]) -> Iterator[dict[str, Json]]:
    """Messages in the shape that most providers have taken over: content and tool calls."""
    for choice in mappings(body.get("choices")):
        if isinstance(choice.get("message"), dict):
            yield mapping(choice["message"])
        elif isinstance(choice.get("text"), str):
            yield {"content": choice["text"]}
    if isinstance(body.get("message"), dict):
        yield mapping(body["message"])
    if isinstance(body.get("response"), str):
        yield {"content": body["response"]}


def _items(body: dict[str, Json]) -> Iterator[dict[str, Json]]:
    yield from mappings(body.get("output"))
    yield from mappings(body.get("content"))


def _parts(body: dict[str, Json]) -> Iterator[dict[str, Json]]:
    for candidate in mappings(body.get("candidates")):
        yield from mappings(mapping(candidate.get("content")).get("parts"))


def _calls(body: dict[str, Json]) -> Iterator[ToolCall]:
    for message in _messages(body):
        for call in [*mappings(message.get("tool_calls")), {"function": message.get("function_call")}]:
            asked = mapping(call.get("function")) or mapping(call.get("custom"))
            if asked:
                yield _call(asked.get("name"), asked.get("arguments", asked.get("input")))
    for item in _items(body):
        kind = text(item.get("type")) or ""
        if kind == "tool_use":
            yield _call(item.get("name"), item.get("input"))
        elif "call_id" in item and not kind.endswith("_output"):
            asked_for = item.get("arguments", item.get("input", item.get("action")))
            yield _call(item.get("name") or kind.removesuffix("_call"), asked_for)
    for part in _parts(body):
        asked = mapping(part.get("functionCall"))
        if asked:
            yield _call(asked.get("name"), asked.get("args"))


def _call(name: Json, arguments: Json) -> ToolCall:
    """Arguments that are JSON in a text are read: their spelling is no difference."""
    if isinstance(arguments, str):
        with suppress(ValueError):  # a custom tool takes a text
            arguments = loads_json(arguments)
    return ToolCall(text(name) or "", arguments)


def _texts(body: dict[str, Json]) -> Iterator[str]:
    for message in _messages(body):
        yield from _said(message.get("content"))
        yield text(message.get("refusal")) or ""
    for item in _items(body):
        kind = text(item.get("type"))
        if kind == "text":
            yield text(item.get("text")) or ""
        elif kind == "message":
            yield from _said(item.get("content"))
    for part in _parts(body):
        if not part.get("thought"):
            yield text(part.get("text")) or ""


def _said(content: Json) -> Iterator[str]:
    if isinstance(content, str):
        yield content
    for piece in mappings(content):
        yield text(piece.get("text")) or text(piece.get("refusal")) or ""

"""What single messages of a mini-swe-agent file say: calls asked for, results, times, token counts."""

from __future__ import annotations

import re
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from typing import Final

from agentdbg.model.canonical import loads_json
from agentdbg.model.records import Json, Origin, Usage

SHELL: Final = "bash"
UNPARSED: Final = "action"
_FENCES: Final = ("bash", "mswea_bash_command", "sh")
_SHORTENED: Final = ("<output_head>", "<elided_chars>", '"output_head"')
_RETURNCODE = re.compile(r"\s*<returncode>(-?\d{1,9})</returncode>", re.ASCII)
_TIMED_OUT: Final = "timed out"
_NOT_EXECUTED: Final = "action was not executed"
_USAGE: Final = (
    ("prompt_tokens", "completion_tokens", "prompt_tokens_details"),
    ("input_tokens", "output_tokens", "input_tokens_details"),
)

Members = Mapping[str, Json]


@dataclass(frozen=True, slots=True)
class Call:
    """A tool call that an answer asks for.

    Attributes:
        call_id: What its result refers to; ``None`` where results are told by their place.
        origin: Whether name and arguments stand in the file or were taken out of the answer's text.
    """

    name: str
    arguments: Json
    call_id: str | None = None
    origin: Origin = Origin.RECORDED


@dataclass(frozen=True, slots=True)
class Result:
    """What came back from a tool.

    Attributes:
        origin: *Recorded* for the raw output, *derived* where only the message made of it was kept.
        trouble: What the tool's environment said went wrong.
    """

    value: Json
    origin: Origin
    returncode: int | None = None
    trouble: str = ""
    shortened: bool = False

    @property
    def timed_out(self) -> bool:
        """Whether the command ran into its time limit."""
        return _TIMED_OUT in self.trouble

    @property
    def not_executed(self) -> bool:
        """Whether the agent was done before it ran the command."""
        return self.trouble == _NOT_EXECUTED


def members(value: Json) -> dict[str, Json]:
    """The members of an object; none of anything else."""
    return value if isinstance(value, dict) else {}


def text(value: Json) -> str:
    """A string; empty for anything else."""
    return value if isinstance(value, str) else ""


def count(value: Json) -> int | None:
    """A whole number, or ``None``."""
    return value if type(value) is int and abs(value) < 2**53 else None


def seconds(value: Json) -> float | None:
    """A time since the epoch, or ``None``."""
    known = isinstance(value, int | float) and not isinstance(value, bool) and 0 < value < 1e11
    return float(value) if known else None  # type: ignore[arg-type]  # known to be a number


def role(message: Members) -> str:
    """What a message is: its role, else its type."""
    return text(message.get("role")) or text(message.get("type")) or text(message.get("object"))


def is_answer(message: Members) -> bool:
    """Whether a message is what a model answered."""
    return message.get("role") == "assistant" or message.get("object") == "response"


def is_result(message: Members) -> bool:
    """Whether a message is by its form the result of a call with an id."""
    return message.get("role") == "tool" or message.get("type") == "function_call_output"


def is_observation(message: Members) -> bool:
    """Whether a user's message is the output of a command rather than something said."""
    extra = members(message.get("extra"))
    if message.get("role") != "user" or extra.get("interrupt_type"):
        return False
    return "raw_output" in extra or _RETURNCODE.match(text(message.get("content"))) is not None


def response_of(message: Members) -> dict[str, Json]:
    """The provider's full response, where it was kept."""
    if message.get("object") == "response":
        return {key: value for key, value in message.items() if key != "extra"}
    return members(members(message.get("extra")).get("response"))


def said_at(message: Members) -> float | None:
    """When a message was added."""
    extra = members(message.get("extra"))
    return seconds(extra.get("timestamp")) or seconds(message.get("timestamp"))


def usage_of(response: Members) -> Usage | None:
    """Token counts in a response."""
    usage = members(response.get("usage"))
    for given, made, details in _USAGE:
        if given in usage or made in usage:
            cached = members(usage.get(details)).get("cached_tokens")
            return Usage(count(usage.get(given)), count(usage.get(made)), count(cached))
    return None


def calls_of(message: Members) -> list[Call]:
    """The calls that an answer asks for; none where its text holds no single command."""
    listed = message.get("tool_calls")
    calls = [_chat_call(members(item)) for item in listed] if isinstance(listed, list) else []
    output = message.get("output")
    items = [members(item) for item in output] if isinstance(output, list) else []
    calls.extend(_named_call(item, item.get("call_id")) for item in items if item.get("type") == "function_call")
    if calls:
        return calls
    actions = members(message.get("extra")).get("actions")
    if isinstance(actions, list) and actions:
        return [_action(item) for item in actions]
    commands = _commands(text(message.get("content")))
    return [Call(SHELL, {"command": commands[0]}, None, Origin.DERIVED)] if len(commands) == 1 else []


def result_of(message: Members) -> Result:
    """What a message says came back from a tool."""
    extra = members(message.get("extra"))
    content = message["output"] if "output" in message else message.get("content")
    shown = text(content)
    stated = _RETURNCODE.match(shown)
    returncode = count(extra.get("returncode"))
    if returncode is None and stated is not None:
        returncode = int(stated[1])
    trouble = text(extra.get("exception_info"))
    if isinstance(extra.get("raw_output"), str):
        return Result(extra["raw_output"], Origin.RECORDED, returncode, trouble)
    if not trouble and shown.startswith("The last command") and _TIMED_OUT in shown:
        trouble = _TIMED_OUT
    return Result(content, Origin.DERIVED, returncode, trouble, any(mark in shown for mark in _SHORTENED))


def finish_of(response: Members) -> str:
    """Why the model stopped."""
    choices = response.get("choices")
    first = members(choices[0]) if isinstance(choices, list) and choices else {}
    return text(first.get("finish_reason")) or text(response.get("status"))


def _chat_call(item: Members) -> Call:
    return _named_call(members(item.get("function")) or item, item.get("id"))


def _named_call(function: Members, call_id: Json) -> Call:
    arguments = function.get("arguments")
    if isinstance(arguments, str):
        with suppress(ValueError):  # what the model wrote may be no JSON: then it is shown as it is
            arguments = loads_json(arguments)
    return Call(text(function.get("name")), arguments, text(call_id) or None)


def _action(item: Json) -> Call:
    action = members(item)
    command = action.get("command", item)
    return Call(SHELL, {"command": command}, text(action.get("tool_call_id")) or None)


def _commands(content: str) -> list[str]:
    """The shell blocks of a text."""
    found: list[str] = []
    at = 0
    while (start := content.find("```", at)) >= 0:
        line = content.find("\n", start)
        end = content.find("\n```", line) if line >= 0 else -1
        if end < 0:
            break
        if content[start + 3 : line].strip() in _FENCES:
            found.append(content[line + 1 : end].strip())
        at = end + 4
    return found

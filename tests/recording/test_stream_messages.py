"""A streamed Anthropic message reads like the same message in one piece."""

from __future__ import annotations

import json

import httpx2
import pytest
from anthropic import Anthropic

from agentdbg.model.records import Json, Usage
from agentdbg.recording.providers import MESSAGES, Assembler, ModelResponse

START: dict = {
    "type": "message_start",
    "message": {
        "id": "msg_1", "type": "message", "role": "assistant", "model": "claude-x", "content": [],
        "stop_reason": None, "stop_sequence": None,
        "usage": {
            "input_tokens": 10, "cache_read_input_tokens": 90, "cache_creation_input_tokens": 5, "output_tokens": 1,
        },
    },
}  # fmt: skip
END: list[Json] = [
    {"type": "message_delta", "delta": {"stop_reason": "tool_use"}, "usage": {"output_tokens": 20}},
    {"type": "message_stop"},
]


def block(index: int, start: dict, *deltas: dict) -> list[Json]:
    events: list[Json] = [{"type": "content_block_start", "index": index, "content_block": start}]
    events += [{"type": "content_block_delta", "index": index, "delta": delta} for delta in deltas]
    return [*events, {"type": "content_block_stop", "index": index}]


CITATION = {
    "type": "char_location", "cited_text": "c", "document_index": 0, "document_title": None, "file_id": None,
    "start_char_index": 0, "end_char_index": 1,
}  # fmt: skip
THINKING = block(
    0,
    {"type": "thinking", "thinking": "", "signature": ""},
    {"type": "thinking_delta", "thinking": "Let "},
    {"type": "thinking_delta", "thinking": "me see"},
    {"type": "signature_delta", "signature": "c2ln"},
)
TEXT = block(
    1,
    {"type": "text", "text": ""},
    {"type": "text_delta", "text": "I will "},
    {"type": "citations_delta", "citation": CITATION},
    {"type": "text_delta", "text": "look – ok"},
)
TOOL = block(
    2,
    {"type": "tool_use", "id": "toolu_1", "name": "read_order", "input": {}},
    {"type": "input_json_delta", "partial_json": ""},
    {"type": "input_json_delta", "partial_json": '{"order": '},
    {"type": "input_json_delta", "partial_json": "7}"},
)
NO_ARGUMENTS = block(3, {"type": "tool_use", "id": "toolu_2", "name": "list_all", "input": {}})
WHOLE: list[Json] = [START, {"type": "ping"}, *THINKING, *TEXT, *TOOL, *NO_ARGUMENTS, *END]
PREFIXED = [START, *block(0, {"type": "text", "text": "pre"}, {"type": "text_delta", "text": "fix"}), *END]


def assemble(events: list[Json]) -> ModelResponse:
    assembler = Assembler(MESSAGES)
    for event in events:
        assembler.feed(event.get("type") if isinstance(event, dict) else None, event)  # type: ignore[arg-type]
    return assembler.result()


def content(response: ModelResponse) -> list[dict]:
    assert isinstance(response.output, dict)
    return response.output["content"]  # type: ignore[return-value]


def test_blocks_are_assembled() -> None:
    response = assemble(WHOLE)
    assert content(response) == [
        {"type": "thinking", "thinking": "Let me see", "signature": "c2ln"},
        {"type": "text", "text": "I will look – ok", "citations": [CITATION]},
        {"type": "tool_use", "id": "toolu_1", "name": "read_order", "input": {"order": 7}},
        {"type": "tool_use", "id": "toolu_2", "name": "list_all", "input": {}},
    ]
    assert response.tool_calls == (("toolu_1", "read_order"), ("toolu_2", "list_all"))
    assert (response.model, response.response_id, response.stop_reason) == ("claude-x", "msg_1", "tool_use")
    assert response.complete and response.missing == ()


def test_input_tokens_count_what_came_from_and_went_into_the_cache() -> None:
    assert assemble(WHOLE).usage == Usage(input=105, output=20, cached=90)


@pytest.mark.parametrize("events", [WHOLE, PREFIXED], ids=["whole", "prefixed"])
def test_the_anthropic_sdk_assembles_the_same(events: list[dict]) -> None:
    body = "".join(f"event: {event['type']}\ndata: {json.dumps(event)}\n\n" for event in events)
    transport = httpx2.MockTransport(
        lambda request: httpx2.Response(200, headers={"content-type": "text/event-stream"}, content=body.encode())
    )
    with (
        Anthropic(api_key="k", base_url="http://test", http_client=httpx2.Client(transport=transport)) as client,
        client.messages.stream(model="m", max_tokens=5, messages=[{"role": "user", "content": "x"}]) as stream,
    ):
        theirs = stream.get_final_message().to_dict()
    assert _without_nulls(assemble(events).output) == _without_nulls(theirs)  # type: ignore[arg-type]


def _without_nulls(output: object) -> object:
    if isinstance(output, dict):
        return {k: _without_nulls(v) for k, v in output.items() if v is not None}
    return [_without_nulls(item) for item in output] if isinstance(output, list) else output


def test_a_stream_that_was_left_keeps_the_cut_arguments_as_text() -> None:
    response = assemble([START, *THINKING, *TOOL[:-2]])
    assert content(response)[1] == {
        "type": "tool_use", "id": "toolu_1", "name": "read_order", "input": {}, "partial_json": '{"order": ',
    }  # fmt: skip
    assert not response.complete
    assert response.missing == (
        "the input of content block 2 is cut off",
        "content block 2 is not finished",
        "the end of the stream (message_stop) was not received",
    )


def test_asking_early_does_not_disturb_the_rest() -> None:
    assembler = Assembler(MESSAGES)
    for event in WHOLE:
        assembler.feed(None, event)
        assembler.result()
    assert assembler.result() == assemble(WHOLE)


def test_an_error_event_is_told_and_what_came_before_is_kept() -> None:
    failed: Json = {"type": "error", "error": {"type": "overloaded_error", "message": "Overloaded"}}
    response = assemble([START, *TEXT[:2], failed])
    assert response.error == "overloaded_error: Overloaded"
    assert content(response)[0]["text"] == "I will "
    assert not response.complete


def test_a_stream_of_nothing_but_an_error_has_no_output() -> None:
    response = assemble([{"type": "error", "error": {"type": "api_error", "message": "no"}}])
    assert (response.output, response.error, response.complete) == (None, "api_error: no", False)


def test_late_usage_replaces_the_early_numbers_only_where_it_has_some() -> None:
    usage: dict = {"output_tokens": 7, "input_tokens": None, "cache_read_input_tokens": 50}
    response = assemble([START, {"type": "message_delta", "delta": {"stop_reason": "end_turn"}, "usage": usage}])
    assert response.usage == Usage(input=65, output=7, cached=50)


def test_a_refusal_is_told() -> None:
    details = {"type": "refusal", "category": "bio", "explanation": "not this"}
    delta: dict = {"stop_reason": "refusal", "stop_details": details}
    response = assemble([START, {"type": "message_delta", "delta": delta, "usage": {}}, {"type": "message_stop"}])
    assert (response.stop_reason, response.refusal) == ("refusal", "not this")


def test_deltas_of_a_kind_not_known_yet_are_kept() -> None:
    events = block(0, {"type": "drawing"}, {"type": "d", "svg": "<a", "n": 1}, {"type": "d", "svg": "/>", "n": 2})
    assert content(assemble([START, *events]))[0] == {"type": "drawing", "svg": "<a/>", "n": 2}

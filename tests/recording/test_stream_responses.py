"""A Responses stream gives its final object; one that was left early gives what had arrived."""

from __future__ import annotations

import json

import httpx2
from openai import OpenAI

from agentdbg.model.records import Json, Usage
from agentdbg.recording.providers import RESPONSES, Assembler, ModelResponse

BASE: dict = {
    "id": "resp_1", "object": "response", "created_at": 1, "status": "in_progress", "model": "gpt-x-2026", "output": [],
    "tools": [], "tool_choice": "auto", "parallel_tool_calls": True, "error": None, "incomplete_details": None,
}  # fmt: skip
TEXT_PART = {"type": "output_text", "text": "", "annotations": [], "logprobs": []}
MESSAGE = {"id": "msg_1", "type": "message", "role": "assistant", "status": "in_progress", "content": []}
DONE_MESSAGE = {**MESSAGE, "status": "completed", "content": [{**TEXT_PART, "text": "Hello €"}]}
CALL = {"id": "fc_1", "type": "function_call", "call_id": "call_1", "name": "read_order", "status": "in_progress"}
DONE_CALL = {**CALL, "status": "completed", "arguments": '{"id":1}'}
USAGE = {
    "input_tokens": 12, "output_tokens": 3, "total_tokens": 15, "input_tokens_details": {"cached_tokens": 8},
    "output_tokens_details": {"reasoning_tokens": 0},
}  # fmt: skip
FINAL = {**BASE, "status": "completed", "output": [DONE_MESSAGE, DONE_CALL], "usage": USAGE}


def at(kind: str, place: int, item: str, **more: object) -> dict:
    return {"type": f"response.{kind}", "output_index": place, "item_id": item, **more}


TEXT: list[dict] = [
    {"type": "response.output_item.added", "output_index": 0, "item": MESSAGE},
    at("content_part.added", 0, "msg_1", content_index=0, part=TEXT_PART),
    at("output_text.delta", 0, "msg_1", content_index=0, delta="Hel", logprobs=[]),
    at("output_text.delta", 0, "msg_1", content_index=0, delta="lo €", logprobs=[]),
]
TEXT_END: list[dict] = [
    at("output_text.done", 0, "msg_1", content_index=0, text="Hello €", logprobs=[]),
    at("content_part.done", 0, "msg_1", content_index=0, part={**TEXT_PART, "text": "Hello €"}),
    {"type": "response.output_item.done", "output_index": 0, "item": DONE_MESSAGE},
]
ARGUMENTS: list[dict] = [
    {"type": "response.output_item.added", "output_index": 1, "item": {**CALL, "arguments": ""}},
    at("function_call_arguments.delta", 1, "fc_1", delta='{"id"'),
    at("function_call_arguments.delta", 1, "fc_1", delta=":1}"),
]
ARGUMENTS_END: list[dict] = [
    at("function_call_arguments.done", 1, "fc_1", arguments='{"id":1}', name="read_order"),
    {"type": "response.output_item.done", "output_index": 1, "item": DONE_CALL},
]
CREATED: list[dict] = [
    {"type": "response.created", "response": BASE},
    {"type": "response.in_progress", "response": BASE},
]
WHOLE = [*CREATED, *TEXT, *TEXT_END, *ARGUMENTS, *ARGUMENTS_END, {"type": "response.completed", "response": FINAL}]


def assemble(events: list[dict]) -> ModelResponse:
    assembler = Assembler(RESPONSES)
    for event in events:
        assembler.feed(event["type"], event)
    return assembler.result()


def output(response: ModelResponse) -> list[dict]:
    assert isinstance(response.output, dict)
    return response.output["output"]  # type: ignore[return-value]


def item_after(*events: dict) -> dict:
    return output(assemble([*CREATED, *events]))[0]


def test_the_final_object_is_the_output() -> None:
    response = assemble(WHOLE)
    assert response.output == FINAL
    assert response.usage == Usage(12, 3, 8)
    assert (response.model, response.response_id, response.stop_reason) == ("gpt-x-2026", "resp_1", "completed")
    assert response.tool_calls == (("call_1", "read_order"),)
    assert response.complete and response.missing == ()


def test_the_openai_sdk_ends_with_the_same_object() -> None:
    body = "".join(
        f"event: {event['type']}\ndata: {json.dumps({**event, 'sequence_number': n})}\n\n"
        for n, event in enumerate(WHOLE)
    )
    transport = httpx2.MockTransport(
        lambda request: httpx2.Response(200, headers={"content-type": "text/event-stream"}, content=body.encode())
    )
    with (
        OpenAI(api_key="k", base_url="http://test/v1", http_client=httpx2.Client(transport=transport)) as client,
        client.responses.stream(model="m", input="x") as stream,
    ):
        theirs = stream.get_final_response()
    ours = assemble(WHOLE)
    assert theirs.output_text == output(ours)[0]["content"][0]["text"]
    assert [item.to_dict()["id"] for item in theirs.output] == [item["id"] for item in output(ours)]


def test_a_stream_left_in_the_middle_of_the_text_keeps_the_text() -> None:
    response = assemble([*CREATED, *TEXT])
    assert output(response) == [{**MESSAGE, "content": [{**TEXT_PART, "text": "Hello €"}]}]
    assert not response.complete
    assert response.missing == ("the end of the stream (response.completed) was not received",)
    assert response.model == "gpt-x-2026"


def test_a_stream_left_in_the_middle_of_a_call_keeps_call_and_message() -> None:
    response = assemble([*CREATED, *TEXT, *TEXT_END, *ARGUMENTS])
    assert output(response) == [DONE_MESSAGE, {**CALL, "arguments": '{"id":1}'}]
    assert response.tool_calls == (("call_1", "read_order"),)


def test_a_stream_left_just_before_its_last_event_equals_the_final_output() -> None:
    assert output(assemble(WHOLE[:-1])) == FINAL["output"]


def test_a_final_object_without_output_is_filled_from_the_stream() -> None:
    response = assemble([*WHOLE[:-1], {"type": "response.completed", "response": {**FINAL, "output": None}}])
    assert output(response) == FINAL["output"]
    assert response.complete
    assert response.missing == ("the final response carries no output: it is rebuilt from the stream",)


def test_an_incomplete_response_says_why() -> None:
    final = {**FINAL, "status": "incomplete", "incomplete_details": {"reason": "max_output_tokens"}}
    response = assemble([*CREATED, {"type": "response.incomplete", "response": final}])
    assert (response.stop_reason, response.complete) == ("max_output_tokens", True)


def test_a_failed_response_says_why() -> None:
    final = {**FINAL, "status": "failed", "error": {"code": "server_error", "message": "sorry"}}
    response = assemble([*CREATED, {"type": "response.failed", "response": final}])
    assert (response.error, response.stop_reason, response.complete) == ("server_error: sorry", "failed", True)


def test_an_error_event_is_told() -> None:
    response = assemble([*CREATED, *TEXT, {"type": "error", "code": "rate_limit", "message": "slow down"}])
    assert (response.error, response.complete) == ("rate_limit: slow down", False)
    assert output(response)[0]["content"][0]["text"] == "Hello €"


def test_reasoning_and_refusals_grow_in_their_parts() -> None:
    reasoning = {"type": "response.output_item.added", "output_index": 0, "item": {"id": "rs_1", "type": "reasoning"}}
    item = item_after(
        reasoning,
        at("reasoning_summary_part.added", 0, "rs_1", summary_index=0, part={"type": "summary_text", "text": ""}),
        at("reasoning_summary_text.delta", 0, "rs_1", summary_index=0, delta="be"),
        at("reasoning_summary_text.delta", 0, "rs_1", summary_index=0, delta="cause"),
        at("reasoning_summary_text.delta", 0, "rs_1", summary_index=1, delta="and"),
        at("reasoning_text.delta", 0, "rs_1", content_index=0, delta="raw"),
    )
    assert [part["text"] for part in item["summary"]] == ["because", "and"]
    assert item["content"] == [{"type": "reasoning_text", "text": "raw"}]
    refused = assemble([*CREATED, TEXT[0], at("refusal.delta", 0, "msg_1", content_index=0, delta="No.")])
    assert refused.refusal == "No."


def test_inputs_of_every_kind_of_call_grow() -> None:
    for kind, member in {
        "mcp_call_arguments": "arguments",
        "custom_tool_call_input": "input",
        "code_interpreter_call_code": "code",
        "future_call_thing": "future_call_thing",
    }.items():
        item = item_after(at(f"{kind}.delta", 0, "x", delta="a"), at(f"{kind}.delta", 0, "x", delta="b"))
        assert item == {member: "ab"}


def test_shell_commands_and_their_output_grow() -> None:
    def command(phase: str, **more: object) -> dict:
        return {"type": f"response.shell_call_command.{phase}", "output_index": 0, "command_index": 0, **more}

    call = {"type": "response.output_item.added", "output_index": 0, "item": {"id": "sh", "type": "shell_call"}}
    item = item_after(call, command("added", command=""), command("delta", delta="ls"), command("delta", delta=" -l"))
    assert item["action"] == {"commands": ["ls -l"]}
    piece = at("shell_call_output_content.delta", 0, "sho", command_index=0, delta={"stdout": "a"})
    assert item_after(piece, piece)["output"] == [{"stdout": "aa"}]


def test_annotations_are_collected() -> None:
    note = at("output_text.annotation.added", 0, "msg_1", content_index=0, annotation={"type": "url_citation"})
    item = item_after(*TEXT, note, note)
    assert item["content"][0]["annotations"] == [{"type": "url_citation"}] * 2


def test_a_transcript_of_audio_is_kept() -> None:
    pieces = [{"type": "response.audio.transcript.delta", "delta": piece} for piece in ("he", "y")]
    response = assemble([*CREATED, *pieces])
    assert isinstance(response.output, dict)
    assert response.output["audio"] == {"transcript": "hey"}


def test_feeding_does_not_change_the_events() -> None:
    before: Json = json.loads(json.dumps(WHOLE))
    assembler = Assembler(RESPONSES)
    for event in WHOLE:
        assembler.feed(None, event)
        assembler.result()
    assert before == WHOLE

"""A streamed chat reads like the same chat in one piece."""

from __future__ import annotations

import copy
import json
from collections.abc import Sequence

import httpx2
import pytest
from openai import OpenAI

from agentdbg.model.records import Json, Usage
from agentdbg.recording.providers import CHAT, Assembler, ModelResponse

HEAD: dict = {"id": "chatcmpl-1", "object": "chat.completion.chunk", "created": 1, "model": "gpt-x-2026"}


def chunk(delta: dict, index: int = 0, finish: str | None = None, **more: object) -> dict:
    return {**HEAD, "choices": [{"index": index, "delta": delta, "finish_reason": finish, **more}]}


def call(index: int, arguments: str, **more: object) -> dict:
    function = {"arguments": arguments, **({"name": more.pop("name")} if "name" in more else {})}
    return {"tool_calls": [{"index": index, "function": function, **more}]}


def logprobs(token: str) -> dict:
    return {"content": [{"token": token, "logprob": -0.1, "bytes": None, "top_logprobs": []}]}


def assemble(events: Sequence[Json], *, ended: bool = False) -> ModelResponse:
    assembler = Assembler(CHAT)
    for event in events:
        assembler.feed(None, event)
    return assembler.result(ended=ended)


def message(response: ModelResponse, choice: int = 0) -> dict:
    assert isinstance(response.output, dict)
    return response.output["choices"][choice]["message"]  # type: ignore[index, call-overload, return-value]


USAGE: dict = {
    "prompt_tokens": 9,
    "completion_tokens": 4,
    "total_tokens": 13,
    "prompt_tokens_details": {"cached_tokens": 8},
}
TEXT: list[Json] = [
    chunk({"role": "assistant", "content": "", "refusal": None}),
    chunk({"content": "Hel"}, logprobs=logprobs("Hel")),
    chunk({"content": "lo €"}, logprobs=logprobs("lo")),
    chunk({}, finish="stop"),
    {**HEAD, "choices": [], "usage": USAGE},
]
CALLS: list[Json] = [
    chunk({"role": "assistant", "content": None}),
    chunk(call(0, "", id="call_a", type="function", name="read_order")),
    chunk(call(0, '{"id"')),
    chunk(call(1, "", id="call_b", type="function", name="read_policy")),
    chunk(call(0, ":1}")),
    chunk(call(1, "{}")),
    chunk({}, finish="tool_calls"),
]
CHOICES: list[Json] = [
    chunk({"role": "assistant", "content": "a"}, 0),
    chunk({"role": "assistant", "content": "x"}, 1),
    chunk({"content": "b"}, 0),
    chunk({"content": "y"}, 1, finish="tool_calls"),
    chunk({}, 0, finish="stop"),
]


def test_text_usage_and_log_probabilities_are_joined() -> None:
    response = assemble([*TEXT, "[DONE]"])
    assert message(response) == {"role": "assistant", "content": "Hello €", "refusal": None}
    assert response.usage == Usage(9, 4, 8)
    assert (response.model, response.response_id, response.stop_reason) == ("gpt-x-2026", "chatcmpl-1", "stop")
    assert response.complete and response.missing == ()
    assert isinstance(response.output, dict)
    assert response.output["object"] == "chat.completion"
    choice: dict = response.output["choices"][0]  # type: ignore[index, assignment]
    assert [token["token"] for token in choice["logprobs"]["content"]] == ["Hel", "lo"]


def test_calls_that_arrive_interleaved_are_told_apart() -> None:
    response = assemble([*CALLS, "[DONE]"])
    assert response.tool_calls == (("call_a", "read_order"), ("call_b", "read_policy"))
    first = {"id": "call_a", "type": "function", "function": {"name": "read_order", "arguments": '{"id":1}'}}
    assert message(response)["tool_calls"][0] == first


def test_several_choices_are_told_apart() -> None:
    response = assemble([*CHOICES, "[DONE]"])
    assert [message(response, n)["content"] for n in (0, 1)] == ["ab", "xy"]
    assert response.stop_reason == "stop, tool_calls"


@pytest.mark.parametrize("events", [TEXT, CALLS, CHOICES], ids=["text", "calls", "choices"])
def test_the_openai_sdk_assembles_the_same(events: list[Json]) -> None:
    body = "".join(f"data: {json.dumps(event)}\n\n" for event in [*events]) + "data: [DONE]\n\n"
    transport = httpx2.MockTransport(
        lambda request: httpx2.Response(200, headers={"content-type": "text/event-stream"}, content=body.encode())
    )
    with (
        OpenAI(api_key="k", base_url="http://test/v1", http_client=httpx2.Client(transport=transport)) as client,
        client.chat.completions.stream(model="m", messages=[]) as stream,
    ):
        theirs = stream.get_final_completion().to_dict()
    ours = assemble([*events, "[DONE]"]).output
    assert _comparable(ours) == _comparable(theirs)


def _comparable(output: object) -> object:
    """Without nulls, and without what the SDK adds for itself."""
    own = ("parsed", "parsed_arguments", "index")
    if isinstance(output, dict):
        return {k: _comparable(v) for k, v in output.items() if v is not None and k not in own}
    return [_comparable(item) for item in output] if isinstance(output, list) else output


def test_a_stream_that_was_left_is_partial() -> None:
    response = assemble(TEXT[:2])
    assert message(response)["content"] == "Hel"
    assert not response.complete
    assert response.missing == ("choice 0 has no finish reason", "the end of the stream ([DONE]) was not received")


def test_a_server_without_a_closing_event_is_complete_when_its_body_ended() -> None:
    assert not assemble(CALLS).complete
    assert assemble(CALLS, ended=True).complete
    assert not assemble(CALLS[:-1], ended=True).complete


def test_an_error_inside_the_stream_is_told() -> None:
    failed: Json = {"error": {"type": "server_error", "message": "overloaded"}}
    response = assemble([*TEXT[:2], failed])
    assert response.error == "server_error: overloaded"
    assert message(response)["content"] == "Hel"
    assert not response.complete


def test_an_error_beside_a_last_choice_keeps_the_choice() -> None:
    response = assemble([TEXT[1], {**chunk({"content": "!"}, finish="error"), "error": {"message": "lost"}}, "[DONE]"])
    assert (message(response)["content"], response.error) == ("Hel!", "lost")


def test_unknown_members_of_a_delta_are_kept() -> None:
    response = assemble(
        [
            chunk({"reasoning_content": "thi", "mood": {"level": 1, "word": "ca"}}),
            chunk({"reasoning_content": "nk", "mood": {"level": 2, "word": "lm"}, "annotations": [{"n": 1}]}),
            chunk({"annotations": [{"n": 2}], "reasoning_details": [{"index": 0, "type": "t", "text": "a"}]}),
            chunk({"reasoning_details": [{"index": 0, "type": "t", "text": "b"}]}, finish="stop"),
        ],
    )
    assert message(response) == {
        "reasoning_content": "think",
        "mood": {"level": 2, "word": "calm"},
        "annotations": [{"n": 1}, {"n": 2}],
        "reasoning_details": [{"index": 0, "type": "t", "text": "ab"}],
    }


def test_a_refusal_is_joined_and_told() -> None:
    response = assemble([chunk({"refusal": "I "}), chunk({"refusal": "won't"}, finish="stop")])
    assert response.refusal == "I won't"


def test_calls_without_index_are_told_apart_by_their_ids() -> None:
    def piece(arguments: str, **more: object) -> dict:
        return {"tool_calls": [{"function": {"arguments": arguments, "name": "f"}, **more}]}

    response = assemble([chunk(piece("{", id="a")), chunk(piece("}", id="a")), chunk(piece("[]", id="b"))])
    assert response.tool_calls == (("a", "f"), ("b", "f"))
    assert [found["function"]["arguments"] for found in message(response)["tool_calls"]] == ["{}", "[]"]


def test_a_second_named_call_under_the_same_index_is_a_call_of_its_own() -> None:
    response = assemble([chunk(call(0, "{}", id="a", name="f")), chunk(call(0, "[]", id="b", name="g"))])
    assert response.tool_calls == (("a", "f"), ("b", "g"))


def test_an_id_that_changes_with_every_piece_does_not_split_the_call() -> None:
    response = assemble([chunk(call(0, "{", id="a", name="f")), chunk(call(0, "}", id="b"))])
    assert [found["function"]["arguments"] for found in message(response)["tool_calls"]] == ["{}"]


def test_a_name_in_pieces_is_joined_and_a_repeated_one_is_not_doubled() -> None:
    pieces = [chunk(call(0, "", name=name)) for name in ("get", "_the", "_order")]
    assert assemble(pieces).tool_calls == (("", "get_the_order"),)
    assert assemble([chunk(call(0, "", name="get"))] * 3).tool_calls == (("", "get"),)


def test_feeding_does_not_change_the_events_and_the_result_can_be_asked_for_twice() -> None:
    events = copy.deepcopy(CALLS)
    assembler = Assembler(CHAT)
    for event in events:
        assembler.feed(None, event)
        assembler.result()
    assert events == CALLS
    assert assembler.result() == assemble(CALLS)

"""A recorded model call, made ready to be sent again."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from agentdbg.model.json_path import BadPath
from agentdbg.model.records import Kind
from agentdbg.replay.ask_request import AskRefused, CannotAsk
from agentdbg.replay.ask_route import RouteUnknown
from tests.support.asking import CHAT, question, recorded


def test_the_request_is_the_recorded_one() -> None:
    found = question(recorded())
    assert found.body == CHAT
    assert found.model == "small-1"
    assert found.edits == ()
    assert (found.input_tokens, found.output_tokens) == (100, 20)


def test_edits_and_another_model_are_put_in_and_said() -> None:
    edits = [(("messages", 0, "content"), "Be long."), (("temperature",), 1)]
    found = question(recorded(), edits=edits, model="large-2")
    assert found.body == {
        **CHAT,
        "model": "large-2",
        "temperature": 1,
        "messages": [{"role": "system", "content": "Be long."}, CHAT["messages"][1]],
    }
    assert found.edits == ('messages[0].content = "Be long."', "temperature = 1", "model large-2 instead of small-1")


def test_an_edit_that_leads_nowhere_is_said() -> None:
    with pytest.raises(BadPath):
        question(recorded(), edits=[(("messages", 7, "content"), "x")])


def test_a_stream_is_asked_for_in_one_piece() -> None:
    found = question(recorded(body={**CHAT, "stream": True, "stream_options": {"include_usage": True}}))
    assert found.body == {**CHAT, "stream": False}
    assert any("stream" in note for note in found.notes)


def test_redacted_values_are_counted_once_each() -> None:
    said = "⟦R:phone:16:c491b0429242⟧ and ⟦R:phone:16:c491b0429242⟧ and ⟦R:email:9:c491b0429243⟧"
    assert question(recorded(body={**CHAT, "messages": [{"role": "user", "content": said}]})).placeholders == 2


def test_headers_that_matter_are_sent_and_redacted_ones_are_not() -> None:
    body = {"model": "c", "max_tokens": 5, "messages": [{"role": "user", "content": "hi"}]}
    headers = [["anthropic-beta", "b-1"], ["User-Agent", "x"], ["x-api-key", "⟦R:field:9:0123456789ab⟧"]]
    found = question(recorded("https://api.anthropic.com/v1/messages", body, headers=headers))
    assert dict(found.headers) == {"anthropic-beta": "b-1", "anthropic-version": "2023-06-01"}
    lost = question(recorded(headers=[["openai-organization", "⟦R:field:9:0123456789ab⟧"]]))
    assert lost.headers == ()
    assert any("openai-organization" in note for note in lost.notes)


@pytest.mark.parametrize(
    ("body", "edit"),
    [
        ({"tools": [{"type": "mcp", "server_label": "shop", "server_url": "https://x"}]}, "tools"),
        ({"conversation": "conv_1"}, "conversation"),
    ],
)
def test_a_call_that_would_change_something_at_the_provider_is_refused(body: dict[str, Any], edit: str) -> None:
    made = recorded("https://api.openai.com/v1/responses", {"model": "m", "input": "hi", **body})
    with pytest.raises(AskRefused, match=f"--edit '?{edit}"):
        question(made)
    assert question(made, edits=[((edit,), [] if edit == "tools" else None)]).edits


def test_remote_tools_of_the_other_provider_are_refused_too() -> None:
    body = {"model": "c", "messages": [], "mcp_servers": [{"name": "shop", "url": "https://x"}]}
    with pytest.raises(AskRefused, match="shop"):
        question(recorded("https://api.anthropic.com/v1/messages", body))


def test_what_stays_on_the_server_is_said() -> None:
    body = {"model": "m", "input": "hi", "previous_response_id": "r-1"}
    notes = question(recorded("https://api.openai.com/v1/responses", body)).notes
    assert any("previous_response_id" in note for note in notes)


def test_what_is_no_model_call_cannot_be_asked() -> None:
    source, step = recorded()
    with pytest.raises(CannotAsk, match=r"no model call, but .*; model calls are "):
        question((source, replace(step, kind=Kind.TOOL)))


def test_a_request_that_is_not_in_the_record_cannot_be_asked() -> None:
    source, step = recorded()
    source.bodies.clear()
    with pytest.raises(CannotAsk, match="cannot be read"):
        question((source, step))
    with pytest.raises(CannotAsk, match="not in the record"):
        question((source, replace(step, id="w:2")))


def test_signed_requests_are_not_supported() -> None:
    url = "https://bedrock-runtime.eu-west-1.amazonaws.com/model/m/converse"
    with pytest.raises(RouteUnknown, match="signed"):
        question(recorded(url, {"messages": [{"role": "user", "content": [{"text": "hi"}]}]}))


def test_an_imported_call_without_address_goes_where_the_user_says() -> None:
    made = recorded(url="")
    with pytest.raises(RouteUnknown, match="--base-url"):
        question(made)
    assert question(made, base_url="http://localhost:1/v1").route.url == "http://localhost:1/v1/chat/completions"

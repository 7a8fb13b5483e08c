"""The loop for a real model is walked with a scripted one; what the model gets wrong goes back to it."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest

from agentdbg.demo import real_model
from tests.support.scripted_server import Reply, ScriptedServer

SCRIPT = (
    Reply(tool_calls=(("get_order", {"order_id": "A-1042"}),)),
    Reply(tool_calls=(("days_left", {"days_ago": 12}),)),
    Reply(text="Headphones, 18 days."),
)


@pytest.fixture(autouse=True)
def store(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AGENTDBG_STORE", str(tmp_path / "store"))


def test_each_step_names_its_tool_and_the_last_none(capsys: pytest.CaptureFixture[str]) -> None:
    with ScriptedServer() as server:
        server.script(*SCRIPT)
        assert real_model.main(["--base-url", server.openai_url, "--model", "m"]) == 0
        sent = [request.json for request in server.requests]

    assert capsys.readouterr().out == "Headphones, 18 days.\n"
    assert [body.get("tool_choice", {}).get("function", {}).get("name") for body in sent] == [
        "get_order",
        "days_left",
        None,
    ]
    assert json.loads(sent[2]["messages"][-2]["content"]) == {"days_left": 18}
    assert all(message["content"] is not None for body in sent for message in body["messages"])


@pytest.mark.parametrize("arguments", [{"order_id": "A-1"}, {"nonsense": 1}, "no object"])
def test_wrong_arguments_go_back_to_the_model(arguments: object) -> None:
    with ScriptedServer() as server:
        server.script(Reply(tool_calls=(("get_order", arguments),)), *SCRIPT[1:])
        real_model.main(["--base-url", server.openai_url, "--model", "m"])
        told = server.requests[1].json["messages"][-1]

    assert "error" in json.loads(told["content"])


@pytest.mark.real_model
def test_a_real_model_walks_the_loop(capsys: pytest.CaptureFixture[str]) -> None:
    """Needs REAL_MODEL_URL: the base URL of a server with a real model."""
    assert real_model.main(["--base-url", os.environ["REAL_MODEL_URL"]]) == 0
    assert capsys.readouterr().out.strip()

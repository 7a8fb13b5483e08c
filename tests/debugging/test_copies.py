"""What can be copied."""

from __future__ import annotations

import ast
import json
import shlex
from dataclasses import replace

from agentdbg.debugging.compared import compare_runs
from agentdbg.debugging.copies import Copy, as_curl, as_python, copies, headers_of, json_path
from agentdbg.debugging.session import Session
from agentdbg.model.records import Json, Kind, Step
from tests.support.refund_run import TWIN, refund_run, twin_run

URL = "https://models.example/v1/chat/completions"
BODY: Json = {"model": "m", "messages": [{"role": "user", "content": 'it\'s "quoted" $HOME `id`\n返金'}]}
HEADERS = [("authorization", "Bearer $API_KEY"), ("anthropic-version", "2023-06-01")]


def offered(session: Session, **more: object) -> dict[str, str]:
    entries: list[Copy] = copies(session, "the value", ("a", 0, "b c"), "run-7", str(more.get("store", "")))
    return {entry.what: entry.load() for entry in entries}


def test_the_command_that_reopens_this_view_says_step_store_and_compared_run() -> None:
    session = Session(refund_run())
    session.compare(compare_runs(session.source, twin_run(), lambda: False))
    session.goto_number(3)
    said = offered(session, store="/some where")["command that reopens this view"]
    expected = ["agentdbg", "--store", "/some where", "run-7", "--step", "3", "--with", TWIN]
    assert shlex.split(said) == expected


def test_value_path_and_step_id_are_there() -> None:
    session = Session(refund_run())
    said = offered(session)
    assert said["value under the cursor"] == "the value"
    assert said["path of the field"] == '$.a[0]["b c"]' == json_path(("a", 0, "b c"))
    assert session.current is not None
    assert session.current.id in said.values()


def test_a_model_call_becomes_curl_and_python() -> None:
    source = refund_run()
    model = next(step for step in source.steps() if step.kind is Kind.MODEL)
    source._steps[model.n - 1] = replace(model, attrs={**model.attrs, "url": URL})
    session = Session(source)
    session.goto_number(model.n)
    said = offered(session)
    assert URL in said["model call as curl"]
    assert "httpx.post" in said["model call as Python"]


def test_curl_and_python_carry_the_body_whole_whatever_is_in_it() -> None:
    words = shlex.split(as_curl(URL, BODY, HEADERS).replace("\\\n", ""))
    assert json.loads(words[-1]) == BODY
    assert "authorization: Bearer $API_KEY" in words
    tree = ast.parse(as_python(URL, BODY, HEADERS))
    texts = [node.value for node in ast.walk(tree) if isinstance(node, ast.Constant) and isinstance(node.value, str)]
    assert any(text.startswith("{") and json.loads(text) == BODY for text in texts)
    assert "Bearer " in texts and "API_KEY" in texts


def test_secret_headers_come_from_the_environment_others_stay_away() -> None:
    recorded: Json = [
        ["Authorization", "Bearer ⟦R:field:4:c51f⟧"],
        ["user-agent", "x"],
        ["anthropic-version", "1"],
        "odd",
    ]
    step = Step(1, "w:0", Kind.MODEL, "m", attrs={"request_headers": recorded})
    assert headers_of(step) == [("authorization", "Bearer $API_KEY"), ("anthropic-version", "1")]

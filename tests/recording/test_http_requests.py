"""What is asked is on disk before it is sent: whole, deduplicated, redacted, and honest about what is not in it."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from agentdbg.model.records import Effect, Kind, Step
from tests.support.http_lab import HttpLab
from tests.support.plain_server import PlainServer
from tests.support.secret_samples import secrets

SECRETS = secrets(11)

REQUESTS = """
import gzip, json, os, sys, httpx2, agentdbg
URL = "http://model/v1"
SECRET = json.load(open("secrets.json"))
JSON = {"content-type": "application/json"}

def handler(request):
    body = json.loads(request.content) if request.content[:1] == b"{" else {}
    if "messages" not in body:
        return httpx2.Response(200, json={"ok": True})
    message = {"role": "assistant", "content": f"answer {len(body['messages'])}"}
    choice = {"index": 0, "finish_reason": "stop", "message": message}
    return httpx2.Response(200, json={"id": "c", "object": "chat.completion", "model": "m-1", "choices": [choice]})

@agentdbg.agent
def turns(count):
    messages = [{"role": "system", "content": "You are brief. " * 40}]
    with httpx2.Client(transport=httpx2.MockTransport(handler)) as client:
        for i in range(count):
            messages.append({"role": "user", "content": f"question {i} " * 20})
            body = {"model": "m", "messages": messages}
            answer = client.post(URL + "/chat/completions", json=body).json()
            messages.append(answer["choices"][0]["message"])
    return len(messages)

@agentdbg.agent
def shapes():
    with httpx2.Client(transport=httpx2.MockTransport(handler)) as client:
        ask = {"model": "m", "messages": [{"role": "user", "content": "hi"}]}
        def send(content, **headers):
            client.post(URL + "/chat/completions", content=content, headers={**JSON, **headers})
        send(json.dumps(ask, separators=(",", ":")))
        send(json.dumps(ask, indent=1))
        send('{"model":"m","messages":[],"seed":1e-7}')
        send('{"model":"m","messages":[],"model":"n"}')
        send(gzip.compress(json.dumps(ask).encode()), **{"content-encoding": "gzip"})
        told = [{"role": "user", "content": "hunter-Zq81kd"}, {"role": "user", "content": "password=hunter-Zq81kd"}]
        send(json.dumps({"model": "m", "messages": told}, separators=(",", ":")))
        for method in ("GET", "HEAD", "OPTIONS", "POST", "PUT", "PATCH", "DELETE"):
            client.request(method, "http://api/thing")
        client.post("http://api/bot" + SECRET["telegram"] + "/send", json={"a": 1})
        client.get("http://api/find", params={"mail": SECRET["email"], "q": "x y"})
        client.post("http://api/form", data={"phone": SECRET["phone"]})
        client.post("http://api/bytes", content=bytes(range(256)))
        client.post("http://api/text", content="plain text")
    return "done"

if __name__ == "__main__":
    turns(200) if sys.argv[1] == "turns" else shapes()
"""


@pytest.fixture
def lab(tmp_path: Path) -> Iterator[HttpLab]:
    (tmp_path / "secrets.json").write_text(json.dumps(SECRETS))
    lab = HttpLab(tmp_path, PlainServer())
    yield lab
    lab.provider.stop()


def test_a_conversation_of_200_turns_grows_with_what_is_new(lab: HttpLab) -> None:
    lab.record(REQUESTS, "turns")
    inputs = [event["input"] for event in lab.raw_events() if event.get("kind") == "model"]
    assert len(inputs) == 200
    assert [i for i, found in enumerate(inputs) if found["base"] is None] == [0, 64, 193], "ever more rarely"
    assert all(len(found["add"]) == 2 for found in inputs if found["base"] is not None)
    assert all(found["keep"] + len(found["add"]) == found["n"] for found in inputs)
    models = lab.steps(Kind.MODEL)
    assert len(lab.request(models[-1])["messages"]) == 400
    bodies = sum(path.stat().st_size for path in (lab.store / "runs" / "run-1" / "bodies").iterdir())
    assert bodies < 200_000, "each message once"
    assert lab.replay_without_server().verdict == "identical"


def test_requests_of_all_shapes_are_kept_whole_and_say_what_they_are(lab: HttpLab) -> None:
    lab.record(REQUESTS, "shapes")
    models = lab.steps(Kind.MODEL)
    rebuilt = [event["input"].get("rebuilt", False) for event in lab.raw_events() if event.get("kind") == "model"]
    assert rebuilt == [False, True, True, True, True, True]
    assert lab.request(models[0]) == lab.request(models[1]) == lab.request(models[4])
    told = [message["content"] for message in lab.request(models[5])["messages"]]
    assert told[0].startswith("⟦R:") and told[1] == f"password={told[0]}"

    http = lab.steps(Kind.HTTP)
    assert [step.effect for step in http[:7]] == [Effect.READ] * 3 + [Effect.EXTERNAL] * 4
    asked = {step.name.rpartition("/")[2]: lab.body(step.arguments) for step in http[7:]}
    assert "/bot⟦R:telegram_token:" in asked["send"]["url"] and asked["send"]["body"] == {"a": 1}
    assert asked["find"]["url"].startswith("http://api/find?mail=⟦R:email:")
    assert asked["form"]["body"].startswith("phone=⟦R:phone:")
    assert asked["bytes"]["body"]["$"] == "bytes" and asked["text"]["body"] == "plain text"
    _finds_no_secret(lab, http)
    outcome = lab.replay_without_server()
    assert (outcome.verdict, outcome.unconsumed) == ("identical", 0), outcome.reason


def _finds_no_secret(lab: HttpLab, http: list[Step]) -> None:
    (lab.place / "secrets.json").read_text()
    everything = lab.everything()
    for name in ("telegram", "email", "phone"):
        assert SECRETS[name].encode() not in everything, name
    assert b"hunter-Zq81kd" not in everything
    assert not any(SECRETS["telegram"] in step.name for step in http)

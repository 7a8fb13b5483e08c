"""No planted secret is found anywhere in a store, whatever way it took, and the run still replays exactly."""

from __future__ import annotations

import base64
import json
import random
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import quote, quote_plus

import pytest

from agentdbg.model.records import Kind
from tests.support.http_lab import HttpLab
from tests.support.scripted_server import Received, Reply
from tests.support.secret_samples import secrets

PLACES = [
    *("prompt", "system", "argument", "result", "error", "traceback", "header", "response_header", "query", "stream"),
    *("config", "tags", "name", "state", "question", "exception", "environment", "document", "read", "argv", "thread"),
    *("flag", "final", "key_name"),
]

PROGRAM = """
import json, os, sys, traceback
import httpx2, openai
import agentdbg
SECRETS = json.load(open("secrets.json"))
URL = "http://127.0.0.1:" + os.environ["PORT"]

def text(place):
    return " and ".join(f"{kind} {value}" for kind, value in SECRETS[place].items())

class Broken(Exception):
    pass

@agentdbg.tool(effect="read")
def look_up(what, key, phone, digits):
    return {"seen": text("result"), "phone": phone, "digits": digits, "key": key, text("key_name"): 1}

@agentdbg.tool(effect="read")
def fails(kind):
    if kind == "error":
        raise ValueError(text("error"))
    raise Broken(SECRETS["exception"], list(SECRETS["exception"].values()), text("exception"))

@agentdbg.agent(name=text("name"), thread_id=lambda: text("thread"))
def agent():
    agentdbg.tag(note=text("tags"), **{"k": SECRETS["tags"]["email"]})
    agentdbg.config_content("desk.toml", text("config"))
    agentdbg.retrieved([{"id": SECRETS["document"]["email"], "source": "kb", "text": text("document")}])
    agentdbg.external_read("orders:" + SECRETS["read"]["phone"], {"row": SECRETS["read"], "text": text("read")})
    client = openai.OpenAI(base_url=URL + "/v1", api_key=SECRETS["header"]["openai"])
    messages = [{"role": "system", "content": text("system")}, {"role": "user", "content": text("prompt")}]
    tools = [{"type": "function", "function": {"name": "look_up", "parameters": {"type": "object"}}}]
    asked = client.chat.completions.create(model="m", messages=messages, tools=tools).choices[0].message
    call = asked.tool_calls[0]
    answer = look_up(text("argument"), **json.loads(call.function.arguments))
    messages.append(asked.model_dump(exclude_none=True))
    messages.append({"role": "tool", "tool_call_id": call.id, "content": json.dumps(answer)})
    asked_again = f"the key is {answer['key']}, call {answer['phone']} or {answer['digits']}"
    messages.append({"role": "user", "content": asked_again})
    for kind in ("error", "exception"):
        try:
            fails(kind)
        except Exception as error:
            agentdbg.checkpoint(kind, {"text": f"{type(error).__name__}: {error}", "args": repr(error.args)})
    try:
        raise RuntimeError(text("traceback"))
    except RuntimeError:
        agentdbg.checkpoint("crash", {"trace": traceback.format_exc()})
    agentdbg.checkpoint("state", {"values": SECRETS["state"], "text": text("state")})
    stream = client.chat.completions.create(model="m", messages=messages, stream=True)
    said = "".join(chunk.choices[0].delta.content or "" for chunk in stream if chunk.choices)
    messages += [{"role": "assistant", "content": said}, {"role": "user", "content": "and: " + said}]
    client.chat.completions.create(model="m", messages=messages)
    headers = {f"x-{kind}".replace("_", "-"): value for kind, value in SECRETS["header"].items() if "\\n" not in value}
    with httpx2.Client() as plain:
        got = plain.get(URL + "/q", params=SECRETS["query"], headers=headers)
        token = got.headers["x-openai"]
        plain.get(URL + "/next", headers={"authorization": "Bearer " + token}, params={"mail": got.headers["x-email"]})
    agentdbg.approval(text("question"), decide=lambda: "yes", who=SECRETS["question"]["email"])
    agentdbg.flag(agentdbg.run_id(), text("flag"))
    agentdbg.final_state(text("final"))
    return {"said": said, "environment": os.environ["PLANTED"][:5]}

if __name__ == "__main__":
    agent()
"""


@pytest.fixture(scope="module")
def planted() -> dict[str, dict[str, str]]:
    return {place: secrets(seed) for seed, place in enumerate(PLACES, 100)}


@pytest.fixture
def lab(tmp_path: Path, planted: dict[str, dict[str, str]]) -> Iterator[HttpLab]:
    (tmp_path / "secrets.json").write_text(json.dumps(planted))
    lab = HttpLab(tmp_path)
    prompt, streamed = planted["prompt"], " and ".join(planted["stream"].values())
    headers = {f"x-{kind}": value for kind, value in planted["response_header"].items() if "\n" not in value}

    def ask_back(request: Received) -> Reply:
        assert prompt["openai"] in request.json["messages"][1]["content"]
        arguments = {"key": prompt["openai"], "phone": prompt["phone"], "digits": int(prompt["phone"])}
        return Reply(tool_calls=(("look_up", arguments),), headers=headers)

    lab.provider.script(ask_back, Reply(text=streamed, pieces=len(streamed) // 5), Reply(text="thank you"))
    lab.provider.default = Reply(headers=headers)
    yield lab
    lab.provider.stop()


def forms(value: str) -> set[bytes]:
    """A value as it may stand somewhere."""
    plain = {value, quote(value), quote(value, safe=""), quote_plus(value), json.dumps(value)[1:-1], repr(value)[1:-1]}
    texts = {text.encode() for text in plain}
    raw = value.encode()
    return texts | {base64.b64encode(raw).rstrip(b"="), base64.urlsafe_b64encode(raw).rstrip(b"="), raw.hex().encode()}


def leaks(lab: HttpLab, planted: dict[str, dict[str, str]]) -> list[tuple[str, str]]:
    names = "\n".join(str(path.relative_to(lab.store)) for path in lab.store.rglob("*")).encode()
    everything = lab.everything() + names
    found = [(place, kind) for place, values in planted.items() for kind, value in values.items()]
    return [(place, kind) for place, kind in found if any(form in everything for form in forms(planted[place][kind]))]


def record(lab: HttpLab, planted: dict[str, dict[str, str]]) -> str:
    everything = " ".join(planted["environment"].values())
    env = {"PLANTED": everything, "PLANTED_KEY": planted["environment"]["openai"], "AGENTDBG_RUN_ID": ""}
    lab.record(PROGRAM, planted["argv"]["openai"], f"--to={planted['argv']['email']}", env=env)
    (run,) = (lab.store / "runs").iterdir()
    return run.name


def test_no_planted_secret_is_anywhere_in_the_store_and_the_run_replays_under_this_and_another_key(
    lab: HttpLab, planted: dict[str, dict[str, str]], monkeypatch: pytest.MonkeyPatch
) -> None:
    run = record(lab, planted)
    assert leaks(lab, planted) == []
    models = lab.steps(Kind.MODEL, address=run)
    assert len(models) == 3
    first, last = lab.request(models[0], run)["messages"], lab.request(models[2], run)["messages"]
    marks = [word for word in first[1]["content"].split() if word.startswith("⟦R:")]
    assert len(marks) == len(set(marks)) >= 20, "two secrets stay two"
    said = last[-3]["content"]
    assert said.startswith("the key is ⟦R:openai_key:") and "call ⟦R:phone:11:" in said
    assert said.rpartition(" or ")[2] in (said.partition("call ")[2].partition(" or ")[0], said.rpartition(" or ")[2])
    monkeypatch.setenv("PLANTED", " ".join(planted["environment"].values()))
    outcome = lab.replay_without_server(run)
    assert (outcome.verdict, outcome.unconsumed) == ("identical", 0), (outcome.reason, outcome.log)
    assert leaks(lab, planted) == []
    monkeypatch.setenv("AGENTDBG_REDACTION_KEY", base64.b64encode(random.Random(5).randbytes(32)).decode())
    outcome = lab.replay_without_server(run, trust=True)
    assert (outcome.verdict, outcome.unconsumed) == ("identical", 0), (outcome.reason, outcome.first_divergence)
    assert leaks(lab, planted) == []

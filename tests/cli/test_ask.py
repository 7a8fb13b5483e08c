"""``agentdbg ask`` as a user runs it: price first, refusals, answers, exit status."""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from agentdbg.cli.main import main
from agentdbg.model.segments import PLACE
from tests.support.program import agentdbg, document
from tests.support.run_records import RunRecords
from tests.support.scripted_server import Reply, ScriptedServer, rate_limited
from tests.support.terminal import CTRL_C, Shell

REFUND = (("refund", {"order": "A-1042"}),)


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("ask") / "store"
    run = RunRecords(path, "refund-1")
    call = {"id": "c", "type": "function", "function": {"name": "refund", "arguments": '{"order": "A-1042"}'}}
    run.tool("order", {"id": 1}, {"total": 5})
    run.model(
        "gpt-4o",
        [{"role": "user", "content": "Refund it. ⟦R:phone:16:c491b0429242⟧"}],
        {"choices": [{"message": {"role": "assistant", "content": None, "tool_calls": [call]}}]},
        usage={"input": 1000, "output": 100},
        shape={"model": "gpt-4o", "messages": {PLACE: "messages"}},
    )
    run.end()
    return path


@pytest.fixture
def server() -> Iterator[ScriptedServer]:
    with ScriptedServer(Reply(tool_calls=REFUND)) as running:
        yield running


def test_nothing_is_sent_without_a_terminal_and_without_yes(store: Path, server: ScriptedServer) -> None:
    done = agentdbg("ask", "refund-1", "--step", "3", "--base-url", server.openai_url, "--store", store)
    assert (done.returncode, done.stdout, server.requests) == (3, "", [])
    assert "--yes" in done.stderr
    assert "$0.0035 (prices of " in done.stderr
    assert done.stderr.startswith("! 1 value")


def test_the_same_answer_ends_with_0_and_is_kept(store: Path, server: ScriptedServer) -> None:
    command = ["ask", "refund-1", "--step", "3", "--samples", "3", "--yes", "--base-url", server.openai_url]
    found = document(*command, "--store", store)
    assert found["verdict"] == "same"
    assert found["stability"]["fraction"] == 1
    assert len(found["samples"]) == len(server.requests) == 3
    assert found["price"]["usd"] == pytest.approx(0.0105)
    kept = store / "runs" / "refund-1" / "work" / "asks.jsonl"
    assert json.loads(kept.read_text().strip().splitlines()[-1])["verdict"] == "same"


@pytest.mark.parametrize(
    ("answers", "status"),
    [
        ([Reply(tool_calls=(("approve", {}),))] * 2, 1),
        ([Reply(tool_calls=(("approve", {}),)), Reply(tool_calls=REFUND)], 4),
        ([Reply(tool_calls=REFUND), Reply(status=500)], 2),
        ([rate_limited(), Reply(tool_calls=REFUND), Reply(tool_calls=REFUND)], 0),
    ],
)
def test_exit_status(
    store: Path, server: ScriptedServer, answers: list[Reply], status: int, capsys: pytest.CaptureFixture[str]
) -> None:
    server.script(*answers)
    options = ["--step", "3", "--samples", "2", "--yes", "--base-url", server.openai_url, "--store", str(store)]
    assert main(["ask", "refund-1", *options]) == status
    assert capsys.readouterr().out.startswith("sample")


def test_an_edited_question_and_another_model(store: Path, server: ScriptedServer) -> None:
    options = ["--edit", 'messages[0].content="No."', "--edit", "temperature=0.5", "--model", "large-2", "--yes"]
    done = agentdbg("ask", "refund-1", "--step", "3", *options, "--base-url", server.openai_url, "--store", store)
    assert done.returncode == 0, done.stderr
    sent = server.requests[0].json
    assert (sent["model"], sent["temperature"], sent["messages"][0]["content"]) == ("large-2", 0.5, "No.")
    assert "price unknown" in done.stderr


@pytest.mark.parametrize(
    ("options", "status", "words"),
    [
        (["--step", "2"], 5, "no model call"),
        (["--step", "9"], 2, "no step 9"),
        (["--step", "3"], 5, "--base-url"),
        (["--step", "3", "--base-url", "https://api.openai.com/v1"], 2, "OPENAI_API_KEY"),
        (["--step", "3", "--edit", "messages[0].content=No", "--base-url", "http://localhost:1/v1"], 2, "quotes"),
        (["--step", "3", "--edit", "a.b=1", "--base-url", "http://localhost:1/v1"], 2, "no such member"),
        (["--step", "3", "--base-url", "http://localhost:1/v1"], 2, "cannot be reached"),
    ],
)
def test_what_goes_wrong_is_said(
    store: Path,
    options: list[str],
    status: int,
    words: str,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    assert main(["ask", "refund-1", *options, "--yes", "--store", str(store)]) == status
    shown = capsys.readouterr()
    assert words in shown.out + shown.err


@pytest.mark.wide
def test_a_terminal_is_asked_first_and_ctrl_c_keeps_what_came(store: Path, server: ScriptedServer) -> None:
    options = f"--step 3 --samples 2 --base-url {server.openai_url} --store {store}"
    command = f"{sys.executable} -m agentdbg.cli.main ask refund-1 {options}"
    with Shell(str(store)) as shell:
        shell.type(command + "\n")
        assert "about $0.0070" in shell.read("[y/N]")
        assert "nothing was sent" in shell.run("n")
        assert "3" in shell.run("echo $?").splitlines()
        assert server.requests == []
        server.script(Reply(tool_calls=REFUND), Reply(text="late", delay=3.0))
        shell.type(command + "\n")
        shell.read("[y/N]")
        shell.type("y\n")
        while len(server.requests) < 2:
            time.sleep(0.02)
        shell.type(CTRL_C)
        shown = shell.read("\nshell> ")
        assert "given up" in shown
        assert "1 of 1 come to the same" in shown
        assert "130" in shell.run("echo $?").splitlines()

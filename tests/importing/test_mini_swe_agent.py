"""A mini-swe-agent file as a run: every call is there, and nothing that was rebuilt passes for evidence."""

from __future__ import annotations

import itertools
import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from agentdbg.compare.trajectory import compare
from agentdbg.importing import open_one, open_path
from agentdbg.model.hashing import sha256_hex
from agentdbg.model.records import Kind, Origin, RunStatus, Step, StepStatus
from agentdbg.store.files import StoreError
from agentdbg.store.protocols import RunSource
from tests.support.mini_swe import NAMES, answer, came_back, command, output, real, said, write


def kinds(source: RunSource, kind: Kind) -> list[Step]:
    return [step for step in source.steps() if step.kind is kind]


def body(source: RunSource, ref: Any) -> Any:
    return json.loads(source.body(ref))


def independent_counts(path: Path) -> tuple[int, int]:
    """Model and tool calls of a file, counted from the raw JSON by other means than the importer's."""
    document = json.loads(path.read_text(encoding="utf-8"))
    messages = document if isinstance(document, list) else document["messages"]
    models = sum(m.get("role") == "assistant" for m in messages)
    models += sum("response" in m.get("extra", {}) and m.get("role") == "user" for m in messages)
    if any(m.get("role") == "tool" for m in messages):
        return models, sum(len(m.get("tool_calls") or ()) for m in messages)
    asked_before = itertools.pairwise(messages)
    return models, sum(a["role"] == "assistant" and b["role"] == "user" for a, b in asked_before)


@pytest.mark.parametrize("name", NAMES)
def test_every_call_of_a_real_file_is_a_step(name: str) -> None:
    path = real(name)
    source = open_one(path)
    models, tools = independent_counts(path)
    assert (len(kinds(source, Kind.MODEL)), len(kinds(source, Kind.TOOL))) == (models, tools)
    assert not source.problems()
    stated = json.loads(path.read_text(encoding="utf-8"))
    if isinstance(stated, dict):
        assert models == stated["info"]["model_stats"]["api_calls"]


@pytest.mark.parametrize("name", NAMES)
def test_every_body_of_a_real_file_has_its_hash(name: str) -> None:
    source = open_one(real(name))
    for step in source.steps():
        refs = [ref for ref in (step.arguments, step.result) if ref] + [s.ref for s in source.segments(step)]
        for ref in refs:
            assert sha256_hex(source.body(ref)) == ref.sha256


@pytest.mark.parametrize("name", NAMES)
def test_a_real_file_says_what_it_cannot_know(name: str) -> None:
    source = open_one(real(name))
    for step in kinds(source, Kind.MODEL):
        assert source.origin(step, "input") is Origin.REBUILT
        assert source.origin(step, "input_hash") is Origin.DERIVED
        assert step.fingerprint is None
        assert source.origin(step, "fingerprint") is Origin.ABSENT
    for step in kinds(source, Kind.TOOL):
        assert step.effect is None
        assert source.origin(step, "fingerprint") is Origin.DERIVED
    assert any("no tool schemas" in hole for hole in source.summary().holes)


def test_the_input_of_a_call_is_everything_said_before_it() -> None:
    path = real("django-11999.gpt5-mini.traj.json")
    messages = json.loads(path.read_text(encoding="utf-8"))["messages"]
    source = open_one(path)
    for number, step in enumerate(kinds(source, Kind.MODEL)):
        before = messages[: 2 + 2 * number]
        sent = [body(source, segment.ref) for segment in source.segments(step)]
        assert sent[0]["model"] == "openai/gpt-5-mini"
        assert sent[1:] == [{"role": m["role"], "content": m["content"]} for m in before]


def test_a_rejected_answer_counts_as_a_model_call() -> None:
    source = open_one(real("generated_v2_toolcalls.traj.json"))
    rejected = [step for step in source.steps() if step.attrs.get("rejected")]
    assert [step.attrs["rejected"] for step in rejected] == ["FormatError"]
    assert rejected[0].usage is not None
    assert rejected[0].result is not None
    assert body(source, rejected[0].result)["choices"][0]["message"]["content"] == "I think we are done."
    assert not any(step.parent == rejected[0].id for step in source.steps())


def test_the_raw_output_is_the_result_not_the_message_made_of_it() -> None:
    source = open_one(real("generated_v2_toolcalls.traj.json"))
    tools = kinds(source, Kind.TOOL)
    assert tools[1].result is not None
    assert body(source, tools[1].result) == "héllo\ncat: missing.txt: No such file or directory\n"
    assert source.origin(tools[1], "result") is Origin.RECORDED
    assert (tools[1].status, tools[1].attrs["returncode"]) == (StepStatus.ERROR, 1)
    assert tools[3].status is StepStatus.CANCELLED


def test_times_and_tokens_are_there_where_the_file_has_them() -> None:
    source = open_one(real("django-12713.res-api.traj.json"))
    first = kinds(source, Kind.MODEL)[0]
    assert (first.usage.input, first.usage.output) == (1142, 67) if first.usage else False
    assert first.latency_ms == pytest.approx(1952, abs=1)
    assert source.origin(first, "latency_ms") is Origin.DERIVED
    bare = open_one(real("github_issue.barelist.traj.json"))
    assert bare.summary().status is RunStatus.LOST
    assert {bare.origin(step, "latency_ms") for step in bare.steps()} == {Origin.ABSENT}
    assert {bare.origin(step, "started_at") for step in bare.steps()} == {Origin.ABSENT}
    assert "the file has no times" in bare.summary().holes


def test_two_real_files_are_compared() -> None:
    one, other = (open_one(real(name)) for name in NAMES[:2])
    assert compare(one, open_one(real(NAMES[0]))).identical
    found = compare(one, other)
    assert not found.identical
    assert found.divergence is not None
    assert found.divergence.step == 2
    assert found.pairs


def test_text_actions_and_their_results_are_derived(tmp_path: Path) -> None:
    messages = [
        said("system", "Be brief."),
        said("user", "Fix it."),
        said("assistant", command("ls")),
        said("user", output("a.txt")),
        said("assistant", "No block here."),
        said("user", "Please always provide EXACTLY ONE action."),
        said("assistant", command("cat a.txt")),
    ]
    path = tmp_path / "x.json"
    path.write_text(json.dumps(messages), encoding="utf-8")
    source = open_one(path)
    first, last = kinds(source, Kind.TOOL)
    assert first.arguments is not None
    assert body(source, first.arguments) == {"command": "ls"}
    assert source.origin(first, "arguments") is Origin.DERIVED
    assert (first.status, last.status) == (StepStatus.OK, StepStatus.OPEN)
    assert [step.name for step in kinds(source, Kind.MESSAGE)] == ["system", "user", "user"]
    assert source.origin(kinds(source, Kind.MODEL)[0], "result") is Origin.REBUILT


def test_a_used_again_id_goes_to_the_nearest_call_before(tmp_path: Path) -> None:
    path = write(
        tmp_path / "x.json",
        [
            answer("c1", "one"),
            answer("c1", "two"),
            came_back("c1", "of two"),
            came_back("c1", "of one"),
            came_back("c9", "of none"),
        ],
    )
    source = open_one(path)
    results = [body(source, step.result) for step in kinds(source, Kind.TOOL) if step.result]
    assert results == ["of one", "of two"]
    (stray,) = kinds(source, Kind.MESSAGE)
    assert stray.holes == ("a result whose call is not in the file",)


def test_responses_objects_are_calls_with_their_outputs(tmp_path: Path) -> None:
    call = {"type": "function_call", "name": "bash", "arguments": '{"command": "ls"}', "call_id": "f1"}
    response = {"object": "response", "model": "m-2026", "output": [{"type": "reasoning"}, call], "extra": {}}
    result = {"type": "function_call_output", "call_id": "f1", "output": "shown", "extra": {"raw_output": "raw"}}
    path = write(tmp_path / "x.json", [said("user", "Go."), response, result, {**response, "output": []}])
    source = open_one(path)
    first, second = kinds(source, Kind.MODEL)
    (tool,) = kinds(source, Kind.TOOL)
    assert tool.result is not None
    assert body(source, tool.result) == "raw"
    assert [segment.name for segment in source.segments(first)] == ["", "user"]
    assert [s.name for s in source.segments(second)] == [
        "",
        "user",
        "reasoning",
        "function_call",
        "function_call_output",
    ]
    assert body(source, source.segments(first)[0].ref) == {"input": {"$segments": "messages"}}


def test_a_run_that_did_not_submit_has_failed(tmp_path: Path) -> None:
    path = write(tmp_path / "x.json", [said("user", "Go.")], exit_status="LimitsExceeded", submission="")
    summary = open_one(path).summary()
    assert summary.status is RunStatus.FAILED
    assert summary.error is not None
    assert summary.error.type == "LimitsExceeded"


def test_a_time_limit_and_a_stated_number_of_calls_that_is_wrong_are_told(tmp_path: Path) -> None:
    messages = [answer("c1", "sleep"), came_back("c1", "", exception_info="the command timed out", returncode=-1)]
    path = write(tmp_path / "x.json", messages, model_stats={"api_calls": 7})
    source = open_one(path)
    assert kinds(source, Kind.TOOL)[0].status is StepStatus.TIMED_OUT
    assert list(source.problems()) == ["the file says 7 model calls were made, and holds 1"]


def test_what_no_version_knows_is_shown_as_it_is(tmp_path: Path) -> None:
    odd: list[Any] = [17, {"type": "memo", "x": [1]}, {"role": 3}, said("user", "Go.")]
    source = open_one(write(tmp_path / "x.json", odd))
    shown = [(step.name, body(source, step.arguments)) for step in kinds(source, Kind.MESSAGE)]
    assert shown[:3] == [("?", 17), ("memo", {"type": "memo", "x": [1]}), ("?", {"role": 3})]


def test_line_separators_and_control_codes_stay_in_their_step(tmp_path: Path) -> None:
    text = "a\u2028b\x85c\rd\x1b]52;c;x\x07"
    source = open_one(write(tmp_path / "x.json", [said("user", text)]))
    (step,) = kinds(source, Kind.MESSAGE)
    assert step.arguments is not None
    assert body(source, step.arguments)["content"] == text


def test_the_same_file_gives_the_same_ids_wherever_it_lies(tmp_path: Path) -> None:
    for folder in ("a", "b"):
        (tmp_path / folder).mkdir()
        write(tmp_path / folder / "x.json", [answer("c1", "ls"), came_back("c1", "out")])
    one, other = (open_one(tmp_path / folder / "x.json") for folder in ("a", "b"))
    assert list(one.steps()) == list(other.steps())
    assert one.step_by_id("import:1") == one.steps()[1]


JSON: Any = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=6), inner, max_size=3),
    max_leaves=6,
)
MESSAGE: Any = st.fixed_dictionaries(
    {"role": st.sampled_from(["user", "assistant", "tool", "exit", "system"]) | JSON},
    optional={
        "content": JSON | st.just(command("ls")) | st.just(output("x", 1)),
        "tool_calls": JSON | st.lists(st.fixed_dictionaries({"id": JSON, "function": JSON}), max_size=2),
        "tool_call_id": JSON,
        "object": st.sampled_from(["response", 1]),
        "output": JSON,
        "timestamp": JSON,
        "extra": JSON
        | st.fixed_dictionaries(
            {}, optional=dict.fromkeys(("response", "actions", "raw_output", "returncode", "interrupt_type"), JSON)
        ),
    },
)


@settings(max_examples=150, deadline=None)
@given(messages=st.lists(MESSAGE | JSON, max_size=6), info=JSON)
def test_nothing_in_a_file_breaks_its_reader(
    messages: list[Any], info: Any, tmp_path_factory: pytest.TempPathFactory
) -> None:
    path = tmp_path_factory.mktemp("any") / "x.json"
    document = {"info": info, "messages": messages, "trajectory_format": "mini-swe-agent-1.1"}
    path.write_text(json.dumps(document), encoding="utf-8")
    source = open_one(path)
    for step in source.steps():
        for ref in [step.arguments, step.result, *(segment.ref for segment in source.segments(step))]:
            if ref is not None:
                assert sha256_hex(source.body(ref)) == ref.sha256
    assert source.summary().steps == len(source.steps())
    assert compare(source, open_one(path)).identical


def test_a_deeply_nested_message_is_read(tmp_path: Path) -> None:
    deep = "[" * 900 + "]" * 900
    text = f'{{"trajectory_format": "mini-swe-agent-1.1", "messages": [{{"role": "user", "content": {deep}}}]}}'
    (tmp_path / "x.json").write_text(text, encoding="utf-8")
    source = open_one(tmp_path / "x.json")
    assert sum(len(source.body(step.arguments)) for step in source.steps() if step.arguments) > 900


def test_ten_thousand_messages_are_read_once(tmp_path: Path) -> None:
    messages = [m for i in range(5000) for m in (answer(f"c{i}", f"echo {i}"), came_back(f"c{i}", f"{i}"))]
    source = open_one(write(tmp_path / "x.json", messages))
    assert len(source.steps()) == 10_001
    assert len(source.segments(source.steps()[-2])) == 9_999


def test_a_torn_file_shows_what_stands_before(tmp_path: Path) -> None:
    path = write(tmp_path / "x.json", [answer("c1", "ls"), came_back("c1", "out"), said("user", "x" * 500)])
    raw = path.read_bytes()
    path.write_bytes(raw[: raw.index(b"xxxx") + 50])
    (found,) = open_path(path)
    source = found.open()
    assert [step.kind for step in source.steps()] == [Kind.AGENT, Kind.MODEL, Kind.TOOL]
    (problem,) = source.problems()
    assert problem.startswith("x.json: it is damaged or breaks off ")


def test_a_file_torn_before_its_messages_is_one_line(tmp_path: Path) -> None:
    path = write(tmp_path / "x.json", [said("user", "Go.")])
    path.write_bytes(path.read_bytes()[:30])
    with pytest.raises(StoreError, match=r"x.json is no pack and of no known format .*; as JSON, it is damaged"):
        open_path(path)

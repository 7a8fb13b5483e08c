"""What one message says, taken by itself."""

from __future__ import annotations

from typing import Any

import pytest

from agentdbg.importing.mini_swe_messages import calls_of, is_observation, result_of, said_at, usage_of
from agentdbg.model.records import Origin, Usage
from tests.support.mini_swe import answer, came_back, command, output, said


@pytest.mark.parametrize(
    ("content", "commands"),
    [
        (command("ls"), ["ls"]),
        ("```mswea_bash_command\nls -la\n```", ["ls -la"]),
        ("```bash\ncat > x << 'E'\n# ``` inside\nE\n```", ["cat > x << 'E'\n# ``` inside\nE"]),
        ("```python\nprint()\n```\n" + command("ls"), ["ls"]),
        (command("ls") + command("pwd"), []),
        ("```bash\nnever closed", []),
        ("```", []),
        ("no block", []),
        ("```bash\n" * 20_000, []),
    ],
)
def test_a_single_block_is_the_command(content: str, commands: list[str]) -> None:
    assert [call.arguments for call in calls_of(said("assistant", content))] == [{"command": c} for c in commands]


def test_tool_calls_win_over_blocks_and_actions() -> None:
    message: dict[str, Any] = {**answer("c1", "ls"), "content": command("pwd")}
    (call,) = calls_of(message)
    assert (call.name, call.arguments, call.call_id, call.origin) == ("bash", {"command": "ls"}, "c1", Origin.RECORDED)


def test_actions_without_ids_are_calls() -> None:
    found = calls_of(said("assistant", "two", actions=[{"command": "a"}, {"command": "b"}, "c"]))
    assert [call.arguments for call in found] == [{"command": "a"}, {"command": "b"}, {"command": "c"}]


def test_arguments_that_are_no_json_are_shown_as_they_are() -> None:
    (call,) = calls_of({"tool_calls": [{"id": "c", "function": {"name": "bash", "arguments": "{ls"}}]})
    assert call.arguments == "{ls"


def test_a_result_is_the_raw_output_where_it_was_kept() -> None:
    kept, made = result_of(came_back("c1", "raw")), result_of(said("user", output("shown", 3)))
    assert (kept.value, kept.origin, kept.returncode) == ("raw", Origin.RECORDED, 0)
    assert (made.origin, made.returncode, made.shortened) == (Origin.DERIVED, 3, False)
    assert result_of(said("user", "<returncode>0</returncode>\n<output_head>")).shortened
    assert result_of(said("user", "The last command <command>x</command> timed out and has been killed.")).timed_out


def test_what_a_person_says_is_no_observation() -> None:
    assert is_observation(said("user", output("x")))
    assert not is_observation(said("user", "Go on."))
    assert not is_observation(said("user", output("x"), interrupt_type="UserInterruption"))
    assert not is_observation(said("assistant", output("x")))


@pytest.mark.parametrize("value", [None, True, -1, 0, "1", 1e300, float("nan"), 10**400, []])
def test_a_time_that_is_none_is_absent(value: Any) -> None:
    assert said_at({"timestamp": value}) is None


def test_tokens_are_read_in_both_dialects() -> None:
    chat: Any = {"usage": {"prompt_tokens": 5, "completion_tokens": 2, "prompt_tokens_details": {"cached_tokens": 4}}}
    responses: Any = {"usage": {"input_tokens": 5, "output_tokens": 2, "input_tokens_details": {"cached_tokens": 4}}}
    assert usage_of(chat) == usage_of(responses) == Usage(5, 2, 4)
    assert usage_of({"usage": {"prompt_tokens": "many"}}) == Usage(None, None, None)
    assert usage_of({}) is None

"""Options of a replay that are typed as on the command line: read, or refused in one line that says why."""

from __future__ import annotations

from pathlib import Path

import pytest

from agentdbg.debugging.replay_words import BadWords, check_words, read_words


def test_the_words_of_the_command_line_are_read(tmp_path: Path) -> None:
    (tmp_path / "a file").write_text("export TOKEN='se cret'\n", encoding="utf-8")
    found = read_words(
        f"--timeout=2.5 --map '/old place={tmp_path}' --map {{root}}={tmp_path} --env-file '{tmp_path}/a file'"
    )
    assert found.timeout == 2.5
    assert found.moves == (("/old place", str(tmp_path)), ("{root}", str(tmp_path)))
    assert found.env == {"TOKEN": "se cret"} and "se cret" not in repr(found)
    assert read_words("--in python:3.12").image == "python:3.12"
    assert read_words("  ") == read_words("")


@pytest.mark.parametrize(
    "text, why",
    [
        ("--timeout", "--timeout needs a value"),
        ("--timeout --in x", "--timeout needs a value"),
        ("--timeout soon", "a number of seconds"),
        ("--timeout 0", "a number of seconds"),
        ("--timeout nan", "a number of seconds"),
        ("--timeout 1e999", "a number of seconds"),
        ("--map here", "use FROM=TO"),
        ("--map /a=/no/such/place", "is no directory"),
        ("--env-file /no/such/file", "no such file"),
        ("--in ''", "the name of an image"),
        ("--in -x", "the name of an image"),
        ("--guard audit", "no option --guard here"),
        ("60", "no option 60 here"),
        ("--map 'open", "quotation mark"),
    ],
)
def test_what_cannot_be_used_is_refused_in_one_line(text: str, why: str) -> None:
    with pytest.raises(BadWords, match=why) as refused:
        read_words(text)
    assert "\n" not in str(refused.value)


def test_they_have_to_go_with_what_was_chosen() -> None:
    assert check_words("--in x", live=False, guard="auto").image == "x"
    with pytest.raises(BadWords, match="needs an exact replay"):
        check_words("--in x", live=True, guard="auto")
    with pytest.raises(BadWords, match="set guard to auto"):
        check_words("--in x", live=False, guard="audit")

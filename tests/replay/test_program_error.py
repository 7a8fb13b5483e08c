"""What a user reads when a replayed program cannot be loaded, or ends in an error that was not recorded."""

from __future__ import annotations

from pathlib import Path

import pytest

from agentdbg.replay import entry, program_error
from tests.support.replay_lab import ReplayLab

PROGRAM = """\
import agentdbg


@agentdbg.tool(effect="read")
def look(item):
    return item.upper()


@agentdbg.agent
def desk(item):
    return look(item)


if __name__ == "__main__":
    desk("pen")
"""


def loading(place: Path, text: str) -> BaseException:
    program = place / "shop.py"
    program.write_text(text, encoding="utf-8")
    with pytest.raises(Exception) as caught:
        entry.load({"module": "__main__", "qualname": "desk"}, str(program))
    return caught.value


def test_the_traceback_begins_in_the_program(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    error = loading(tmp_path, "def first():\n    raise LookupError('no such shelf')\n\n\nfirst()\n")
    program_error.show(error.with_traceback(error.__traceback__ and error.__traceback__.tb_next))
    printed = capsys.readouterr().err
    assert printed.splitlines()[1].strip().startswith(f'File "{tmp_path / "shop.py"}", line 5')
    assert "agentdbg" not in printed
    assert program_error.in_one_line(error) == "LookupError: no such shelf"


def test_an_error_in_the_source_has_its_place(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    error = loading(tmp_path, "x = 1\ndef (\n")
    assert program_error.in_one_line(error) == "SyntaxError: invalid syntax (shop.py, line 2)"
    program_error.show(error.with_traceback(error.__traceback__ and error.__traceback__.tb_next))
    assert "entry.py" not in capsys.readouterr().err


def test_an_error_that_was_not_recorded_is_named_where_the_run_ends(lab: ReplayLab) -> None:
    lab.record(PROGRAM)
    text = lab.program.read_text(encoding="utf-8")
    lab.program.write_text(text.replace("    return look(", "    item.nothing()\n    return look("), encoding="utf-8")
    outcome = lab.replay()
    assert outcome.verdict == "diverged"
    assert "got (the run ended with AttributeError: 'str' object has no attribute 'nothing')" in outcome.reason

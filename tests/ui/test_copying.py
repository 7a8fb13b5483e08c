"""Copies: honest about the clipboard, private on the disk."""

from __future__ import annotations

import os
import stat
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from textual.app import SuspendNotSupported

from agentdbg.ui import copying


@pytest.fixture
def app() -> Any:
    """An app that only has a clipboard and cannot be suspended."""
    taken: list[str] = []

    def suspend() -> None:
        raise SuspendNotSupported

    return SimpleNamespace(copy_to_clipboard=taken.append, taken=taken, suspend=suspend)


@pytest.fixture(autouse=True)
def temporary(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Private files go here."""
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    return tmp_path


def test_small_values_are_sent_and_never_said_to_have_arrived(app: Any) -> None:
    outcome = copying.copy_out(app, "é".encode(), "value")
    assert (app.taken, outcome.message, outcome.asks) == (["é"], "value, 2 B: sent to terminal", False)


def test_big_values_go_to_a_private_file(app: Any, temporary: Path) -> None:
    data = b'{"a":' + b"1" * 70_000 + b"}"
    outcome = copying.copy_out(app, data, "body")
    (path,) = temporary.iterdir()
    assert str(path) in outcome.message
    assert path.read_bytes() == data
    assert path.suffix == ".json"
    assert stat.S_IMODE(os.stat(path).st_mode) == 0o600
    assert app.taken == []


def test_hidden_characters_ask_first(app: Any) -> None:
    data = b"x\x1b[2J"
    first = copying.copy_out(app, data, "value")
    assert (first.asks, app.taken) == (True, [])
    assert copying.copy_out(app, data, "value", confirmed=True).asks is False
    assert app.taken == ["x\x1b[2J"]


def test_a_full_disk_is_told(app: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(copying, "private_file", lambda _data: (_ for _ in ()).throw(OSError("no space")))
    assert "no space" in copying.copy_out(app, b"x" * 70_000, "body").message
    assert "cannot open" in copying.edit(app, b"x")[0]


def test_where_no_editor_can_be_opened_it_says_so(app: Any) -> None:
    assert copying.edit(app, b"x")[0] == "no editor can be opened here"


def test_the_editor_gets_a_copy(app: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    from contextlib import nullcontext

    ran: list[list[str]] = []
    monkeypatch.setenv("VISUAL", "ed -x 'two words'")
    monkeypatch.setattr(copying, "run_lent", lambda _app, command: ran.append(command))
    app.suspend = nullcontext
    said = copying.edit(app, b"text")[0]
    assert ran[0][:3] == ["ed", "-x", "two words"]
    assert Path(ran[0][3]).read_bytes() == b"text"
    assert ran[0][3] in said
    assert ran[0][3].endswith(".txt")


def test_what_an_editor_writes_is_taken_over_or_the_reason_is_told(
    app: Any, temporary: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from contextlib import nullcontext

    app.suspend = nullcontext
    for command, text, why in (
        ("sh -c 'echo new > $0'", "new\n", ""),
        ("sh -c 'printf \"\\377\\376\" > $0'", "", "no text in UTF-8"),
        ("rm", "", "no such file"),
        ("false", "", "ended with status 1"),
        ("sh -c 'kill -9 $$'", "", "ended with status -9"),
        ("/no/such/editor", "", "cannot open /no/such/editor: no such file"),
        ("'open", "", "cannot open 'open"),
    ):
        monkeypatch.setenv("VISUAL", command)
        found, problem = copying.edited(app, "old")
        assert (found, why in problem, bool(problem)) == (text, True, bool(why)), (command, problem)
        assert list(temporary.iterdir()) == []

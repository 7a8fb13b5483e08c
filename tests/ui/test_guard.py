"""The guard on the last step, seen from the other side of a real terminal."""

from __future__ import annotations

import os
import pty
import select
import subprocess
import sys
import time
from pathlib import Path

import pytest
from rich.console import Console
from rich.segment import Segment
from rich.style import Style
from textual.strip import Strip

from agentdbg.ui import guard
from tests.support.hostile import FEW

SRC = Path(__file__).parents[2] / "src"

PROGRAM = """
import sys
from rich.text import Text
from textual.app import App
from textual.content import Content
from textual.widgets import Static, Label, OptionList, DataTable, RichLog, Log, Tree
from agentdbg.ui import guard
if sys.argv[1] == "guarded":
    guard.install()
BAD = "\\x1b]52;c;U0VOVElORUw=\\x07 \\x9b31m \\u202e \\u200b END"
class Leaky(App):
    def compose(self):
        yield Static(Content(BAD))
        yield Static(BAD, markup=False)
        yield Label(Content(BAD))
        yield OptionList(Content(BAD))
        yield Log()
        yield RichLog(min_width=10)
        yield Tree(Text(BAD))
        yield DataTable()
    def on_mount(self):
        self.query_one(Log).write_line(BAD)
        self.query_one(RichLog).write(Text(BAD))
        table = self.query_one(DataTable)
        table.add_column(Text("c"))
        table.add_row(Text(BAD))
        self.set_timer(0.4, self.exit)
Leaky().run()
print("ENDED")
"""


def terminal_output(mode: str) -> bytes:
    """Everything that the program writes to its terminal."""
    controller, terminal = pty.openpty()
    environ = {**os.environ, "TERM": "xterm-256color", "PYTHONPATH": str(SRC), "COLUMNS": "100", "LINES": "50"}
    process = subprocess.Popen(
        [sys.executable, "-c", PROGRAM, mode],
        stdin=terminal,
        stdout=terminal,
        stderr=terminal,
        env=environ,
        close_fds=True,
    )
    os.close(terminal)
    output = b""
    deadline = time.monotonic() + 60
    while time.monotonic() < deadline:
        if select.select([controller], [], [], 0.1)[0]:
            try:
                piece = os.read(controller, 65536)
            except OSError:
                break
            if not piece:
                break
            output += piece
        elif process.poll() is not None:
            break
    process.kill()
    process.wait()
    os.close(controller)
    return output


@pytest.mark.parametrize("mode", ["guarded", "bare"])
def test_a_clipboard_write_reaches_the_terminal_only_without_the_guard(mode: str) -> None:
    output = terminal_output(mode)
    assert b"ENDED" in output
    assert output.count(b"U0VOVElORUw=") >= 5
    leaks = [
        output.count(attack) for attack in (b"\x1b]52;c;U0V", b"\xc2\x9b31m", "\u202e".encode(), "\u200b".encode())
    ]
    assert all(leaks) if mode == "bare" else leaks == [0, 0, 0, 0]


def test_it_is_installed_once_and_leaves_clean_strips_alone() -> None:
    guard.install()
    guard.install()
    assert guard.is_installed()
    console = Console(color_system="truecolor", force_terminal=True)
    strip = Strip([Segment("plain 漢字 ❤\ufe0f", Style(color="red"))])
    assert strip.render(console) == guard._render(Strip(list(strip)), console)


def test_links_and_control_segments_are_dropped() -> None:
    guard.install()
    console = Console(color_system="truecolor", force_terminal=True)
    strip = Strip([Segment("here", Style(link="http://x\x1b\\evil")), Segment("\x1b[2J", None, [(1,)])])  # type: ignore[list-item]
    assert strip.render(console) == "here"


@pytest.mark.parametrize("text", FEW, ids=range(len(FEW)))
def test_neutral_text_keeps_its_length_and_loses_its_teeth(text: str) -> None:
    clean = guard.neutralise(text)
    assert len(clean) == len(text)
    assert guard._DANGEROUS.search(clean) is None
    clean.encode()


def test_last_words_hold_no_local_variables_and_no_escapes() -> None:
    program = """
from agentdbg.ui import guard
class Crashing(guard.GuardedApp):
    def on_mount(self):
        secret = "\\x1b]52;c;TE9DQUw=\\x07"
        raise ValueError("in the \\x1b[2J middle")
Crashing().run(headless=True)
"""
    environ = {**os.environ, "PYTHONPATH": str(SRC)}
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, env=environ, check=False)
    said = done.stdout + done.stderr
    assert b"in the \xe2\x90\x9b[2J middle" in said
    assert b"TE9DQUw=" not in said
    assert b"\x1b[2J" not in said

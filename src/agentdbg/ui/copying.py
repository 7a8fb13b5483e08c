"""Values out of the debugger: to the terminal's clipboard, to a private file, to an editor."""

from __future__ import annotations

import os
import shlex
import tempfile
from dataclasses import dataclass
from typing import Final

from textual.app import App, SuspendNotSupported

from agentdbg.debugging.document import Tone, size_words
from agentdbg.debugging.jsontext import looks_like_json
from agentdbg.model.safe_text import safe_block
from agentdbg.ui.lending import forget, lent_file, run_lent

CLIPBOARD_LIMIT: Final = 64 * 1024
"""Bytes that terminals can be trusted to take by OSC 52; more goes to a file."""


@dataclass(frozen=True, slots=True)
class Copied:
    """What became of a copy.

    Attributes:
        message: What to tell the user; it never claims that the clipboard has it.
        tone: How to say it.
        asks: Whether nothing was copied because the text needs a second key press.
    """

    message: str
    tone: Tone = Tone.OK
    asks: bool = False


def copy_out(app: App[object], data: bytes, what: str, *, confirmed: bool = False) -> Copied:
    """Send a value to the terminal's clipboard, or to a file when it is big.

    Args:
        app: The app, which has the terminal.
        data: The value as recorded.
        what: What it is, in a word.
        confirmed: The user has been told that it holds control characters.
    """
    if len(data) > CLIPBOARD_LIMIT:
        return _saved(data, what)
    text = data.decode("utf-8", "replace")
    if not confirmed and safe_block(text) != text:
        return Copied(
            f"this {what} holds hidden or control characters: the same key again copies it raw", Tone.WARN, True
        )
    app.copy_to_clipboard(text)
    return Copied(f"{what}, {size_words(len(data))}: sent to terminal")


def edit(app: App[object], data: bytes) -> tuple[str, Tone]:
    """Open a private copy of a value in the user's editor; the record stays as it is."""
    editor = _editor()
    try:
        path = private_file(data)
        run_lent(app, [*shlex.split(editor), path])
    except SuspendNotSupported:
        return "no editor can be opened here", Tone.WARN
    except (OSError, ValueError) as problem:
        return f"cannot open {editor}: {_why(problem)}", Tone.WARN
    return f"a copy stays in {path}", Tone.OK


def edited(app: App[object], text: str) -> tuple[str, str]:
    """Let the user edit a text in their editor; returns what they wrote, or why that could not be."""
    editor, path = _editor(), ""
    try:
        data = text.encode("utf-8", "surrogatepass")
        path = lent_file(data, _suffix(data))
        status = run_lent(app, [*shlex.split(editor), path])
        if status:
            return "", f"{editor} ended with status {status}: nothing was taken over"
        with open(path, encoding="utf-8", errors="surrogatepass") as file:
            return file.read(), ""
    except SuspendNotSupported:
        return "", "no editor can be opened here"
    except UnicodeDecodeError:
        return "", f"what {editor} wrote is no text in UTF-8: nothing was taken over"
    except (OSError, ValueError) as problem:
        return "", f"cannot open {editor}: {_why(problem)}"
    finally:
        if path:
            forget(path)


def private_file(data: bytes) -> str:
    """Write a value to a new file that only the user can read, and that stays; returns its path."""
    descriptor, path = tempfile.mkstemp(prefix="agentdbg-", suffix=_suffix(data))
    with os.fdopen(descriptor, "wb") as file:
        file.write(data)
    return path


def _editor() -> str:
    return os.environ.get("VISUAL") or os.environ.get("EDITOR") or "vi"


def _why(problem: Exception) -> str:
    """The reason alone: the message has what could not be opened already."""
    return (problem.strerror or str(problem)).lower() if isinstance(problem, OSError) else str(problem)


def _suffix(data: bytes) -> str:
    ends = data[:64].decode("utf-8", "replace") + data[-64:].decode("utf-8", "replace")
    return ".json" if looks_like_json(ends) else ".txt"


def _saved(data: bytes, what: str) -> Copied:
    try:
        path = private_file(data)
    except OSError as problem:
        return Copied(f"cannot save the {what}: {problem}", Tone.WARN)
    return Copied(f"{what}, {size_words(len(data))}, too big for the clipboard: saved to {path}")

"""Where a command writes what it makes: a file that appears as a whole, or stdout."""

from __future__ import annotations

import os
import secrets
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import BinaryIO

from agentdbg.cli.errors import Trouble
from agentdbg.i18n.catalogue import message

STDOUT = "-"


@contextmanager
def output_file(path: str, *, binary: bool = False) -> Iterator[BinaryIO]:
    """Bytes to a new file of mode 0600, or to stdout for ``-``; what is there already is not touched.

    Args:
        path: Where to.
        binary: Whether it is nothing to look at, so that a terminal is refused.

    Raises:
        Trouble: There is such a file already, or stdout is a terminal.
    """
    if path == STDOUT:
        if binary and sys.stdout.isatty():
            raise Trouble(message("error.binary_on_terminal"))
        sys.stdout.flush()
        yield sys.stdout.buffer
        sys.stdout.buffer.flush()
        return
    if os.path.lexists(path):
        raise Trouble(message("error.file_exists", path=path))
    draft = f"{path}.{secrets.token_hex(4)}.part"
    try:
        with open(os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "wb") as file:
            yield file
        os.rename(draft, path)
    except BaseException:
        with suppress(OSError):
            os.unlink(draft)
        raise

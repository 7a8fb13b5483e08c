"""Settings files: TOML flattened to dotted keys. A file that cannot be used is a line of text, never an exception."""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator, Mapping

from agentdbg.config.table import BY_KEY

PROJECT_FILE = "agentdbg.toml"
_MAX_BYTES = 1_000_000


def read_file(path: str) -> tuple[Mapping[str, object], str | None]:
    """The dotted keys of a settings file, and what is wrong with the file, if something is.

    A file that does not exist is empty.
    """
    try:
        found = os.stat(path)
    except (FileNotFoundError, NotADirectoryError):
        return {}, None
    except (OSError, ValueError) as error:
        return {}, f"cannot be read ({_reason(error)}); settings in it are not used"
    if not stat.S_ISREG(found.st_mode):
        return {}, "is not a regular file; settings in it are not used"
    if found.st_size > _MAX_BYTES:
        return {}, f"is larger than {_MAX_BYTES} bytes; settings in it are not used"
    return _parse(path)


def _parse(path: str) -> tuple[Mapping[str, object], str | None]:
    import tomllib  # most programs that are recorded have no settings file and should not pay for it

    try:
        with open(path, "rb") as file:
            return dict(_flatten("", tomllib.load(file))), None
    except OSError as error:
        return {}, f"cannot be read ({_reason(error)}); settings in it are not used"
    except RecursionError:
        return {}, "is nested too deeply; settings in it are not used"
    except ValueError as error:  # TOML syntax or UTF-8
        return {}, f"is not TOML ({error}); mend it, until then settings in it are not used"


def _flatten(prefix: str, tree: Mapping[str, object]) -> Iterator[tuple[str, object]]:
    """Dotted keys with their values; a table that is itself a setting stays whole."""
    for name, value in tree.items():
        key = f"{prefix}{name}"
        if key == "store" and isinstance(value, str):
            yield "store.url", value
        elif isinstance(value, Mapping) and key not in BY_KEY:
            yield from _flatten(f"{key}.", value)
        else:
            yield key, value


def _reason(error: OSError | ValueError) -> str:
    return (getattr(error, "strerror", None) or str(error)).lower()

"""Settings from the user's file, the project's file, the environment and the command line, in rising order."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import cast

from agentdbg.config.files import PROJECT_FILE, read_file
from agentdbg.config.paths import config_dir
from agentdbg.config.table import BY_KEY, SETTINGS, Setting, Value
from agentdbg.config.values import BadValue, read_value

DEFAULT = "default"
COMMAND_LINE = "command line"


@dataclass(frozen=True, slots=True)
class Resolved:
    """A setting with its value and where that comes from."""

    setting: Setting
    value: Value
    source: str


@dataclass(frozen=True, slots=True)
class Settings:
    """All settings, and one line for each thing in the sources that could not be used."""

    resolved: Mapping[str, Resolved]
    problems: tuple[str, ...] = ()

    def source(self, key: str) -> str:
        """Where the value of ``key`` comes from."""
        return self.resolved[key].source

    def flag(self, key: str) -> bool:
        """A setting that is on or off."""
        return cast(bool, self._value(key, "flag"))

    def count(self, key: str) -> int:
        """A whole number."""
        return cast(int, self._value(key, "count"))

    def seconds(self, key: str) -> float:
        """A duration."""
        return cast(float, self._value(key, "seconds"))

    def text(self, key: str) -> str | None:
        """A text or one of several words; ``None`` when nothing is set."""
        return cast("str | None", self._value(key, "text", "choice"))

    def items(self, key: str) -> tuple[str, ...]:
        """A list of texts."""
        return cast("tuple[str, ...]", self._value(key, "list"))

    def table(self, key: str) -> Mapping[str, str]:
        """A table of names."""
        return cast("Mapping[str, str]", self._value(key, "table"))

    def _value(self, key: str, *types: str) -> Value:
        found = self.resolved[key]
        if found.setting.type not in types:
            raise TypeError(f"setting {key} is a {found.setting.type}")
        return found.value


def settings(
    overrides: Mapping[str, str] | None = None,
    environ: Mapping[str, str] | None = None,
    project_dir: str | None = None,
) -> Settings:
    """All settings as of now. Two ``stat`` calls when there is no settings file.

    Args:
        overrides: Values from the command line, by key.
        environ: Environment to read instead of the process's own.
        project_dir: Directory of the project's file, instead of the working directory.
    """
    environ = os.environ if environ is None else environ
    reading = _Reading()
    reading.file(str(config_dir(environ) / "config.toml"))
    reading.file(os.path.join(project_dir or ".", PROJECT_FILE))
    for setting in SETTINGS:
        raw = environ.get(setting.env) if setting.env else None
        if raw:
            reading.take(setting, raw, f"environment {setting.env}", f"environment variable {setting.env}")
    for key, raw in (overrides or {}).items():
        reading.take(BY_KEY[key], raw, COMMAND_LINE, COMMAND_LINE)
    return Settings(reading.resolved, tuple(reading.problems))


class _Reading:
    """Collects values and problems; a later source replaces an earlier one's value, a bad value replaces nothing."""

    def __init__(self) -> None:
        self.resolved = {setting.key: Resolved(setting, setting.default, DEFAULT) for setting in SETTINGS}
        self.problems: list[str] = []

    def file(self, path: str) -> None:
        entries, problem = read_file(path)
        if problem:
            self.problems.append(f"{path}: {problem}")
        for key, raw in entries.items():
            if key in BY_KEY:
                self.take(BY_KEY[key], raw, path, path)
            elif not key.startswith("sandbox."):  # read where a replay asks for one
                self.problems.append(f"{path}: unknown key {key}; {_advice(key)}")

    def take(self, setting: Setting, raw: object, source: str, where: str) -> None:
        try:
            value = read_value(setting, raw)
        except BadValue as error:
            shown = f" {raw!r:.60}" if isinstance(raw, str | int | float | bool) else ""
            self.problems.append(f"{where}: {setting.key}: cannot use{shown}; {error}")
            return
        self.resolved[setting.key] = replace(self.resolved[setting.key], value=value, source=source)


def _advice(key: str) -> str:
    from difflib import get_close_matches  # only when a key is wrong

    near: Sequence[str] = get_close_matches(key, list(BY_KEY), n=1)
    return f"did you mean {near[0]}?" if near else "remove it ('agentdbg config' lists all keys)"

"""Declared sandboxes: the variables, hosts and tools that a regression replay may use for real.

    [sandbox.staging]
    env = { SHOP_URL = "http://127.0.0.1:9000" }
    hosts = ["127.0.0.1:9000", "staging.example.com"]
    tools = ["update_ticket"]

A project's sandbox replaces the user's of the same name.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass, field

from agentdbg.config.files import PROJECT_FILE, read_file
from agentdbg.config.paths import config_dir

_MEMBERS = ("env", "hosts", "tools")


class BadSandbox(Exception):
    """A sandbox that is not declared, or not as it has to be; the message says how."""


@dataclass(frozen=True, slots=True)
class Sandbox:
    """Attributes:
    env: Variables that the program gets.
    hosts: ``host``, ``host:port`` or the path of a socket that may be reached.
    tools: Tools whose calls may be made.
    """

    name: str
    env: Mapping[str, str] = field(default_factory=dict)
    hosts: tuple[str, ...] = ()
    tools: tuple[str, ...] = ()

    def members(self) -> dict[str, object]:
        """For the child process."""
        return {"name": self.name, "hosts": list(self.hosts), "tools": list(self.tools)}


def sandbox(name: str, project_dir: str | None = None) -> Sandbox:
    """Read one out of the settings files.

    Raises:
        BadSandbox: There is none of that name, or it cannot be used.
    """
    known = _all(project_dir)
    found = known.get(name)
    if found is None:
        there = f"there is {', '.join(sorted(known))}" if known else "none is declared"
        raise BadSandbox(f"no sandbox {name}: {there}; declare [sandbox.{name}] with env, hosts and tools")
    return _made(name, found)


def sandbox_names(project_dir: str | None = None) -> list[str]:
    """The names of all that are declared.

    Raises:
        BadSandbox: A settings file cannot be read.
    """
    return sorted(_all(project_dir))


def _all(project_dir: str | None) -> dict[str, dict[str, object]]:
    found: dict[str, dict[str, object]] = {}
    for place in (str(config_dir(os.environ) / "config.toml"), os.path.join(project_dir or ".", PROJECT_FILE)):
        entries, problem = read_file(place)
        if problem:
            raise BadSandbox(f"{place}: {problem}")
        found.update(_declared(entries))
    return found


def _declared(entries: Mapping[str, object]) -> dict[str, dict[str, object]]:
    """Sandboxes by name out of dotted keys: a name may have dots, its members have not, but ``env`` is a table."""
    found: dict[str, dict[str, object]] = {}
    for key, value in entries.items():
        head, _, rest = key.partition(".")
        name, _, member = rest.partition(".")
        if head != "sandbox" or not name or not member:
            continue
        first, _, variable = member.partition(".")
        into = found.setdefault(name, {})
        if first == "env" and variable:
            variables = into.setdefault("env", {})
            if isinstance(variables, dict):
                variables[variable] = value
        else:
            into[member] = value
    return found


def _made(name: str, members: Mapping[str, object]) -> Sandbox:
    if unknown := [member for member in members if member not in _MEMBERS]:
        raise BadSandbox(f"[sandbox.{name}] has no member {unknown[0]}: it has {', '.join(_MEMBERS)}")
    env = members.get("env", {})
    if not isinstance(env, dict) or not all(isinstance(value, str) for value in env.values()):
        raise BadSandbox(f"[sandbox.{name}] env: use texts by variable name")
    return Sandbox(name, env, _texts(name, members, "hosts"), _texts(name, members, "tools"))


def _texts(name: str, members: Mapping[str, object], member: str) -> tuple[str, ...]:
    value = members.get(member, [])
    if not isinstance(value, list) or not all(isinstance(each, str) and each for each in value):
        raise BadSandbox(f"[sandbox.{name}] {member}: use a list of texts")
    return tuple(str(each) for each in value)

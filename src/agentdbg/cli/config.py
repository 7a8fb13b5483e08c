"""``agentdbg config``: every setting, its value and where that comes from."""

from __future__ import annotations

import os
from collections.abc import Mapping

import click

from agentdbg.cli.commands import Verb
from agentdbg.cli.invocation import Invocation
from agentdbg.cli.output import console, print_document, print_facts, print_table
from agentdbg.config.files import PROJECT_FILE
from agentdbg.config.paths import cache_dir, config_dir, data_dir, state_dir
from agentdbg.config.settings import Resolved
from agentdbg.config.table import Value
from agentdbg.i18n.catalogue import message


@click.command("config", cls=Verb)
@click.pass_obj
def command(invocation: Invocation) -> None:
    """Show all settings and where each value comes from."""
    resolved = list(invocation.settings.resolved.values())
    files = {"user": str(config_dir() / "config.toml"), "project": os.path.abspath(PROJECT_FILE)}
    directories = {
        "store": invocation.store_address,
        "data": str(data_dir()),
        "cache": str(cache_dir()),
        "state": str(state_dir()),
    }
    if invocation.json:
        members = {"settings": [_members(entry) for entry in resolved], "problems": invocation.settings.problems}
        print_document("config", {**members, "files": files, "directories": directories})
        return
    columns = [message(f"column.{name}") for name in ("setting", "value", "origin", "variable", "help")]
    rows = [
        [entry.setting.key, _shown(entry.value), entry.source, entry.setting.env, entry.setting.help]
        for entry in resolved
    ]
    out = console(invocation)
    print_table(invocation, columns, rows)
    out.print()
    print_facts(invocation, [(message(f"config.{name}"), path) for name, path in {**files, **directories}.items()])


def _members(entry: Resolved) -> dict[str, object]:
    setting = entry.setting
    return {
        "key": setting.key,
        "value": entry.value,
        "source": entry.source,
        "env": setting.env,
        "default": setting.default,
        "help": setting.help,
    }


def _shown(value: Value) -> str:
    if isinstance(value, bool):
        return "on" if value else "off"
    if isinstance(value, Mapping):
        return ", ".join(f"{name}={entry}" for name, entry in value.items())
    if isinstance(value, tuple):
        return ", ".join(value)
    return "" if value is None else str(value)

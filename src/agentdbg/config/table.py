"""The one table of settings: name, environment variable, type, default and help."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Final, Literal, TypeAlias

Value: TypeAlias = "bool | int | float | str | tuple[str, ...] | Mapping[str, str] | None"
Type: TypeAlias = Literal["text", "flag", "count", "seconds", "choice", "list", "table"]

NOTHING: Final[Mapping[str, str]] = MappingProxyType({})


@dataclass(frozen=True, slots=True)
class Setting:
    """One setting.

    Attributes:
        key: Dotted name in the TOML files.
        env: Environment variable, or ``None`` where there is none.
        default: Value when nobody says anything.
        type: How text is read. A ``table`` maps names to texts; a list in a table is joined by commas. In the
            environment it is ``NAME=TEXT,…`` or a JSON object.
        help: One line for people.
        choices: What a ``choice``, or the values of a ``table``, may be; empty when free.
    """

    key: str
    env: str | None
    default: Value
    type: Type
    help: str
    choices: tuple[str, ...] = ()


SETTINGS: Final[tuple[Setting, ...]] = (
    Setting("store.url", "AGENTDBG_STORE", None, "text", "Where runs live: a directory, a URL or a name of [stores]"),
    Setting("store.group", "AGENTDBG_STORE_GROUP", False, "flag", "Let the group read new runs (0750/0640)"),
    Setting("stores", None, NOTHING, "table", "Names for stores: NAME = URL"),
    Setting("theme", "AGENTDBG_THEME", "", "text", "Theme of the debugger; empty chooses one"),
    Setting("lang", "AGENTDBG_LANG", "auto", "choice", "Language of fixed texts", ("auto", "en", "zh")),
    Setting("recording.enabled", "AGENTDBG", True, "flag", "Off: nothing is recorded, nothing is wrapped"),
    Setting(
        "recording.durability",
        "AGENTDBG_DURABILITY",
        "none",
        "choice",
        "When records are forced to the disk: never, in batches, always",
        ("none", "batch", "always"),
    ),
    Setting("recording.redaction", "AGENTDBG_REDACTION", True, "flag", "Replace secrets before anything is written"),
    Setting(
        "recording.requests",
        "AGENTDBG_REQUESTS",
        "auto",
        "choice",
        "Requests to a server as runs: those that make calls and no agent takes, all, none",
        ("auto", "always", "off"),
    ),
    Setting(
        "recording.large_body_bytes",
        "AGENTDBG_LARGE_BODY_BYTES",
        262_144,
        "count",
        "Bodies above this many bytes get a file of their own",
    ),
    Setting(
        "recording.queue.bytes",
        "AGENTDBG_QUEUE_BYTES",
        33_554_432,
        "count",
        "Bytes that may wait for a slow disk before a record is dropped and counted",
    ),
    Setting(
        "recording.coverage",
        "AGENTDBG_COVERAGE",
        True,
        "flag",
        "Note effects that no seam saw, and files read or written",
    ),
    Setting(
        "recording.file_content_bytes",
        "AGENTDBG_FILE_CONTENT_BYTES",
        262_144,
        "count",
        "Files read are kept with their content up to this size; of larger ones the hash alone",
    ),
    Setting(
        "recording.ignore_files",
        "AGENTDBG_IGNORE_FILES",
        (),
        "list",
        "Files whose content and hash are not recorded: patterns over paths and names",
    ),
    Setting("replay.tolerate", "AGENTDBG_TOLERATE", (), "list", "Ambient effects that stay blocked but are no refusal"),
    Setting(
        "replay.reads",
        "AGENTDBG_REPLAY_READS",
        (),
        "list",
        "Requests that change nothing whatever their method: patterns over 'POST host/path'",
    ),
    Setting(
        "replay.engine",
        "AGENTDBG_CONTAINER_ENGINE",
        "",
        "text",
        "Container engine for --in: docker, podman, nerdctl or a path; empty takes the first that runs",
    ),
    Setting("replay.timeout", "AGENTDBG_REPLAY_TIMEOUT", 300.0, "seconds", "Longest time a replay may take"),
    Setting(
        "ask.timeout", "AGENTDBG_ASK_TIMEOUT", 120.0, "seconds", "Longest time that one answer of a model may take"
    ),
    Setting(
        "prices",
        "AGENTDBG_PRICES",
        NOTHING,
        "table",
        "Prices of models, before the shipped ones: MODEL = 'IN/OUT', dollars per million tokens",
    ),
    Setting("keys", None, NOTHING, "table", "Key bindings of the debugger: ACTION = KEY or [KEY, …]"),
    Setting(
        "tools",
        "AGENTDBG_TOOLS",
        NOTHING,
        "table",
        "Side-effect level of tools that declare none: TOOL = LEVEL",
        ("none", "read", "write", "external"),
    ),
    Setting(
        "langgraph.can_resume",
        "AGENTDBG_LANGGRAPH_CAN_RESUME",
        (),
        "list",
        "Nodes of LangGraph behind which a run may be restored, as a rule: patterns over their names",
    ),
)

BY_KEY: Final[Mapping[str, Setting]] = MappingProxyType({setting.key: setting for setting in SETTINGS})

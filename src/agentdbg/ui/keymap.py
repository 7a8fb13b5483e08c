"""From the action table to key bindings, with the user's own keys laid over it."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from textual.binding import Binding

from agentdbg.debugging.actions import ACTIONS, Action, Place, actions_of

FORBIDDEN: Final = {
    "ctrl+i": "terminals send it as tab",
    "ctrl+m": "terminals send it as enter",
    "ctrl+h": "terminals send it as backspace",
    "ctrl+[": "terminals send it as escape",
    "ctrl+left_square_bracket": "terminals send it as escape",
}
_KEY: Final = re.compile(r",(?=,|\s|$)|[^,\s]+")
"""A key in a text of several: they are set apart by spaces or commas, and a comma is a key itself."""
_NAMES: Final = {
    ",": "comma",
    ".": "full_stop",
    "/": "slash",
    "\\": "backslash",
    ":": "colon",
    ";": "semicolon",
    "?": "question_mark",
    "!": "exclamation_mark",
    "=": "equals_sign",
    "'": "apostrophe",
    '"': "quotation_mark",
    "-": "minus",
    "+": "plus",
    "*": "asterisk",
    "#": "number_sign",
    "@": "at",
    "|": "vertical_line",
    "pgdn": "pagedown",
    "pgup": "pageup",
    "esc": "escape",
    "return": "enter",
}
_SHOWN: Final = {
    "escape": "esc",
    "pagedown": "PgDn",
    "pageup": "PgUp",
    "down": "↓",
    "up": "↑",
    "left": "←",
    "right": "→",
    "home": "Home",
    "end": "End",
    "tab": "tab",
}


@dataclass(frozen=True, slots=True)
class Keymap:
    """The keys of every action, and one line for each thing in the user's table that could not be used."""

    keys: Mapping[str, tuple[str, ...]]
    problems: tuple[str, ...] = ()

    def shown(self, action: Action) -> str:
        """The keys of an action, for people."""
        return " ".join(shown_key(key) for key in self.keys[action.id])

    def changes(self) -> dict[str, str]:
        """What Textual has to be told: action id to keys, where they are not the default."""
        return {
            action.id: ",".join(map(textual_key, self.keys[action.id]))
            for action in ACTIONS
            if self.keys[action.id] != action.keys
        }


def resolve(table: Mapping[str, str | Sequence[str]] | None = None) -> Keymap:
    """Lay the user's ``[keys]`` table over the defaults.

    Args:
        table: Action id to a key, or several keys as a list or separated by spaces or commas.
    """
    keys = {action.id: action.keys for action in ACTIONS}
    problems: list[str] = []
    mine: dict[str, tuple[str, ...]] = {}
    for action_id, wanted in (table or {}).items():
        if action_id not in keys:
            problems.append(f"[keys] {action_id}: no such action; the help screen lists them")
            continue
        chosen = tuple(dict.fromkeys(_KEY.findall(wanted) if isinstance(wanted, str) else wanted))
        forbidden = [key for key in chosen if key.lower() in FORBIDDEN]
        problems.extend(f"[keys] {action_id}: {key} cannot be used, {FORBIDDEN[key.lower()]}" for key in forbidden)
        mine[action_id] = tuple(key for key in chosen if key not in forbidden) or keys[action_id]
    keys.update(mine)
    for place in Place:
        problems.extend(_settle(place, keys, mine))
    return Keymap(keys, tuple(dict.fromkeys(problems)))


def bindings_of(place: Place) -> list[Binding | tuple[str, str] | tuple[str, str, str]]:
    """The default bindings of a screen; never with priority, so that inputs win."""
    return [
        Binding(
            ",".join(map(textual_key, action.keys)), f"perform('{action.id}')", action.help, show=False, id=action.id
        )
        for action in actions_of(place)
    ]


def textual_key(key: str) -> str:
    """The name that Textual has for a key."""
    lowered = key.lower()
    if key in _NAMES or lowered in _NAMES:
        return _NAMES.get(key, _NAMES.get(lowered, key))
    return key if len(key) == 1 else lowered


def shown_key(key: str) -> str:
    """A key as people see it."""
    return _SHOWN.get(key, key)


def _settle(place: Place, keys: dict[str, tuple[str, ...]], mine: Mapping[str, object]) -> Iterable[str]:
    """Take keys away from actions that lost them to the user's table, and say so."""
    owners: dict[str, str] = {}
    order = sorted(actions_of(place), key=lambda action: action.id not in mine)
    for action in order:
        for key in keys[action.id]:
            owner = owners.setdefault(textual_key(key), action.id)
            if owner != action.id:
                keys[action.id] = tuple(kept for kept in keys[action.id] if kept != key)
                yield f"[keys] {key} is taken by {owner}: {action.id} has lost it"

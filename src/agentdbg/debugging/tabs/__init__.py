"""What each detail tab says about a step."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from importlib import import_module
from types import ModuleType
from typing import Final

from agentdbg.debugging.document import Document, Tone, fixed, note
from agentdbg.debugging.session import Session
from agentdbg.debugging.tabs.common import labelled
from agentdbg.model.records import Kind, Step


@dataclass(frozen=True, slots=True)
class Tab:
    """A detail tab: the digit that opens it, and its title. Its module, of the same name, is loaded when shown."""

    id: str
    digit: str
    title: str

    def build(self, session: Session) -> Document:
        """What it says about the selected step."""
        build: Callable[[Session], Document] = getattr(_module(self.id), f"{self.id}_tab")
        return build(session)


TABS: Final[tuple[Tab, ...]] = (
    Tab("summary", "0", "Summary"),
    Tab("input", "1", "Input"),
    Tab("output", "2", "Output"),
    Tab("state", "3", "State"),
    Tab("tool", "4", "Tool"),
    Tab("diff", "5", "Diff"),
    Tab("versions", "6", "Versions"),
    Tab("raw", "7", "Raw"),
)

_TELLING: Final = {
    Kind.MODEL: "output",
    Kind.TOOL: "tool",
    Kind.HTTP: "tool",
    Kind.READ: "tool",
    Kind.EFFECT: "tool",
    Kind.APPROVAL: "tool",
    Kind.RETRIEVAL: "input",
    Kind.CHECKPOINT: "state",
    Kind.NODE: "state",
    Kind.AGENT: "summary",
    Kind.CONFIG: "raw",
    Kind.MESSAGE: "raw",
}


def _module(tab_id: str) -> ModuleType:
    return import_module(f"{__name__}.{tab_id}")


def tab(tab_id: str) -> Tab:
    """The tab with that id.

    Raises:
        KeyError: There is none.
    """
    for entry in TABS:
        if entry.id == tab_id:
            return entry
    raise KeyError(tab_id)


def build(tab_id: str, session: Session) -> Document:
    """What a tab says about the selected step; what keeps it from saying something becomes what it says."""
    try:
        document = tab(tab_id).build(session)
        noted = session.notes.get(session.current.id) if session.current is not None else None
        if not noted:
            return document
        lines = [labelled("✎ Note", (line, Tone.ACCENT)) for line in noted]
        return Document((fixed("notes", lines), note("notes.gap", ""), *document.sections))
    except Exception as problem:  # one damaged step must not take the debugger down
        return Document((note("problem", f"cannot be shown: {type(problem).__name__}: {problem}", Tone.WARN),))


def telling_tab(step: Step | None) -> str:
    """The tab that says most about a step of this kind."""
    return "summary" if step is None else _TELLING[step.kind]


def tab_for(session: Session) -> str:
    """The tab that says most about the selected step: how it differs, where it does, else what it is."""
    compared = session.diffs.compared
    place = compared.place_of(session.cursor) if compared is not None else None
    if compared is not None and place is not None and compared.is_telling(place):
        return "diff"
    return telling_tab(session.current)

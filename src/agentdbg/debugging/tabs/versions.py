"""Versions: code, prompts, models and environment of the run, and what this step adds to them."""

from __future__ import annotations

from agentdbg.debugging.capabilities import KeepsRunRecords
from agentdbg.debugging.document import Document, Row, Section, Tone, fixed, note
from agentdbg.debugging.session import Session
from agentdbg.debugging.tabs.common import body_section, fact_rows, heading, json_block, labelled
from agentdbg.model.records import Json, Kind
from agentdbg.store.steps import body_ref

_CLOSED = ("entry", "rules", "owner", "format")


def versions_tab(session: Session) -> Document:
    """The document of the Versions tab."""
    meta = session.summary.meta
    sections: list[Section] = []
    step = session.current
    if meta.get("versions"):
        sections.append(_section("versions", meta["versions"], open_=True))
    if step is not None and step.kind is Kind.MODEL and step.attrs:
        sections.append(fixed("call", fact_rows(step.attrs), title=heading("This model call")))
    sections.extend(_environment(session))
    sections.extend(_section(key, meta[key], open_=False) for key in _CLOSED if meta.get(key))
    if not sections:
        sections.append(note("empty", "no versions were recorded"))
    return Document(tuple(sections))


def _section(key: str, value: Json, *, open_: bool) -> Section:
    title = heading(key.capitalize())
    if not isinstance(value, dict):
        return fixed(key, [labelled(key, str(value))], title=title, open_=open_)
    if key == "versions":
        return fixed(key, _version_rows(value), title=title, open_=open_)
    return Section(key, title, lambda: json_block(value), open=open_)


def _environment(session: Session) -> list[Section]:
    """What the recorder found around the agent: dependencies, runtime, platform, git."""
    source = session.source
    if not isinstance(source, KeepsRunRecords):
        return []
    sections: list[Section] = []
    for event in source.extra_events("environment"):
        ref = body_ref(event.members.get("body"))
        if ref is not None:
            sections.append(body_section(source, f"environment.{len(sections)}", "Environment", ref))
    return sections


def _version_rows(versions: dict[str, Json]) -> list[Row]:
    rows = []
    for name, value in versions.items():
        if isinstance(value, dict) and "value" in value:
            derived = value.get("origin") == "derived" or value.get("derived") is True
            how = ("  derived, not declared", Tone.WARN) if derived else ("", Tone.DIM)
            rows.append(labelled(name, str(value["value"]), how))
        else:
            rows.extend(fact_rows({name: value}))
    return rows

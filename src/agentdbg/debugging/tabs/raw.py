"""Raw: the step as it is recorded, and its bodies byte for byte as stored."""

from __future__ import annotations

from dataclasses import fields, is_dataclass
from functools import partial

from agentdbg.debugging.capabilities import KeepsRecords
from agentdbg.debugging.document import Document, Section, note
from agentdbg.debugging.jsontext import block_of
from agentdbg.debugging.session import Session
from agentdbg.debugging.tabs.common import body_section, heading, json_block
from agentdbg.model.records import BodyRef, Json, Step


def raw_tab(session: Session) -> Document:
    """The document of the Raw tab."""
    step = session.current
    if step is None:
        return Document((note("empty", "no step yet"),))
    sections = _records(session, step)
    for key, ref in (("arguments", step.arguments), ("result", step.result)):
        if ref is not None:
            sections.append(body_section(session.source, f"raw.{key}", key.capitalize(), ref))
    for index, segment in enumerate(session.source.segments(step)):
        title = f"Segment {index + 1} {segment.kind} {segment.name}".rstrip()
        key = f"raw.segment.{index}.{segment.ref.sha256[:12]}"
        sections.append(body_section(session.source, key, title, segment.ref, open_=False))
    return Document(tuple(sections))


def _records(session: Session, step: Step) -> list[Section]:
    """The records as they stand in the file; where the source keeps none, the step that was made of them."""
    source = session.source
    if isinstance(source, KeepsRecords):
        records = source.events(step)
        if records:
            return [
                Section(f"record.{index}", heading(f"Record {index + 1}"), partial(block_of, record))
                for index, record in enumerate(records)
            ]
    return [Section("event", heading("Step"), lambda: json_block(_members(step)))]


def _members(step: Step) -> dict[str, Json]:
    members: dict[str, Json] = {}
    for field in fields(step):
        value = getattr(step, field.name)
        if value is not None and value != () and value != {}:
            members[field.name] = _plain(value)
    return members


def _plain(value: object) -> Json:
    if isinstance(value, BodyRef):
        return {"sha256": value.sha256, "size": value.size, "file": value.file, "offset": value.offset}
    if is_dataclass(value):
        return {field.name: _plain(getattr(value, field.name)) for field in fields(value)}
    if isinstance(value, tuple | list):
        return [_plain(part) for part in value]
    if hasattr(value, "items"):
        return {str(key): _plain(part) for key, part in value.items()}
    if value is None or isinstance(value, bool | int | float):
        return value
    return str(value)

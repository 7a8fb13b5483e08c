"""A run as folders, one for each step, to be read with cat and jq."""

from __future__ import annotations

import os
import re
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from agentdbg.model.records import BodyRef, Json, Segment, Step
from agentdbg.sharing.evidence import Evidence
from agentdbg.sharing.json_text import pretty
from agentdbg.store.files import StoreError, create_private_file, make_private_dir

MAX_LINKS: Final = 50_000
"""Most repetitions of input segments that get a name in each step's folder."""
_LONGEST_NAME: Final = 40
_OTHER = re.compile(r"[^A-Za-z0-9._-]+")


@dataclass(frozen=True, slots=True)
class Written:
    """What was written: steps, files, bodies that the gate changed, bodies that could not be read."""

    steps: int
    files: int
    redacted: int
    missing: int


def write_folder(evidence: Evidence, target: Path) -> Written:
    """Write a run below ``target``, which must not be there, or empty.

    Raises:
        StoreError: Something is there.
        OSError: It cannot be written.
    """
    if target.is_symlink() or (target.exists() and (not target.is_dir() or any(target.iterdir()))):
        raise StoreError(f"{target} is there already: name a new folder or an empty one")
    make_private_dir(target)
    writer = _Folder(evidence, target)
    writer.write(target / "run.json", evidence.run_members())
    width = max(4, len(str(len(evidence.source.steps()))))
    count = 0
    for step in evidence.steps():
        writer.step(step, f"{step.n:0{width}}-{_file_name(step)}")
        count += 1
    return Written(count, writer.files, evidence.redacted, evidence.missing)


@dataclass(slots=True)
class _Folder:
    evidence: Evidence
    root: Path
    files: int = 0
    links: int = 0
    known: dict[str, dict[str, Json]] = field(default_factory=dict)

    def step(self, step: Step, name: str) -> None:
        """Write one step's folder."""
        folder = self.root / name
        make_private_dir(folder)
        members = self.evidence.step_members(step)
        for part, ref in (("arguments", step.arguments), ("result", step.result)):
            if ref is not None:
                members[part] = self._body(ref, folder / f"{part}.json")
        segments = self.evidence.segments(step)
        if segments:
            listed = [self._segment(number, segment, folder) for number, segment in enumerate(segments)]
            self.write(folder / "input.json", {"input_hash": step.input_hash, "segments": listed})
        self.write(folder / "step.json", members)

    def write(self, path: Path, value: Json) -> None:
        """Write one file."""
        with open(create_private_file(path), "w", encoding="utf-8", newline="\n") as file:
            file.write(pretty(value))
        self.files += 1

    def _body(self, ref: BodyRef, path: Path) -> dict[str, Json]:
        """Write a body; returns what the step says of it."""
        body = self.evidence.body(ref)
        members: dict[str, Json] = {"sha256": ref.sha256, "size": ref.size}
        if body.missing:
            return {**members, "missing": body.missing}
        make_private_dir(path.parent)
        self.write(path, body.value)
        return {**members, "file": path.name, **({"redacted": True} if body.redacted else {})}

    def _segment(self, number: int, segment: Segment, folder: Path) -> Json:
        """Write a segment of an input; returns what the list says of it, its file relative to the export."""
        members: dict[str, Json] = {"kind": segment.kind, "name": self.evidence.text(segment.name)}
        path = folder / "input" / _segment_name(number, segment)
        known = self.known.get(segment.ref.sha256)
        if known is None:
            noted = self._body(segment.ref, path)
            if "file" in noted:
                noted["file"] = str(path.relative_to(self.root))
            self.known[segment.ref.sha256] = noted
            return {**members, **noted}
        if "file" in known and self.links < MAX_LINKS and self._link(self.root / str(known["file"]), path):
            return {**members, **known, "file": str(path.relative_to(self.root))}
        return {**members, **known}

    def _link(self, first: Path, path: Path) -> bool:
        """Give a file that was written a second name; where that cannot be, the list names the first."""
        make_private_dir(path.parent)
        try:
            os.link(first, path)
        except OSError:
            return False
        self.links += 1
        return True


def _file_name(step: Step) -> str:
    cleaned = _OTHER.sub("-", f"{step.kind.value}-{step.name}").strip("-._")
    return cleaned[:_LONGEST_NAME].rstrip("-._") or step.kind.value


def _segment_name(number: int, segment: Segment) -> str:
    cleaned = _OTHER.sub("-", segment.name or segment.kind).strip("-._")[:_LONGEST_NAME]
    return f"{number:03}-{cleaned or 'segment'}.json"

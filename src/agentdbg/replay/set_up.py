"""Puts a process's recorder into the mode of a replay."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from agentdbg.model.fingerprint import VolatileRules
from agentdbg.replay.hashes import RecordedHashes

if TYPE_CHECKING:
    from agentdbg.recording.calls import Answerer
    from agentdbg.recording.process import Recorder
    from agentdbg.replay.cassette import Cassette


def set_up(found: Recorder, spec: Mapping[str, Any], tape: Cassette, answerer: Answerer) -> None:
    """Have a recorder ask for every call, and write as the record was written."""
    found.answerer = answerer
    RecordedHashes(tape.draws).install()
    found.capture_environment = False
    found.surrogates = tape.surrogates
    found.redacting = bool(spec["redacting"])  # the record's hashes hold under its own rules alone
    found.mode_meta = dict(spec["meta"])
    found.roots = dict(spec["roots"])
    found.volatile = VolatileRules(spec["volatile"]["version"], spec["volatile"]["paths"])

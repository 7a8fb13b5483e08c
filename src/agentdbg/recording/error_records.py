"""An exception as it stands in an outcome: what a person reads, and what it is made of again in a replay."""

from __future__ import annotations

from typing import TYPE_CHECKING

from agentdbg.recording.encoding import encode, error_arguments, error_members, error_message

if TYPE_CHECKING:
    from agentdbg.redaction.gate import Gate
    from agentdbg.store.journal import RunWriter


def described_error(error: BaseException, gate: Gate, writer: RunWriter, holes: list[str]) -> dict[str, object]:
    """The member ``error`` of an outcome; what cannot be replayed is added to ``holes``."""
    described: dict[str, object] = {
        "type": str(type(error).__qualname__),
        "module": str(type(error).__module__),
        "message": gate.text(error_message(error)),
    }
    arguments = encode(error_arguments(error), gate)
    if arguments.holes:
        holes.append("not replayable from here: the error's arguments cannot be encoded")
    described["args"] = writer.store(arguments.data, arguments.digest)
    if members := error_members(error, gate):
        state = encode(members, gate)
        described["state"] = writer.store(state.data, state.digest)
    return described

"""What the audit hook has seen and no run has yet. Light, since it is loaded before the program that is recorded."""

from __future__ import annotations

TYPE_CHECKING = False  # as typing has it: importing typing takes longer than all of this
if TYPE_CHECKING:
    from collections.abc import Callable

    from agentdbg.recording.run import RunRecording


class Sighting:
    """One effect as it was seen, not yet in a record.

    Attributes:
        event: Name of the audit event.
        detail: What it reached for; for files the resolved paths.
        frame: ``file:line function`` of the innermost frame of the user's code.
        group: ``file``, ``network``, ``process``, ``database`` or ``system``.
        weight: ``temporary`` for temporary files, else empty.
        count: How often it was seen outside every run.
    """

    __slots__ = ("count", "detail", "event", "frame", "group", "weight")

    def __init__(self, event: str, detail: str, frame: str, group: str, weight: str) -> None:
        self.event = event
        self.detail = detail
        self.frame = frame
        self.group = group
        self.weight = weight
        self.count = 1

    @property
    def key(self) -> tuple[str, str, str]:
        """What makes two of them the same."""
        return (self.event, self.detail, self.frame)


class Waiting:
    """What was seen in a place that no run has yet: outside of all, or in a request whose first call will begin one.

    Attributes:
        root: What may become the run; ``None`` for the process.
        sightings: Effects by what tells them apart.
        files: Looks at files, each with what tells it apart, its size, and what writes it.
    """

    __slots__ = ("files", "root", "sightings")

    def __init__(self, root: object) -> None:
        self.root = root
        self.sightings: dict[tuple[str, str, str], Sighting] = {}
        self.files: list[tuple[object, int, Callable[[RunRecording], None]]] = []

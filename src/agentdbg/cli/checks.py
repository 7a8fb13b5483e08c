"""One thing that ``agentdbg doctor`` looked at."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

OK: Final = "ok"
WARN: Final = "warn"
ABSENT: Final = "absent"


@dataclass(frozen=True, slots=True)
class Check:
    """One thing that was looked at.

    Attributes:
        area: ``python``, ``clients``, ``program``, ``seams``, ``guard``, ``store``, ``redaction`` or ``tools``.
        name: What it is.
        state: ``ok``, ``warn`` or ``absent``.
        value: What was found.
        note: What that means, or what to do.
    """

    area: str
    name: str
    state: str
    value: str
    note: str = ""

    def members(self) -> dict[str, str]:
        """The check, as in ``checks[]``."""
        return {
            "area": self.area,
            "name": self.name,
            "status": self.state,
            "value": self.value,
            "note": self.note,
        }

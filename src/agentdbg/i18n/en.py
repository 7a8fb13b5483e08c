"""English texts: the full catalogue; other languages may leave texts out."""

from __future__ import annotations

from typing import Final

MESSAGES: Final[dict[str, str]] = {
    "column.agent": "agent",
}

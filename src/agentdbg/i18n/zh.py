"""Chinese texts; what is missing here is shown in English."""

from __future__ import annotations

from typing import Final

MESSAGES: Final[dict[str, str]] = {
    "column.agent": "智能体",
}

"""Other tools' files as runs: recognised by what is in them, opened as they are."""

from __future__ import annotations

from agentdbg.importing.registry import FoundRun, open_one, open_path

__all__ = ["FoundRun", "open_one", "open_path"]

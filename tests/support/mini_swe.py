"""Files as mini-swe-agent writes them, and the real ones where they are at hand."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

REAL = Path(__file__).resolve().parents[3] / "shared" / "data" / "real" / "mini-swe-agent"
NAMES = (
    "django-11999.gpt5-mini.traj.json",
    "django-12713.res-api.traj.json",
    "generated_v2_toolcalls.traj.json",
    "github_issue.barelist.traj.json",
    "sphinx-8721.large.traj.json",
)


def real(name: str) -> Path:
    """A real file; the test is skipped where it is not at hand."""
    path = REAL / name
    if not path.is_file():
        pytest.skip("the collection of real files is not on this machine")
    return path


def said(role: str, content: object, **extra: Any) -> dict[str, Any]:
    """A message."""
    return {"role": role, "content": content, **({"extra": extra} if extra else {})}


def command(text: str) -> str:
    """An answer that asks for a shell command in its text."""
    return f"Let me look.\n\n```bash\n{text}\n```"


def output(text: str, code: int = 0) -> str:
    """What the agent makes of a command's output."""
    return f"<returncode>{code}</returncode>\n<output>\n{text}\n</output>"


def answer(call_id: str, text: str, **extra: Any) -> dict[str, Any]:
    """An answer with one tool call, as version 1.1 has it."""
    function = {"name": "bash", "arguments": json.dumps({"command": text})}
    calls = [{"id": call_id, "type": "function", "function": function}]
    response = {"id": f"r-{call_id}", "model": "m-2026", "choices": [{"finish_reason": "tool_calls"}]}
    return {"role": "assistant", "content": None, "tool_calls": calls, "extra": {"response": response, **extra}}


def came_back(call_id: str, text: str, **extra: Any) -> dict[str, Any]:
    """The result of a tool call, as version 1.1 has it."""
    given = {"raw_output": text, "returncode": 0, "exception_info": "", **extra}
    return {"role": "tool", "tool_call_id": call_id, "content": f"templated {text}", "extra": given}


def write(path: Path, messages: list[Any], *, version: str = "1.1", **info: Any) -> Path:
    """Write a file of version 1 or 1.1."""
    given = {"exit_status": "Submitted", "mini_version": "2.4.6", **info}
    document = {"info": given, "messages": messages, "trajectory_format": f"mini-swe-agent-{version.rstrip('.0')}"}
    path.write_text(json.dumps(document), encoding="utf-8")
    return path

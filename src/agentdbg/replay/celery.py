"""A recorded Celery task, applied again in this process."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from agentdbg.model.canonical import Opaque, loads
from agentdbg.replay.entry import CannotStart


def apply(task: Callable[..., Any], arguments_path: str) -> None:
    """Apply a task with the recorded arguments, as Celery's eager mode does.

    Raises:
        CannotStart: It is no task any more, or its arguments were not recorded.
    """
    with open(arguments_path, "rb") as file:
        arguments = loads(file.read())
    if not isinstance(arguments, dict) or any(isinstance(value, Opaque) for value in arguments.values()):
        raise CannotStart("the recorded arguments are none of a task")
    eager = getattr(task, "apply", None)
    if eager is None:
        raise CannotStart(f"{getattr(task, '__name__', task)} is no task any more")
    eager(args=arguments.get("args") or [], kwargs=arguments.get("kwargs") or {})

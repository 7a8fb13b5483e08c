"""Live model calls that brought no answer: what an agent does without its model says nothing about a change.

No connection, a broken one, time out, and the states by which a provider says that it did not look at the request: not
authorised, not paid, too many requests, its own trouble. A refusal of the request itself (400, 404, 413, 422 and the
like) is an answer.
"""

from __future__ import annotations

from agentdbg.compare.trajectory import called
from agentdbg.model.records import Kind, Step, StepStatus
from agentdbg.store.protocols import RunSource

_NOT_LOOKED_AT = frozenset((401, 402, 403, 407, 408, 409, 425, 429))
_FAILED = (StepStatus.ERROR, StepStatus.TIMED_OUT)


def unanswered_call(recorded: RunSource, replayed: RunSource) -> Step | None:
    """The first live model call that got no answer, neither at once nor when it was tried again.

    A call that failed in the same way when it was recorded is none: the agent lived with that.
    """
    known = {_failure(step) for step in recorded.steps() if _is_unanswered(step)}
    open_calls: dict[tuple[str, str | None], Step] = {}
    for step in replayed.steps():
        if step.kind is not Kind.MODEL or "served_from" in step.attrs:
            continue
        place = (step.lane, step.fingerprint)
        if not _is_unanswered(step):
            open_calls.pop(place, None)
        elif _failure(step) not in known:
            open_calls.setdefault(place, step)
    return next(iter(open_calls.values()), None)


def failure_in_words(step: Step) -> str:
    """Which call it was, and what came instead of an answer."""
    status = step.attrs.get("http_status")
    said = f"{step.error.type}: {step.error.message}" if step.error is not None else step.status.value
    if isinstance(status, int):
        said = f"HTTP {status}" if status >= 400 else f"its answer broke off, {said}"
    return f"step {step.n}, {called(step)}: {said}"


def _is_unanswered(step: Step) -> bool:
    if step.kind is not Kind.MODEL or step.status not in _FAILED or "url" not in step.attrs:
        return False
    status = step.attrs.get("http_status")
    return not isinstance(status, int) or status in _NOT_LOOKED_AT or status >= 500 or status < 400


def _failure(step: Step) -> tuple[str | None, object, str | None]:
    error = step.error.type if step.error is not None else None
    return step.fingerprint, step.attrs.get("http_status"), error

"""Says whether the running code is inside a real exchange that an HTTP seam looks after.

For whoever watches sockets from below (the coverage hook): what happens in there is no hole in the record. It is on the
record as a step, or it is telemetry, which is let through on purpose.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar

from agentdbg.recording.scope import Scope, current, enter, leave

_inside: ContextVar[bool] = ContextVar("agentdbg_exchange", default=False)


def inside_exchange() -> bool:
    """Whether an HTTP seam's real exchange is going on in this context.

    Within a run the scope says it too (``scope.inside_http``), and carries it on into the tasks and threads that the
    client library starts for the exchange. Outside of every run only telemetry is marked, and only in the context
    itself: a look-up of the host's name in another thread is not.
    """
    if _inside.get():
        return True
    scope = current()
    return scope is not None and scope.inside_http


@contextmanager
def within(scope: Scope) -> Iterator[None]:
    """A recorded exchange takes place; ``scope`` comes from ``Scope.within_http``."""
    token = enter(scope)
    try:
        yield
    finally:
        leave(token)


@contextmanager
def passing() -> Iterator[None]:
    """Telemetry passes: in whatever run, or none."""
    mark = _inside.set(True)
    here = current()
    token = None if here is None else enter(here._replace(inside_http=True))
    try:
        yield
    finally:
        if token is not None:
            leave(token)
        _inside.reset(mark)

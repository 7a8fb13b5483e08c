"""Exceptions that a signal handler of the program's raised while the recorder was at work.

A time limit set by ``signal.alarm`` strikes wherever the program is just then. That may be inside of the recorder,
which must not take it for a fault of its own: the program waits for it.
"""

from __future__ import annotations

TYPE_CHECKING = False  # as typing has it: importing typing takes longer than all of this
if TYPE_CHECKING:
    from types import CodeType


def let_through(error: BaseException) -> None:
    """Raise ``error`` again if a signal handler raised it; call this where an exception is about to be kept quiet."""
    if is_from_handler(error):
        raise error


def is_from_handler(error: BaseException) -> bool:
    """Whether a function that now handles a signal is among the frames that the error came through."""
    trace = error.__traceback__
    if trace is None or trace.tb_next is None:
        return False
    handlers = _handlers()
    while handlers and trace is not None:
        if trace.tb_frame.f_code in handlers:
            return True
        trace = trace.tb_next
    return False


def _handlers() -> set[CodeType]:
    import _signal  # type: ignore[import-not-found]  # as built in; signal.py could be somebody else's

    found = set()
    for number in _signal.valid_signals():
        handler = _signal.getsignal(number)
        for each in (handler, getattr(handler, "func", None), vars(type(handler)).get("__call__")):
            code = getattr(getattr(each, "__func__", each), "__code__", None)
            if code is not None:
                found.add(code)
    return found

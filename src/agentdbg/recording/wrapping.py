"""``functools.wraps``, for what is loaded before the program that is recorded."""

from __future__ import annotations

TYPE_CHECKING = False  # as typing has it: importing typing takes longer than all of this
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any, TypeVar

    F = TypeVar("F", bound=Callable[..., Any])

_NAMES = ("__module__", "__name__", "__qualname__", "__doc__", "__type_params__")


def wraps(original: Any) -> Callable[[F], F]:
    """Make the decorated function look like ``original``, which it stands in for."""

    def dress(function: F) -> F:
        for name in _NAMES:
            if hasattr(original, name):
                setattr(function, name, getattr(original, name))
        vars(function).update(getattr(original, "__dict__", {}))
        function.__wrapped__ = original  # type: ignore[attr-defined]  # where inspect looks for the signature
        return function

    return dress

"""The arguments of a call by parameter name."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from typing import Any


class Binder:
    """Binds the calls of one function."""

    def __init__(self, function: Callable[..., Any]) -> None:
        try:
            self.signature: inspect.Signature | None = inspect.signature(function)
        except (TypeError, ValueError):
            self.signature = None  # a built-in function without one
        parameters = list(self.signature.parameters.values()) if self.signature is not None else []
        first = parameters[0] if parameters else None
        self._drop = (
            first.name if first is not None and first.name in ("self", "cls") and first.kind in _POSITIONAL else None
        )
        self._names = tuple(p.name for p in parameters) if all(p.kind is _ORDINARY for p in parameters) else None
        self._defaults = {p.name: p.default for p in parameters if p.default is not p.empty}

    def __call__(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> dict[str, Any]:
        """Arguments by name, defaults included, without ``self``; as they came when they do not fit."""
        arguments = self._quick(args, kwargs)
        if arguments is None:
            arguments = self._bound(args, kwargs)
        if self._drop is not None:
            arguments.pop(self._drop, None)
        return arguments

    def rebound(
        self, args: tuple[Any, ...], kwargs: dict[str, Any], arguments: Mapping[str, object]
    ) -> tuple[tuple[Any, ...], dict[str, Any]]:
        """The call with other arguments: those that are named get another value."""
        if self.signature is None:
            raise TypeError("no signature")
        bound = self.signature.bind(*args, **kwargs)
        bound.apply_defaults()
        bound.arguments.update((name, value) for name, value in arguments.items() if name in bound.arguments)
        return bound.args, bound.kwargs

    @property
    def rebinds(self) -> bool:
        """Whether calls can be made with other arguments."""
        return self.signature is not None

    def _quick(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> dict[str, Any] | None:
        """The usual case, several times as fast as ``Signature.bind``: ordinary parameters, each given once."""
        names = self._names
        if names is None or len(args) > len(names):
            return None
        if not args and len(kwargs) == len(names):
            try:
                return {name: kwargs[name] for name in names}
            except KeyError:
                return None
        found = dict(zip(names, args, strict=False))
        rest = names[len(args) :]
        taken = 0
        for name in rest:
            if name in kwargs:
                found[name] = kwargs[name]
                taken += 1
            elif name in self._defaults:
                found[name] = self._defaults[name]
            else:
                return None
        return found if taken == len(kwargs) else None

    def _bound(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> dict[str, Any]:
        try:
            if self.signature is None:
                raise TypeError("no signature")
            bound = self.signature.bind(*args, **kwargs)
        except TypeError:
            return {"args": list(args), "kwargs": dict(kwargs)}
        bound.apply_defaults()
        return dict(bound.arguments)


_ORDINARY = inspect.Parameter.POSITIONAL_OR_KEYWORD
_POSITIONAL = (inspect.Parameter.POSITIONAL_ONLY, _ORDINARY)

"""Call a function once a named module has been imported, without importing it."""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from importlib.abc import Loader, MetaPathFinder
from importlib.machinery import ModuleSpec
from importlib.util import find_spec
from types import ModuleType

_waiting: dict[str, Callable[[ModuleType], None]] = {}


def on_import(name: str, function: Callable[[ModuleType], None]) -> None:
    """Call ``function`` with the module ``name``: now when it is loaded, else right after it will have been."""
    module = sys.modules.get(name)
    if module is not None:
        function(module)
        return
    _waiting[name] = function
    if not any(isinstance(finder, _Finder) for finder in sys.meta_path):
        sys.meta_path.insert(0, _Finder())


class _Finder(MetaPathFinder):
    """Finds nothing itself: lets the others find a waited-for module and wraps its loader."""

    _searching = False

    def find_spec(self, fullname: str, path: Sequence[str] | None, target: ModuleType | None = None) -> ModuleSpec | None:
        if fullname not in _waiting or self._searching:
            return None
        self._searching = True
        try:
            spec = find_spec(fullname)
        finally:
            self._searching = False
        if spec is not None and spec.loader is not None and hasattr(spec.loader, "exec_module"):
            spec.loader = _Loader(spec.loader, _waiting.pop(fullname))
        return spec


class _Loader(Loader):
    """The real loader, then the waiting function."""

    def __init__(self, loader: Loader, function: Callable[[ModuleType], None]) -> None:
        self._loader = loader
        self._function = function

    def create_module(self, spec: ModuleSpec) -> ModuleType | None:
        return self._loader.create_module(spec)

    def exec_module(self, module: ModuleType) -> None:
        spec = module.__spec__
        if spec is not None:
            spec.loader = self._loader
        module.__loader__ = self._loader
        self._loader.exec_module(module)
        self._function(module)

    def __getattr__(self, name: str) -> object:
        return getattr(self._loader, name)

"""Call functions once a named module has been imported, without importing it."""

from __future__ import annotations

import os
import sys

from agentdbg.recording import launched
from agentdbg.recording.interrupts import let_through

TYPE_CHECKING = False  # as typing has it: importing typing takes longer than all of this
if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from importlib.machinery import ModuleSpec
    from types import ModuleType
    from typing import Any

    Hook = Callable[[ModuleType], object]
_waiting: dict[str, list[Hook]] = {}
_every: list[tuple[Callable[[str], bool], Hook]] = []
problems: list[str] = []
_STANDARD = os.path.dirname(os.__file__) + os.sep
_SITE = f"{os.sep}site-packages{os.sep}"


def on_import(name: str, function: Hook) -> None:
    """Call ``function`` with the module ``name``: now when it is loaded, else right after it will have been.

    What ``function`` raises does not reach the import; it is added to ``problems``.
    """
    module = sys.modules.get(name)
    if module is not None and not _is_loading(module):
        _call(function, module)
        return
    _waiting.setdefault(name, []).append(function)
    if not any(isinstance(finder, _Finder) for finder in sys.meta_path):
        sys.meta_path.insert(0, _Finder())


def on_standard_import(name: str, function: Hook) -> None:
    """The same for a module of the standard library: a user's own file of that name is left alone."""
    on_import(name, lambda module: function(module) if _is_standard(module) else None)


def replace_everywhere(module: ModuleType, name: str, new: object) -> None:
    """Put something in the place of a module's function, also where other modules have it under the same name."""
    original = vars(module)[name]
    vars(module)[name] = new
    kind = type(sys)
    for holder in list(sys.modules.values()):
        if issubclass(type(holder), kind):
            members = kind.__getattribute__(holder, "__dict__")  # a module that loads lazily is left alone
            if members.get(name) is original:
                members[name] = new


def on_every_import(wanted: Callable[[str], bool], function: Hook) -> None:
    """Call ``function`` with every module that is loaded from now on from a file that ``wanted`` says yes to."""
    _every.append((wanted, function))
    if not any(isinstance(finder, _Finder) for finder in sys.meta_path):
        sys.meta_path.insert(0, _Finder())


def _is_standard(module: ModuleType) -> bool:
    file = getattr(module, "__file__", None)
    return not isinstance(file, str) or (file.startswith(_STANDARD) and _SITE not in file)


def _is_loading(module: ModuleType) -> bool:
    return bool(getattr(getattr(module, "__spec__", None), "_initializing", False))


def _call(function: Hook, module: ModuleType) -> None:
    try:
        function(module)
    except Exception as error:
        let_through(error)
        not_covered(module.__name__, error)


def not_covered(name: str, error: Exception) -> None:
    """A module cannot be patched: note it, once, and tell the launcher."""
    problem = f"{name} is not covered: {type(error).__name__}: {error}"
    if problem not in problems:
        problems.append(problem)
        launched.tell("warned", reason=problem)


class _Finder:
    """Finds nothing itself: lets the others find a waited-for module and wraps its loader."""

    def find_spec(
        self, fullname: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        # Runs under the import lock: an import in here would wait for a thread that waits for that lock.
        if fullname not in _waiting and not _every:
            return None
        for finder in sys.meta_path:
            find = getattr(finder, "find_spec", None)
            spec: ModuleSpec | None = find(fullname, path, target) if find is not None and finder is not self else None
            if spec is not None:
                functions: list[Hook] = []
                if spec.has_location and spec.origin:
                    functions = [each for wanted, each in _every if wanted(spec.origin)]
                if (functions or fullname in _waiting) and hasattr(spec.loader, "exec_module"):
                    spec.loader = _Loader(spec.loader, functions)  # type: ignore[assignment]  # as one
                return spec
        return None


class _Loader:
    """The real loader, then the waiting functions."""

    def __init__(self, loader: Any, functions: Sequence[Hook]) -> None:
        self._loader = loader
        self._functions = functions

    def create_module(self, spec: ModuleSpec) -> ModuleType | None:
        made: ModuleType | None = self._loader.create_module(spec)
        return made

    def exec_module(self, module: ModuleType) -> None:
        spec = module.__spec__
        if spec is not None:
            spec.loader = self._loader
        module.__loader__ = self._loader
        self._loader.exec_module(module)
        waiting = _waiting.pop(module.__name__, [])  # not before: many only look whether a module is there
        try:
            for function in (*waiting, *self._functions):
                _call(function, module)
        except BaseException:
            _waiting.setdefault(module.__name__, []).extend(waiting)  # this import fails; the next one may not
            raise

    def __getattr__(self, name: str) -> object:
        return getattr(self._loader, name)


# Python leaves the frames of these files out of the traceback of an import that fails, and so this one too.
_Loader.exec_module.__code__ = _Loader.exec_module.__code__.replace(
    co_filename="<frozen importlib._bootstrap_external>"
)

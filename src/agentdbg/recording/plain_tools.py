"""Plain functions of an unmodified program as tools: ``agentdbg record --tool NAME=EFFECT``, or ``[tools]``.

``NAME`` is a function at the top of the program's script or of one of its own modules, ``MODULE:FUNCTION`` or
``MODULE:CLASS.METHOD`` one in any module. The function object itself is given another body, so that whoever took it
before (a registry, a decorator, another module) calls the tool as well.
"""

from __future__ import annotations

import functools
import os
import sys
import warnings
from collections.abc import Callable, Mapping
from types import CodeType, FrameType, FunctionType, ModuleType
from typing import Any

from agentdbg.recording import launched
from agentdbg.recording.hooks import on_every_import, on_import, problems
from agentdbg.recording.interrupts import let_through
from agentdbg.recording.openers import EFFECTS, REGISTRY, ToolOpener, ToolOptions

_LIBRARIES = (f"{os.sep}site-packages{os.sep}", f"{os.sep}dist-packages{os.sep}", "<frozen")
_STDLIB = os.path.dirname(os.path.abspath(os.__file__)) + os.sep
_COROUTINE, _ASYNC_GENERATOR, _GENERATOR, _VARARGS, _VARKEYWORDS = 0x80, 0x200, 0x20, 0x4, 0x8
_MONITOR = 4
"""A tool id of ``sys.monitoring`` that nobody is said to use."""


def install(tools: Mapping[str, str]) -> None:
    """Make tools of the named functions once they are defined.

    Args:
        tools: Name to effect; what is no effect is left out.
    """
    known = {name: effect for name, effect in tools.items() if effect in EFFECTS}
    launched.tools = known
    for name, effect in known.items():
        module, found, path = name.partition(":")
        if found:
            on_import(module, _Named(name, path, effect))
    plain = {name: effect for name, effect in known.items() if ":" not in name and name.isidentifier()}
    if not plain:
        return
    on_every_import(_is_own, lambda module: _wrap_all(module, plain))
    on_import("multiprocessing.spawn", lambda module: _wrap_spawned(module, plain))
    _watch_main(plain)


class _Named:
    """Wraps one function of a module that has just been loaded."""

    def __init__(self, name: str, path: str, effect: str) -> None:
        self._name, self._path, self._tool, self._effect = name, path, path.rpartition(".")[2], effect

    def __call__(self, module: ModuleType) -> None:
        found: Any = module
        for part in self._path.split("."):
            found = getattr(found, part, None)
        if _wrap(found, self._tool, self._effect):
            launched.met_tool(self._name)
        else:
            problems.append(f"{self._name} is no function that can be recorded as a tool")


def _is_own(file: str) -> bool:
    return not file.startswith(_STDLIB) and not any(place in file for place in _LIBRARIES)


def _wrap_all(module: ModuleType, tools: Mapping[str, str]) -> None:
    for name, effect in tools.items():
        _wrap_if_defined_in(vars(module), getattr(module, "__file__", None), name, effect)


def _wrap_spawned(module: ModuleType, tools: Mapping[str, str]) -> None:
    """In a spawned worker the script is loaded under another name, past the import system."""
    for name in ("_fixup_main_from_path", "_fixup_main_from_name"):
        original = getattr(module, name)

        @functools.wraps(original)
        def load(place: str, original: Callable[[str], object] = original) -> object:
            made = original(place)
            main = sys.modules.get("__mp_main__")
            if main is not None:
                _wrap_all(main, tools)
            return made

        setattr(module, name, load)


def _wrap_if_defined_in(members: Mapping[str, Any], file: str | None, name: str, effect: str) -> bool:
    function = _innermost(members.get(name))
    if function is None:
        return False
    if file is not None and os.path.abspath(function.__code__.co_filename) != os.path.abspath(file):
        return False  # imported from where it is wrapped already
    if not _wrap(function, name, effect):
        return False
    launched.met_tool(name)
    return True


def _innermost(value: Any) -> FunctionType | None:
    """The function below the decorators that keep it in ``__wrapped__``."""
    for _ in range(50):
        inner = getattr(value, "__wrapped__", None)
        if inner is None:
            break
        value = inner
    return value if isinstance(value, FunctionType) else None


def _wrap(value: Any, name: str, effect: str) -> bool:
    """Give a function the body of a tool; ``False`` when it is none. One that is a tool already stays as it is."""
    function = _innermost(value)
    if function is None:
        return False
    if getattr(function, "__agentdbg_tool__", False) or _is_decorated(function):
        return True
    from agentdbg.recording import drive

    code = function.__code__
    original = FunctionType(code, function.__globals__, function.__name__, function.__defaults__, function.__closure__)
    original.__kwdefaults__ = function.__kwdefaults__
    original.__annotations__, original.__doc__ = function.__annotations__, function.__doc__
    original.__qualname__, original.__module__ = function.__qualname__, function.__module__
    options = ToolOptions(effect=effect, name=name, key=None, dry_run=None, status=None, volatile=())
    opener = ToolOpener(original, options)
    form: Callable[..., Callable[..., Any]] = drive.function
    if code.co_flags & _ASYNC_GENERATOR:
        form = drive.async_generator
    elif code.co_flags & _COROUTINE:
        form = drive.coroutine
    elif code.co_flags & _GENERATOR:
        form = drive.generator
    _replace_body(function, form(opener, original), original)
    return True


def _is_decorated(function: FunctionType) -> bool:
    """Whether ``agentdbg.tool`` made a tool of it: that records its calls."""
    return any(opener.function is function for opener in REGISTRY.values())


def _replace_body(function: FunctionType, recorded: Callable[..., Any], original: FunctionType) -> None:
    function.__agentdbg_tool__ = True  # type: ignore[attr-defined]
    function.__code__ = _calling(recorded, original.__code__)


_DELEGATING = """\
async def tool({0}):
  _agentdbg_ = 'hook'({1})
  _agentdbg_next_ = _agentdbg_.asend, None
  try:
    while 1:
      try:
        _agentdbg_item_ = await _agentdbg_next_[0](_agentdbg_next_[1])
      except StopAsyncIteration:
        return
      try:
        _agentdbg_next_ = _agentdbg_.asend, (yield _agentdbg_item_)
      except GeneratorExit:
        raise
      except BaseException as _agentdbg_error_:
        _agentdbg_next_ = _agentdbg_.athrow, _agentdbg_error_
  finally:
    await _agentdbg_.aclose()"""
"""What ``yield from`` is for generators: what is sent and thrown goes through, and it is closed when this is."""
_BODIES = {
    _ASYNC_GENERATOR: _DELEGATING,
    _COROUTINE: "async def tool({0}):\n  return await 'hook'({1})",
    _GENERATOR: "def tool({0}):\n  return (yield from 'hook'({1}))",
    0: "def tool({0}):\n  return 'hook'({1})",
}


def _calling(recorded: Callable[..., Any], like: CodeType) -> CodeType:
    """Code of the same kind and parameters as ``like`` that calls ``recorded``, which is one of its constants."""
    kind = next((flag for flag in (_ASYNC_GENERATOR, _COROUTINE, _GENERATOR) if like.co_flags & flag), 0)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # a text is no function: it is replaced below
        body = _nested(_BODIES[kind].format(*_parameters(like)), len(like.co_freevars))
        made = compile(body, like.co_filename, "exec")
    code = next(item for item in made.co_consts if isinstance(item, CodeType))
    if like.co_freevars:
        code = next(item for item in code.co_consts if isinstance(item, CodeType))
    consts = tuple(recorded if item == "hook" else item for item in code.co_consts)
    return code.replace(
        co_consts=consts, co_name=like.co_name, co_qualname=like.co_qualname, co_firstlineno=like.co_firstlineno
    )


def _parameters(code: CodeType) -> tuple[str, str]:
    """The parameters of a function without their defaults, which the function object keeps; and how to pass them on."""
    names = list(code.co_varnames)
    first = [names.pop(0) for _ in range(code.co_argcount)]
    by_name = [names.pop(0) for _ in range(code.co_kwonlyargcount)]
    rest = ["*" + names.pop(0)] if code.co_flags & _VARARGS else []
    others = ["**" + names.pop(0)] if code.co_flags & _VARKEYWORDS else []
    declared = [*first, *(rest or (["*"] if by_name else [])), *by_name, *others]
    if code.co_posonlyargcount:
        declared.insert(code.co_posonlyargcount, "/")
    return ", ".join(declared), ", ".join([*first, *rest, *(f"{name}={name}" for name in by_name), *others])


def _nested(body: str, cells: int) -> str:
    """The source of a body; that of a closure with so many cells, which its code has to take."""
    if not cells:
        return body
    names = [f"_agentdbg_{number}_" for number in range(cells)]
    head, _, rest = body.partition("\n")
    return f"def outer({', '.join(names)}):\n {head}\n  if 0: {', '.join(names)}\n{rest}"


# -- the script itself ------------------------------------------------------------------------------


def _watch_main(tools: Mapping[str, str]) -> None:
    """Wrap the functions of ``__main__`` while its lines are executed, so before it calls them."""
    if sys.gettrace() is not None:
        problems.append("functions of the script are not recorded as tools: a debugger or coverage traces it")
        return
    watch = _Main(tools)
    if sys.version_info >= (3, 12):
        watch.monitor()
    else:
        sys.settrace(watch.trace)


class _Main:
    """Watches the lines of the script until all of its named functions are there."""

    def __init__(self, tools: Mapping[str, str]) -> None:
        self._tools = dict(tools)
        self._file = ""
        self._left: dict[str, int] | None = None

    # Up to Python 3.11: every call of the main thread comes by until the functions are there.

    def trace(self, frame: FrameType, event: str, _: object) -> Callable[..., Any] | None:
        """The trace function: only the script's own lines are looked at."""
        if event != "call" or not self._is_script(frame.f_code, frame.f_globals):
            return None
        self._begin(frame.f_code)
        if not self._left:
            self._end_trace()
            return None
        return self._line

    def _line(self, frame: FrameType, event: str, _: object) -> Callable[..., Any] | None:
        self._look(frame.f_globals, _END if event == "return" else frame.f_lineno)
        if self._left and event != "return":
            return self._line
        self._end_trace()
        return None

    def _end_trace(self) -> None:
        if sys.gettrace() == self.trace:
            sys.settrace(None)

    # From Python 3.12 on: only the script's own code is watched.

    def monitor(self) -> None:
        """Watch by ``sys.monitoring``."""
        monitoring: Any = vars(sys)["monitoring"]
        try:
            monitoring.use_tool_id(_MONITOR, "agentdbg")
        except ValueError:
            sys.settrace(self.trace)  # somebody has it
            return
        events = monitoring.events
        monitoring.register_callback(_MONITOR, events.PY_START, self._started)
        monitoring.register_callback(_MONITOR, events.LINE, self._monitored)
        monitoring.register_callback(_MONITOR, events.PY_RETURN, self._returned)
        monitoring.set_events(_MONITOR, events.PY_START)

    def _started(self, code: CodeType, _: int) -> object:
        monitoring: Any = vars(sys)["monitoring"]
        if not self._is_script(code, sys._getframe(1).f_globals if code.co_name == "<module>" else {}):
            return monitoring.DISABLE
        self._begin(code)
        monitoring.set_events(_MONITOR, 0)
        if not self._left:
            monitoring.free_tool_id(_MONITOR)
            return None
        monitoring.set_local_events(_MONITOR, code, monitoring.events.LINE | monitoring.events.PY_RETURN)
        return None

    def _returned(self, code: CodeType, *_: object) -> object:
        return self._monitored(code, _END, 2)

    def _monitored(self, code: CodeType, line: int, depth: int = 1) -> object:
        self._look(sys._getframe(depth).f_globals, line)
        if not self._left:
            monitoring: Any = vars(sys)["monitoring"]
            monitoring.set_local_events(_MONITOR, code, 0)
            monitoring.free_tool_id(_MONITOR)
        return None

    # Both.

    def _is_script(self, code: CodeType, members: Mapping[str, Any]) -> bool:
        return code.co_name == "<module>" and members.get("__name__") == "__main__"

    def _begin(self, code: CodeType) -> None:
        self._file, self._left = code.co_filename, {}
        try:
            self._left = {name: line for name, line in _defined(code.co_filename).items() if name in self._tools}
        except Exception as error:
            problems.append(f"functions of the script are not recorded as tools: {type(error).__name__}: {error}")

    def _look(self, members: Mapping[str, Any], line: int) -> None:
        """Wrap what has been defined by now. A name is done with behind the last line that gives it a value."""
        for name, last in list((self._left or {}).items()):
            try:
                if name in members:
                    _wrap_if_defined_in(members, self._file, name, self._tools[name])
            except Exception as error:
                let_through(error)
                problems.append(f"{name} is not recorded as a tool: {type(error).__name__}: {error}")
                last = 0
            if self._left is not None and line > last:
                self._left.pop(name, None)


_END = 1 << 62
"""A line behind every other."""
_AS_TREE = 0x400  # ast.PyCF_ONLY_AST; a user's own ast.py is not to be met here


def _defined(file: str) -> dict[str, int]:
    """What a script gives a name while it is executed, also below ``if`` and ``try``; with the last line that does."""
    try:
        with open(file, "rb") as source:
            tree: Any = compile(source.read(), file, "exec", _AS_TREE, dont_inherit=True)
    except (OSError, SyntaxError, ValueError):
        return {}
    found: dict[str, int] = {}
    waiting: list[Any] = list(tree.body)
    while waiting:
        node = waiting.pop()
        kind = type(node).__name__
        names = [node.name] if kind in ("FunctionDef", "AsyncFunctionDef") else []
        if kind in ("Assign", "AnnAssign"):
            targets = node.targets if kind == "Assign" else [node.target]
            names = [target.id for target in targets if type(target).__name__ == "Name"]
        for name in names:
            found[name] = max(found.get(name, 0), node.end_lineno)
        if kind not in ("FunctionDef", "AsyncFunctionDef", "ClassDef"):
            for part in ("body", "orelse", "handlers", "finalbody", "cases"):
                below = getattr(node, part, None)
                waiting.extend(below if isinstance(below, list) else [])
    return found

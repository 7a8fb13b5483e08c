"""``@agentdbg.agent`` and ``@agentdbg.tool``: functions as steps of a run, in every form that Python has."""

from __future__ import annotations

import functools
import sys

from agentdbg.recording import drive
from agentdbg.recording.openers import EFFECTS, AgentOpener, AgentOptions, ToolOpener, ToolOptions
from agentdbg.recording.start import enabled

TYPE_CHECKING = False  # as typing has it: importing typing and inspect takes longer than all of this
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from typing import Any, ParamSpec, TypeVar, overload

    P = ParamSpec("P")
    R = TypeVar("R")
    F = TypeVar("F", bound=Callable[..., Any])
    Version = str | Callable[..., object] | None
else:

    def overload(function):  # what typing.overload comes to at run time
        return function


@overload
def agent(function: Callable[P, R], /) -> Callable[P, R]: ...


@overload
def agent(  # noqa: F811  # overload is the real one to a type checker only
    *,
    name: str | None = None,
    version: Version = None,
    prompt_version: Version = None,
    tool_schema_version: Version = None,
    model_route_version: Version = None,
    policy_version: Version = None,
    thread_id: str | Callable[..., str | None] | None = None,
    tags: Mapping[str, str] | None = None,
    factories: Mapping[str, Callable[[], object]] | None = None,
    resume: str | Callable[..., Any] | None = None,
) -> Callable[[F], F]: ...


def agent(  # noqa: F811
    function: Callable[..., Any] | None = None,
    /,
    *,
    name: str | None = None,
    version: Version = None,
    prompt_version: Version = None,
    tool_schema_version: Version = None,
    model_route_version: Version = None,
    policy_version: Version = None,
    thread_id: str | Callable[..., str | None] | None = None,
    tags: Mapping[str, str] | None = None,
    factories: Mapping[str, Callable[[], object]] | None = None,
    resume: str | Callable[..., Any] | None = None,
) -> Any:
    """Make a function the root of a run; below another agent, a step of that agent's run.

    Args:
        function: What to wrap; left out when options are given: ``@agent(version="7")``.
        name: Name of the agent; the function's name by default.
        version: Version of the agent: a text, the name of the parameter that holds it, or a function of the arguments;
            likewise the other four. What is not declared is derived.
        prompt_version: Version of the prompt.
        tool_schema_version: Version of the tool schemas.
        model_route_version: Version of the model route.
        policy_version: Version of the policy.
        thread_id: The conversation, or the name of the parameter that holds it, or a function of the arguments.
        tags: Fixed tags.
        factories: Parameter name to a function that makes the argument again for a replay, for arguments that cannot be
            written down.
        resume: Goes on from a checkpoint: a function of its state and node, or the name of a method or of a function of
            the same module.
    """
    versions = {
        "agent": version,
        "prompt": prompt_version,
        "tool_schema": tool_schema_version,
        "model_route": model_route_version,
        "policy": policy_version,
    }
    options = AgentOptions(
        name=name,
        thread_id=thread_id,
        tags={str(key): str(value) for key, value in (tags or {}).items()},
        factories=dict(factories or {}),
        versions={key: value for key, value in versions.items() if value is not None},
        resume=resume,
    )
    decorate = functools.partial(_decorated, make=lambda function: AgentOpener(function, options))
    return decorate if function is None else decorate(function)


@overload
def tool(function: Callable[P, R], /) -> Callable[P, R]: ...


@overload
def tool(  # noqa: F811  # overload is the real one to a type checker only
    *,
    effect: str | None = None,
    name: str | None = None,
    idempotency_key: str | Callable[..., object] | None = None,
    dry_run: Callable[..., object] | None = None,
    status: Callable[..., object] | None = None,
    volatile: Sequence[str] = (),
) -> Callable[[F], F]: ...


def tool(  # noqa: F811
    function: Callable[..., Any] | None = None,
    /,
    *,
    effect: str | None = None,
    name: str | None = None,
    idempotency_key: str | Callable[..., object] | None = None,
    dry_run: Callable[..., object] | None = None,
    status: Callable[..., object] | None = None,
    volatile: Sequence[str] = (),
) -> Any:
    """Make a function a tool call: arguments on disk before it runs, result after, served from the record in a replay.

    Args:
        function: What to wrap; left out when options are given: ``@tool(effect="read")``.
        effect: ``none``, ``read``, ``write`` or ``external``. Undeclared means ``external``.
        name: Name of the tool; the function's name by default.
        idempotency_key: Parameter that holds the key, or a function of the arguments.
        dry_run: What a regression replay may call instead of a write.
        status: Looks up by key whether a write that is in doubt was done.
        volatile: Argument paths that do not count for the call's identity (``request_time``, ``$.a.b``, ``$..nonce``).

    Raises:
        ValueError: ``effect`` is none of the four.
    """
    if effect is not None and effect not in EFFECTS:
        raise ValueError(f"{effect!r} is no effect; there are {', '.join(EFFECTS)}")
    paths = (volatile,) if isinstance(volatile, str) else volatile
    options = ToolOptions(
        effect=effect,
        name=name,
        key=idempotency_key,
        dry_run=dry_run,
        status=status,
        volatile=tuple(path if path.startswith("$") else f"$.{path}" for path in paths),
    )
    decorate = functools.partial(_decorated, make=lambda function: ToolOpener(function, options))
    return decorate if function is None else decorate(function)


def _decorated(function: Any, *, make: Callable[[Callable[..., Any]], drive.Opener]) -> Any:
    if isinstance(function, classmethod | staticmethod):
        return type(function)(_decorated(function.__func__, make=make))
    if not callable(function):
        raise TypeError(f"{type(function).__name__} object cannot be recorded: it is not callable")
    return wrapped(function, make(function)) if enabled() else function


_COROUTINE, _ASYNC_GENERATOR, _GENERATOR = 0x80, 0x200, 0x20
"""Flags of a function's code, as ``inspect`` names them."""


def wrapped(function: Callable[..., Any], opener: drive.Opener) -> Callable[..., Any]:
    """``function`` with its calls recorded, in whichever form it has."""
    flags = _flags(function) or _flags(getattr(function, "__call__", None))  # noqa: B004  # an object that behaves like one
    form: Callable[..., Callable[..., Any]] = drive.function
    if flags & _ASYNC_GENERATOR:
        form = drive.async_generator
    elif flags & _COROUTINE or _is_marked(function):
        form = drive.coroutine
    elif flags & _GENERATOR:
        form = drive.generator
    return functools.wraps(function)(form(opener, function))


def _flags(function: Any) -> int:
    while isinstance(function, functools.partial):
        function = function.func
    found = getattr(getattr(function, "__code__", None), "co_flags", 0)
    return found if isinstance(found, int) else 0


def _is_marked(function: Any) -> bool:
    """Marked as a coroutine function by ``inspect.markcoroutinefunction``, which then is loaded."""
    inspect = sys.modules.get("inspect")
    return inspect is not None and bool(inspect.iscoroutinefunction(function))

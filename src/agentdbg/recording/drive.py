"""Runs a wrapped function between its intent and its outcome: plain, coroutine, generator, async generator.

A replay's answer takes the function's place. Whatever the recorder does here, the function is called with the arguments it was given, and what
it returns or raises reaches the caller unchanged.
"""

from __future__ import annotations

from collections.abc import AsyncGenerator, Callable, Coroutine, Generator
from typing import TYPE_CHECKING, Any, Protocol

from agentdbg.recording import scope as scopes

if TYPE_CHECKING:
    from agentdbg.recording.scope import Scope
    from agentdbg.recording.served import ServedOutcome


class Active(Protocol):
    """One call between intent and outcome."""

    scope: Scope

    def served(self) -> ServedOutcome | None:
        """The replay's answer; ``None`` when the function is to run."""

    async def served_async(self) -> ServedOutcome | None:
        """The same, from a coroutine."""

    def succeed(self, result: object) -> None:
        """Write the outcome of a call that returned."""

    def fail(self, error: BaseException) -> None:
        """Write the outcome of a call that raised."""

    def item(self, value: object) -> None:
        """Keep an item that a generator yielded."""

    def exhaust(self, returned: object, *, complete: bool) -> None:
        """Write the outcome of a generator that ended or was abandoned."""


class Opener(Protocol):
    """Writes intents for one wrapped function."""

    def open(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Active | None:
        """Write the intent; ``None`` when nothing is recorded. Never raises, except to end a replay."""


def function(opener: Opener, target: Callable[..., Any]) -> Callable[..., Any]:
    """Wrap a plain function."""

    def call(*args: Any, **kwargs: Any) -> Any:
        active = opener.open(args, kwargs)
        if active is None:
            return target(*args, **kwargs)
        served = active.served()
        if served is not None:
            return served.deliver()
        token = scopes.enter(active.scope)
        try:
            result = target(*args, **kwargs)
        except BaseException as error:
            scopes.leave(token)
            active.fail(error)
            raise
        scopes.leave(token)
        active.succeed(result)
        return result

    return call


def coroutine(
    opener: Opener, target: Callable[..., Coroutine[Any, Any, Any]]
) -> Callable[..., Coroutine[Any, Any, Any]]:
    """Wrap a coroutine function."""

    async def call(*args: Any, **kwargs: Any) -> Any:
        active = opener.open(args, kwargs)
        if active is None:
            return await target(*args, **kwargs)
        try:
            served = await active.served_async()
        except BaseException as error:
            active.fail(error)
            raise
        if served is not None:
            return served.deliver()
        token = scopes.enter(active.scope)
        try:
            result = await target(*args, **kwargs)
        except BaseException as error:
            scopes.leave(token)
            active.fail(error)
            raise
        scopes.leave(token)
        active.succeed(result)
        return result

    return call


def generator(
    opener: Opener, target: Callable[..., Generator[Any, Any, Any]]
) -> Callable[..., Generator[Any, Any, Any]]:
    """Wrap a generator function: its body runs in the step's scope, the consumer between two items does not."""

    def generate(*args: Any, **kwargs: Any) -> Generator[Any, Any, Any]:
        active = opener.open(args, kwargs)
        if active is None:
            return (yield from target(*args, **kwargs))
        served = active.served()
        if served is not None:
            return (yield from served.items())
        source = target(*args, **kwargs)
        advance: Callable[[], Any] = lambda: next(source)  # noqa: E731  # replaced by send and throw below
        while True:
            token = scopes.enter(active.scope)
            try:
                value = advance()
            except StopIteration as stop:
                active.exhaust(stop.value, complete=True)
                return stop.value
            except BaseException as error:
                active.fail(error)
                raise
            finally:
                scopes.leave(token)
            active.item(value)
            try:
                sent = yield value
            except GeneratorExit:
                return _closed(active, source)
            except BaseException as error:
                advance = _thrower(source.throw, error)
            else:
                advance = _sender(source.send, sent)

    return generate


def async_generator(
    opener: Opener, target: Callable[..., AsyncGenerator[Any, Any]]
) -> Callable[..., AsyncGenerator[Any, Any]]:
    """Wrap an async generator function, like ``generator``."""

    async def generate(*args: Any, **kwargs: Any) -> AsyncGenerator[Any, Any]:
        active = opener.open(args, kwargs)
        served = None if active is None else await active.served_async()
        if served is not None:
            for value in served.items():
                yield value
            return
        source = target(*args, **kwargs)
        advance: Callable[[], Any] = lambda: source.asend(None)  # noqa: E731  # replaced by asend and athrow below
        while True:
            token = scopes.enter(active.scope if active is not None else scopes.current())
            try:
                value = await advance()
            except StopAsyncIteration:
                if active is not None:
                    active.exhaust(None, complete=True)
                return
            except BaseException as error:
                if active is not None:
                    active.fail(error)
                raise
            finally:
                scopes.leave(token)
            if active is not None:
                active.item(value)
            try:
                sent = yield value
            except GeneratorExit:
                try:
                    await source.aclose()
                except BaseException as error:
                    if active is not None:
                        active.fail(error)
                    raise
                if active is not None:
                    active.exhaust(None, complete=False)
                raise
            except BaseException as error:
                advance = _thrower(source.athrow, error)
            else:
                advance = _sender(source.asend, sent)

    return generate


def _closed(active: Active, source: Generator[Any, Any, Any]) -> Any:
    """The consumer closed the generator: so is the function's, in the step's scope."""
    token = scopes.enter(active.scope)
    try:
        returned: Any = source.close()  # type: ignore[func-returns-value]  # a value since Python 3.13
    except BaseException as error:
        active.fail(error)
        raise
    finally:
        scopes.leave(token)
    active.exhaust(returned, complete=False)
    if returned is None:
        raise GeneratorExit
    return returned


def _thrower(throw: Callable[[BaseException], Any], error: BaseException) -> Callable[[], Any]:
    return lambda: throw(error)


def _sender(send: Callable[[Any], Any], value: object) -> Callable[[], Any]:
    return lambda: send(value)

"""Runs a wrapped function between its intent and its outcome: plain, coroutine, generator, async generator.

A replay's answer takes the function's place. Whatever the recorder does here, the function is called with the arguments
it was given, and what it returns or raises reaches the caller unchanged.
"""

from __future__ import annotations

TYPE_CHECKING = False  # as typing has it: importing typing takes longer than all of this
if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, Callable, Coroutine, Generator
    from contextvars import Token
    from typing import Any, Protocol

    from agentdbg.recording.scope import Scope
    from agentdbg.recording.served import ServedOutcome

    class Active(Protocol):
        """One call between intent and outcome."""

        instead: tuple[tuple[Any, ...], dict[str, Any]] | None
        """Arguments that a replay put in the place of the call's own, once it has answered."""

        def enter(self) -> Token[Scope | None]:
            """Go into the step's scope."""

        def leave(self, token: Token[Scope | None]) -> None:
            """Undo ``enter``."""

        def served(self, *, pieces: bool = False) -> ServedOutcome | None:
            """The replay's answer; ``None`` when the function is to run."""

        async def served_async(self, *, pieces: bool = False) -> ServedOutcome | None:
            """The same, from a coroutine."""

        def served_to_the_end(self, outcome: ServedOutcome) -> None:
            """Write the outcome of what is served in pieces."""

        def turn(self, outcome: ServedOutcome) -> None:
            """Hold back the end of what is served in pieces until its turn."""

        async def turn_async(self, outcome: ServedOutcome) -> None:
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
        if active.instead is not None:
            args, kwargs = active.instead
        token = active.enter()
        try:
            result = target(*args, **kwargs)
        except BaseException as error:
            active.leave(token)
            active.fail(error)
            raise
        active.leave(token)
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
        if active.instead is not None:
            args, kwargs = active.instead
        token = active.enter()
        try:
            result = await target(*args, **kwargs)
        except BaseException as error:
            active.leave(token)
            active.fail(error)
            raise
        active.leave(token)
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
        served = active.served(pieces=True)
        if served is not None:
            return (yield from _items(active, served))
        if active.instead is not None:
            args, kwargs = active.instead
        source = target(*args, **kwargs)
        advance: Callable[[], Any] = lambda: next(source)  # noqa: E731  # replaced by send and throw below
        while True:
            token = active.enter()
            try:
                value = advance()
            except StopIteration as stop:
                active.exhaust(stop.value, complete=True)
                return stop.value
            except BaseException as error:
                active.fail(error)
                raise
            finally:
                active.leave(token)
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
        served = None if active is None else await active.served_async(pieces=True)
        if active is not None and served is not None:
            for taken, piece in enumerate(served.pieces(), 1):
                try:
                    yield served.piece(piece)
                except BaseException as error:
                    _thrown(active, served, taken, error)
            served.asked_on()
            try:
                await active.turn_async(served)
            finally:
                active.served_to_the_end(served)
            served.end()
            return
        if active is not None and active.instead is not None:
            args, kwargs = active.instead
        source = target(*args, **kwargs)
        advance: Callable[[], Any] = lambda: source.asend(None)  # noqa: E731  # replaced by asend and athrow below
        while True:
            try:
                value = await (advance() if active is None else _advanced(active, advance))
            except StopAsyncIteration:
                return
            try:
                sent = yield value
            except GeneratorExit:
                await _aclosed(active, source)
                raise
            except BaseException as error:
                advance = _thrower(source.athrow, error)
            else:
                advance = _sender(source.asend, sent)

    return generate


def _items(active: Active, served: ServedOutcome) -> Generator[Any, Any, Any]:
    """What a recorded generator gave, one by one; its end comes when it came."""
    for taken, piece in enumerate(served.pieces(), 1):
        try:
            yield served.piece(piece)
        except BaseException as error:
            _thrown(active, served, taken, error)
    served.asked_on()
    try:
        active.turn(served)
    finally:
        active.served_to_the_end(served)
    return served.end()


def _thrown(active: Active, served: ServedOutcome, taken: int, error: BaseException) -> None:
    """The program closes what is served, or throws something into it: what the function made of that is recorded."""
    if isinstance(error, GeneratorExit):
        served.given_up(taken)
        active.served_to_the_end(served)
        raise error


async def _advanced(active: Active, advance: Callable[[], Any]) -> Any:
    """One item of an async generator, made in the step's scope; its end is the step's outcome."""
    token = active.enter()
    try:
        value = await advance()
    except StopAsyncIteration:
        active.exhaust(None, complete=True)
        raise
    except BaseException as error:
        active.fail(error)
        raise
    finally:
        active.leave(token)
    active.item(value)
    return value


async def _aclosed(active: Active | None, source: AsyncGenerator[Any, Any]) -> None:
    """The consumer closed the async generator: so is the function's, in the step's scope."""
    if active is None:
        return await source.aclose()
    token = active.enter()
    try:
        await source.aclose()
    except BaseException as error:
        active.fail(error)
        raise
    finally:
        active.leave(token)
    active.exhaust(None, complete=False)
    return None


def _closed(active: Active, source: Generator[Any, Any, Any]) -> Any:
    """The consumer closed the generator: so is the function's, in the step's scope."""
    token = active.enter()
    try:
        returned: Any = source.close()  # type: ignore[func-returns-value]  # a value since Python 3.13
    except BaseException as error:
        active.fail(error)
        raise
    finally:
        active.leave(token)
    active.exhaust(returned, complete=False)
    if returned is None:
        raise GeneratorExit
    return returned


def _thrower(throw: Callable[[BaseException], Any], error: BaseException) -> Callable[[], Any]:
    return lambda: throw(error)


def _sender(send: Callable[[Any], Any], value: object) -> Callable[[], Any]:
    return lambda: send(value)

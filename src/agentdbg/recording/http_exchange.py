"""One exchange at an HTTP seam, whatever the client library: recorded, served, or, for telemetry, let through.

A seam says what is special about its library with a `Library`, one object for each request; everything else is here.
One real exchange is one step: a client that another client's seam is watching already (``scope.inside_http``) passes.
"""

from __future__ import annotations

import functools
from collections.abc import Awaitable, Callable
from typing import Protocol, TypeVar

from agentdbg.recording import outset, telemetry
from agentdbg.recording.active import record_served, status_of
from agentdbg.recording.calls import CallRefused, Served
from agentdbg.recording.exchange_marker import passing, within
from agentdbg.recording.http_calls import HttpCall, settled
from agentdbg.recording.http_requests import HttpRequest, open_call
from agentdbg.recording.http_served import ServedResponse, answerer
from agentdbg.recording.process import recorder
from agentdbg.recording.served import rebuild_error
from agentdbg.recording.telemetry import Reply

T = TypeVar("T")


class Library(Protocol[T]):
    """What only the client library's own seam knows about a request and the response to it."""

    def describe(self) -> HttpRequest | None:
        """What is about to be sent; ``None``: this one is not for the record."""

    def watch(self, call: HttpCall, response: T) -> None:
        """Record the response's head now, and its body as the agent reads it."""

    def serve(self, call: HttpCall, served: Served) -> T:
        """A recorded response as the library makes them; it has a head."""

    def answer(self, reply: Reply) -> T:
        """A response to telemetry."""

    def error(self, error: BaseException) -> BaseException:
        """A recorded exception, with what the library hangs on it (``error.request``)."""


def exchange(library: Library[T], send: Callable[[], T]) -> T:
    """Do what ``send`` does, or serve it."""
    opened = opened_for(library)
    if opened is None:
        return send()
    if isinstance(opened, Reply):
        if answerer() is not None:
            return library.answer(opened)
        with passing():
            return send()
    served = asked(opened)
    if served is not None:
        return serve(library, opened, served)
    try:
        with within(opened.scope.within_http(opened.step.id)):
            response = send()
    except BaseException as error:
        opened.finish(status_of(error), error)
        raise
    watch(library, opened, response)
    return response


async def exchange_async(library: Library[T], send: Callable[[], Awaitable[T]]) -> T:
    """The same from a coroutine."""
    outset.patch()
    opened = opened_for(library)
    if opened is None:
        return await send()
    if isinstance(opened, Reply):
        if answerer() is not None:
            return library.answer(opened)
        with passing():
            return await send()
    served = await asked_async(opened)
    if served is not None:
        return serve(library, opened, served)
    try:
        with within(opened.scope.within_http(opened.step.id)):
            response = await send()
    except BaseException as error:
        opened.finish(status_of(error), error)
        raise
    watch(library, opened, response)
    return response


def opened_for(library: Library[T]) -> HttpCall | Reply | None:
    """The call that a request is, its intent on disk; or the answer to it if it is telemetry; or ``None``.

    Raises:
        ReplayStop: The replay is over.
    """
    found = recorder()
    if found is None:
        return None
    request = found.guard(library.describe, None)
    if request is None:
        return None
    plain = functools.partial(
        telemetry.recognise, request.method, request.host, request.path, request.query, request.headers
    )
    reply = found.guard(lambda: plain(request.content), None)
    return open_call(request) if reply is None else reply


def asked(call: HttpCall) -> Served | None:
    """What a replay answers; ``None`` outside of one."""
    replay = answerer()
    if replay is None or call.call is None:
        return None
    try:
        return replay.answer(call.call)
    except CallRefused as error:
        call.finish(status_of(error), error)
        raise


async def asked_async(call: HttpCall) -> Served | None:
    """What a replay answers; ``None`` outside of one."""
    replay = answerer()
    if replay is None or call.call is None:
        return None
    try:
        return await replay.answer_async(call.call)
    except BaseException as error:
        call.finish(status_of(error), error)
        raise


def serve(library: Library[T], call: HttpCall, served: Served) -> T:
    """Give a recorded response, or raise the recorded error."""
    settled(call)
    if "http_status" in served.attrs:
        return library.serve(call, served)
    raise failed(library, call, served)


def failed(library: Library[T], call: HttpCall, served: Served) -> BaseException:
    """Write the outcome of an exchange that came to no response; returns what to raise."""
    record_served(call.scope.run, call.scope, call.step, served)
    return ending(library, served) or RuntimeError("the recorded call has no outcome")


def ending(library: Library[T], served: Served) -> BaseException | None:
    """The exception that an exchange or its body ended with."""
    return None if served.error is None else library.error(rebuild_error(served.error))


def watch(library: Library[T], call: HttpCall, response: T) -> None:
    """Let the seam record a response; when it cannot, the agent gets it all the same."""
    found = recorder()
    if found is not None:
        found.guard(lambda: library.watch(call, response), None)


__all__ = [
    "Library",
    "ServedResponse",
    "asked_async",
    "ending",
    "exchange",
    "exchange_async",
    "failed",
    "opened_for",
    "serve",
    "watch",
]

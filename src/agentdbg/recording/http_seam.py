"""The seam for ``httpx`` and ``httpx2``: every transport that a client chooses is wrapped, clients built earlier included."""

from __future__ import annotations

import functools
from collections.abc import AsyncIterator, Callable, Iterator
from dataclasses import replace
from types import ModuleType
from typing import Any

from agentdbg.model.canonical import loads
from agentdbg.model.records import Json, StepStatus
from agentdbg.recording import propagate
from agentdbg.recording import scope as scopes
from agentdbg.recording.active import record_served, status_of
from agentdbg.recording.calls import Served
from agentdbg.recording.http_calls import HttpCall, HttpRequest, open_call, served_headers
from agentdbg.recording.process import recorder
from agentdbg.recording.served import rebuild_error


def install(module: ModuleType) -> None:
    """Patch the clients of ``httpx`` or a module of its shape."""
    seam = _Seam(module)
    for name, wrap in (("Client", seam.wrap_sync), ("AsyncClient", seam.wrap_async)):
        client = getattr(module, name)
        original = getattr(client, "_transport_for_url", None)
        if original is not None and not hasattr(original, "__wrapped__"):
            client._transport_for_url = _choosing(original, wrap)


def _choosing(original: Callable[..., Any], wrap: Callable[[Any], Any]) -> Callable[..., Any]:
    @functools.wraps(original)
    def transport_for_url(self: object, url: object) -> Any:
        return wrap(original(self, url))

    return transport_for_url


class _Seam:
    """Classes made for one HTTP module: its clients insist on their own base classes."""

    def __init__(self, module: ModuleType) -> None:
        self.module = module
        seam = self

        class SyncTransport(module.BaseTransport):  # type: ignore[name-defined,misc]  # the module is known at run time only
            def __init__(self, inner: Any) -> None:
                self.inner = inner

            def handle_request(self, request: Any) -> Any:
                return seam.send(self.inner, request)

            def close(self) -> None:
                self.inner.close()

        class AsyncTransport(module.AsyncBaseTransport):  # type: ignore[name-defined,misc]  # see above
            def __init__(self, inner: Any) -> None:
                self.inner = inner

            async def handle_async_request(self, request: Any) -> Any:
                return await seam.send_async(self.inner, request)

            async def aclose(self) -> None:
                await self.inner.aclose()

        class SyncStream(module.SyncByteStream):  # type: ignore[name-defined,misc]  # see above
            def __init__(self, chunks: Iterator[bytes], close: Callable[[], None]) -> None:
                self._chunks, self._close = chunks, close

            def __iter__(self) -> Iterator[bytes]:
                return self._chunks

            def close(self) -> None:
                self._close()

        class AsyncStream(module.AsyncByteStream):  # type: ignore[name-defined,misc]  # see above
            def __init__(self, chunks: AsyncIterator[bytes], close: Callable[[], Any]) -> None:
                self._chunks, self._close = chunks, close

            def __aiter__(self) -> AsyncIterator[bytes]:
                return self._chunks

            async def aclose(self) -> None:
                await self._close()

        self.wrap_sync, self.wrap_async = SyncTransport, AsyncTransport
        self.sync_stream, self.async_stream = SyncStream, AsyncStream

    # -- sync -------------------------------------------------------------------------------------

    def send(self, inner: Any, request: Any) -> Any:
        """Send a request, or serve its recorded response."""
        call = open_call(_described(request))
        if call is None:
            return inner.handle_request(request)
        served = _ask(call)
        if served is not None:
            return self._serve(call, served, request)
        token = scopes.enter(replace(call.scope, parent=call.step.id, inside_http=True))
        try:
            response = inner.handle_request(request)
        except BaseException as error:
            call.finish(status_of(error), error)
            raise
        finally:
            scopes.leave(token)
        self._started(call, response)
        response.stream = self.sync_stream(_tee(call, response.stream), _closer(call, response.stream))
        return response

    def _serve(self, call: HttpCall, served: Served, request: Any) -> Any:
        attrs, chunks = _prepared(served)
        if "http_status" not in attrs:
            record_served(call.scope.run, call.scope, call.step, served)
            raise self._error(served, request)
        stream = _ServedStream(call, served)

        def play() -> Iterator[bytes]:
            for i, chunk in enumerate(chunks):
                if i == len(chunks) - 1 and served.stream:
                    stream.turn()
                yield chunk
            stream.past_the_end()
            if served.error is not None:
                raise self._error(served, request)

        return self._response(attrs, request, self.sync_stream(play(), stream.close))

    # -- async ------------------------------------------------------------------------------------

    async def send_async(self, inner: Any, request: Any) -> Any:
        """The same from a coroutine."""
        propagate.install()
        call = open_call(_described(request))
        if call is None:
            return await inner.handle_async_request(request)
        try:
            served = await _ask_async(call)
        except BaseException as error:
            call.finish(status_of(error), error)
            raise
        if served is not None:
            return self._serve_async(call, served, request)
        token = scopes.enter(replace(call.scope, parent=call.step.id, inside_http=True))
        try:
            response = await inner.handle_async_request(request)
        except BaseException as error:
            call.finish(status_of(error), error)
            raise
        finally:
            scopes.leave(token)
        self._started(call, response)
        response.stream = self.async_stream(_tee_async(call, response.stream), _closer_async(call, response.stream))
        return response

    def _serve_async(self, call: HttpCall, served: Served, request: Any) -> Any:
        attrs, chunks = _prepared(served)
        if "http_status" not in attrs:
            record_served(call.scope.run, call.scope, call.step, served)
            raise self._error(served, request)
        stream = _ServedStream(call, served)

        async def play() -> AsyncIterator[bytes]:
            for i, chunk in enumerate(chunks):
                if i == len(chunks) - 1 and served.stream:
                    await stream.turn_async()
                yield chunk
            stream.past_the_end()
            if served.error is not None:
                raise self._error(served, request)

        async def close() -> None:
            stream.close()

        return self._response(attrs, request, self.async_stream(play(), close))

    # -- both -------------------------------------------------------------------------------------

    def _started(self, call: HttpCall, response: Any) -> None:
        decoders = getattr(getattr(self.module, "_decoders", None), "SUPPORTED_DECODERS", {})
        found = decoders.get(response.headers.get("content-encoding", "").lower())
        version = response.extensions.get("http_version", b"HTTP/1.1")
        shown = version.decode("ascii", "replace") if isinstance(version, bytes) else str(version)
        call.started(response.status_code, list(response.headers.multi_items()), shown, found() if found else None)

    def _response(self, attrs: dict[str, Json], request: Any, stream: Any) -> Any:
        status = attrs.get("http_status")
        return self.module.Response(
            status if isinstance(status, int) else 200,
            headers=served_headers(attrs),
            extensions={"http_version": str(attrs.get("http_version", "HTTP/1.1")).encode()},
            request=request,
            stream=stream,
        )

    def _error(self, served: Served, request: Any) -> BaseException:
        error = rebuild_error(served.error or {})
        if isinstance(error, self.module.RequestError):
            error.request = request
        return error


class _ServedStream:
    """Writes the outcome of a served response when the agent has read it, or gave it up."""

    def __init__(self, call: HttpCall, served: Served) -> None:
        self._call, self._served = call, served
        self._ended = self._done = False

    def turn(self) -> None:
        """The last piece is about to be read."""
        self._ended = True
        found = recorder()
        if found is not None and found.answerer is not None:
            found.answerer.turn(self._served)

    async def turn_async(self) -> None:
        """The same from a coroutine."""
        self._ended = True
        found = recorder()
        if found is not None and found.answerer is not None:
            await found.answerer.turn_async(self._served)

    def past_the_end(self) -> None:
        """The agent reads on after the last recorded piece."""
        self._ended = True
        found = recorder()
        if self._served.status is StepStatus.PARTIAL and found is not None and found.answerer is not None:
            if self._call.call is not None:
                raise found.answerer.diverge(self._call.call, "reads on where the recorded stream was given up")
        self.close()

    def close(self) -> None:
        """Write the outcome once."""
        if self._done:
            return
        self._done = True
        served = self._served
        if not self._ended and served.stream and served.status is StepStatus.OK:
            served = replace(served, status=StepStatus.PARTIAL)
        record_served(self._call.scope.run, self._call.scope, self._call.step, served)


def _described(request: Any) -> HttpRequest:
    url = request.url
    try:
        content: bytes | None = request.content
    except Exception:
        content = None
    path, _, query = url.raw_path.decode("ascii", "replace").partition("?")
    host = url.netloc.decode("ascii", "replace")
    return HttpRequest(request.method, url.scheme, host, path, query, list(request.headers.multi_items()), content)


def _ask(call: HttpCall) -> Served | None:
    found = recorder()
    if found is None or found.answerer is None or call.call is None:
        return None
    return found.answerer.answer(call.call)


async def _ask_async(call: HttpCall) -> Served | None:
    found = recorder()
    if found is None or found.answerer is None or call.call is None:
        return None
    return await found.answerer.answer_async(call.call)


def _prepared(served: Served) -> tuple[dict[str, Json], list[bytes]]:
    """Attributes and body pieces of a served response: recorded boundaries where nothing was redacted, else one event a piece."""
    attrs = dict(served.attrs)
    if not served.stream:
        return attrs, [served.result] if served.result else []
    events: list[bytes] = []
    for part in served.stream:
        rows = loads(part)
        for row in rows if isinstance(rows, list) else []:
            events.append(str(row[1]).encode("utf-8", "surrogateescape"))
    sizes = attrs.get("chunks")
    whole = b"".join(events)
    if not isinstance(sizes, list) or sum(size for size in sizes if isinstance(size, int)) != len(whole):
        return attrs, events
    pieces: list[bytes] = []
    at = 0
    for size in sizes:
        end = at + (size if isinstance(size, int) else 0)
        pieces.append(whole[at:end])
        at = end
    return attrs, pieces


def _tee(call: HttpCall, stream: Any) -> Iterator[bytes]:
    try:
        for chunk in stream:
            call.feed(chunk)
            yield chunk
    except GeneratorExit:
        raise
    except BaseException as error:
        call.finish(status_of(error), error)
        raise
    call.finish()


def _closer(call: HttpCall, stream: Any) -> Callable[[], None]:
    def close() -> None:
        call.finish(StepStatus.PARTIAL)
        stream.close()

    return close


async def _tee_async(call: HttpCall, stream: Any) -> AsyncIterator[bytes]:
    try:
        async for chunk in stream:
            call.feed(chunk)
            yield chunk
    except GeneratorExit:
        raise
    except BaseException as error:
        call.finish(status_of(error), error)
        raise
    call.finish()


def _closer_async(call: HttpCall, stream: Any) -> Callable[[], Any]:
    async def close() -> None:
        call.finish(StepStatus.PARTIAL)
        await stream.aclose()

    return close

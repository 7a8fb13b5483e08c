"""The seam for ``httpx`` and ``httpx2``: every transport that a client chooses is wrapped, of earlier clients too."""

from __future__ import annotations

import contextlib
import functools
from collections.abc import AsyncIterator, Callable, Iterator
from types import ModuleType
from typing import Any

from agentdbg.recording import propagate
from agentdbg.recording import scope as scopes
from agentdbg.recording.active import record_served, status_of
from agentdbg.recording.calls import ReplayStop, Served
from agentdbg.recording.http_calls import Decoder, HttpCall, ResponseHead, ZlibDecoder, settled
from agentdbg.recording.http_headers import patch, take_placeholders
from agentdbg.recording.http_requests import HttpRequest, open_call
from agentdbg.recording.http_served import ServedResponse, answerer
from agentdbg.recording.process import recorder
from agentdbg.recording.served import rebuild_error


def install(module: ModuleType) -> None:
    """Patch the clients of ``httpx`` or a module of its shape. Idempotent."""
    seam = _Seam(module)
    for name, wrap in (("Client", seam.wrap_sync), ("AsyncClient", seam.wrap_async)):
        client = getattr(module, name, None)
        original = getattr(client, "_transport_for_url", None)
        if client is not None and original is not None:
            patch(client, "_transport_for_url", _choosing(original, wrap))
        else:
            _install_below(module, seam, name)
    take_placeholders(module)


def _install_below(module: ModuleType, seam: _Seam, client: str) -> None:
    """Without the method that chooses a transport: patch the transport that opens connections."""
    name, method, wrap = ("HTTPTransport", "handle_request", _sending(seam))
    if client == "AsyncClient":
        name, method, wrap = ("AsyncHTTPTransport", "handle_async_request", _sending_async(seam))
    transport = getattr(module, name, None)
    if transport is not None and hasattr(transport, method):
        patch(transport, method, wrap(getattr(transport, method)))


def _choosing(original: Callable[..., Any], wrap: Callable[[Any], Any]) -> Callable[..., Any]:
    @functools.wraps(original)
    def transport_for_url(self: object, url: object) -> Any:
        return wrap(original(self, url))

    return transport_for_url


def _sending(seam: _Seam) -> Callable[..., Any]:
    def wrap(original: Callable[..., Any]) -> Callable[..., Any]:
        @functools.wraps(original)
        def handle_request(self: object, request: Any) -> Any:
            return seam.send(functools.partial(original, self), request)

        return handle_request

    return wrap


def _sending_async(seam: _Seam) -> Callable[..., Any]:
    def wrap(original: Callable[..., Any]) -> Callable[..., Any]:
        @functools.wraps(original)
        async def handle_async_request(self: object, request: Any) -> Any:
            return await seam.send_async(functools.partial(original, self), request)

        return handle_async_request

    return wrap


def _transports(module: Any, seam: _Seam) -> tuple[Callable[[Any], Any], Callable[[Any], Any]]:
    class SyncTransport(module.BaseTransport):  # type: ignore[misc]  # the module is known at run time only
        def __init__(self, inner: Any) -> None:
            self.inner = inner

        def handle_request(self, request: Any) -> Any:
            return seam.send(self.inner.handle_request, request)

        def close(self) -> None:
            self.inner.close()

    class AsyncTransport(module.AsyncBaseTransport):  # type: ignore[misc]  # see above
        def __init__(self, inner: Any) -> None:
            self.inner = inner

        async def handle_async_request(self, request: Any) -> Any:
            return await seam.send_async(self.inner.handle_async_request, request)

        async def aclose(self) -> None:
            await self.inner.aclose()

    return SyncTransport, AsyncTransport


def _streams(module: Any) -> tuple[Callable[..., Any], Callable[..., Any]]:
    class SyncStream(module.SyncByteStream):  # type: ignore[misc]  # the module is known at run time only
        def __init__(self, chunks: Iterator[bytes], close: Callable[[], None], drop: Callable[[], None]) -> None:
            self._chunks, self._close, self._drop = chunks, close, drop

        def __iter__(self) -> Iterator[bytes]:
            return self._chunks

        def close(self) -> None:
            self._close()

        def __del__(self) -> None:
            self._drop()

    class AsyncStream(module.AsyncByteStream):  # type: ignore[misc]  # see above
        def __init__(self, chunks: AsyncIterator[bytes], close: Callable[[], Any], drop: Callable[[], None]) -> None:
            self._chunks, self._close, self._drop = chunks, close, drop

        def __aiter__(self) -> AsyncIterator[bytes]:
            return self._chunks

        async def aclose(self) -> None:
            await self._close()

        def __del__(self) -> None:
            self._drop()

    return SyncStream, AsyncStream


class _Seam:
    """Classes made for one HTTP module: its clients insist on their own base classes."""

    def __init__(self, module: ModuleType) -> None:
        self.module = module
        self.wrap_sync, self.wrap_async = _transports(module, self)
        self.sync_stream, self.async_stream = _streams(module)

    # -- sync -------------------------------------------------------------------------------------

    def send(self, handle: Callable[[Any], Any], request: Any) -> Any:
        """Send a request, or serve its recorded response."""
        call = _opened(request)
        if call is None:
            return handle(request)
        replay = answerer()
        served = replay.answer(call.call) if replay is not None and call.call is not None else None
        if served is not None:
            settled(call)
            return self._serve(call, served, request)
        token = scopes.enter(call.scope.within_http(call.step.id))
        try:
            response = handle(request)
        except BaseException as error:
            call.finish(status_of(error), error)
            raise
        finally:
            scopes.leave(token)
        if not self._preloaded(call, response):
            inner = response.stream
            response.stream = self.sync_stream(_tee(call, inner), _closer(call, inner), call.give_up)
        return response

    def _serve(self, call: HttpCall, served: Served, request: Any) -> Any:
        found = self._response(call, served, request)

        def play() -> Iterator[bytes]:
            for piece in found.pieces:
                _turn(found)
                found.taken()
                yield piece
            if not found.pieces:
                _turn(found)
            if found.past_the_end() or served.error is not None:
                found.close()
                raise self._error(served, request)

        stream = self.sync_stream(play(), found.close, _dropped(found))
        response = self._made(found, request, stream)
        if found.preloaded:
            response.read()
        return response

    # -- async ------------------------------------------------------------------------------------

    async def send_async(self, handle: Callable[[Any], Any], request: Any) -> Any:
        """The same from a coroutine."""
        propagate.install()
        call = _opened(request)
        if call is None:
            return await handle(request)
        replay = answerer()
        if replay is not None and call.call is not None:
            try:
                served = await replay.answer_async(call.call)
            except BaseException as error:
                call.finish(status_of(error), error)
                raise
            if served is not None:
                settled(call)
                return await self._serve_async(call, served, request)
        token = scopes.enter(call.scope.within_http(call.step.id))
        try:
            response = await handle(request)
        except BaseException as error:
            call.finish(status_of(error), error)
            raise
        finally:
            scopes.leave(token)
        if not self._preloaded(call, response):
            inner = response.stream
            response.stream = self.async_stream(_tee_async(call, inner), _closer_async(call, inner), call.give_up)
        return response

    async def _serve_async(self, call: HttpCall, served: Served, request: Any) -> Any:
        found = self._response(call, served, request)

        async def play() -> AsyncIterator[bytes]:
            for piece in found.pieces:
                await _turn_async(found)
                found.taken()
                yield piece
            if not found.pieces:
                await _turn_async(found)
            if found.past_the_end():
                await _cancelled_again(found)
            if served.error is not None:
                raise self._error(served, request)

        async def close() -> None:
            found.close()

        stream = self.async_stream(play(), close, _dropped(found))
        response = self._made(found, request, stream)
        if found.preloaded:
            await response.aread()
        return response

    # -- both -------------------------------------------------------------------------------------

    def _preloaded(self, call: HttpCall, response: Any) -> bool:
        """Record a response's head, and its body if the transport gave it whole."""
        found = recorder()
        if found is None:
            return False
        whole = found.guard(lambda: self._head(call, response), None)
        if whole is None:
            return False
        call.feed(whole)
        call.finish()
        return True

    def _head(self, call: HttpCall, response: Any) -> bytes | None:
        whole = response.content if getattr(response, "is_stream_consumed", False) and response.is_closed else None
        extensions = response.extensions
        call.started(
            ResponseHead(
                status=response.status_code,
                reason=_ascii(extensions.get("reason_phrase", b"")),
                version=_ascii(extensions.get("http_version", b"HTTP/1.1")),
                headers=list(response.headers.multi_items()),
                decoder=self._decoder(response.headers.get("content-encoding", "")),
                preloaded=whole is not None,
            )
        )
        return whole

    def _decoder(self, encoding: str) -> Decoder | None:
        """What the client itself would undo a content encoding with; ``None`` when it would not."""
        if encoding.lower() in ("", "identity"):
            return None
        try:
            made: Decoder = self.module.Response(200, headers={"content-encoding": encoding})._get_content_decoder()
        except Exception:  # not there, or too many codings: what cannot be undone is kept as it came
            return ZlibDecoder() if encoding.lower() in ("gzip", "deflate") else None
        return None if type(made).__name__ == "IdentityDecoder" else made

    def _response(self, call: HttpCall, served: Served, request: Any) -> ServedResponse:
        if "http_status" in served.attrs:
            return ServedResponse(call, served)
        record_served(call.scope.run, call.scope, call.step, served)
        raise self._error(served, request)

    def _made(self, found: ServedResponse, request: Any, stream: Any) -> Any:
        return self.module.Response(
            found.status, headers=found.headers, extensions=found.extensions, request=request, stream=stream
        )

    def _error(self, served: Served, request: Any) -> BaseException:
        error = rebuild_error(served.error or {})
        if isinstance(error, self.module.RequestError):
            error.request = request
        return error


def _opened(request: Any) -> HttpCall | None:
    found = recorder()
    if found is None:
        return None
    described = found.guard(lambda: _described(request), None)
    return None if described is None else open_call(described)


def _described(request: Any) -> HttpRequest:
    url = request.url
    try:
        content: bytes | None = request.content
    except Exception:  # a streamed body, which only the transport may read, or one that a redirect sends again
        again = type(request.stream).__name__ == "ByteStream"
        content = b"".join(request.stream) if again else None
    path, _, query = url.raw_path.decode("ascii", "replace").partition("?")
    host = url.netloc.decode("ascii", "replace")
    return HttpRequest(request.method, url.scheme, host, path, query, list(request.headers.multi_items()), content)


def _ascii(value: Any) -> str:
    return value.decode("ascii", "replace") if isinstance(value, bytes) else str(value)


def _turn(found: ServedResponse) -> None:
    replay = answerer()
    if found.waits and replay is not None:
        replay.turn(found.served)


async def _turn_async(found: ServedResponse) -> None:
    replay = answerer()
    if found.waits and replay is not None:
        await replay.turn_async(found.served)


async def _cancelled_again(found: ServedResponse) -> None:
    """The reader was cancelled here while recording: wait until it is again."""
    replay = answerer()
    try:
        if replay is not None:
            await replay.turn_async(found.served)
    finally:
        found.close()


def _dropped(found: ServedResponse) -> Callable[[], None]:
    def drop() -> None:
        with contextlib.suppress(ReplayStop):  # it is latched: the next seam raises it
            found.close()

    return drop


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
        call.give_up()
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
        call.give_up()
        await stream.aclose()

    return close

"""Transports and streams of ``httpx`` and ``httpx2`` that record what goes through them, or serve what was recorded."""

from __future__ import annotations

import functools
import io
from collections.abc import AsyncIterator, Callable, Iterator
from types import ModuleType
from typing import Any

from agentdbg.recording.active import status_of
from agentdbg.recording.calls import Served
from agentdbg.recording.http_calls import Decoder, HttpCall, ResponseHead, ZlibDecoder
from agentdbg.recording.http_exchange import ending, exchange, exchange_async
from agentdbg.recording.http_requests import HttpRequest
from agentdbg.recording.http_served import ServedResponse, answerer, cancelled_again, dropped
from agentdbg.recording.interrupts import let_through
from agentdbg.recording.scope import leave, waiting_inside
from agentdbg.recording.telemetry import Reply

_PRELOADED = "agentdbg.preloaded"


def _transports(module: Any, seam: HttpSeam) -> tuple[Callable[[Any], Any], Callable[[Any], Any]]:
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


class HttpSeam:
    """Classes made for one HTTP module: its clients insist on their own base classes."""

    def __init__(self, module: ModuleType) -> None:
        self.module = module
        self.wrap_sync, self.wrap_async = _transports(module, self)
        self.sync_stream, self.async_stream = _streams(module)

    def send(self, handle: Callable[[Any], Any], request: Any) -> Any:
        """Send a request, or serve its recorded response."""
        response = exchange(_Sync(self, request), functools.partial(handle, request))
        if response.extensions.pop(_PRELOADED, False):
            response.read()
        return response

    async def send_async(self, handle: Callable[[Any], Any], request: Any) -> Any:
        """The same from a coroutine."""
        response = await exchange_async(_Async(self, request), functools.partial(handle, request))
        if response.extensions.pop(_PRELOADED, False):
            await response.aread()
        return response

    def decoder(self, encoding: str) -> Decoder | None:
        """What the client itself would undo a content encoding with; ``None`` when it would not."""
        if encoding.lower() in ("", "identity"):
            return None
        try:
            made: Decoder = self.module.Response(200, headers={"content-encoding": encoding})._get_content_decoder()
        except Exception:  # not there, or too many codings: what cannot be undone is kept as it came
            return ZlibDecoder() if encoding.lower() in ("gzip", "deflate") else None
        return None if type(made).__name__ == "IdentityDecoder" else made


class _Sync:
    """One request at a client."""

    def __init__(self, seam: HttpSeam, request: Any) -> None:
        self.seam = seam
        self.request = request

    def describe(self) -> HttpRequest:
        return _described(self.request)

    def watch(self, call: HttpCall, response: Any) -> None:
        if not self._preloaded(call, response):
            inner = response.stream
            response.stream = self.seam.sync_stream(_tee(call, inner), _closer(call, inner), call.give_up)

    def serve(self, call: HttpCall, served: Served) -> Any:
        found = ServedResponse(call, served)

        def play() -> Iterator[bytes]:
            for piece in found.pieces:
                _turn(found)
                found.taken()
                yield piece
            if not found.pieces:
                _turn(found)
            if found.past_the_end() or served.error is not None:
                found.close()
                raise ending(self, served) or RuntimeError("a response that ended nowhere")

        return self._made(found, self.seam.sync_stream(play(), found.close, functools.partial(dropped, found)))

    def answer(self, reply: Reply) -> Any:
        return self.seam.module.Response(reply.status, headers=reply.headers, content=reply.body, request=self.request)

    def error(self, error: BaseException) -> BaseException:
        if isinstance(error, self.seam.module.RequestError):
            error.request = self.request
        return error

    def _preloaded(self, call: HttpCall, response: Any) -> bool:
        """Record a response's head, and its body if the transport gave it whole."""
        whole = response.content if getattr(response, "is_stream_consumed", False) and response.is_closed else None
        extensions = response.extensions
        call.started(
            ResponseHead(
                status=response.status_code,
                reason=_ascii(extensions.get("reason_phrase", b"")),
                version=_ascii(extensions.get("http_version", b"HTTP/1.1")),
                headers=list(response.headers.multi_items()),
                decoder=self.seam.decoder(response.headers.get("content-encoding", "")),
                preloaded=whole is not None,
            )
        )
        if whole is None:
            return False
        call.feed(whole)
        call.finish()
        return True

    def _made(self, found: ServedResponse, stream: Any) -> Any:
        extensions = {**found.extensions, _PRELOADED: True} if found.preloaded else found.extensions
        return self.seam.module.Response(
            found.status, headers=found.headers, extensions=extensions, request=self.request, stream=stream
        )


class _Async(_Sync):
    """One request at an asynchronous client."""

    def watch(self, call: HttpCall, response: Any) -> None:
        if not self._preloaded(call, response):
            inner = response.stream
            response.stream = self.seam.async_stream(_tee_async(call, inner), _closer_async(call, inner), call.give_up)

    def serve(self, call: HttpCall, served: Served) -> Any:
        found = ServedResponse(call, served)

        async def play() -> AsyncIterator[bytes]:
            for piece in found.pieces:
                await _turn_async(found)
                found.taken()
                yield piece
            if not found.pieces:
                await _turn_async(found)
            if found.past_the_end():
                await cancelled_again(found)
            if (error := ending(self, served)) is not None:
                raise error

        async def close() -> None:
            found.close()

        return self._made(found, self.seam.async_stream(play(), close, functools.partial(dropped, found)))


def _described(request: Any) -> HttpRequest:
    url = request.url
    try:
        content: bytes | None = request.content
    except Exception as error:  # a streamed body, only for the transport to read, or one that is in memory all the same
        let_through(error)
        content = _in_memory(request.stream)
    path, _, query = url.raw_path.decode("ascii", "replace").partition("?")
    host = url.netloc.decode("ascii", "replace")
    return HttpRequest(request.method, url.scheme, host, path, query, list(request.headers.multi_items()), content)


def _in_memory(stream: Any) -> bytes | None:
    """The body that a redirect sends again, or a form of texts and bytes; ``None`` where reading would consume it."""
    kind = type(stream).__name__
    if kind == "ByteStream":
        return b"".join(stream)
    if kind != "MultipartStream" or not all(_kept(field) for field in stream.fields):
        return None
    files: list[Any] = [getattr(field, "file", b"") for field in stream.fields]
    places = [(file, file.tell()) for file in files if hasattr(file, "tell")]
    try:
        return b"".join(stream)
    finally:
        for file, place in places:
            file.seek(place)


def _kept(field: Any) -> bool:
    return isinstance(getattr(field, "file", b""), bytes | str | io.BytesIO | io.StringIO)


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


async def _next(chunks: AsyncIterator[bytes]) -> bytes | None:
    """What comes next; ``None`` at the end. The task waits for it inside the call."""
    within = waiting_inside()
    try:
        return await anext(chunks)
    except StopAsyncIteration:
        return None
    finally:
        leave(within)


async def _tee_async(call: HttpCall, stream: Any) -> AsyncIterator[bytes]:
    chunks = aiter(stream)
    try:
        while (chunk := await _next(chunks)) is not None:
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

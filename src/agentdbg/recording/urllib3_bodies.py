"""Bodies of ``urllib3`` responses: recorded as the agent reads them, and served from a record.

``requests`` and ``botocore`` both hand ``urllib3``'s response to the agent. What each ``read`` or step of ``stream``
gives is one piece of the record; nothing is read ahead of the agent. Served, the same calls give the same pieces.
"""

from __future__ import annotations

import functools
import io
from collections.abc import Callable, Iterator, Sequence
from email.message import Message
from http.client import responses
from importlib import import_module
from typing import Any

from agentdbg.recording.active import status_of
from agentdbg.recording.calls import Served
from agentdbg.recording.http_calls import HttpCall, ResponseHead, header
from agentdbg.recording.http_pieces import AsRead, PieceReader, class_of
from agentdbg.recording.http_served import ServedResponse, dropped
from agentdbg.recording.telemetry import Reply

_PLAIN = ("", "identity")
_VERSIONS = {9: "HTTP/0.9", 10: "HTTP/1.0", 11: "HTTP/1.1", 20: "HTTP/2"}
Failure = Callable[[], "BaseException | None"]


# -- recording ------------------------------------------------------------------------------------


def watch_body(call: HttpCall, raw: Any, whole: bytes | None = None) -> None:
    """Record a response's head, and its body as it is read, or ``whole`` if it has been."""
    headers = [(str(name), str(value)) for name, value in raw.headers.items()]
    encoding = header(headers, "content-encoding").lower()
    decoder = None if encoding in _PLAIN else AsRead(encoding)
    if decoder is not None:
        decoder.raw = whole is not None
    version = _VERSIONS.get(getattr(raw, "version", 11), "HTTP/1.1")
    call.started(ResponseHead(int(raw.status), raw.reason or "", version, headers, decoder))
    if whole is not None:
        call.feed(whole)
        call.finish()
        return
    raw._agentdbg = _Watched(call, decoder)
    raw.__class__ = _recorded_class(class_of(raw))


class _Watched:
    """What is known of one response while its body is read."""

    def __init__(self, call: HttpCall, decoder: AsRead | None) -> None:
        self.call = call
        self._decoder = decoder
        self._reading = False

    def step(self, original: Callable[[], Any], *, decoded: bool) -> Any:
        """One read; ``urllib3`` closes a response itself before it says that it is broken."""
        if self._decoder is not None:
            self._decoder.raw = not decoded
        self._reading = True
        try:
            return original()
        except StopIteration:
            raise
        except BaseException as error:
            self.call.finish(status_of(error), error)
            raise
        finally:
            self._reading = False

    def give_up(self) -> None:
        """The agent closes the response."""
        if not self._reading:
            self.call.give_up()


@functools.cache
def _recorded_class(base: Any) -> Any:
    """The response's own class, with eyes. Only what the others of its methods come down to is replaced."""

    def read(self: Any, amt: int | None = None, *args: Any, **kwargs: Any) -> Any:
        return _read(self, base.read, amt, *args, **kwargs)

    def read1(self: Any, amt: int | None = None, *args: Any, **kwargs: Any) -> Any:
        return _read(self, base.read1, amt, *args, one=True, **kwargs)

    def read_chunked(self: Any, amt: int | None = None, decode_content: bool | None = None) -> Iterator[bytes]:
        watched = self._agentdbg
        decoded = self.decode_content if decode_content is None else decode_content
        pieces = base.read_chunked(self, amt, decode_content=decode_content)
        while True:
            try:
                piece = watched.step(pieces.__next__, decoded=decoded)
            except StopIteration:
                watched.call.finish()
                return
            watched.call.feed(piece)
            yield piece

    def close(self: Any) -> None:
        self._agentdbg.give_up()
        base.close(self)

    def drain_conn(self: Any) -> None:
        self._agentdbg.give_up()
        base.drain_conn(self)

    members: dict[str, Any] = {"read": read, "read_chunked": read_chunked, "close": close, "drain_conn": drain_conn}
    if hasattr(base, "read1"):
        members["read1"] = read1
    members["__module__"], members["__qualname__"] = base.__module__, base.__qualname__
    return type(base.__name__, (base,), members)


def _read(
    raw: Any,
    method: Callable[..., Any],
    amt: int | None,
    decode_content: bool | None = None,
    *args: Any,
    one: bool = False,
    **kwargs: Any,
) -> Any:
    watched = raw._agentdbg
    decoded = raw.decode_content if decode_content is None else decode_content
    data = watched.step(functools.partial(method, raw, amt, decode_content, *args, **kwargs), decoded=decoded)
    if data:
        watched.call.feed(data)
    whole = not one and (amt is None or amt < 0)
    if whole or (not data and amt != 0) or _is_over(raw):
        watched.call.finish()
    return data


def _is_over(raw: Any) -> bool:
    """Whether everything was read: the connection has nothing more, nor have the buffers."""
    file, decoder = raw._fp, raw._decoder
    if not getattr(file, "closed", False) and not (hasattr(file, "isclosed") and file.isclosed()):
        return False
    if getattr(decoder, "has_unconsumed_tail", False):
        return False
    try:
        return not len(getattr(raw, "_decoded_buffer", b""))
    except TypeError:
        return True


# -- serving --------------------------------------------------------------------------------------


def served_body(call: HttpCall, served: Served, failure: Failure, method: str) -> Any:
    """A ``urllib3`` response that gives a recorded body."""
    found = ServedResponse(call, served, coded=False)
    reason = found.extensions.get("reason_phrase", b"").decode("ascii", "replace")
    headers = [(_text(name), _text(value)) for name, value in found.headers]
    raw = _made(found.status, reason or None, headers, method, _Body())
    raw._agentdbg = (found, PieceReader(found, failure), served.attrs.get("encoded") is True)
    raw.__class__ = _served_class(class_of(raw))
    return raw


def answered(reply: Reply, method: str) -> Any:
    """A ``urllib3`` response to telemetry."""
    return _made(reply.status, None, reply.headers, method, io.BytesIO(reply.body))


def _made(status: int, reason: str | None, headers: Sequence[tuple[str, str]], method: str, body: Any) -> Any:
    urllib3 = import_module("urllib3")
    found = import_module("urllib3._collections").HTTPHeaderDict()
    for name, value in headers:
        found.add(name, value)
    return urllib3.HTTPResponse(
        body=body, headers=found, status=status, version=11, reason=reason or responses.get(status, ""),
        preload_content=False, decode_content=False, original_response=_Original(headers), request_method=method,
    )  # fmt: skip


class _Original:
    """What is asked of ``http.client``'s response behind ``urllib3``'s: cookies are taken from ``msg``."""

    version = 11

    def __init__(self, headers: Sequence[tuple[str, str]]) -> None:
        self.msg = Message()
        for name, value in headers:
            if name.lower() in ("set-cookie", "set-cookie2"):
                self.msg.add_header(name, value)

    def close(self) -> None:
        """There is nothing to close."""

    def isclosed(self) -> bool:
        """Open, so that nothing is given back to a pool."""
        return False


class _Body:
    """Stands for the connection; the served response never reads it."""

    closed = False

    def read(self, amt: int | None = None) -> bytes:
        """Nothing."""
        return b""

    def close(self) -> None:
        """The agent closed the response, or read it to its end."""
        self.closed = True


@functools.cache
def _served_class(base: Any) -> Any:
    class HTTPResponse(base):  # type: ignore[misc]  # urllib3's class is known at run time only
        _agentdbg: tuple[ServedResponse, PieceReader, bool]

        def read(
            self, amt: int | None = None, decode_content: bool | None = None, cache_content: bool = False
        ) -> bytes:
            whole = amt is None or amt < 0
            data = self._piece(decode_content, None if whole else amt, whole=whole)
            if whole and cache_content:
                self._body = data
            return data

        def read1(self, amt: int | None = None, decode_content: bool | None = None) -> bytes:
            return self._piece(decode_content, amt)

        def stream(self, amt: int | None = 65536, decode_content: bool | None = None) -> Iterator[bytes]:
            while data := self._piece(decode_content, amt):
                yield data

        def read_chunked(self, amt: int | None = None, decode_content: bool | None = None) -> Iterator[bytes]:
            return self.stream(amt, decode_content)

        def close(self) -> None:
            self._agentdbg[0].close()
            super().close()

        def drain_conn(self) -> None:
            self.close()

        def __del__(self) -> None:
            dropped(self._agentdbg[0])

        def _piece(self, decode_content: bool | None, most: int | None, *, whole: bool = False) -> bytes:
            found, reader, as_it_came = self._agentdbg
            decoded = self.decode_content if decode_content is None else decode_content
            if not decoded and not as_it_came:
                found.encode()
                self._agentdbg = (found, reader, True)
            if self._fp.closed or most == 0:
                return b""
            unpacked = decoded and "content-encoding" in self.headers  # such pieces may be longer than was asked for
            data: bytes = reader.rest() if whole else reader.some(None if unpacked else most)
            self._fp_bytes_read += len(data)
            if reader.ended and not reader.left:
                self._fp.close()
            return data

    HTTPResponse.__module__, HTTPResponse.__qualname__ = base.__module__, base.__qualname__
    return HTTPResponse


def _text(value: bytes) -> str:
    return value.decode("utf-8", "surrogatepass")

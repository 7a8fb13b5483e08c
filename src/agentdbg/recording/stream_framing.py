"""Which bodies are read as a stream of events, and how they are cut."""

from __future__ import annotations

from agentdbg.recording import stream_frames, stream_lines
from agentdbg.recording.provider_parts import GEMINI
from agentdbg.recording.sse import SseSplitter, is_event_stream
from agentdbg.recording.stream_array import ArrayFraming
from agentdbg.recording.stream_event import Framing, StreamEvent
from agentdbg.recording.stream_frames import FrameFraming
from agentdbg.recording.stream_lines import LineFraming

__all__ = ["Framing", "StreamEvent", "framing_of"]


def framing_of(content_type: str, provider: str | None = None, *, streams: bool = False) -> Framing | None:
    """How a body is cut into events; ``None`` for a body that is one piece.

    Args:
        content_type: The ``Content-Type`` of the response.
        provider: Shape of the model call, ``None`` for other requests.
        streams: A stream was asked for, and its beginning is no error. Only then a JSON array is one: Gemini sends its
            answers as elements of an array, unless server-sent events were asked for.
    """
    if is_event_stream(content_type):
        return SseSplitter()
    kind = content_type.partition(";")[0].strip().lower()
    if kind == stream_frames.CONTENT_TYPE:
        return FrameFraming()
    if kind in stream_lines.CONTENT_TYPES:
        return LineFraming()
    return ArrayFraming() if streams and provider == GEMINI and kind == "application/json" else None

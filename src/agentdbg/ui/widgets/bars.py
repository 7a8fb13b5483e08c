"""One-line bars: status, column heads, tabs, keys."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import ClassVar, Final

from rich.cells import cell_len
from rich.segment import Segment
from textual import events
from textual.message import Message
from textual.strip import Strip
from textual.widget import Widget

from agentdbg.debugging.document import Span, Tone, span
from agentdbg.ui import tones
from agentdbg.ui.text import segments

_ALWAYS: Final = 2
"""Keys at the right end that are shown however narrow the bar is."""


class Bar(Widget):
    """One line of spans, left and right."""

    DEFAULT_CSS: ClassVar[str] = """
    Bar { height: 1; width: 1fr; background: $surface; }
    """

    def __init__(self, *, id: str | None = None, classes: str | None = None) -> None:  # noqa: A002
        """Make an empty bar."""
        super().__init__(id=id, classes=classes)
        self._left: Sequence[Span] = ()
        self._right: Sequence[Span] = ()
        self._drawn: Strip | None = None

    def show(self, left: Iterable[Span], right: Iterable[Span] = ()) -> None:
        """Show other spans; the right ones give way when there is no room."""
        left, right = tuple(left), tuple(right)
        if (left, right) != (self._left, self._right):
            self._left, self._right = left, right
            self._drawn = None
            self.refresh()

    def on_mount(self) -> None:
        """Take the colours of a new theme."""
        self.app.theme_changed_signal.subscribe(self, lambda _theme: self.notify_style_update())

    def notify_style_update(self) -> None:
        """Colours have changed: draw the line again."""
        super().notify_style_update()
        self._drawn = None

    def render_line(self, y: int) -> Strip:
        """The bar's only line."""
        if self._drawn is None or self._drawn.cell_length != self.size.width:
            self._drawn = self._draw(self.size.width)
        return self._drawn

    def _draw(self, width: int) -> Strip:
        palette = tones.palette_for(self.app)
        left, right = Strip(segments(self._left, palette)), Strip(segments(self._right, palette))
        room = width - left.cell_length - right.cell_length
        if right.cell_length and room >= 0:
            left = Strip.join([left, Strip([Segment(" " * room)]), right])
        if left.cell_length > width > 1:
            left = Strip.join([left.crop(0, width - 1), Strip([Segment("…")])])
        return left.adjust_cell_length(width).apply_style(self.rich_style)


class TabBar(Bar):
    """The titles of the detail tabs; a click opens one."""

    class Picked(Message):
        """The user clicked a tab."""

        def __init__(self, tab_id: str) -> None:
            super().__init__()
            self.tab_id = tab_id

    def __init__(self, *, id: str | None = None) -> None:  # noqa: A002
        """Make a bar without tabs."""
        super().__init__(id=id)
        self._places: list[tuple[int, int, str]] = []

    def show_tabs(self, tabs: Iterable[tuple[str, str, str]], current: str, right: Iterable[Span] = ()) -> None:
        """Show tabs as ``(id, digit, title)``; the current one stands out in brackets too."""
        spans: list[Span] = []
        self._places = []
        at = 0
        for tab_id, digit, title in tabs:
            chosen = tab_id == current
            parts = [span("▌" if chosen else " ", Tone.ACCENT), span(f"{digit} ", Tone.DIM)]
            parts.append(span(title, Tone.HEADING if chosen else Tone.LABEL))
            parts.append(span(" "))
            width = sum(len(part.text) for part in parts)
            self._places.append((at, at + width, tab_id))
            at += width
            spans.extend(parts)
        self.show(spans, right)

    def on_click(self, event: events.Click) -> None:
        """Open the tab under the mouse."""
        for start, end, tab_id in self._places:
            if start <= event.x < end:
                self.post_message(self.Picked(tab_id))


class KeyBar(Bar):
    """The keys that matter here; for a while, what an action had to say."""

    class Picked(Message):
        """The user clicked a key."""

        def __init__(self, action_id: str) -> None:
            super().__init__()
            self.action_id = action_id

    def __init__(self, *, id: str | None = None) -> None:  # noqa: A002
        """Make a bar without keys."""
        super().__init__(id=id)
        self._keys: list[tuple[str, str, str]] = []
        self._always = _ALWAYS
        self._places: list[tuple[int, int, str]] = []
        self._saying: Span | None = None

    def show_keys(self, keys: Iterable[tuple[str, str, str]], *, always: int = _ALWAYS) -> None:
        """Show keys as ``(action id, key, label)``; the last of them, ``always`` many, at the right end whatever."""
        shown = list(keys)
        if (shown, always) != (self._keys, self._always):
            self._keys, self._always = shown, always
            self._compose_line()

    def say(self, text: str, tone: Tone = Tone.ACCENT) -> None:
        """Say something in the place of the keys; an empty text brings the keys back."""
        self._saying = span(text, tone) if text else None
        self._compose_line()

    @property
    def saying(self) -> str:
        """What the bar says at the moment."""
        return self._saying.text if self._saying is not None else ""

    def on_resize(self) -> None:
        """As many keys as there is room for."""
        self._compose_line()

    def _compose_line(self) -> None:
        self._places = []
        if self._saying is not None:
            self.show([span(" "), self._saying])
            return
        split = len(self._keys) - self._always
        always = self._keys[split:]
        room = self.size.width - sum(cell_len(key) + cell_len(label) + 3 for _, key, label in always)
        spans: list[Span] = []
        at = 0
        for entry in self._keys[:split]:
            width = cell_len(entry[1]) + cell_len(entry[2]) + 3
            if at + width > room:
                break
            at = self._add(entry, at, spans)
        right: list[Span] = []
        at = max(room, at)
        for entry in always:
            at = self._add(entry, at, right)
        self.show(spans, right)

    def _add(self, entry: tuple[str, str, str], at: int, spans: list[Span]) -> int:
        action_id, key, label = entry
        width = cell_len(key) + cell_len(label) + 3
        self._places.append((at, at + width, action_id))
        spans.extend([span(f" {key}", Tone.STRONG), span(f" {label} ", Tone.DIM)])
        return at + width

    def on_click(self, event: events.Click) -> None:
        """Do what the key under the mouse does."""
        for start, end, action_id in self._places:
            if start <= event.x < end:
                self.post_message(self.Picked(action_id))

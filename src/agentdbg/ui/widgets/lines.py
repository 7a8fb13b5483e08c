"""The one widget family for data of unknown size: a cursor over lines that are drawn when they are looked at."""

from __future__ import annotations

from collections.abc import Mapping
from typing import ClassVar

from rich.segment import Segment
from rich.style import Style
from textual import events
from textual.cache import LRUCache
from textual.geometry import Size
from textual.message import Message
from textual.reactive import reactive
from textual.scroll_view import ScrollView
from textual.strip import Strip

from agentdbg.ui import tones
from agentdbg.ui.internals import set_virtual_size
from agentdbg.ui.text import Palette

_CACHED_STRIPS = 1_024
_PAN = 8


class LineView(ScrollView, can_focus=True, inherit_bindings=False):
    """A list of lines with a cursor.

    Subclasses say how many lines there are and draw one of them.
    """

    DEFAULT_CSS: ClassVar[str] = """
    LineView {
        overflow-x: hidden;
        overflow-y: scroll;
        scrollbar-size-vertical: 1;
        background: $background;
    }
    """

    cursor: reactive[int] = reactive(0, repaint=False)
    pan: reactive[int] = reactive(0)

    class Moved(Message):
        """The user moved the cursor."""

        def __init__(self, view: LineView, index: int) -> None:
            super().__init__()
            self.view = view
            self.index = index

        @property
        def control(self) -> LineView:
            """The list that sent it."""
            return self.view

    class Chosen(Moved):
        """The user chose the line under the cursor."""

    def __init__(self, *, id: str | None = None, classes: str | None = None) -> None:  # noqa: A002
        """Make an empty list."""
        super().__init__(id=id, classes=classes)
        self._strips: LRUCache[tuple[int, bool, bool, int, int, int], Strip] = LRUCache(_CACHED_STRIPS)
        self._version = 0
        self._palette: Palette | None = None
        self._backgrounds: Mapping[bool, Style] = {}

    # For subclasses

    def line_count(self) -> int:
        """How many lines there are."""
        raise NotImplementedError

    def draw(self, index: int, palette: Palette) -> list[Segment]:
        """One line, as wide as it likes to be."""
        raise NotImplementedError

    # The list

    @property
    def palette(self) -> Palette:
        """What the tones look like in the current theme."""
        if self._palette is None:
            variables = self.app.theme_variables
            self._palette = tones.palette_for(self.app)
            self._backgrounds = {
                True: tones.background(variables, tones.CURSOR),
                False: tones.background(variables, tones.CURSOR_BLURRED),
            }
        return self._palette

    def on_mount(self) -> None:
        """Forget the colours when the theme changes."""
        self.app.theme_changed_signal.subscribe(self, lambda _theme: self._new_colours())
        self.update_lines()

    def update_lines(self) -> None:
        """Draw again what is seen: the lines, or their number, have changed."""
        self._version += 1
        count = self.line_count()
        set_virtual_size(self, Size(self.size.width, count))
        if self.cursor >= count:
            self.set_reactive(LineView.cursor, max(count - 1, 0))
        self.refresh()

    def move_cursor(self, index: int, *, tell: bool = True) -> None:
        """Put the cursor on a line and bring the line into view."""
        index = min(max(index, 0), max(self.line_count() - 1, 0))
        moved = index != self.cursor
        self.cursor = index
        if tell and moved:
            self.post_message(self.Moved(self, index))

    def watch_cursor(self, before: int, after: int) -> None:
        """Draw the two lines that the cursor left and entered."""
        self.refresh_line(before)
        self.refresh_line(after)
        self.reveal(after)

    def reveal(self, index: int) -> None:
        """Scroll as little as needed for a line to be seen."""
        height = self.scrollable_content_region.height or self.size.height
        if height <= 0:
            return
        top = self.scroll_offset.y
        if index < top:
            self.scroll_to(y=index, animate=False, immediate=True)
        elif index >= top + height:
            self.scroll_to(y=index - height + 1, animate=False, immediate=True)

    def move_page(self, pages: float) -> None:
        """Move by pages, or parts of one; the view moves along."""
        height = max(self.size.height, 1)
        delta = int(pages * height) or (1 if pages > 0 else -1)
        target = min(max(self.cursor + delta, 0), max(self.line_count() - 1, 0))
        self.scroll_to(y=max(self.scroll_offset.y + delta, 0), animate=False, immediate=True)
        self.move_cursor(target)

    def move_pan(self, direction: int) -> None:
        """Show what lies further left or right."""
        self.pan = max(self.pan + direction * _PAN, 0)

    def render_line(self, y: int) -> Strip:
        """The strip of one line of the screen."""
        width = self.size.width
        index = self.scroll_offset.y + y
        if index >= self.line_count():
            index = -1
        here = index == self.cursor
        key = (index, here, self.has_focus, width, self.pan, self._version)
        strip = self._strips.get(key)
        if strip is None:
            base = self.rich_style
            strip = Strip.blank(width, base) if index < 0 else self._make_strip(index, width, base, here=here)
            self._strips[key] = strip
        return strip

    def _make_strip(self, index: int, width: int, base: Style, *, here: bool) -> Strip:
        palette = self.palette
        strip = Strip(self.draw(index, palette))
        if self.pan:
            strip = strip.crop(self.pan, self.pan + width)
        style = base + self._backgrounds[self.has_focus] if here else base
        return strip.adjust_cell_length(width, style).apply_style(style)

    def _new_colours(self) -> None:
        self._palette = None
        self.update_lines()

    def notify_style_update(self) -> None:
        """Colours come from the styles: what was drawn with the old ones is void."""
        super().notify_style_update()
        self._version += 1

    def on_resize(self) -> None:
        """The width of every line has changed."""
        self.update_lines()
        self.reveal(self.cursor)

    def on_focus(self) -> None:
        """The cursor line looks different now."""
        self.refresh_line(self.cursor)

    def on_blur(self) -> None:
        """The cursor line looks different now."""
        self.refresh_line(self.cursor)

    def on_click(self, event: events.Click) -> None:
        """Put the cursor where the mouse is; a second click chooses."""
        index = self.scroll_offset.y + event.get_content_offset_capture(self).y
        if 0 <= index < self.line_count():
            chosen = index == self.cursor and event.chain > 1
            self.move_cursor(index)
            if chosen:
                self.post_message(self.Chosen(self, index))

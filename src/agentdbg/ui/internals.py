"""Shortcuts through Textual's internals, for speed alone; each is safe to replace by the public way named with it."""

from __future__ import annotations

from textual.geometry import Size
from textual.scroll_view import ScrollView


def set_virtual_size(view: ScrollView, size: Size) -> None:
    """Set how big a view's content is without laying out the whole screen again.

    The public way is ``view.virtual_size = size``. It costs a layout of every widget at each step shown. Scrollbars
    that are always there need none.
    """
    if size != view.virtual_size:
        view.set_reactive(ScrollView.virtual_size, size)
        view._scroll_update(size)

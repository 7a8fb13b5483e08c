"""The line in which the user types."""

from __future__ import annotations

from textual.app import App, ComposeResult
from textual.widgets import Input

from agentdbg.ui.widgets.prompt import Prompt


class PromptApp(App[None]):
    """A prompt on a screen."""

    def __init__(self) -> None:
        super().__init__()
        self.told: list[tuple[str, str, str]] = []

    def compose(self) -> ComposeResult:
        yield Prompt()

    def on_prompt_typed(self, event: Prompt.Typed) -> None:
        self.told.append(("typed", event.purpose, event.text))

    def on_prompt_entered(self, event: Prompt.Entered) -> None:
        self.told.append(("entered", event.purpose, event.text))


async def test_it_tells_what_is_typed_and_entered_and_nothing_when_opened() -> None:
    app = PromptApp()
    async with app.run_test(size=(40, 5)) as pilot:
        prompt = app.query_one(Prompt)
        prompt.ask("flag", "why", "a\x1b")
        await pilot.press("b", "enter")
        assert app.told == [("typed", "flag", "a␛b"), ("entered", "flag", "a␛b")]
        prompt.close()
        app.query_one(Input).value = "z"
        await pilot.pause()
        assert len(app.told) == 2

"""Compares a screen's run with another one, off the screen's thread."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from time import monotonic
from typing import TYPE_CHECKING, Final

from textual.worker import get_current_worker

from agentdbg.debugging.compared import TWIN, ComparedRun, compare_runs, suggest_twin
from agentdbg.debugging.document import Tone
from agentdbg.store.protocols import RunSource
from agentdbg.ui.messages import Compared, Sifted

if TYPE_CHECKING:
    from agentdbg.ui.screens.panes import PanesScreen

_GROUP: Final = "compare"
_TELL_SECONDS: Final = 0.3
"""Pause between two messages about what has been sifted."""


class Comparing:
    """Opens the other run, compares, then sifts chance from what matters; a newer comparison calls off an older."""

    def __init__(self, screen: PanesScreen) -> None:
        """Compare with nothing yet."""
        self._screen = screen
        self._opened: RunSource | None = None

    def start(self, address: str) -> None:
        """Compare with the run at an address."""
        self._screen.say(f"comparing with {address.rstrip('/').rpartition('/')[2]} …", Tone.DIM)
        self._run(partial(self._compare, address))

    def take(self, compared: ComparedRun) -> None:
        """A comparison is on screen now: close the run of the one before, and go on with the bodies."""
        if self._opened is not None and self._opened is not compared.other:
            self._opened.close()
        self._opened = compared.other
        self._run(partial(self._sift, compared))

    def close(self) -> None:
        """Close the other run."""
        self._screen.workers.cancel_group(self._screen, _GROUP)
        if self._opened is not None:
            self._opened.close()
            self._opened = None

    def _run(self, work: Callable[[], None]) -> None:
        self._screen.run_worker(work, thread=True, exclusive=True, group=_GROUP, exit_on_error=False)

    def _compare(self, address: str) -> None:
        worker = get_current_worker()
        try:
            other, why = self._open(address, lambda: worker.is_cancelled)
            if other is None:
                self._tell(Compared(None, why))
                return
            other.poll()
            compared = compare_runs(self._screen.session.source, other, lambda: worker.is_cancelled, why)
        except Exception as problem:  # a run that cannot be compared costs a message
            if not worker.is_cancelled:
                words = f"no run {address}" if isinstance(problem, KeyError) else str(problem)
                self._tell(Compared(None, f"cannot compare: {words or type(problem).__name__}"))
            return
        if worker.is_cancelled:
            other.close()
        else:
            self._tell(Compared(compared))

    def _open(self, address: str, stop: Callable[[], bool]) -> tuple[RunSource | None, str]:
        app = self._screen.debugger
        if address != TWIN:
            return app.opener(address), ""
        run_id, why = suggest_twin(app.store, self._screen.session.source, stop)
        return (app.store.open(run_id), f"twin: {why}") if run_id is not None else (None, why)

    def _sift(self, compared: ComparedRun) -> None:
        worker = get_current_worker()
        told = 0.0
        try:
            compared.answer()
            for _ in compared.sift(lambda: worker.is_cancelled):
                if monotonic() - told >= _TELL_SECONDS:
                    told = monotonic()
                    self._tell(Sifted(compared))
        except Exception:  # called off, or a body is damaged: what is not sifted counts as telling
            if worker.is_cancelled:
                return
        self._tell(Sifted(compared))

    def _tell(self, message: Compared | Sifted) -> None:
        self._screen.post_message(message)

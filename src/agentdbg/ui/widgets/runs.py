"""The list of runs: status, agent, start, steps, duration, mode, model, id."""

from __future__ import annotations

from datetime import UTC, datetime

from rich.cells import cell_len, set_cell_size
from rich.segment import Segment

from agentdbg.debugging.coverage import uncovered_spans
from agentdbg.debugging.document import Span, Tone, duration_words, span
from agentdbg.debugging.marks import STATUS_SIGNS, is_live, status_tone
from agentdbg.debugging.modes import MODE_WORDS
from agentdbg.debugging.runlist import RunRow
from agentdbg.model.lineage import edit_count
from agentdbg.model.records import Mode, RunSummary
from agentdbg.model.safe_text import safe_line
from agentdbg.ui.text import Palette, segments
from agentdbg.ui.widgets.lines import LineView

_MODE_WORDS = {Mode.RECORDED: "recorded", **MODE_WORDS}


class RunList(LineView):
    """The runs of a store."""

    def __init__(self, *, id: str | None = None) -> None:  # noqa: A002
        """Make an empty list."""
        super().__init__(id=id)
        self.rows: list[RunRow] = []
        self.selected: set[str] = set()
        self.nothing: list[Span] = []
        self._pulse = False

    def show_rows(self, rows: list[RunRow]) -> None:
        """Show other rows; the cursor stays on its run."""
        here = self.current.run_id if self.current is not None else None
        self.rows = rows
        self.update_lines()
        at = next((index for index, row in enumerate(rows) if row.run.run_id == here), None)
        if at is not None:
            self.move_cursor(at, tell=False)

    def say_nothing(self, spans: list[Span]) -> None:
        """What to show while there are no rows."""
        self.nothing = spans
        self.update_lines()

    @property
    def current(self) -> RunSummary | None:
        """The run under the cursor."""
        return self.rows[self.cursor].run if self.cursor < len(self.rows) else None

    def pulse(self) -> None:
        """Let the signs of live runs beat; touches their rows only."""
        self._pulse = not self._pulse
        live = 0
        while live < len(self.rows) and is_live(self.rows[live].run):
            live += 1
        if live:
            self._version += 1
            self.refresh_lines(0, live)

    def toggle(self) -> None:
        """Select the run under the cursor, or not."""
        if self.current is not None:
            self.selected ^= {self.current.run_id}
            self.update_lines()

    def line_count(self) -> int:
        """Runs, or the line that says that there are none."""
        return len(self.rows) or bool(self.nothing)

    def draw(self, index: int, palette: Palette) -> list[Segment]:
        """One run."""
        if not self.rows:
            return segments(self.nothing, palette)
        row = self.rows[index]
        chosen = row.run.run_id in self.selected
        return segments(
            run_row(row, here=index == self.cursor, selected=chosen, beat=self._pulse, width=self.size.width), palette
        )


def head_row(width: int) -> list[Span]:
    """The words above the columns."""
    words = f"   {'status':<11}{'started':<16}{'steps':>5}{'took':>8}  {'mode':<10}"
    return [span(f"{words}{_agent('agent', width)}{_model('model', width)}run", Tone.DIM)]


def run_row(row: RunRow, *, here: bool, selected: bool, beat: bool, width: int) -> list[Span]:
    """The columns of a run."""
    run = row.run
    sign = "○" if is_live(run) and beat else STATUS_SIGNS[run.status]
    took = (run.ended_at - run.started_at) * 1000 if run.ended_at is not None and run.started_at is not None else None
    spans = [
        span("› " if here else "  ", Tone.ACCENT),
        span("■" if selected else " ", Tone.ACCENT),
        span(f"{sign} {run.status:<9}", status_tone(run.status)),
        span(f"{started(run.started_at):<15}", Tone.DIM),
        span(f"{run.steps:>6}"),
        span(f"{duration_words(took) if took is not None else '':>8}  ", Tone.DIM),
        span(f"{_mode(run):<10}", Tone.DIM if run.mode is Mode.RECORDED else Tone.WARN),
        span(_agent(run.agent, width)),
        span(_model(", ".join(run.models), width), Tone.MODEL),
        span("  " * (row.depth - 1) + "↳ " if row.depth else "", Tone.DIM),
        span(run.run_id, Tone.STRONG if here else Tone.PLAIN),
    ]
    return [*spans, *_facts(run)]


def started(seconds: float | None) -> str:
    """When a run began, in local time."""
    if seconds is None:
        return "–"
    try:
        return datetime.fromtimestamp(seconds, UTC).astimezone().strftime("%m-%d %H:%M:%S")
    except (OverflowError, OSError, ValueError):
        return "–"


def _agent(text: str, width: int) -> str:
    """The agent column, where there is room for one."""
    return _column(text, 14) if width >= 100 else ""


def _mode(run: RunSummary) -> str:
    """EXACT or LIVE; of one that went on from edited values, that too."""
    return f"{_MODE_WORDS[run.mode]}{' ed.' if edit_count(run) else ''}"


def _model(text: str, width: int) -> str:
    """The model column, where there is room for one."""
    return _column(text, 24) if width >= 140 else ""


def _column(text: str, width: int) -> str:
    """Text cut and filled to a number of cells."""
    text = safe_line(text)
    cut = set_cell_size(text, width - 2)
    if cell_len(text) > width - 2:
        cut = f"{set_cell_size(text, width - 3)}…"
    return f"{cut}  "


def _facts(run: RunSummary) -> list[Span]:
    spans: list[Span] = []
    if run.flag:
        spans.append(span(f"  ⚑ {run.flag}", Tone.WARN))
    if run.verdict:
        spans.append(span(f"  {run.verdict}", Tone.ACCENT))
    if run.error is not None:
        spans.append(span(f"  ✗ {run.error.type}", Tone.ERROR))
    spans.extend(uncovered_spans(run))
    if run.holes:
        spans.append(span(f"  ○ {run.holes[0]}", Tone.WARN))
    spans.extend(span(f"  {key}={value}", Tone.DIM) for key, value in run.tags.items())
    return spans

"""Effects that no seam saw, as a record holds them: what they reached for, from where, and what covers them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Final

from agentdbg.model.records import Json, Kind, RunSummary, Step
from agentdbg.store.protocols import RunSource

_ATTRIBUTES: Final = "file attributes changed"
WORDS: Final = {
    "open": "file written",
    "os.remove": "file removed",
    "os.rename": "file renamed",
    "os.truncate": "file truncated",
    "os.mkdir": "directory made",
    "os.rmdir": "directory removed",
    "os.link": "link made",
    "os.symlink": "link made",
    **dict.fromkeys(("os.chmod", "os.chown", "os.utime", "os.chflags"), _ATTRIBUTES),
    **dict.fromkeys(("os.setxattr", "os.removexattr"), _ATTRIBUTES),
    "sqlite3.connect": "database opened",
    "socket.connect": "connected to",
    "socket.sendto": "sent to",
    "socket.sendmsg": "sent to",
    **dict.fromkeys(("subprocess.Popen", "os.posix_spawn", "os.exec", "os.spawn"), "process started"),
    "_posixsubprocess.fork_exec": "process started",
    "os.system": "shell command run",
    "os.kill": "signal sent to",
    "os.killpg": "signal sent to group",
    "ctypes.dlsym": "system function taken",
}
"""How people call them, by audit event."""


@dataclass(frozen=True, slots=True)
class UnseenEffect:
    """One effect that no seam saw.

    Attributes:
        step: The step that notes it.
        event: Name of the audit event.
        detail: What it reached for.
        frame: ``file:line function`` of the user's code.
        under: Kind of the step it ran under; empty when ambient.
        covered: Whether that is a call whose recorded outcome a replay serves, so that it does not happen again.
        contradicts: The level that the tool declared and that this effect exceeds; empty when it does not.
        temporary: Whether it is a temporary file of the standard library's making.
        count: How often it was seen.
    """

    step: Step
    event: str
    detail: str
    frame: str
    under: str
    covered: bool
    contradicts: str
    temporary: bool
    count: int

    @property
    def uncovered(self) -> bool:
        """Whether an exact replay has to stop it."""
        return not self.covered and not self.temporary

    @property
    def what(self) -> str:
        """The effect in words."""
        return f"{WORDS.get(self.event, self.event)} {self.detail}".rstrip()

    @property
    def place(self) -> str:
        """Where, and how often when that was more than once."""
        times = f", {self.count:,} times" if self.count > 1 else ""
        return f"{self.frame}{times}"

    def members(self) -> dict[str, object]:
        """As in ``uncovered_effects[]``."""
        return {
            "step": self.step.n,
            "id": self.step.id,
            "effect": self.event,
            "detail": self.detail,
            "frame": self.frame,
            "under": self.under or None,
            "covered": self.covered,
            "contradicts": self.contradicts or None,
            "count": self.count,
        }


def unseen(step: Step) -> UnseenEffect | None:
    """The effect that a step notes; ``None`` for every other step."""
    if step.kind is not Kind.EFFECT or "event" not in step.attrs:
        return None
    attrs = step.attrs
    count = attrs.get("count")
    return UnseenEffect(
        step,
        _text(attrs.get("event")),
        _text(attrs.get("detail")),
        _text(attrs.get("frame")),
        _text(attrs.get("under")),
        attrs.get("covered") is True,
        _text(attrs.get("contradicts")),
        attrs.get("weight") == "temporary",
        count if isinstance(count, int) and count > 0 else 1,
    )


def unseen_of(steps: Iterable[Step]) -> Iterator[UnseenEffect]:
    """The effects among some steps."""
    return (found for found in map(unseen, steps) if found is not None)


def unseen_in(source: RunSource) -> Iterator[UnseenEffect]:
    """The effects of a run; of a long one only these steps are built where the source can choose them."""
    steps = source.steps()
    choose = getattr(source, "positions", None)
    return unseen_of(steps if choose is None else (steps[n] for n in choose(kinds=(Kind.EFFECT,))))


def uncovered_count(summary: RunSummary) -> int | None:
    """How many effects no call covers, as the run says at its end; ``None`` where nobody looked."""
    count = summary.meta.get("uncovered")
    return count if type(count) is int and count >= 0 else None


def _text(value: Json) -> str:
    return value if isinstance(value, str) else ""

"""``run.json``, read and type-checked member by member, and the run's row that comes of it."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from math import isfinite
from pathlib import Path
from typing import cast

from agentdbg.model.canonical import loads_json
from agentdbg.model.records import ErrorInfo, Json, Mode, RunStatus, RunSummary
from agentdbg.store.files import StoreError, read_below
from agentdbg.store.steps import error_info

MAX_RUN_JSON = 32 << 20
MAJOR = 0
_FORMAT = re.compile(r"(\d{1,9})(\.\d{1,9})?", re.ASCII)
_STATUSES = {status.value: status for status in RunStatus}
_MODES = {mode.value: mode for mode in Mode}


@dataclass(frozen=True, slots=True)
class Facts:
    """What the events alone say about a run, for members that ``run.json`` lacks."""

    ended: RunStatus | None = None
    alive: bool = False
    steps: int = 0
    agent: str = ""
    started_at: float | None = None
    ended_at: float | None = None
    models: tuple[str, ...] = ()
    failing_step: str | None = None
    error: ErrorInfo | None = None
    holes: tuple[str, ...] = ()


class LazyMeta(Mapping[str, Json]):
    """All of ``run.json``, read when it is first asked for; empty when it cannot be read."""

    def __init__(self, root: str | Path) -> None:
        self._root = root
        self._meta: dict[str, Json] | None = None

    def __getitem__(self, key: str) -> Json:
        return self._loaded()[key]

    def __iter__(self) -> Iterator[str]:
        return iter(self._loaded())

    def __len__(self) -> int:
        return len(self._loaded())

    def _loaded(self) -> dict[str, Json]:
        if self._meta is None:
            try:
                self._meta = read_run_json(Path(self._root))
            except (OSError, ValueError):
                self._meta = {}
        return self._meta


def read_run_json(root: Path) -> dict[str, Json]:
    """The members of a run's ``run.json``.

    Raises:
        StoreError: It is no regular file, too large, not a JSON object, or of a newer major format.
        OSError: It is missing or may not be read.
    """
    raw = read_below(root, "run.json", limit=MAX_RUN_JSON)
    try:
        meta = loads_json(raw)
    except ValueError:
        raise StoreError("run.json is not readable JSON") from None
    if not isinstance(meta, dict):
        raise StoreError("run.json is not a JSON object")
    check_format(meta.get("format"), f"run {root.name}")
    return meta


class NewerFormat(StoreError):
    """A store or run of a format that this version does not read."""


def check_format(value: Json, what: str) -> None:
    """Refuse a newer major format.

    Raises:
        NewerFormat: It is newer.
    """
    found = _FORMAT.fullmatch(value) if isinstance(value, str) else None
    if found is not None and int(found[1]) > MAJOR:
        raise NewerFormat(f"{what} has format {value}, this agentdbg reads {MAJOR}.x: a newer agentdbg is needed")


def run_status(stated: Json, ended: RunStatus | None, alive: bool) -> RunStatus:
    """The status to show.

    A run that says *running* counts as ended when its events say so, and as lost when its owner is gone.
    """
    status = _STATUSES.get(stated) if isinstance(stated, str) else None
    if status is not None and status not in (RunStatus.RUNNING, RunStatus.LOST):
        return status
    if ended is not None:
        return ended
    return RunStatus.RUNNING if alive else RunStatus.LOST


def end_status(value: Json) -> RunStatus:
    """The run status that an ``end`` event states; anything but a good end is a failure."""
    status = _STATUSES.get(value) if isinstance(value, str) else None
    return status if status in (RunStatus.OK, RunStatus.WAITING) else RunStatus.FAILED


def summarise(
    run_id: str,
    meta: Mapping[str, Json],
    facts: Facts,
    *,
    flag: str | None = None,
    shown: Mapping[str, Json] | None = None,
) -> RunSummary:
    """The row of a run. Members of the wrong type count as absent.

    Args:
        run_id: Name of the run's directory.
        meta: Members of ``run.json``.
        facts: What the events say.
        flag: A flag noted later, which wins; ``""`` takes the recorded one away.
        shown: What the row gives as all of ``run.json``; ``meta`` itself by default.
    """
    error = error_info(meta.get("error")) or facts.error
    stated_id = meta.get("run_id")
    holes = [*texts(meta.get("holes")), *facts.holes]
    if isinstance(stated_id, str) and stated_id != run_id:
        holes.append(f"run.json names another run: {stated_id[:128]}")
    mode = meta.get("mode")
    return RunSummary(
        run_id=run_id,
        status=run_status(meta.get("status"), facts.ended, facts.alive),
        agent=_text(meta.get("agent")) or facts.agent,
        mode=_MODES.get(mode, Mode.RECORDED) if isinstance(mode, str) else Mode.RECORDED,
        replay_of=_text(meta.get("replay_of")) or None,
        thread_id=_text(meta.get("thread_id")) or None,
        tags=_tags(meta.get("tags")),
        flag=(_text(meta.get("flag")) if flag is None else flag) or None,
        steps=facts.steps or step_count(meta),
        started_at=number(meta.get("started_at")) or facts.started_at,
        ended_at=number(meta.get("ended_at")) or facts.ended_at,
        models=tuple(texts(meta.get("models"))) or facts.models,
        failing_step=_text(meta.get("failing_step")) or facts.failing_step,
        error=error,
        verdict=_text(meta.get("verdict")) or None,
        holes=tuple(holes),
        meta=meta if shown is None else shown,
    )


def owner_of(meta: Mapping[str, Json]) -> Mapping[str, object]:
    """The process that records the run, as stated."""
    owner = meta.get("owner")
    return cast("dict[str, object]", owner) if isinstance(owner, dict) else {}


def step_count(meta: Mapping[str, Json]) -> int:
    """The number of steps as stated, 0 when it is not."""
    value = meta.get("steps")
    return value if type(value) is int and 0 <= value < 2**53 else 0


def number(value: Json) -> float | None:
    """A finite number, or ``None``."""
    if type(value) is int and abs(value) < 2**53:
        return float(value)
    return value if type(value) is float and isfinite(value) else None


def texts(value: Json) -> list[str]:
    """The strings of a list, or of a single string."""
    if isinstance(value, str):
        return [value]
    return [item for item in value if isinstance(item, str)] if isinstance(value, list) else []


def _text(value: Json) -> str:
    return value if isinstance(value, str) else ""


def _tags(value: Json) -> dict[str, str]:
    if not isinstance(value, dict):
        return {}
    return {key: item for key, item in value.items() if isinstance(item, str)}

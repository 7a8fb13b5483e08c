"""Values of options as people write them: points in time and tags. Used as callbacks of options."""

from __future__ import annotations

import re
import time
from datetime import datetime

import click

_UNITS = {"s": 1, "m": 60, "h": 3600, "d": 86_400, "w": 604_800}
_AGO = re.compile(r"(\d{1,9})\s*([smhdw])", re.ASCII)


def since(ctx: click.Context, param: click.Parameter, value: str | None) -> float | None:
    """Seconds since the epoch of ``2h`` (ago), ``2026-03-01`` or ``2026-03-01T12:00``; local time without a zone."""
    if value is None:
        return None
    ago = _AGO.fullmatch(value.strip().lower())
    if ago:
        return time.time() - int(ago[1]) * _UNITS[ago[2]]
    try:
        return datetime.fromisoformat(value.strip()).timestamp()
    except (ValueError, OverflowError, OSError) as error:
        line = f"'{value}' is no time; use 30m, 2h, 7d or 2026-03-01T12:00"
        raise click.BadParameter(line, ctx=ctx, param=param) from error


def tags(ctx: click.Context, param: click.Parameter, values: tuple[str, ...]) -> tuple[tuple[str, str], ...]:
    """Each ``KEY=VALUE``, split at its first equals sign."""
    split = [value.partition("=") for value in values]
    for key, sign, wanted in split:
        if not key or not sign:
            raise click.BadParameter(f"'{key}{sign}{wanted}' is no tag; use KEY=VALUE", ctx=ctx, param=param)
    return tuple((key, wanted) for key, _, wanted in split)

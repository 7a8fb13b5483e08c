"""Clock, uuid and random values asked for by name: pinned in a replay like those that the program reads by itself."""

from __future__ import annotations

import datetime as dt
import random as random_module
import uuid


def now(tz: dt.tzinfo | None = dt.UTC) -> dt.datetime:
    """The current time, in UTC unless another zone is given."""
    return dt.datetime.now(tz)


def uuid4() -> uuid.UUID:
    """A random UUID."""
    return uuid.uuid4()


def random() -> float:
    """A random number from 0 up to 1."""
    return random_module.random()

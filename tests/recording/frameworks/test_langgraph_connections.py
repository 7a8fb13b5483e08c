"""Databases that a replay does not open."""

from __future__ import annotations

import asyncio
import sqlite3
import sys
from pathlib import Path
from typing import Any

import pytest

from agentdbg.recording.calls import ReplayStop
from agentdbg.recording.frameworks.langgraph_connections import Nowhere, _unopened

SEEN: list[object] = []


def _hook(event: str, args: tuple[Any, ...]) -> None:
    if event == "sqlite3.connect":
        SEEN.append(args[0])


sys.addaudithook(_hook)


def test_a_file_is_opened_only_for_who_asks_something_of_it(tmp_path: Path) -> None:
    place = str(tmp_path / "check.sqlite")
    SEEN.clear()
    connection = _unopened(sqlite3.connect)(place, check_same_thread=False)
    assert SEEN == [":memory:"]
    with pytest.raises(sqlite3.OperationalError, match="no such table"):
        connection.execute("select * from checkpoints")
    assert [":memory:", place] == SEEN  # where the guard refuses it
    connection.close()
    assert not (tmp_path / "check.sqlite").exists()


def test_a_database_in_memory_is_the_programs_own() -> None:
    connection = _unopened(sqlite3.connect)(":memory:")
    assert connection.execute("select 1").fetchone() == (1,)
    connection.close()


def test_a_stand_in_for_postgres_opens_and_closes_and_answers_nothing() -> None:
    async def enter() -> None:
        async with await Nowhere("postgresql://db") as connection:
            await connection.close()

    asyncio.run(enter())
    with Nowhere("postgresql://db") as connection:
        with pytest.raises(ReplayStop, match="connects to nothing"):
            connection.execute("select 1")
        connection.close()
    assert connection.closed

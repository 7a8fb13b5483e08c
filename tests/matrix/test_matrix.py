"""Every framework, really run: the same as without the recorder, all of it recorded, and exactly replayed.

A replay is held by every layer that this machine has, and says so; one more is held by the audit hook alone.

pytest -m wide tests/matrix        # every cell; builds its environments first
python -m tests.matrix.table       # what came of it
"""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.matrix import runner
from tests.matrix.cells import CELLS, Cell
from tests.matrix.runner import Row
from tests.support.environments import IndexUnreachable, NoInterpreter

REPLAYS = 10
"""Of every variant, in a wide run; the default suite has less time, and writes no rows."""


def _variants(*, core: bool) -> list[object]:
    return [
        pytest.param(cell, variant, id=f"{cell.name}-{variant.replace(' ', '-')}")
        for cell in CELLS
        for variant in (cell.core if core else cell.variants)
    ]


def _row(cell: Cell, variant: str, place: Path, times: int) -> Row:
    try:
        return runner.run(cell, variant, place, times)
    except (IndexUnreachable, NoInterpreter) as reason:
        pytest.skip(str(reason))


def _check(row: Row) -> None:
    wrong = [f"{part}: {problem}" for part, problems in row.problems.items() for problem in problems]
    assert not wrong, f"{row.replays[1]} of {row.replays[0]} replays are as they should be\n" + "\n".join(wrong)


@pytest.mark.parametrize(("cell", "variant"), _variants(core=True))
def test_core(cell: Cell, variant: str, tmp_path: Path) -> None:
    _check(_row(cell, variant, tmp_path, 2))


@pytest.mark.wide
@pytest.mark.parametrize(("cell", "variant"), _variants(core=False))
def test_wide(cell: Cell, variant: str, tmp_path: Path) -> None:
    row = _row(cell, variant, tmp_path, REPLAYS)
    row.write()
    _check(row)

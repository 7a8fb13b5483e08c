"""Every framework, really run: the same as without the recorder, all of it recorded, and exactly replayed.

pytest -m wide tests/matrix        # every cell; builds its environments first
python -m tests.matrix.table       # what came of it
"""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.matrix import runner
from tests.matrix.cells import CELLS, Cell
from tests.support.environments import IndexUnreachable, NoInterpreter


def _variants(*, core: bool) -> list[object]:
    return [
        pytest.param(cell, variant, id=f"{cell.name}-{variant.replace(' ', '-')}")
        for cell in CELLS
        for variant in cell.variants
        if (variant in cell.core) == core
    ]


def _check(cell: Cell, variant: str, place: Path) -> None:
    try:
        row = runner.run(cell, variant, place)
    except (IndexUnreachable, NoInterpreter) as reason:
        pytest.skip(str(reason))
    row.write()
    wrong = [f"{part}: {problem}" for part, problems in row.problems.items() for problem in problems]
    assert not wrong, "\n".join(wrong)


@pytest.mark.parametrize(("cell", "variant"), _variants(core=True))
def test_core(cell: Cell, variant: str, tmp_path: Path) -> None:
    _check(cell, variant, tmp_path)


@pytest.mark.wide
@pytest.mark.parametrize(("cell", "variant"), _variants(core=False))
def test_wide(cell: Cell, variant: str, tmp_path: Path) -> None:
    _check(cell, variant, tmp_path)

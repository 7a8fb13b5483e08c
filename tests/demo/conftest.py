"""What the desks' tests share: a store of their own, and the systems of a desk."""

from __future__ import annotations

from pathlib import Path

import pytest

from agentdbg.demo.desk import prepare_desk
from tests.support.recorded import recording


@pytest.fixture
def desk_place(tmp_path: Path) -> str:
    """Directory of a fresh desk."""
    prepare_desk(str(tmp_path / "desk"))
    return str(tmp_path / "desk")


@pytest.fixture
def desk_store(tmp_path: Path):
    """The store that the test's runs are recorded into."""
    with recording(tmp_path / "desk-store"):
        yield tmp_path / "desk-store"

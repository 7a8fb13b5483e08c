"""A launched program's first line finds nothing loaded that it would have to load, or has a file of its own for."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from tests.recording.launch.test_unchanged import agents_python
from tests.support.launching import both
from tests.support.recorded import run

LOADED = "import sys; sys.stdout.buffer.write(chr(10).join(sorted(sys.modules)).encode())"


@pytest.mark.parametrize("version", ["3.11", pytest.param("3.13", marks=pytest.mark.wide)])
def test_no_file_of_the_standard_library_is_loaded_before_the_program(version: str, tmp_path: Path) -> None:
    bare, recorded = both([agents_python(version), "-c", LOADED], tmp_path)
    more = set(recorded.stdout.decode().split()) - set(bare.stdout.decode().split())
    assert "agentdbg.recording.outset" in more
    others = {name for name in more if name.partition(".")[0] != "agentdbg"}
    assert {name for name in others if not name.startswith("_") and name not in sys.builtin_module_names} <= {
        "sitecustomize"
    }
    assert others - {"__future__", "sitecustomize"} <= {"_contextvars", *sys.builtin_module_names}


def test_a_file_named_like_a_pinned_module_is_left_alone(tmp_path: Path) -> None:
    (tmp_path / "uuid.py").write_text("def uuid4(): return 'mine'\n", encoding="utf-8")
    done = run(
        tmp_path,
        """
        import uuid
        from agentdbg.recording import hooks, outset

        outset.patch()
        print(uuid.uuid4(), hooks.problems)
        """,
    )
    assert done.stdout == "mine []\n"

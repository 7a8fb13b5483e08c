"""What this machine's layers are, is found by trying them; nothing of it stays with the process that asks."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

from agentdbg.replay.guard_check import LAYERS, NEEDED, layers_here
from tests.support.kernel import has_layers, without_landlock

_ASK = """
import sys
sys.path.insert(0, {src!r})
from agentdbg.replay.guard_check import layers_here
for layer in layers_here():
    print(layer.name, layer.held, layer.detail)
"""
SRC = Path(__file__).resolve().parents[2] / "src"


def test_each_layer_is_tried_and_this_process_goes_free(tmp_path: Path) -> None:
    found = layers_here()
    assert tuple(layer.name for layer in found) == LAYERS
    held = {layer.name for layer in found if layer.held}
    assert has_layers() <= (set(NEEDED) <= held)
    (tmp_path / "file").write_text("still free to write")
    assert subprocess.run([sys.executable, "-c", ""], check=False).returncode == 0


def test_a_layer_that_the_kernel_lacks_is_named() -> None:
    command = without_landlock("-c", _ASK.format(src=str(SRC)))
    told = subprocess.run(command, capture_output=True, text=True, check=True, env=dict(os.environ)).stdout
    assert "landlock False" in told

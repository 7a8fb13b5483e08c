"""Bodies of every sort are shown; those that cannot be read are told."""

from __future__ import annotations

from pathlib import Path

from tests.support.program import agentdbg, document
from tests.support.run_records import RunRecords


def test_json_text_bytes_and_missing_bodies(tmp_path: Path) -> None:
    run = RunRecords(tmp_path / "store", "odd")
    deep = b"[" * 5000 + b"]" * 5000
    for body in (b"plain text", b"\xff\x00", deep):
        step = run.intent("tool", "t", effect="read")
        run.event("outcome", of=step, status="ok", ms=1, result=run.body(body))
    gone = run.intent("tool", "t", effect="read")
    run.event("outcome", of=gone, status="ok", ms=1, result={"sha256": "0" * 64, "size": 9, "file": "", "offset": -1})
    run.end()
    results = [
        document("show", "odd", "--step", str(n), "--store", tmp_path / "store")["steps"][0]["result"]
        for n in (2, 3, 4, 5)
    ]
    assert results[0]["text"] == "plain text"
    assert results[1]["base64"] == "/wA="
    assert results[2]["text"] == deep.decode()
    assert results[3]["missing"]
    shown = agentdbg("show", "odd", "--step", "5", "--store", tmp_path / "store")
    assert shown.returncode == 0
    assert "cannot be shown" in shown.stdout


def test_json_is_laid_out_over_lines(store: Path) -> None:
    shown = agentdbg("show", "refund-7", "--step", "2", "--store", store).stdout
    assert '  "role": "system",\n  "content": "Be kind.\\nBe brief."' in shown

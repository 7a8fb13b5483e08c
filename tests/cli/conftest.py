"""A small store that the commands are tried on."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.support.run_records import RunRecords, dead_owner


@pytest.fixture(scope="session")
def store(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Three runs, oldest first: one failed after a repeated refund, one is fine, the process of one died."""
    path = tmp_path_factory.mktemp("cli") / "store"
    failed = RunRecords(
        path, "refund-7", started_at=1_770_000_000.0, thread_id="t-1", tags={"ticket": "7", "team": "a"}
    )
    failed.model(
        "small-1",
        [{"role": "system", "content": "Be kind.\nBe brief."}, {"role": "user", "content": "退款 \x1b[31mplease"}],
        {"choices": []},
        usage={"input": 120, "output": 8},
    )
    failed.tool("refund", {"amount": 5}, {"ok": True}, effect="external", key="k-1")
    failed.tool("refund", {"amount": 5}, {"ok": True}, effect="external", key="k-1")
    failed.tool(
        "notify", {"to": "[bold]x[/y]"}, effect="write", status="error", error={"type": "Down", "message": "[/z]"}
    )
    failed.note("checkpoint", "decide", {"status": "AUTO_EXECUTE"})
    failed.end("failed", error={"type": "Down", "message": "[/z]"}, ended_at=1_770_000_002.5)
    fine = RunRecords(path, "refund-8", started_at=1_770_000_100.0, thread_id="t-2", tags={"ticket": "8"})
    fine.tool("order", {"id": 8}, {"total": 5})
    fine.end()
    died = RunRecords(path, "mail-9", agent="mail", started_at=1_770_000_200.0, owner=dead_owner())
    died.tool("send", {"to": "x"}, effect="write", status=None)
    died.leave()
    return path

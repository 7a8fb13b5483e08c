"""The one-screen view says where to look."""

from __future__ import annotations

from pathlib import Path

from tests.support.program import agentdbg


def facts(store: Path, run: str) -> dict[str, str]:
    done = agentdbg("show", run, "--brief", "--store", store)
    pairs = [line.split("  ", 1) for line in done.stdout.splitlines()]
    return {name.strip(): value.strip() for name, value in pairs}


def test_a_failed_run(store: Path) -> None:
    found = facts(store, "refund-7")
    assert found["status"] == "failed"
    assert found["thread"] == "t-1"
    assert found["look at step"] == "5 tool notify error: Down: [/z]"
    assert found["effects"] == "3 refund (done), 4 refund (done, repeated), 5 notify (in doubt)"
    assert found["tokens"] == "120 in, 8 out, 0 cached"
    assert found["started"].endswith("(2.50s)")


def test_a_run_whose_process_died(store: Path) -> None:
    found = facts(store, "mail-9")
    assert found["status"] == "lost"
    assert found["effects"] == "2 send (in doubt)"

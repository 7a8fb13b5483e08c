"""A regression replay names what a dry run sends, for which it is believed."""

from __future__ import annotations

import pytest

from tests.support.regression_lab import RegressionLab

PROGRAM = """\
from helpers import *


@agentdbg.tool(effect="read")
def look(text):
    return httpx.get(OTHER + "/look", trust_env=False).text


def pretend(text):
    get("/plain?" + text, OTHER)
    urllib.request.urlopen(urllib.request.Request(OTHER + "/bare", text.encode(), method="PUT"))
    return post("/pretend", text, OTHER)


@agentdbg.tool(effect="write", dry_run=pretend)
def save(text):
    return post("/save", text, OTHER)


@agentdbg.agent
def desk(text):
    ask([{"role": "user", "content": "v1"}])
    for tool in (look, save):
        tool(text)
    agentdbg.final_state("DONE")


if __name__ == "__main__":
    desk("pen")
"""


@pytest.fixture
def lab(world_lab: RegressionLab) -> RegressionLab:
    return world_lab


def test_what_a_declaration_does_not_cover_is_named(lab: RegressionLab) -> None:
    other = f"http://127.0.0.1:{effect_port(lab)}"
    lab.record(PROGRAM.replace("OTHER", repr(other)))
    text = (
        lab.program.read_text(encoding="utf-8")
        .replace("v1", "v2")
        .replace("save):\n        tool(text)", "save):\n        tool(text + '!')")
    )
    lab.program.write_text(text, encoding="utf-8")
    elsewhere, lab.server = lab.server, None  # whose connections are to be none
    outcome = lab.regress()
    lab.server = elsewhere
    host = other.removeprefix("http://")
    assert [(each["name"], each["deed"], each["reason"]) for each in outcome.findings] == [
        ("save", "dry-run", "not in the record: its dry run"),
        ("save", "live", f"its dry run was run, and sent PUT {host}/bare: it was let through"),
        ("save", "live", f"its dry run was run, and sent POST {host}/pretend: it was let through"),
    ], outcome.reason


def effect_port(lab: RegressionLab) -> int:
    """Of the server that is no model's."""
    assert lab.server is not None
    return lab.server.port


@pytest.mark.wide
def test_a_tool_that_is_declared_otherwise_by_now_is_named(lab: RegressionLab) -> None:
    lab.record(PROGRAM.replace("OTHER", repr(f"http://127.0.0.1:{lab.world.port}")))
    text = lab.program.read_text(encoding="utf-8").replace("v1", "v2")
    before = 'effect="write", dry_run=pretend'
    lab.program.write_text(text.replace(before, 'effect="read"').replace("/save", "/v1/search"), encoding="utf-8")
    outcome = lab.regress()
    assert "save ran as declared now, read: it was declared write when recorded" in outcome.notes


@pytest.mark.wide
def test_what_a_replay_stopped_is_no_drift(lab: RegressionLab) -> None:
    other = f"http://127.0.0.1:{effect_port(lab)}"
    lab.record(PROGRAM.replace("OTHER", repr(other)))
    text = lab.program.read_text(encoding="utf-8").replace("v1", "v2")
    lab.program.write_text(text.replace("httpx.get(", "httpx.delete("), encoding="utf-8")
    elsewhere, lab.server = lab.server, None
    outcome = lab.regress()
    lab.server = elsewhere
    assert (outcome.verdict, outcome.drift) == ("refused", ()), outcome.reason

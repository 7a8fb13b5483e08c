"""Which record answers a pinned tool; a tool that a record cannot answer is named before anything runs."""

from __future__ import annotations

import pytest

from agentdbg.replay import cassette as cassettes
from agentdbg.replay.pinned import BadPin, Pin, tapes
from agentdbg.store.address import open_store, resolve
from agentdbg.store.reader import DirectoryRunSource


@pytest.fixture
def incident() -> DirectoryRunSource:
    found = resolve(open_store("demo"), "refund-incident")
    assert isinstance(found, DirectoryRunSource)
    found.index(None)
    return found


def test_a_tool_is_answered_by_the_runs_own_record_or_by_another(incident: DirectoryRunSource) -> None:
    own = cassettes.build(incident)
    other = resolve(open_store("demo"), "refund-before-policy-change")
    assert isinstance(other, DirectoryRunSource)
    found = tapes(incident, own, [Pin("execute_refund"), Pin("get_order", other)])
    assert found["execute_refund"] is own
    assert found["get_order"] is not own


def test_a_tool_that_the_record_does_not_have_is_named_with_those_it_has(incident: DirectoryRunSource) -> None:
    with pytest.raises(BadPin, match=r"--pin refnd: run refund-incident has no call of that tool; there are .*refund"):
        tapes(incident, cassettes.build(incident), [Pin("refnd")])

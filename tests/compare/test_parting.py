from __future__ import annotations

from collections.abc import Callable
from functools import partial
from pathlib import Path

import pytest

from agentdbg.compare.alignment import Stopped
from agentdbg.compare.parting import RunDifference, part
from agentdbg.config.resources import demo_runs_dir
from agentdbg.store.directory import DirectoryStore
from tests.support.run_records import RunRecords
from tests.support.two_runs import ASK, both, call, compared, note, said, tool


@pytest.fixture
def compare(tmp_path: Path) -> Callable[..., RunDifference]:
    return partial(compared, tmp_path / "s")


def test_equal_runs_do_not_part(compare) -> None:
    found = compare(both(call(), tool({"id": 1}, 2)), both(call(), tool({"id": 1}, 2)))
    assert found.parting is None
    assert found.same and not found.a_is_b
    assert {answer.changed for answer in found.answers} <= {"no", "unknown"}


def test_a_telling_difference_is_found_behind_ids_and_times(compare) -> None:
    first = both(call(output={"id": "chatcmpl-111111", "created": 1795977920}), tool({"id": 1}, {"ok": True}))
    second = both(call(output={"id": "chatcmpl-222222", "created": 1795977999}), tool({"id": 1}, {"ok": False}))
    found = compare(first, second)
    assert said(found) == ("look", "$.ok", "result")
    assert found.parting is not None and found.parting.telling


def test_ids_and_times_alone_are_still_a_difference(compare) -> None:
    found = compare(call(output={"id": "chatcmpl-111111"}), call(output={"id": "chatcmpl-222222"}))
    assert said(found) == ("m", "$.id", "clock")
    assert found.parting is not None and not found.parting.telling
    assert found.parting.why == "only times, ids or drawn values differ"


def test_a_result_that_is_a_changed_configuration_has_the_version_as_its_cause(compare) -> None:
    first = both(tool({"id": 1}, {"a": 1, "b": 2}), note("config", "map.json", {"a": 1, "b": 2}))
    second = both(tool({"id": 1}, {"a": 1}), note("config", "map.json", {"a": 1}))
    found = compare(first, second)
    assert said(found) == ("look", "$.b", "version")
    assert found.parting is not None and "map.json" in found.parting.why


def test_the_input_table_shown_first_is_the_one_that_says_something(compare) -> None:
    stamp = {"role": "system", "content": "It is 2026-01-01T10:00:00Z."}
    later = {"role": "system", "content": "It is 2026-01-02T11:11:11Z."}
    found = compare(both(call(stamp), call(stamp, ASK)), both(call(later), call(later, {**ASK, "content": "Stop."})))
    pair = found.first_input()
    assert pair is not None and pair.i == 2
    assert [(row.row.sign, row.cause) for row in found.segments(pair)] == [
        ("=", ""),
        ("~", "clock"),
        ("~", "input.history"),
    ]


def test_a_running_run_is_compared_as_far_as_it_has_come(tmp_path: Path) -> None:
    store = DirectoryStore(tmp_path / "s")
    whole, live, astray = (RunRecords(tmp_path / "s", run_id) for run_id in ("whole", "live", "astray"))
    for run in (whole, live, astray):
        run.tool("look", {"id": 1})
    whole.tool("pay", {"n": 2})
    whole.end()
    live.tool("pay", {"n": 2}, status=None)
    live.leave()
    astray.tool("pay", {"n": 3}, status=None)
    astray.leave()
    found = part(store.open("live"), store.open("whole"))
    assert found.same
    assert found.notes == ("run live is still running: compared as far as it has come",)
    assert said(part(store.open("whole"), store.open("astray"))) == ("pay", "$.n", "arguments")


def test_a_replay_is_measured_byte_by_byte(compare) -> None:
    first, second = (call(output={"id": f"chatcmpl-{n}"}) for n in ("111111", "222222"))
    found = compare(first, second, mode="exact", replay_of="a")
    assert said(found) == ("m", "$.id", "model_output")


def test_the_incident_and_its_twin_part_at_the_lost_field() -> None:
    store = DirectoryStore(demo_runs_dir())
    found = part(store.open("refund-incident"), store.open("refund-before-policy-change"))
    assert said(found) == ("get_schema_mapping", "$.requires_manual_approval", "version")
    assert found.notes == ()


def test_the_search_ends_when_its_answer_is_no_longer_wanted() -> None:
    store = DirectoryStore(demo_runs_dir())
    with pytest.raises(Stopped):
        part(store.open("refund-incident"), store.open("refund-before-policy-change"), should_stop=lambda: True)

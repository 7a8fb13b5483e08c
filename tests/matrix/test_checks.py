"""The matrix notices what is missing in a record, and knows a result in whatever a framework wraps it."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.matrix import checks
from tests.matrix.cells import CELLS
from tests.matrix.scenario import ARGUMENTS, RESULTS
from tests.support import recorded
from tests.support.recorded import Recorded

ORDER = RESULTS["get_order"]
PLAIN, FRAMEWORK = CELLS[0], next(cell for cell in CELLS if cell.agent)


@pytest.mark.parametrize(
    "value",
    [ORDER, json.dumps(ORDER, indent=2), repr(ORDER), {"content": [{"text": json.dumps(ORDER)}]}, ("x", [ORDER])],
)
def test_a_result_is_known_in_its_wrapping(value: object) -> None:
    assert checks.holds(value, ORDER)


@pytest.mark.parametrize("value", [{**ORDER, "amount": 42}, json.dumps({"order_id": "O-7741"}), "O-7741", None, 7])
def test_another_result_is_not_taken_for_it(value: object) -> None:
    assert not checks.holds(value, ORDER)


def test_what_a_record_lacks_is_named(tmp_path: Path) -> None:
    run = tools_only(tmp_path, "get_order", "get_order")
    wrong = "\n".join(checks.problems(FRAMEWORK, [run], []))
    assert "0 model calls recorded, 0 received, 3 expected" in wrong
    assert "tools recorded: get_order, get_order" in wrong
    assert "get_order has effect external, not read" in wrong
    assert "no agent recorded" in wrong
    assert "tool get_order is below no agent" in wrong
    assert "get_order did socket.connect, noted below it: nothing" in wrong


def test_a_call_with_other_arguments_is_named(tmp_path: Path) -> None:
    run = tools_only(tmp_path, "get_policy")
    assert any("get_policy gave" in line for line in checks.problems(PLAIN, [run], []))


def tools_only(place: Path, *names: str) -> Recorded:
    """A run with these undeclared tools' calls alone; the result of each is the order."""
    source = f"""
        import agentdbg
        for name in {names!r}:
            def tool(**arguments):
                return {ORDER!r}
            agentdbg.tool(name=name)(tool)(**{ARGUMENTS!r}[name])
        """
    done = recorded.run(place, source)
    assert done.returncode == 0, done.stderr
    (run,) = recorded.runs(place / "store")
    return run

"""What a typed decision means to the program that asked."""

from __future__ import annotations

import pytest

from agentdbg.model.records import Json
from agentdbg.replay.decisions import decision_of


@pytest.mark.parametrize(
    ("typed", "recorded", "wanted"),
    [
        (None, [True], "pending"),
        ("", ["approved"], "pending"),
        ("approved", ["rejected", "pending"], "approved"),
        ("no", ["yes"], "no"),
        ("no", [True], False),
        ("false", [True, "pending"], False),
        ("False", [], False),
        ("true", [], True),
        ("false", ["false"], "false"),
        ("Yes", [False], True),
        ("reject", [False, True], False),
        ("anything else", [True], False),
        ('{"go": false}', [{"go": True}], {"go": False}),
        ("{go", [{"go": True}], "{go"),
        ("3", [10], 3),
        ("3", ["10"], "3"),
        ("no", [], "no"),
        (False, [True], False),
    ],
)
def test_a_typed_decision_is_what_the_program_takes(typed: object, recorded: list[Json], wanted: object) -> None:
    found = decision_of(typed, recorded)
    assert (found, type(found)) == (wanted, type(wanted))

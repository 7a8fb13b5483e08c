"""Inputs of model calls: looked at once, redacted all the same, and full lists ever more rarely."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from agentdbg.model.segments import split_request
from agentdbg.recording.input_state import NO_INPUT
from agentdbg.recording.model_inputs import clean_request, store_input
from agentdbg.redaction.gate import Gate
from agentdbg.redaction.keys import RedactionKey
from agentdbg.store.disk import Disk
from agentdbg.store.inputs import InputLists
from agentdbg.store.journal import RunWriter

KEY = RedactionKey(b"k" * 32, "k")
MAIL = "jo.doe@example.com"


def message(text: object) -> dict[str, Any]:
    return {"role": "user", "content": text}


def test_what_a_later_message_gives_away_goes_from_the_earlier_ones_too() -> None:
    gate = Gate(KEY)
    secret = "hunter2" + "xyzzy9"
    first: dict[str, Any] = {"model": "m", "messages": [message(f"try {secret} please"), message([1, 1.0, True])]}
    assert clean_request(first, gate).body is first
    later: dict[str, Any] = {**first, "messages": [*first["messages"], message(f"the password is {secret}")]}
    assert secret not in str(clean_request(later, gate).body)
    assert secret not in str(clean_request(first, gate).body), "though it was clean before"
    assert MAIL not in str(clean_request({"messages": [message(MAIL)], "user": MAIL}, gate).body)


def test_numbers_of_another_type_are_another_segment(tmp_path: Path) -> None:
    gate, writer = Gate(KEY), RunWriter.create(Disk(print), str(tmp_path / "r"), "0" * 12)
    found = []
    for value in (1, 1.0, True, 1):
        clean = clean_request({"messages": [message(value)]}, gate)
        found.append(store_input(NO_INPUT, None, split_request(clean.body), clean, writer, gate)[0]["hash"])
    assert len(set(found)) == 3
    assert found[0] == found[3]


def test_a_long_conversation_is_put_together_again_and_its_full_lists_grow_with_it_only(tmp_path: Path) -> None:
    gate, writer = Gate(KEY, enabled=False), RunWriter.create(Disk(print), str(tmp_path / "r"), "0" * 12)
    state, stored, base = NO_INPUT, {}, None
    messages: list[Any] = []
    for n in range(1000):
        messages += [message(f"{n}"), message(f"{n} again")]
        clean = clean_request({"messages": messages}, gate)
        stored[f"w:{n}"], state = store_input(state, base, split_request(clean.body), clean, writer, gate)
        base = f"w:{n}"
    full = [n for n in range(1000) if stored[f"w:{n}"]["base"] is None]
    assert full[:2] == [0, 64]
    assert len(full) < 6
    lists = InputLists(stored.get)  # type: ignore[arg-type]  # JSON in fact
    for n in (0, 63, 64, 65, 500, 999):
        assert len(lists.segments(f"w:{n}")) == 2 * n + 3
    assert lists.problems == {}

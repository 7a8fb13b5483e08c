"""What is known to be clean is not looked at again, in any run; what a run has learned is looked for all the same."""

from __future__ import annotations

from typing import Any

import pytest

from agentdbg.redaction import known_clean
from agentdbg.redaction.gate import Gate
from agentdbg.redaction.keys import RedactionKey

KEY = RedactionKey(b"k" * 32, "k")
SECRET = "sk-proj-" + "aB3dE5fG7hJ9kL2mN4pQ6rS8tU1vW3xY"


@pytest.fixture(autouse=True)
def _forget(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(known_clean, "_texts", {})
    monkeypatch.setattr(known_clean, "_chars", 0)


def test_a_clean_text_is_looked_at_once_for_all_gates(monkeypatch: pytest.MonkeyPatch) -> None:
    scanned: list[str] = []
    scan = vars(known_clean)["scan"]

    def counting(text: str, *args: Any) -> Any:
        scanned.append(text)
        return scan(text, *args)

    monkeypatch.setattr(known_clean, "scan", counting)
    texts = ["You are a helpful desk. Answer in one line.", f"the key is {SECRET} today"]
    seen = [[Gate(KEY).text(text) for text in texts] for _ in range(3)]
    assert seen[0] == seen[1] == seen[2]
    assert seen[0][0] == texts[0] and SECRET not in seen[0][1]
    assert scanned.count(texts[0]) == 1
    assert scanned.count(texts[1]) == 3


def test_what_a_run_has_learned_is_found_in_a_text_that_was_clean_in_another() -> None:
    text = "the answer of Kx7pQ2wLm9 came late"
    assert Gate(KEY).text(text) is text
    learned = Gate(KEY)
    assert "Kx7pQ2wLm9" not in str(learned.value({"password": "Kx7pQ2wLm9"}))
    assert "Kx7pQ2wLm9" not in learned.text(text)
    assert Gate(KEY).text(text) is text


def test_what_is_kept_is_bounded() -> None:
    for number in range(known_clean.MOST_TEXTS + 10):
        known_clean.found_by_rules(f"text number {number} of many", 2.0)
    assert len(known_clean._texts) <= known_clean.MOST_TEXTS
    long = "many words " * (known_clean.LONGEST // 8)
    known_clean.found_by_rules(long, 2.0)
    assert long not in known_clean._texts

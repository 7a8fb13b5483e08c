"""Fixed strings exist, agree between languages, and never break on what is put into them."""

from __future__ import annotations

import re
from collections.abc import Iterator

import pytest

from agentdbg.i18n import en, zh
from agentdbg.i18n.catalogue import choose_language, message


@pytest.fixture(autouse=True)
def english() -> Iterator[None]:
    yield
    choose_language("en")


def places(text: str) -> set[str]:
    return set(re.findall(r"{(\w+)", text))


def test_chinese_texts_have_an_english_original_with_the_same_places() -> None:
    for key, text in zh.MESSAGES.items():
        assert places(text) == places(en.MESSAGES[key]), key


def test_a_text_is_shown_in_the_chosen_language() -> None:
    choose_language("zh")
    assert message("column.agent") == "智能体"
    choose_language("en")
    assert message("column.agent") == "agent"


def test_the_locale_decides_unless_a_language_is_named() -> None:
    assert choose_language("auto", {"LANG": "zh_CN.UTF-8"}) == "zh"
    assert choose_language("auto", {"LC_ALL": "C", "LANG": "zh_CN.UTF-8"}) == "en"
    assert choose_language("auto", {}) == "en"
    assert choose_language("zh", {"LANG": "en_US"}) == "zh"


def test_a_text_that_is_missing_falls_back(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(en.MESSAGES, "only.english", "Found {what}")
    choose_language("zh")
    assert message("only.english", what="{braces} %s") == "Found {braces} %s"
    assert message("no.such.text") == "no.such.text"

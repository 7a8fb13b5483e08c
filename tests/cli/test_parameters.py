"""Points in time and tags, as people write them."""

from __future__ import annotations

import time
from datetime import datetime, timezone

import click
import pytest
from hypothesis import given
from hypothesis import strategies as st

from agentdbg.cli.parameters import since, tags

COMMAND = click.Command("c")
CONTEXT = click.Context(COMMAND)
OPTION = click.Option(["--x"])


@pytest.mark.parametrize(
    ("word", "seconds"), [("30s", 30), ("5m", 300), ("2H", 7200), ("7d", 604_800), ("1w", 604_800)]
)
def test_a_span_is_counted_back_from_now(word: str, seconds: int) -> None:
    before = time.time()
    found = since(CONTEXT, OPTION, word)
    assert found is not None
    assert before - seconds <= found <= time.time() - seconds


def test_a_date_may_have_a_zone() -> None:
    expected = datetime(2026, 3, 1, 12, tzinfo=timezone.utc).timestamp()  # noqa: UP017
    assert since(CONTEXT, OPTION, "2026-03-01T12:00+00:00") == expected
    assert since(CONTEXT, OPTION, None) is None


@given(st.text(max_size=20))
def test_anything_else_is_a_bad_parameter(word: str) -> None:
    try:
        assert isinstance(since(CONTEXT, OPTION, word), float)
    except click.BadParameter as error:
        assert "is no time" in str(error)


def test_tags_are_split_at_the_first_sign() -> None:
    assert tags(CONTEXT, OPTION, ("a=b=c", "d=")) == (("a", "b=c"), ("d", ""))
    with pytest.raises(click.BadParameter, match="is no tag"):
        tags(CONTEXT, OPTION, ("=x",))

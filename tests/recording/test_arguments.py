"""Arguments by name are those that the function itself would see."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agentdbg.recording.arguments import Binder


def plain(a: int, b: int = 2, c: int = 3) -> None: ...
def positional(a: int, /, b: int = 2) -> None: ...
def keyword(a: int, *, b: int = 2, c: int) -> None: ...
def open_ended(a: int = 1, *args: int, b: int = 2, **kwargs: int) -> None: ...
def empty() -> None: ...


FUNCTIONS: list[Callable[..., None]] = [plain, positional, keyword, open_ended, empty]


@given(
    st.sampled_from(FUNCTIONS),
    st.lists(st.integers(), max_size=4),
    st.dictionaries(st.sampled_from("abcd"), st.integers(), max_size=4),
)
def test_as_the_signature_binds_them(function: Callable[..., None], args: list[int], kwargs: dict[str, int]) -> None:
    found = Binder(function)(tuple(args), kwargs)
    try:
        bound = inspect.signature(function).bind(*args, **kwargs)
    except TypeError:
        assert found == {"args": args, "kwargs": kwargs}
        return
    bound.apply_defaults()
    assert list(found.items()) == list(bound.arguments.items())


def test_self_is_left_out_and_a_function_without_a_signature_is_taken_as_it_comes() -> None:
    def method(self: Any, a: int) -> None: ...

    assert Binder(method)((object(), 1), {}) == {"a": 1}
    assert Binder(dict.update)(({}, {"a": 1}), {})["args"]


@pytest.mark.parametrize("kwargs", [{"a": 1, "b": 5, "c": 6}, {"c": 1, "a": 2}])
def test_order_is_that_of_the_parameters(kwargs: dict[str, int]) -> None:
    assert list(Binder(plain)((), kwargs)) == ["a", "b", "c"]

"""Functions of other people are wrapped once, whatever they are, and wherever they are known by name."""

from __future__ import annotations

import functools
import sys
from collections.abc import Callable
from types import ModuleType
from typing import Any

import pytest

from agentdbg.recording.frameworks.patches import replace_function, replace_method


def louder(original: Callable[..., Any]) -> Callable[..., Any]:
    return lambda *args, **kwargs: f"{original(*args, **kwargs)}!"


class Speaker:
    def say(self) -> str:
        """Says it."""
        return "own"

    @classmethod
    def of_class(cls) -> str:
        return cls.__name__

    @staticmethod
    def static(word: str) -> str:
        return word


class Heir(Speaker):
    pass


def test_methods_of_every_kind_are_wrapped_once() -> None:
    for _ in range(3):
        for name in ("say", "of_class", "static"):
            assert replace_method(Speaker, name, louder)
    assert (Speaker().say(), Speaker.of_class(), Heir.of_class(), Speaker.static("x")) == (
        "own!",
        "Speaker!",
        "Heir!",
        "x!",
    )
    assert Speaker.say.__doc__ == "Says it." and Speaker.say.__name__ == "say"


def test_a_method_that_is_not_there_is_not_made() -> None:
    assert not replace_method(Speaker, "sing", louder)
    assert not hasattr(Speaker, "sing")


def test_one_that_somebody_else_wrapped_beside_us_is_left_alone() -> None:
    class Traced:
        def call(self) -> str:
            return "x"

    replace_method(Traced, "call", louder)
    ours = Traced.call

    @functools.wraps(ours)
    def theirs(self: Traced) -> str:
        return f"[{ours(self)}]"

    Traced.call = theirs  # type: ignore[method-assign]  # as a tracer does
    replace_method(Traced, "call", louder)
    assert Traced().call() == "[x!]"


def test_a_function_is_wrapped_where_it_was_imported_by_name(monkeypatch: pytest.MonkeyPatch) -> None:
    home, user, stranger = ModuleType("pack.home"), ModuleType("pack.user"), ModuleType("other")
    vars(home)["talk"] = vars(user)["talk"] = vars(stranger)["talk"] = talk = lambda: "x"
    for module in (home, user, stranger):
        monkeypatch.setitem(sys.modules, module.__name__, module)
    assert replace_function(home, "talk", "pack", louder)
    assert vars(home)["talk"]() == vars(user)["talk"]() == "x!"
    assert vars(stranger)["talk"] is talk
    assert not replace_function(home, "shout", "pack", louder)


class SaysItIsAModule:
    """As the objects that cffi puts among the modules."""

    @property  # type: ignore[misc]  # as they do it
    def __class__(self) -> type:
        return ModuleType


def test_what_only_says_that_it_is_a_module_is_passed_over(monkeypatch: pytest.MonkeyPatch) -> None:
    home = ModuleType("pack2")
    vars(home)["talk"] = lambda: "x"
    monkeypatch.setitem(sys.modules, "pack2", home)
    monkeypatch.setitem(sys.modules, "pack2.lib", SaysItIsAModule())
    assert replace_function(home, "talk", "pack2", louder)
    assert vars(home)["talk"]() == "x!"

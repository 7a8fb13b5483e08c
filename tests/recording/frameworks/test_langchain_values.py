"""Values of LangChain and LangGraph, taken apart and made again."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from dataclasses import dataclass, field
from types import ModuleType
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import BaseModel, ConfigDict

from agentdbg.model.canonical import dumps, loads
from agentdbg.recording.frameworks.langchain_values import CODEC, TAG


class Message(BaseModel):
    model_config = ConfigDict(extra="allow")
    content: Any
    additional_kwargs: dict[str, Any] = {}
    type: str = "tool"
    artifact: Any = None
    id: str | None = None


ToolMessage = type("ToolMessage", (Message,), {"__annotations__": {}, "__module__": __name__})


@dataclass(frozen=True)
class Command:
    update: Any = None
    resume: Any = None
    goto: Any = field(default=())


class Send:
    def __init__(self, node: str, arg: Any) -> None:
        self.node, self.arg = node, arg


@pytest.fixture(autouse=True)
def framework(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Modules of the framework's names, with classes of the same shape."""
    for name, classes in (("langchain_core.messages", [ToolMessage]), ("langgraph.types", [Command, Send])):
        module = ModuleType(name)
        vars(module).update({kind.__name__: kind for kind in classes})
        monkeypatch.setitem(sys.modules, name, module)
    yield


def stored(value: Any) -> Any:
    """What a replay reads of a value that was written down."""
    return CODEC.thaw(loads(dumps(CODEC.freeze(value))))


def test_a_message_is_the_same_again() -> None:
    message = ToolMessage(content="sunny", artifact={"rows": [1, (2, 3)]}, id="m1", beside="kept")
    made = stored([message, {"again": message}])
    assert made == [message, {"again": message}]
    assert type(made[0]) is ToolMessage
    assert getattr(made[0], "model_fields_set", None) == message.model_fields_set


def test_a_message_inside_a_command_is_the_same_again() -> None:
    command = Command(update={"messages": [ToolMessage(content="done")]}, goto=[Send("tools", {"n": 1})])
    made = stored(command)
    assert type(made) is Command
    assert made.update == command.update
    assert (made.goto[0].node, made.goto[0].arg) == ("tools", {"n": 1})


def test_what_is_not_of_the_framework_stays_itself() -> None:
    value = {"a": [1, {"b": "c"}], "d": (None, 2.5)}
    assert CODEC.freeze(value) is value


def test_a_mapping_of_the_agents_that_looks_frozen_stays_a_mapping() -> None:
    value = {"x": {TAG: "Command", "v": {"resume": 1}}}
    assert stored(value) == value


def test_a_record_cannot_name_a_class_that_is_not_in_the_table() -> None:
    for name in ("Popen", "subprocess.Popen", "__import__", "HumanMessage", ["x"], None):
        hostile = {TAG: name, "v": {"args": ["true"]}}
        assert CODEC.thaw(hostile) == hostile


def test_a_value_that_holds_itself_is_left_to_the_encoder() -> None:
    value: dict[str, Any] = {"m": ToolMessage(content="x")}
    value["self"] = value
    assert isinstance(CODEC.freeze(value), dict)


PLAIN = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text() | st.floats(allow_nan=False),
    lambda inner: (
        st.lists(inner, max_size=4)
        | st.dictionaries(st.text() | st.sampled_from([TAG, "v", "$"]), inner, max_size=4)
        | st.tuples(inner, inner)
    ),
    max_leaves=12,
)


@given(PLAIN)
def test_every_plain_value_comes_back(value: Any) -> None:
    assert stored(value) == value


@given(PLAIN)
def test_every_content_of_a_message_comes_back(value: Any) -> None:
    assert stored(ToolMessage(content=value)) == ToolMessage(content=value)

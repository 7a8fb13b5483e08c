"""Pydantic's validation errors, made again."""

from __future__ import annotations

from typing import Any

import pytest
from pydantic import BaseModel, Field, ValidationError, field_validator

from agentdbg.model.canonical import dumps, loads
from agentdbg.recording.encoding import error_arguments
from agentdbg.recording.served import RecordedError, rebuild_error


class Order(BaseModel):
    item: str
    count: int = Field(gt=0)

    @field_validator("item")
    @classmethod
    def known(cls, value: str) -> str:
        if value == "coffee":
            raise ValueError("only tea")
        return value


@pytest.mark.parametrize("given", [{}, {"item": "tea", "count": "x"}, {"item": "tea", "count": 0}, {"item": "coffee"}])
def test_a_validation_error_reads_the_same_again(given: dict[str, Any]) -> None:
    with pytest.raises(ValidationError) as caught:
        Order.model_validate(given)
    error = caught.value
    arguments = loads(dumps(error_arguments(error)))
    made = rebuild_error(
        {"type": "ValidationError", "module": "pydantic_core._pydantic_core", "args": arguments, "message": str(error)}
    )
    assert type(made) is ValidationError
    assert str(made) == str(error)
    assert repr(made) == repr(error)


def test_one_that_is_damaged_becomes_another_error() -> None:
    made = rebuild_error(
        {"type": "ValidationError", "module": "pydantic_core._pydantic_core", "args": [1], "message": "x"}
    )
    assert type(made) is RecordedError

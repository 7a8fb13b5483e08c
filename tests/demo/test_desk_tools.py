"""The desk's tools cover all four effects, and the refund can be settled and rehearsed without paying."""

from __future__ import annotations

from pathlib import Path

from agentdbg.demo import desk, desk_tools
from agentdbg.demo.rules import Json


def test_a_rehearsed_refund_pays_nothing(tmp_path: Path) -> None:
    place = str(tmp_path)
    desk.prepare_desk(place)

    told = desk_tools.refund_dry_run(place, "A-1042", 240.0, "EUR", idempotency_key="k")

    assert told["status"] == "dry_run"
    assert desk.refund_count(place) == 0


def test_a_refund_in_doubt_is_settled_by_its_key(tmp_path: Path) -> None:
    place = str(tmp_path)
    desk.prepare_desk(place)
    asked: dict[str, Json] = {"order_id": "A-1042", "amount": 240.0, "currency": "EUR"}
    assert desk_tools.refund_by_key(place, idempotency_key="k", **asked) is None

    desk.pay_refund(place, "A-1042", 240.0, "EUR", "k")

    found = desk_tools.refund_by_key(place, idempotency_key="k", **asked)
    assert found is not None
    assert found["order_id"] == "A-1042"


def test_schemas_require_everything_and_allow_nothing_else() -> None:
    for described in (*desk_tools.READ_SCHEMAS, *desk_tools.ACTION_SCHEMAS):
        parameters = described["function"]["parameters"]
        assert parameters["required"] == list(parameters["properties"])
        assert parameters["additionalProperties"] is False

"""What can be recorded here is said, and no key is ever shown."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from tests.support.program import agentdbg, document
from tests.support.run_records import make_store


def checks(*arguments: str | Path, env: dict[str, str] | None = None) -> dict[str, dict[str, str]]:
    found = document("doctor", *arguments, env=env)
    assert found["schema"] == "agentdbg.doctor/1"
    return {f"{check['area']}/{check['name']}": check for check in found["checks"]}


def test_clients_guard_and_store_are_looked_at(tmp_path: Path) -> None:
    found = checks("--store", make_store(tmp_path / "store"))
    assert found["clients/openai"]["status"] == "ok"
    assert found["clients/httpx"]["value"]
    assert found["guard/audit hook"]["status"] == "ok"
    assert found["guard/kernel layers"]["status"] == "absent"
    assert found["store/mode"]["value"] in ("0700", "0777")


@pytest.mark.skipif(os.name == "nt", reason="no modes on this platform")
def test_a_store_that_others_can_read_is_warned_about(tmp_path: Path) -> None:
    store = make_store(tmp_path / "store")
    store.chmod(0o755)
    assert checks("--store", store)["store/mode"]["status"] == "warn"


def test_a_store_that_is_not_there_yet_is_no_warning(tmp_path: Path) -> None:
    found = checks("--store", tmp_path / "later")
    assert found["store/location"]["status"] == "ok"
    assert "store/mode" not in found


def test_the_key_is_named_by_its_origin_alone(tmp_path: Path) -> None:
    secret = "this-is-the-very-secret-key"
    done = agentdbg("doctor", "--json", env={"AGENTDBG_REDACTION_KEY": secret})
    assert "environment AGENTDBG_REDACTION_KEY" in done.stdout
    assert secret not in done.stdout + done.stderr
    missing = checks(env={"AGENTDBG_REDACTION_KEY_FILE": str(tmp_path / "none")})
    assert missing["redaction/key"]["status"] == "warn"
    assert checks(env={"AGENTDBG_REDACTION": "off"})["redaction/key"]["status"] == "warn"

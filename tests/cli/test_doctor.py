"""What can be recorded here is said, and no key is ever shown."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import pytest

from tests.support.kernel import has_layers
from tests.support.program import agentdbg, document
from tests.support.run_records import RunRecords, make_store


def checks(*arguments: str | Path, env: dict[str, str] | None = None) -> dict[str, dict[str, str]]:
    found = document("doctor", *arguments, env=env)
    assert found["schema"] == "agentdbg.doctor/1"
    return {f"{check['area']}/{check['name']}": check for check in found["checks"]}


def test_clients_guard_and_store_are_looked_at(tmp_path: Path) -> None:
    found = checks("--store", make_store(tmp_path / "store"))
    assert found["clients/openai"]["status"] == "ok"
    assert found["clients/httpx"]["value"]
    assert found["guard/audit hook"]["status"] == "ok"
    assert found["guard/--guard auto"]["status"] == ("ok" if has_layers() else "warn")
    layers = ("seccomp", "landlock", "network namespace", "copy-on-write view", "privileges given up")
    assert {found[f"guard/{layer}"]["status"] for layer in layers} <= {"ok", "absent"}
    assert has_layers() <= (found["guard/landlock"]["value"].split()[0] == "works")
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


def test_a_commands_python_is_looked_at(tmp_path: Path) -> None:
    found = checks("--json", "--store", tmp_path / "later", "--", sys.executable, "agent.py")
    assert found["program/python"]["status"] == "ok"
    assert found["program/bootstrap"]["value"] == "loaded through PYTHONPATH"
    assert found["seams/httpx"]["status"] == "ok"
    assert found["seams/httpx"]["value"].startswith("httpx 0.")
    assert found["seams/celery.app.base"]["status"] == "absent"
    ignoring = checks("--json", "--", sys.executable, "-I", "agent.py")["program/bootstrap"]
    assert ignoring["status"] == "warn"
    assert f"'agentdbg doctor --fix -- {sys.executable}'" in ignoring["note"]


@pytest.mark.parametrize(
    ("arguments", "line"),
    [
        (("--fix",), "--fix needs the Python to mend"),
        (("--", "ls"), "no Python is seen in 'ls'"),
        (("--", "/no/such/python"), "/no/such/python cannot be run"),
    ],
)
def test_what_cannot_be_looked_at(arguments: tuple[str, ...], line: str) -> None:
    done = agentdbg("doctor", *arguments)
    assert done.returncode == 2
    assert line in done.stderr
    assert done.stderr.count("\n") == 1


def test_undeclared_tools_are_named_with_the_line_to_add(tmp_path: Path) -> None:
    run = RunRecords(tmp_path / "store", "r-1")
    run.tool("look", {}, attrs={"effect_declared": False})
    run.tool("look up\x1b", {}, attrs={"effect_declared": False})
    run.tool("known", {}, attrs={"effect_declared": False})
    run.tool("said", {}, effect="read")
    run.end()
    (tmp_path / "agentdbg.toml").write_text('[tools]\nknown = "read"\n')
    done = document("doctor", "--store", tmp_path / "store", cwd=tmp_path)
    tools = {check["name"]: check["note"] for check in done["checks"] if check["area"] == "tools"}
    assert list(tools) == ["look", "look up\x1b"]
    assert 'look = "read"' in tools["look"]
    assert '"look up\\u001b" = "read"' in tools["look up\x1b"]

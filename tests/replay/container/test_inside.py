"""The first process in a container, started here without one: the child hears and is heard through it."""

from __future__ import annotations

import json
import os
import secrets
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from agentdbg.replay.container.inside import environment, unheld

SRC = str(Path(__file__).resolve().parents[3] / "src")
_START = """\
import sys
sys.path.insert(0, sys.argv[1])
from agentdbg.replay.container import inside
inside.unheld = lambda: ""
inside.main(sys.argv[2])
"""
_SAY = """\
import json, os, sys
mark = os.read(64, 32)
def say(**message):
    os.write(64, mark + json.dumps(message).encode() + b"\\n")
"""


def through(tmp_path: Path, code: str, commands: bytes = b"", packages: Sequence[str] = ()) -> tuple[Any, ...]:
    """What a child says through it, what it prints, and how it ends."""
    told = {"channel": 64, "command": ["-c", _SAY + code, "one"], "cwd": str(tmp_path), "packages": list(packages)}
    (tmp_path / "inside.json").write_text(json.dumps({**told, "env": {"GIVEN": "yes"}, "tolerate": []}))
    mark = secrets.token_hex(16).encode()
    with subprocess.Popen(
        [sys.executable, "-I", "-c", _START, SRC, str(tmp_path / "inside.json")],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    ) as child:
        assert child.stdin is not None and child.stdout is not None and child.stderr is not None
        child.stdin.write(mark + commands)
        child.stdin.flush()
        said, printed = child.stdout.read(), child.stderr.read()
        lines = said.splitlines()
    assert all(line.startswith(mark) for line in lines)
    return [json.loads(line[len(mark) :]) for line in lines], printed.decode(), child.returncode


def test_messages_and_commands_go_through_and_prints_go_elsewhere(tmp_path: Path) -> None:
    code = "print(os.environ['GIVEN'], sys.argv[1:]); say(event='heard', what=os.read(64, 9).decode()); sys.exit(7)"
    said, printed, status = through(tmp_path, code, b"a command")
    assert said == [{"event": "heard", "what": "a command"}, {"event": "inside_ended", "code": 7}]
    assert printed == "yes ['one']\n"
    assert status == 7


def test_a_child_that_is_killed_is_told_as_killed(tmp_path: Path) -> None:
    said, _, status = through(tmp_path, "os.kill(os.getpid(), 11)")
    assert (said, status) == ([{"event": "inside_ended", "code": -11}], 139)


def test_a_child_without_a_filter_is_let_go_on(tmp_path: Path) -> None:
    code = "say(event='kernel', layers=[], contained=['/x']); say(event='done', got=os.read(64, 1).decode())"
    said, _, _ = through(tmp_path, code)
    assert [message["event"] for message in said] == ["kernel", "done", "inside_ended"]
    assert said[1]["got"] == "g"


def test_packages_come_ahead_of_the_pythons_own(tmp_path: Path) -> None:
    (tmp_path / "packages").mkdir()
    (tmp_path / "packages" / "pytest.py").write_text("mine = True")
    code = "import pytest; say(event='mine', mine=pytest.mine)"
    said, printed, _ = through(tmp_path, code, packages=[str(tmp_path / "packages")])
    assert said[0] == {"event": "mine", "mine": True}, printed


def test_the_child_ends_with_its_parent(tmp_path: Path) -> None:
    told = {"channel": 64, "command": ["-c", "import time; print('up', flush=True); time.sleep(60)"], "packages": []}
    (tmp_path / "inside.json").write_text(json.dumps({**told, "cwd": str(tmp_path), "env": {}, "tolerate": []}))
    with subprocess.Popen(
        [sys.executable, "-I", "-c", _START, SRC, str(tmp_path / "inside.json")],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    ) as child:
        assert child.stdin is not None and child.stderr is not None
        child.stdin.write(b"m" * 32)
        child.stdin.flush()
        assert child.stderr.readline() == b"up\n"
        child.stdin.close()
        assert child.wait(20) == 1
        assert child.stderr.read() == b""


def test_variables_of_the_image_fill_in_but_do_not_change_results() -> None:
    image = {"PATH": "/image", "LANG": "C", "PYTHONHASHSEED": "1", "NLTK_DATA": "/data", "HOME": "/"}
    found = environment({"HOME": "/home/me", "SSL_CERT_FILE": "/not/here.pem"}, image)
    assert found == {"PATH": "/image", "NLTK_DATA": "/data", "HOME": "/home/me"}


@pytest.mark.skipif(sys.platform != "linux", reason="containers are of Linux")
def test_this_machine_does_not_pass_for_a_container() -> None:
    assert unheld() != "" or not os.path.exists("/proc/net/route")

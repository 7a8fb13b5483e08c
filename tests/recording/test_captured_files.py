"""How files were before a program wrote them, and what it read, stands on the record, within limits."""

from __future__ import annotations

import hashlib
import os
import sqlite3
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from agentdbg.recording import captured_files
from agentdbg.recording.captured_files import CapturedFiles
from agentdbg.store.journal import ref_from
from tests.support.effects import agent, recorded, run
from tests.support.recorded import Recorded, recording, runs


def told(found: Recorded, name: str, mode: str = "write") -> Mapping[str, Any]:
    """The only event of that mode about a file."""
    (event,) = [each for each in found.events("file") if each["path"].endswith(name) and each["mode"] == mode]
    return event


def content(found: Recorded, event: Mapping[str, Any]) -> bytes:
    ref = ref_from(event["body"])
    assert ref is not None
    return found.source.body(ref)


def holes(found: Recorded) -> list[str]:
    return [str(event["what"]) for event in found.events("hole")]


def test_start_states_of_files(tmp_path: Path) -> None:
    (tmp_path / "old.txt").write_text("as it was")
    (tmp_path / "gone.txt").write_text("removed")
    (tmp_path / "moved.txt").write_text("moved")
    (tmp_path / "empty").touch()
    (tmp_path / "large").write_bytes(os.urandom(300_000))
    (tmp_path / "link").symlink_to("real")
    (tmp_path / "real").write_text("behind a link")
    (tmp_path / os.fsdecode(b"\xff.bin")).write_bytes(b"\0\xff")
    large = (tmp_path / "large").read_bytes()
    body = """
for _ in range(2):
    with open("old.txt", "a") as file: file.write("more")
open("new.txt", "w").close()
open("old.txt").read()
os.remove("gone.txt")
os.rename("moved.txt", "there.txt")
open("empty", "r+").close()
open("large", "wb").close()
open("link", "w").close()
open(b"\\xff.bin", "wb").close()
"""
    found = recorded(tmp_path, agent(body))
    event = told(found, "/old.txt")
    assert content(found, event) == b"as it was"
    assert event["sha256"] == hashlib.sha256(b"as it was").hexdigest()
    assert (event["path"], event["size"], event["parent"]) == ("{root}/old.txt", 9, found.steps[0].id)
    assert told(found, "/new.txt")["absent"] is True
    assert content(found, told(found, "/gone.txt")) == b"removed"
    assert content(found, told(found, "/moved.txt")) == b"moved"
    assert told(found, "/there.txt")["absent"] is True
    assert content(found, told(found, "/empty")) == b""
    assert content(found, told(found, "/large")) == large
    assert told(found, "/large")["body"]["file"].startswith("large/")
    assert content(found, told(found, "/real")) == b"behind a link"
    assert content(found, told(found, "/\\xff.bin")) == b"\0\xff"
    assert holes(found) == []
    assert [event for event in found.events("file") if event["mode"] == "read"] == []  # its own writing is no material


def test_start_state_of_a_database_and_its_journal(tmp_path: Path) -> None:
    other = sqlite3.connect(tmp_path / "shop.db", isolation_level=None)
    other.execute("pragma journal_mode=wal")
    other.execute("create table orders (id)")
    other.execute("insert into orders values (7)")
    body = """
for _ in range(2):
    made = sqlite3.connect("shop.db", isolation_level=None)
    made.execute("begin immediate")
    sqlite3.connect("shop.db").close()
    open("shop.db", "rb").close()
    try:
        sqlite3.connect("shop.db", timeout=0, isolation_level=None).execute("begin immediate")
    except sqlite3.OperationalError as error:
        print(error)
    made.execute("insert into orders values (8)")
    made.execute("commit")
    made.close()
"""
    done = run(tmp_path, agent(body))
    assert done.stdout.splitlines() == ["database is locked"] * 2  # nobody dropped the lock
    (found,) = runs(tmp_path / "store")
    (tmp_path / "copy.db").write_bytes(content(found, told(found, "/shop.db")))
    (tmp_path / "copy.db-wal").write_bytes(content(found, told(found, "/shop.db-wal")))
    assert sqlite3.connect(tmp_path / "copy.db").execute("select id from orders").fetchall() == [(7,)]
    assert holes(found) == []


def test_a_database_that_another_run_of_the_process_holds_is_not_read_again(tmp_path: Path) -> None:
    sqlite3.connect(tmp_path / "shop.db").execute("create table t (x)").close()
    head = """
@agentdbg.agent
def other():
    sqlite3.connect("shop.db").close()
"""
    done = run(tmp_path, agent("agentdbg.tag(n=1)\nsqlite3.connect('shop.db')", head, "other()"))
    assert done.returncode == 0
    second, first = sorted(runs(tmp_path / "store"), key=lambda found: "n" in found.source.summary().tags)
    assert "body" in told(first, "shop.db")
    assert told(second, "shop.db")["problem"] == "it was open before"
    assert holes(second) == ["start state not recorded: {root}/shop.db (it was open before)"]


def test_what_was_opened_before_the_run_is_given_to_it(tmp_path: Path) -> None:
    (tmp_path / "config.json").write_text("{}")
    (tmp_path / "note").write_text("old")
    head = 'agentdbg.stats()\nopen("config.json").read()\nopen("note", "w").close()\nsqlite3.connect("new.db").close()'
    found = recorded(tmp_path, agent("pass", head))
    assert content(found, told(found, "config.json", "read")) == b"{}"
    assert content(found, told(found, "note")) == b"old"
    assert told(found, "new.db")["absent"] is True


def test_what_is_read(tmp_path: Path) -> None:
    (tmp_path / "prompt.md").write_text("Be brief.")
    (tmp_path / "big.csv").write_bytes(b"x" * 300_000)
    (tmp_path / ".env").write_text("TOKEN=hunter2")
    (tmp_path / "server.pem").write_text("key")
    (tmp_path / "skipped.log").write_text("no")
    (tmp_path / "helper.py").write_text("value = 1")
    (tmp_path / "folder").mkdir()
    body = """
for name in ("prompt.md", "prompt.md", "big.csv", ".env", "server.pem", "skipped.log", "agent.py"):
    open(name).read()
import helper, json.tool, linecache
linecache.getlines("helper.py")
open(os.__file__).read()
open("/proc/self/stat").read()
for name in ("none", "folder"):
    try:
        open(name)
    except OSError:
        pass
"""
    found = recorded(tmp_path, agent(body), env={"AGENTDBG_IGNORE_FILES": "*.log"})
    paths = [event["path"].removeprefix("{root}/") for event in found.events("file")]
    assert sorted(paths) == [".env", "agent.py", "big.csv", "helper.py", "prompt.md", "server.pem"]
    assert content(found, told(found, "prompt.md", "read")) == b"Be brief."
    big = told(found, "big.csv", "read")
    assert "body" not in big and big["sha256"] == hashlib.sha256(b"x" * 300_000).hexdigest()
    secret = told(found, ".env", "read")
    assert secret["keyed"] is True and "body" not in secret
    assert secret["sha256"] != hashlib.sha256(b"TOKEN=hunter2").hexdigest()
    assert told(found, "server.pem", "read")["keyed"] is True
    for file in (tmp_path / "store").rglob("*"):
        assert file.is_dir() or b"hunter2" not in file.read_bytes()


def test_secrets_in_content_are_redacted_and_a_start_state_says_so(tmp_path: Path) -> None:
    secret = "sk-ant-api03-" + "Zq7Lw2" * 8
    (tmp_path / "notes").write_text(f"use {secret} here")
    (tmp_path / "blob").write_bytes(b"\0\xff\xfe" * 100 + secret.encode() + b"\xff\0")
    found = recorded(tmp_path, agent("open('notes').read(); open('blob', 'ab').close()"))
    assert told(found, "notes", "read")["redacted"] is True
    assert holes(found) == ["start state is redacted: {root}/blob"]
    assert content(found, told(found, "blob")).startswith(b"\0\xff\xfe")
    for file in (tmp_path / "store").rglob("*"):
        assert file.is_dir() or secret.encode() not in file.read_bytes()


def test_what_cannot_be_kept_is_a_hole(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("huge", "closed", "vanished"):
        (tmp_path / name).write_text(name * 100)
    os.mkfifo(tmp_path / "pipe")
    monkeypatch.setattr(captured_files, "MAX_STATE", 300)
    real = captured_files._content

    def content_of(path: str) -> bytes:
        if path.endswith("closed"):
            raise PermissionError(path)
        if path.endswith("vanished"):
            os.remove(path)
        return real(path)

    (tmp_path / "vanished").write_text("v")
    (tmp_path / "closed").write_text("c")
    monkeypatch.setattr(captured_files, "_content", content_of)
    with recording(tmp_path / "store") as recorder:
        files = CapturedFiles(recorder, list)
        run_ = recorder.implicit_run()
        assert run_ is not None
        for name in ("huge", "closed", "vanished", "pipe", "pipe"):
            files.before_write(str(tmp_path / name), run_, run_.scope())
        files.read(str(tmp_path / "pipe"), run_, run_.scope())
        run_.finish("ok", None)
    (found,) = runs(tmp_path / "store")
    said = [(Path(event["path"]).name, event.get("problem"), event.get("absent")) for event in found.events("file")]
    assert said == [("huge", "400 bytes", None), ("closed", "PermissionError", None), ("vanished", None, True)]
    assert [hole.partition("(")[2] for hole in holes(found)] == ["400 bytes)", "PermissionError)"]

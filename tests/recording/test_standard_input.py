"""What a launched program reads is kept, and a replay can give it again; the program notices nothing."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from agentdbg.store.address import open_store, resolve

PROGRAMS = {
    "lines": "print(ask(input('name? ')))\nfor line in sys.stdin: print(ask(line))",
    "whole": "print(ask(sys.stdin.read()))",
    "bytes": "print(ask(sys.stdin.buffer.read().hex()))",
    "some": "print(ask(sys.stdin.readline()))",
    "nothing": "print(ask('x'))",
    "ended_early": "sys.stdin.close(); print(ask('x'))",
    "looked_at": (
        "s = sys.stdin\n"
        "print(ask(f'{s.isatty()} {s.encoding} {s.fileno()} {s.name} {s.mode} {s.errors}'), s.buffer.peek(1)[:3])"
    ),
    "system_call": "print(ask(os.read(0, 4).decode()), sys.stdin.readline())",
    "not_text": (
        "print(ask(repr(sys.stdin.buffer.readline())))\n"
        "try: print(sys.stdin.read())\nexcept UnicodeDecodeError as e: print(e)"
    ),
}
HEAD = "import os, sys\ndef ask(question):\n    return question.upper()\n"
INPUT = "ann\nbob\ncafé\n".encode() + b"\xff\xfe\n"


def _run(folder: Path, *words: str) -> subprocess.CompletedProcess[bytes]:
    environ = {name: value for name, value in os.environ.items() if not name.startswith("AGENTDBG")}
    return subprocess.run(words, cwd=folder, env=environ, input=INPUT, capture_output=True, check=False, timeout=120)


@pytest.mark.parametrize("name", PROGRAMS)
def test_standard_input_is_kept_and_given_again(tmp_path: Path, name: str) -> None:
    (tmp_path / "program.py").write_text(HEAD + PROGRAMS[name] + "\n", encoding="utf-8")
    ours = (sys.executable, "-m", "agentdbg.cli.main", "--store", "store")
    bare = _run(tmp_path, sys.executable, "program.py")
    recorded = _run(tmp_path, *ours, "record", "--tool", "ask=read", "--", sys.executable, "program.py")
    assert (recorded.stdout, recorded.stderr) == (bare.stdout, bare.stderr)
    assert recorded.returncode == bare.returncode
    replayed = json.loads(_run(tmp_path, *ours, "replay", "@", "--exact", "--guard", "audit", "--json").stdout)
    if name != "system_call":  # past sys.stdin there is nothing to note it
        assert (replayed["verdict"], replayed["hit_rate"]) == ("identical", 1.0), replayed["reason"]


def test_a_program_that_reads_nothing_has_no_input_in_its_record(tmp_path: Path) -> None:
    (tmp_path / "program.py").write_text(HEAD + PROGRAMS["nothing"] + "\n", encoding="utf-8")
    ours = (sys.executable, "-m", "agentdbg.cli.main", "--store", "store")
    _run(tmp_path, *ours, "record", "--tool", "ask=read", "--", sys.executable, "program.py")
    source = resolve(open_store(str(tmp_path / "store")), "@")
    assert list(source.extra_events("stdin")) == []  # type: ignore[attr-defined]  # of this format alone

"""Exact replays of programs that strangers might bring: unchanged, reaching outside, changed, and broken.

An unchanged program is identical, one that reaches outside is refused by name, a change is found. All layers hold, and
effects are counted by a server and a directory.
"""

# ruff: noqa: E501  # whole programs on a line
from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.support.kernel import needs_kernel_layers
from tests.support.replay_lab import ReplayLab
from tests.support.strangers import NOT_IN_THE_RECORD, REFUSED, UNCHANGED, change, record

pytestmark = needs_kernel_layers
QUICK = ("exc_in_handler", "close_fds_proc", "agent_with_tools_from_outside")


@pytest.mark.parametrize(
    "name", [name if name in QUICK else pytest.param(name, marks=pytest.mark.wide) for name in UNCHANGED]
)
def test_an_unchanged_program_is_identical(lab: ReplayLab, name: str) -> None:
    record(lab, UNCHANGED[name])
    outcome = lab.replay(guard="auto")
    assert outcome.verdict == "identical", (outcome.reason, outcome.log)


@pytest.mark.wide
@pytest.mark.parametrize("name", REFUSED)
def test_what_reaches_outside_is_refused_by_name(lab: ReplayLab, name: str) -> None:
    named, text = REFUSED[name]
    record(lab, text)
    outcome = lab.replay(guard="auto")
    assert outcome.verdict == "refused", (outcome.verdict, outcome.reason)
    assert named in outcome.reason


@pytest.mark.wide
@pytest.mark.parametrize("name", NOT_IN_THE_RECORD)
def test_what_no_record_has_is_no_silent_difference(lab: ReplayLab, name: str) -> None:
    record(lab, NOT_IN_THE_RECORD[name])
    outcome = lab.replay(guard="auto")
    assert outcome.verdict == "diverged", (outcome.verdict, outcome.reason)
    assert outcome.first_divergence is not None


@pytest.mark.parametrize(
    ("before", "after", "path"),
    [
        ("say(1); sys.exit(2)", "say(1); sys.exit(3)", "run.error.message"),
        pytest.param("say(1); os._exit(2)", "say(1); os._exit(3)", "run.error.message", marks=pytest.mark.wide),
        pytest.param(
            "say(1); raise ValueError(1)", "say(1); raise TypeError(1)", "run.error.type", marks=pytest.mark.wide
        ),
    ],
)
def test_another_end_of_a_failed_program_is_a_difference(lab: ReplayLab, before: str, after: str, path: str) -> None:
    record(lab, before)
    assert lab.replay(guard="auto").verdict == "identical"
    change(lab, after)
    outcome = lab.replay(guard="auto")
    assert outcome.verdict == "diverged", outcome.reason
    assert outcome.first_divergence is not None
    assert outcome.first_divergence.path == path


CHANGED = {
    "items_fewer": (
        "def get(n): yield from range(n)\nlist(get(5))\n",
        "def get(n): yield from range(n)\nnext(get(5))\n",
    ),
    "items_more": (
        "def get(n): yield from range(n)\nnext(get(5)); say(1)\n",
        "def get(n): yield from range(n)\nlist(get(5)); say(1)\n",
    ),
    "agent_error": (
        "import agentdbg\n@agentdbg.agent\ndef run(x):\n    look(x); raise ValueError('a')\nrun(1)\n",
        "import agentdbg\n@agentdbg.agent\ndef run(x):\n    look(x); raise ValueError('b')\nrun(1)\n",
    ),
    "word": ('say("hello world")\n', 'say("hello there")\n'),
    "space": ('say("hello world")\n', 'say("hello  world")\n'),
    "nbsp": ('say("a b")\n', 'say("a\\u00a0b")\n'),
    "nfc": ('say("\\u00e9")\n', 'say("e\\u0301")\n'),
    "newline": ('say("a\\n")\n', 'say("a\\r\\n")\n'),
    "int_float": ("look(1)\n", "look(1.0)\n"),
    "int_bool": ("look(1)\n", "look(True)\n"),
    "int_str": ("look(1)\n", 'look("1")\n'),
    "neg_zero": ("look(0.0)\n", "look(-0.0)\n"),
    "tuple_list": ("look((1,2))\n", "look([1,2])\n"),
    "bytes_str": ('look(b"a")\n', 'look("a")\n'),
    "set_frozenset": ("look({1,2})\n", "look(frozenset({1,2}))\n"),
    "set_list": ("look({1})\n", "look([1])\n"),
    "dict_key_type": ("look({1:2})\n", 'look({"1":2})\n'),
    "nan_none": ('look(float("nan"))\n', "look(None)\n"),
    "default_changed": ("def get(a, n=5): return n\nget(1)\n", "def get(a, n=6): return n\nget(1)\n"),
    "param_renamed": ("def get(a): return a\nget(1)\n", "def get(b): return b\nget(1)\n"),
    "one_fewer": ("say(1); say(2)\n", "say(1)\n"),
    "one_fewer_same": ("say(1); say(1)\n", "say(1)\n"),
    "none_at_all": ("say(1)\n", "pass\n"),
    "swapped": ("say(1); say(2)\n", "say(2); say(1)\n"),
    "swapped_tools": ("look(1); save(1)\n", "save(1); look(1)\n"),
    "swapped_same_args_thread": (
        "import threading\nlook(1)\nt = threading.Thread(target=look, args=(2,)); t.start(); t.join()\n",
        "import threading\nlook(2)\nt = threading.Thread(target=look, args=(1,)); t.start(); t.join()\n",
    ),
    "moved_to_thread": (
        "look(1); look(2)\n",
        "import threading\nlook(1)\nt = threading.Thread(target=look, args=(2,)); t.start(); t.join()\n",
    ),
    "other_tool": ("look(1)\n", "save(1)\n"),
    "renamed_tool": ("def get(a): return 1\nget(1)\n", "def ask(a): return 1\nget = ask\nask(1)\n"),
    "exit_changed": ("say(1); sys.exit(0)\n", "say(1); sys.exit(3)\n"),
    "exit_code_other": ("say(1); sys.exit(2)\n", "say(1); sys.exit(3)\n"),
    "exc_instead": ("say(1)\n", 'say(1); raise ValueError("x")\n'),
    "exc_text": ('say(1); raise ValueError("x")\n', 'say(1); raise ValueError("y")\n'),
    "exc_type": ('say(1); raise ValueError("x")\n', 'say(1); raise TypeError("x")\n'),
    "exc_gone": ('say(1); raise ValueError("x")\n', "say(1)\n"),
    "os_exit_code": ("say(1); os._exit(2)\n", "say(1); os._exit(3)\n"),
    "final_state": (
        'import agentdbg\nsay(1); agentdbg.final_state("OK")\n',
        'import agentdbg\nsay(1); agentdbg.final_state("BAD")\n',
    ),
    "final_state_gone": ('import agentdbg\nsay(1); agentdbg.final_state("OK")\n', "import agentdbg\nsay(1)\n"),
    "final_state_added": ("import agentdbg\nsay(1)\n", 'import agentdbg\nsay(1); agentdbg.final_state("OK")\n'),
    "checkpoint_value": (
        'import agentdbg\nsay(1); agentdbg.checkpoint("n", {"a":1})\n',
        'import agentdbg\nsay(1); agentdbg.checkpoint("n", {"a":2})\n',
    ),
    "checkpoint_name": (
        'import agentdbg\nsay(1); agentdbg.checkpoint("n", {"a":1})\n',
        'import agentdbg\nsay(1); agentdbg.checkpoint("m", {"a":1})\n',
    ),
    "checkpoint_gone": ('import agentdbg\nsay(1); agentdbg.checkpoint("n", {"a":1})\n', "import agentdbg\nsay(1)\n"),
    "checkpoint_added": ("import agentdbg\nsay(1)\n", 'import agentdbg\nsay(1); agentdbg.checkpoint("n", {"a":1})\n'),
    "checkpoint_int_float": (
        'import agentdbg\nsay(1); agentdbg.checkpoint("n", {"a":1})\n',
        'import agentdbg\nsay(1); agentdbg.checkpoint("n", {"a":1.0})\n',
    ),
    "checkpoint_bool": (
        'import agentdbg\nsay(1); agentdbg.checkpoint("n", {"a":1})\n',
        'import agentdbg\nsay(1); agentdbg.checkpoint("n", {"a":True})\n',
    ),
    "retrieved_doc": (
        'import agentdbg\nsay(1); agentdbg.retrieved([{"id":"1","text":"abc"}], query="q")\n',
        'import agentdbg\nsay(1); agentdbg.retrieved([{"id":"1","text":"abd"}], query="q")\n',
    ),
    "ext_read": (
        'import agentdbg\nsay(1); agentdbg.external_read("s", 1)\n',
        'import agentdbg\nsay(1); agentdbg.external_read("s", 2)\n',
    ),
    "config_content": (
        'import agentdbg\nsay(1); agentdbg.config_content("c", "a")\n',
        'import agentdbg\nsay(1); agentdbg.config_content("c", "b")\n',
    ),
    "approval_q": (
        'import agentdbg\nsay(agentdbg.approval("ok?", decide=lambda: True))\n',
        'import agentdbg\nsay(agentdbg.approval("sure?", decide=lambda: True))\n',
    ),
    "approval_state": (
        'import agentdbg\nsay(agentdbg.approval("ok?", decide=lambda: True, state={"a":1}))\n',
        'import agentdbg\nsay(agentdbg.approval("ok?", decide=lambda: True, state={"a":2}))\n',
    ),
    "agent_result": (
        'import agentdbg\n@agentdbg.agent\ndef run(x):\n    look(x); return {"r":1}\nrun(5)\n',
        'import agentdbg\n@agentdbg.agent\ndef run(x):\n    look(x); return {"r":2}\nrun(5)\n',
    ),
    "agent_subagent_args": (
        "import agentdbg\n@agentdbg.agent\ndef sub(x): return x\n@agentdbg.agent\ndef run(x):\n    look(1); sub(1); return 1\nrun(5)\n",
        "import agentdbg\n@agentdbg.agent\ndef sub(x): return x\n@agentdbg.agent\ndef run(x):\n    look(1); sub(2); return 1\nrun(5)\n",
    ),
    "tool_effect_declared": (
        'import agentdbg\n@agentdbg.tool(effect="read")\ndef q(x): return x\nq(1)\n',
        'import agentdbg\n@agentdbg.tool(effect="write")\ndef q(x): return x\nq(1)\n',
    ),
    "tool_idem_key": (
        'import agentdbg\n@agentdbg.tool(effect="write", idempotency_key="k")\ndef q(x, k): return x\nq(1, "a")\n',
        'import agentdbg\n@agentdbg.tool(effect="write", idempotency_key="x")\ndef q(x, k): return x\nq(1, "a")\n',
    ),
    "tool_no_longer_tool": ("def get(a): return 1\nsay(get(1))\n", "def other(a): return 1\nsay(other(1))\n"),
    "http_body": (
        'import httpx\nhttpx.post(f"http://127.0.0.1:{PORT}/", json={"a":1})\n',
        'import httpx\nhttpx.post(f"http://127.0.0.1:{PORT}/", json={"a":2})\n',
    ),
    "http_method": (
        'import httpx\nhttpx.post(f"http://127.0.0.1:{PORT}/", json={"a":1})\n',
        'import httpx\nhttpx.put(f"http://127.0.0.1:{PORT}/", json={"a":1})\n',
    ),
    "http_query": (
        'import httpx\nhttpx.get(f"http://127.0.0.1:{PORT}/?a=1")\n',
        'import httpx\nhttpx.get(f"http://127.0.0.1:{PORT}/?a=2")\n',
    ),
    "http_host": (
        'import httpx\nhttpx.get(f"http://127.0.0.1:{PORT}/")\n',
        'import httpx\nhttpx.get(f"http://localhost:{PORT}/")\n',
    ),
    "http_binary_body": (
        'import httpx\nhttpx.post(f"http://127.0.0.1:{PORT}/", content=b"\\x00\\x01"*50)\n',
        'import httpx\nhttpx.post(f"http://127.0.0.1:{PORT}/", content=b"\\x00\\x02"*50)\n',
    ),
    "secret_value_changed": (
        'look("sk-abcdefghijklmnopqrstuvwx1234567890AAAA")\n',
        'look("sk-abcdefghijklmnopqrstuvwx1234567890BBBB")\n',
    ),
    "secret_len_changed": (
        'look("sk-abcdefghijklmnopqrstuvwx1234567890AAAA")\n',
        'look("sk-abcdefghijklmnopqrstuvwx1234567890BBB")\n',
    ),
    "email_changed": ('look("write to ann@example.com")\n', 'look("write to bob@example.com")\n'),
    "phone_changed": ('look({"phone":"+49 170 1234567"})\n', 'look({"phone":"+49 170 1234568"})\n'),
    "card_changed": ('look("4111 1111 1111 1111")\n', 'look("5500 0000 0000 0004")\n'),
    "pwd_field": ('look({"password":"hunter2222"})\n', 'look({"password":"hunter3333"})\n'),
    "trailing_huge": ('look("x"*2000000+"a")\n', 'look("x"*2000000+"b")\n'),
    "obj_attr": (
        "import dataclasses\n@dataclasses.dataclass\nclass D:\n    a: int = 1\nlook(D(1))\n",
        "import dataclasses\n@dataclasses.dataclass\nclass D:\n    a: int = 1\nlook(D(2))\n",
    ),
    "draw_added": ("import random\nsay(random.random())\n", "import random\nrandom.random(); say(random.random())\n"),
    "draw_kind": ("say(time.time())\n", "x = time.time(); say(int(x))\n"),
    "gather_order": (
        "import asyncio\nasync def get(x): await asyncio.sleep(0.01*x); return x\nasync def m():\n    say(await asyncio.gather(get(1),get(2)))\nasyncio.run(m())\n",
        "import asyncio\nasync def get(x): await asyncio.sleep(0.01*x); return x\nasync def m():\n    say(await asyncio.gather(get(2),get(1)))\nasyncio.run(m())\n",
    ),
    "seq_instead_of_gather": (
        "import asyncio\nasync def get(x): await asyncio.sleep(0.01*x); return x\nasync def m():\n    await asyncio.gather(get(1),get(2)); say(1)\nasyncio.run(m())\n",
        "import asyncio\nasync def get(x): await asyncio.sleep(0.01*x); return x\nasync def m():\n    await get(1); await get(2); say(1)\nasyncio.run(m())\n",
    ),
}


@pytest.mark.wide
@pytest.mark.parametrize("name", CHANGED)
def test_a_change_is_found(lab: ReplayLab, name: str) -> None:
    before, after = CHANGED[name]
    record(lab, before)
    change(lab, after)
    outcome = lab.replay(guard="auto")
    assert outcome.verdict == "diverged", (outcome.verdict, outcome.reason)


def _files(lab: ReplayLab, folder: str) -> list[Path]:
    return sorted((lab.store / "runs" / "run-1" / folder).glob("*.jsonl"))


def _torn(lab: ReplayLab) -> None:
    for path in _files(lab, "events"):
        path.write_bytes(path.read_bytes()[:-30])


def _damaged_in_the_middle(lab: ReplayLab) -> None:
    for path in _files(lab, "events"):
        data = bytearray(path.read_bytes())
        data[len(data) // 2 : len(data) // 2 + 20] = bytes(20)
        path.write_bytes(bytes(data))


def _without_events(lab: ReplayLab) -> None:
    for path in _files(lab, "events"):
        path.unlink()


@pytest.mark.parametrize(
    "harm",
    [
        pytest.param(_torn, marks=pytest.mark.wide),
        pytest.param(_damaged_in_the_middle, marks=pytest.mark.wide),
        _without_events,
    ],
)
def test_a_damaged_record_is_named(lab: ReplayLab, harm: Callable[[ReplayLab], None]) -> None:
    record(lab, "say(1); say(2)")
    harm(lab)
    outcome = lab.replay(guard="auto")
    assert any("the record is damaged" in note for note in outcome.notes), outcome.reason


BROKEN = {
    "moved": (None, "not_replayable"),
    "empty": ("", "diverged"),
    "no_python": ("def (", "diverged"),
    "import": ("import nonexistent_module_of_nobody", "diverged"),
    "hangs": ("while True: pass", "timed_out"),
    "hangs_in_c": ("import threading\nlock = threading.Lock(); lock.acquire(); lock.acquire()", "timed_out"),
    "ignores_signals": (
        "import signal\nfor each in signal.valid_signals() - {signal.SIGKILL, signal.SIGSTOP, 32, 33}:\n"
        "    signal.signal(each, signal.SIG_IGN)\nwhile True: pass",
        "timed_out",
    ),
    "floods": ("while True: os.write(1, bytes(65536))", "timed_out"),
    "aborts": ("os.abort()", "crashed"),
    "dies_in_c": ("say(1)\nimport ctypes; ctypes.string_at(0)", "crashed"),
    "forks": ("for _ in range(50):\n    try: os.fork()\n    except BaseException: pass", "refused"),
    "leaves_early": ("say(1); os._exit(0)", "diverged"),
    "says_that_it_is_done": ('print(\'{"event": "done", "error": null}\')', "diverged"),
    "memory": (
        "import resource; resource.setrlimit(resource.RLIMIT_AS, (1 << 29, 1 << 29)); bytearray(1 << 30)",
        "diverged",
    ),
}


@pytest.mark.wide
@pytest.mark.parametrize("name", BROKEN)
def test_a_broken_program_ends_with_its_own_verdict(lab: ReplayLab, name: str) -> None:
    record(lab, "say(1); say(2)")
    text, verdict = BROKEN[name]
    if text is None:
        lab.program.rename(lab.place / "elsewhere.py")
    else:
        change(lab, text)
    outcome = lab.replay(guard="auto", timeout=4 if verdict == "timed_out" else 30)
    assert outcome.verdict == verdict, outcome.reason


@pytest.mark.wide
@pytest.mark.parametrize("member", ["target", "file", "cwd", "arguments", "tools", "options"])
def test_an_edited_start_is_not_this_users_any_more(lab: ReplayLab, member: str) -> None:
    from agentdbg.replay.run import ReplayRefused

    record(lab, "say(1)")
    path = lab.store / "runs" / "run-1" / "run.json"
    found = json.loads(path.read_text())
    found["entry"]["launch"][member] = {"tools": {"look": "none"}}.get(member, ["-B"] if member == "options" else "/x")
    path.write_text(json.dumps(found))
    with pytest.raises(ReplayRefused):
        lab.replay(guard="auto")

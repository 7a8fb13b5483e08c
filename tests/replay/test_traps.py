"""Ways in which a replay could touch the world or report a success that is none: each is stopped, named or contained.

The replays run under all layers that the machine has; the effects are counted by a server and a directory.
"""

from __future__ import annotations

import pytest

from tests.support.kernel import needs_kernel_layers
from tests.support.replay_lab import ReplayLab

pytestmark = needs_kernel_layers

FRAME = """\
import os, sys
import agentdbg

OUTSIDE, PORT = os.environ["OUTSIDE"], int(os.environ["PORT"])

@agentdbg.tool(effect="read")
def look(order):
    return {"order": order}

def deed():
    REPLACED

@agentdbg.agent
def run(order):
    found = look(order)
    try:
        deed()
    except Exception as problem:
        found = {**found, "problem": type(problem).__name__}
    agentdbg.final_state("DONE")
    return look("after")

if __name__ == "__main__":
    run("o-1")
"""
REFUSED = {
    "urllib": (
        "import urllib.request; urllib.request.urlopen(f'http://127.0.0.1:{PORT}/', timeout=5).read()",
        "127.0.0.1",
    ),
    "raw_socket": ("import socket; socket.create_connection(('127.0.0.1', PORT), 5).close()", "127.0.0.1"),
    "native_file": (
        "import ctypes; getattr(ctypes.CDLL(None), 'cre' + 'at')((OUTSIDE + '/n').encode(), 0o600)",
        "creat",
    ),
    "raw_thread": (
        "import socket, threading\n"
        "    thread = threading.Thread(target=lambda: socket.create_connection(('127.0.0.1', PORT), 5).close())\n"
        "    thread.start(); thread.join()",
        "127.0.0.1",
    ),
    "native_socket": (
        "import ctypes, socket, struct\n"
        "    libc = ctypes.CDLL(None)\n"
        "    end = socket.socket()\n"
        "    to = struct.pack('=H', 2) + PORT.to_bytes(2, 'big') + bytes([127, 0, 0, 1]) + bytes(8)\n"
        "    getattr(libc, 'con' + 'nect')(end.fileno(), to, 16)",
        "connect",
    ),
    "subprocess": ("import subprocess; subprocess.run([sys.executable, '-c', 'pass'])", "subprocess.Popen"),
    "system": ("os.system('true')", "os.system"),
    "spawned_worker": (
        "import multiprocessing; c = multiprocessing.get_context('spawn')\n"
        "    p = c.Process(target=print); p.start(); p.join()",
        "exec",
    ),
    "signal": ("os.kill(os.getppid(), 0); os.kill(os.getppid(), 28)", "os.kill"),
}


@pytest.mark.parametrize("name", REFUSED)
def test_an_effect_that_no_seam_served_is_refused_by_name(lab: ReplayLab, name: str) -> None:
    deed, named = REFUSED[name]
    lab.record(FRAME.replace("REPLACED", deed))
    outcome = lab.replay(guard="auto")
    assert outcome.verdict == "refused", (outcome.verdict, outcome.reason)
    assert named in outcome.reason
    assert "seccomp" in outcome.guard


CONTAINED = {
    "log_file": "open(OUTSIDE + '/agent.log', 'a').write('line\\n')",
    "new_file": "open(OUTSIDE + '/new', 'x').write('line\\n')",
    "removed_and_made_again": "open(OUTSIDE + '/f', 'w').close(); os.remove(OUTSIDE + '/f'); open(OUTSIDE + '/f', 'x')",
    "cache": "os.makedirs(OUTSIDE + '/cache', exist_ok=True); open(OUTSIDE + '/cache/a', 'w').write('a')",
    "database": (
        "import sqlite3; c = sqlite3.connect(OUTSIDE + '/state.db'); c.execute('create table if not exists t (x)')\n"
        "    c.execute('insert into t values (1)'); c.commit(); c.close()"
    ),
    "temporary": "import tempfile; open(tempfile.gettempdir() + '/agentdbg-trap', 'w').write('x')",
    "shared_memory": "import multiprocessing; multiprocessing.Lock()",
}


@pytest.mark.parametrize("name", CONTAINED)
def test_what_the_agent_writes_is_contained_and_listed(lab: ReplayLab, name: str) -> None:
    lab.record(FRAME.replace("REPLACED", CONTAINED[name]))
    for _ in range(2):
        outcome = lab.replay(guard="auto")
        assert outcome.verdict == "identical", (outcome.verdict, outcome.reason, outcome.log)
    own = name in ("shared_memory", "temporary")  # in places that the replay has for itself
    assert own or outcome.contained


def test_the_agent_finds_files_as_they_were_when_it_first_wrote_them(lab: ReplayLab) -> None:
    deed = """\
path = OUTSIDE + "/counter"
    number = int(open(path).read()) if os.path.exists(path) else 0
    open(path, "w").write(str(number + 1))
    agentdbg.checkpoint("counted", {"number": number})"""
    (lab.outside / "counter").write_text("41")
    lab.record(FRAME.replace("REPLACED", deed))
    assert (lab.outside / "counter").read_text() == "42"
    outcome = lab.replay(guard="auto")
    assert outcome.verdict == "identical", outcome.reason
    (lab.outside / "counter").unlink()
    outcome = lab.replay(guard="auto")
    assert outcome.verdict == "identical", outcome.reason


def test_set_order_and_a_growing_file_repeat_ten_times(lab: ReplayLab) -> None:
    deed = "open(OUTSIDE + '/seen', 'a').write(str(sorted({'a', 'b'})))"
    lab.record(FRAME.replace("REPLACED", deed))
    assert {lab.replay(guard="auto").verdict for _ in range(3)} == {"identical"}

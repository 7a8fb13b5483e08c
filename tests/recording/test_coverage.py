"""What a program does outside past every seam is on its record: named, placed, counted, covered or not."""

from __future__ import annotations

import ast
import json
import subprocess
import sys
from pathlib import Path

import pytest

from tests.support.effects import OUTSIDE, agent, named, recorded, seen
from tests.support.recorded import SRC, run, runs

CASES = [
    ("os.mkdir('d'); os.rmdir('d')", ["os.mkdir d", "os.rmdir d"]),
    ("os.makedirs('d'); os.makedirs('d', exist_ok=True)", ["os.mkdir d"]),
    ("open('a', 'x').close(); os.rename('a', 'b')", ["open a", "os.rename a -> b"]),
    ("pathlib.Path('a').write_text('x'); os.chmod('a', 0o600)", ["open a", "os.chmod a"]),
    ("os.symlink('x', 'l'); open('l', 'w').close()", ["os.symlink l", "open x"]),
    ("shutil.copyfile('../agent.py', 'copy')", ["open copy"]),
    ("os.system('true')", ["os.system true"]),
    ("os.posix_spawn('/bin/true', ['true'], {})", ["os.posix_spawn /bin/true"]),
    ("os.spawnv(os.P_WAIT, '/bin/true', ['true'])", ["os.exec /bin/true"]),
    ("subprocess.Popen(['true', 'x']).wait()", ["subprocess.Popen true x"]),
    ("child = subprocess.Popen(['sleep', '9']); child.kill(); child.wait()", ["subprocess.Popen sleep 9"]),
    ("os.kill(os.getpid(), 0)", []),
    ("sqlite3.connect('d.db').close()", ["sqlite3.connect d.db"]),
    ("sqlite3.connect(':memory:').close()", []),
    ("open(os.devnull, 'w').close(); open('/dev/null', 'wb').close(); print('out')", []),
    ("open('/dev/stderr', 'w').close()", []),
    ("os.environ.get('HOME'); os.listdir('.'); open('../agent.py').read()", []),
    ("sys.dont_write_bytecode = False; pathlib.Path('mod.py').write_text(''); import mod", ["open mod.py"]),
    ("a, b = socket.socketpair(); a.close(); b.close()", []),
    ("s = socket.socket(); s.bind(('127.0.0.1', 0)); s.listen(); s.close()", []),
    ("s = socket.socket(type=socket.SOCK_DGRAM); s.sendto(b'x', ('127.0.0.1', 9)); s.close()",
     ["socket.sendto 127.0.0.1:9"]),
    ("s = socket.socket(socket.AF_UNIX); s.connect_ex('/none'); s.close()", ["socket.connect /none"]),
    ("socket.getaddrinfo('localhost', 1)", []),
    ("pid = os.fork()\nif not pid: os._exit(0)\nos.waitpid(pid, 0)", []),
]  # fmt: skip
ONE_AFTER_THE_OTHER = """
import json, os, sys, sqlite3, socket, subprocess, pathlib, shutil
import agentdbg

@agentdbg.agent
def agent(number, code):
    exec(code)

agentdbg.stats()  # the recorder knows its root from here on
for number, code in enumerate(json.loads(pathlib.Path("cases.json").read_text())):
    pathlib.Path(f"case{number}").mkdir()
    os.chdir(f"case{number}")
    sys.path.insert(0, "")
    agent(number, code)
    os.chdir("..")
"""


def test_what_is_an_effect(tmp_path: Path) -> None:
    (tmp_path / "cases.json").write_text(json.dumps([code.replace("; ", "\n") for code, _ in CASES]))
    done = run(tmp_path, ONE_AFTER_THE_OTHER, env={"PYTHONDONTWRITEBYTECODE": ""})
    assert (done.returncode, done.stderr) == (0, "")
    by_number = {found.arguments(found.steps[0])["number"]: found for found in runs(tmp_path / "store")}
    for number, (code, expected) in enumerate(CASES):
        effects = [effect for effect in seen(by_number[number]) if not effect.step.attrs.get("ambient")]
        assert [line.replace(f"{{root}}/case{number}/", "") for line in named(effects)] == expected, code


def test_a_post_a_file_a_process_and_a_socket_from_a_thread_are_named(tmp_path: Path) -> None:
    found = recorded(tmp_path, OUTSIDE)
    effects = seen(found)
    places = [(effect.event, effect.frame.rpartition(" ")[2]) for effect in effects]
    assert places == [
        ("socket.connect", "post"),
        ("open", "write_note"),
        ("subprocess.Popen", "start_process"),
        ("socket.connect", "raw_socket"),
    ]
    assert all(effect.frame.startswith("{root}/agent.py:") for effect in effects)
    assert effects[1].detail == "{root}/note.txt"
    assert all(effect.uncovered and effect.under == "agent" for effect in effects)
    root = found.steps[0]
    assert {effect.step.parent for effect in effects} == {root.id}
    assert (effects[0].step.lane, effects[3].step.lane) == ("0", "0.0")
    assert found.source.summary().meta["uncovered"] == 4


def test_a_tool_covers_what_it_does_and_is_told_of_when_it_declared_less(tmp_path: Path) -> None:
    body = "save(); look(); count(); open('plain', 'w').close()"
    head = """
@agentdbg.tool(effect="write")
def save():
    thread = threading.Thread(target=lambda: open("saved", "w").close())
    thread.start()
    thread.join()

@agentdbg.tool(effect="read")
def look():
    sqlite3.connect("data.db").close()
    open("cache", "w").close()

@agentdbg.tool(effect="none")
def count():
    sqlite3.connect("data.db").close()
"""
    effects = seen(recorded(tmp_path, agent(body, head)))
    told = [
        (effect.detail.removeprefix("{root}/"), effect.covered, effect.contradicts, effect.under) for effect in effects
    ]
    assert told == [
        ("saved", True, "", "tool"),
        ("data.db", True, "", "tool"),
        ("cache", True, "read", "tool"),
        ("data.db", True, "none", "tool"),
        ("plain", False, "", "agent"),
    ]


def test_repeated_effects_are_counted_and_not_repeated(tmp_path: Path) -> None:
    body = "for _ in range(30):\n    open('a', 'w').close()\n    os.remove('a')"
    found = recorded(tmp_path, agent(body))
    assert [(effect.event, effect.count) for effect in seen(found)] == [("open", 30), ("os.remove", 30)]
    assert found.source.summary().meta["uncovered"] == 2


def test_ten_thousand_files_are_a_thousand_steps_a_count_and_a_hole(tmp_path: Path) -> None:
    body = "os.mkdir('many')\nfor number in range(10_000):\n    open(f'many/{number}', 'w').close()"
    found = recorded(tmp_path, agent(body))
    assert len(seen(found)) == 1000
    assert found.source.summary().meta["uncovered"] == 10_001
    holes = [str(event["what"]) for event in found.events("hole")]
    assert [hole for hole in holes if "effects" in hole] == ["further effects than 1,000 are not listed"]
    assert len([hole for hole in holes if "files" in hole]) == 1
    assert len(found.events("file")) == 1000


def test_temporary_files_weigh_little(tmp_path: Path) -> None:
    body = """
with tempfile.TemporaryDirectory() as folder:
    pathlib.Path(folder, "a").write_text("x")
with tempfile.NamedTemporaryFile() as file:
    file.write(b"x")
with tempfile.TemporaryFile() as file:
    file.write(b"x")
with tempfile.NamedTemporaryFile(dir=".", delete=False) as file:
    file.write(b"x")
"""
    (tmp_path / "t").mkdir()
    found = recorded(tmp_path, agent(body), env={"TMPDIR": str(tmp_path / "t")})
    effects = seen(found)
    assert [effect.temporary for effect in effects[:-1]] == [True] * (len(effects) - 1)
    assert effects[-1].detail.startswith("{root}/tmp") and effects[-1].uncovered
    assert found.source.summary().meta["uncovered"] == 1


def test_what_is_seen_outside_of_a_run_is_ambient(tmp_path: Path) -> None:
    head = """
@agentdbg.agent
def first():
    return 1

agentdbg.stats()
open("early", "w").close()
"""
    done = run(tmp_path, agent("first()", head, "open('late', 'w').close()"))
    assert done.returncode == 0, done.stderr
    (found,) = runs(tmp_path / "store")
    (effect,) = seen(found)
    assert (effect.detail, effect.under, effect.step.parent) == ("{root}/early", "", None)
    assert effect.step.attrs["ambient"] is True and effect.uncovered
    assert found.steps[0].name == "agent"


def test_the_effects_of_a_program_without_a_root_are_in_its_run(tmp_path: Path) -> None:
    source = """
    import agentdbg

    @agentdbg.tool(effect="none")
    def add(a, b):
        return a + b

    add(1, 2)
    open("out", "w").close()
    """
    found = recorded(tmp_path, source)
    assert [step.name for step in found.steps] == ["add", "open {root}/out"]
    assert seen(found)[0].uncovered


def test_a_request_that_a_seam_records_is_no_effect_and_neither_are_its_bytes(tmp_path: Path) -> None:
    head = """
import asyncio, http.server, httpx

class Server(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        self.send_response(200)
        self.send_header("content-length", "2")
        self.end_headers()
        self.wfile.write(b"ok")

    def log_message(self, *_):
        pass

server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Server)
threading.Thread(target=server.serve_forever, daemon=True).start()
URL = f"http://localhost:{server.server_port}/"

async def twice():
    async with httpx.AsyncClient() as client:
        return [r.text for r in await asyncio.gather(client.get(URL), client.get(URL))]
"""
    found = recorded(tmp_path, agent("httpx.get(URL); return asyncio.run(twice())", head))
    assert [step.kind.value for step in found.steps] == ["agent", "http", "http", "http"]
    assert found.source.summary().meta["uncovered"] == 0


def test_secrets_are_taken_out_of_commands_and_paths(tmp_path: Path) -> None:
    secret = "sk-ant-api03-" + "Zq7Lw2" * 8
    found = recorded(tmp_path, agent(f"subprocess.run(['true', '--key', '{secret}']); open('{secret}', 'w').close()"))
    assert len(seen(found)) == 2
    for file in (tmp_path / "store").rglob("*.json*"):
        assert secret not in file.read_text()


def test_a_forked_child_writes_its_own(tmp_path: Path) -> None:
    body = """
open("parent", "w").close()
pid = os.fork()
if not pid:
    open("parent", "w").close()
    open("child", "w").close()
    os._exit(0)
os.waitpid(pid, 0)
"""
    found = recorded(tmp_path, agent(body))
    assert sorted(named(seen(found))) == ["open {root}/child", "open {root}/parent", "open {root}/parent"]


def test_spawned_processes_are_named_without_the_launcher(tmp_path: Path) -> None:
    head = """
import multiprocessing
def work():
    pass
"""
    body = """
process = multiprocessing.get_context("spawn").Process(target=work)
process.start()
process.join()
"""
    source = agent(body, head).replace("\nagent()\n", "\nif __name__ == '__main__':\n    agent()\n")
    effects = [effect for effect in seen(recorded(tmp_path, source)) if "subprocess" in effect.event]
    assert len(effects) == 1 and "multiprocessing" in effects[0].detail


@pytest.mark.parametrize("off", ["AGENTDBG_COVERAGE=off", "toml"])
def test_it_can_be_switched_off(tmp_path: Path, off: str) -> None:
    env = {}
    if off == "toml":
        (tmp_path / "agentdbg.toml").write_text("[recording]\ncoverage = false\n")
    else:
        env = dict([off.split("=")])
    found = recorded(tmp_path, agent("open('a', 'w').close()"), env=env)
    assert [step.name for step in found.steps] == ["agent"]
    assert "uncovered" not in found.source.summary().meta
    assert found.events("file") == []


def test_undecodable_names_and_hostile_arguments_harm_nobody(tmp_path: Path) -> None:
    body = r"""
open(b"\xff\xfe", "w").close()
os.mkdir(b"\xffd")
for wrong in (lambda: open("a\0b", "w"), lambda: sqlite3.connect(b"\xff/none/x"), lambda: os.remove("none"),
              lambda: subprocess.Popen([]), lambda: os.rename("none", "other"), lambda: socket.socket().connect(())):
    try:
        wrong()
    except Exception as error:
        print(type(error).__name__)
"""
    done = run(tmp_path, agent(body))
    bare = subprocess.run(
        [sys.executable, "-c", agent(body).replace("import agentdbg", "").replace("@agentdbg.agent", "")],
        cwd=tmp_path, capture_output=True, encoding="utf-8", check=False,
    )  # fmt: skip
    assert done.stdout.splitlines() == ["ValueError", "OperationalError", "FileNotFoundError", "IndexError",
                                        "FileNotFoundError", "TypeError"]  # fmt: skip
    assert bare.returncode != 0 and done.returncode == 0 and done.stderr == ""


def test_signals_collections_and_threads_in_the_middle_of_it_do_no_harm(tmp_path: Path) -> None:
    head = """
import gc, signal

class Cleans:
    def __init__(self):
        self.me = self

    def __del__(self):
        open("cleaned", "a").close()

def alarm(*_):
    open("alarm", "a").close()

signal.signal(signal.SIGALRM, alarm)
signal.setitimer(signal.ITIMER_REAL, 0.002, 0.002)
gc.set_threshold(5)

def busy(number):
    for i in range(60):
        Cleans()
        open(f"t{number}-{i % 3}", "w").close()
"""
    body = """
threads = [threading.Thread(target=busy, args=(n,)) for n in range(4)]
for thread in threads: thread.start()
busy(9)
for thread in threads: thread.join()
signal.setitimer(signal.ITIMER_REAL, 0)
"""
    done = run(tmp_path, agent(body, head))
    assert (done.returncode, done.stderr) == (0, "")
    (found,) = runs(tmp_path / "store")
    details = {effect.detail for effect in seen(found)}
    assert {f"{{root}}/t{n}-{i}" for n in (0, 1, 2, 3, 9) for i in range(3)} <= details


def test_it_loads_nothing_that_a_program_would_not_have(tmp_path: Path) -> None:
    code = (
        "import sys; before = set(sys.modules); import agentdbg.recording.coverage as c; c.install(); "
        "print(sorted(m for m in set(sys.modules) - before if not m.startswith('agentdbg')))"
    )
    done = subprocess.run(
        [sys.executable, "-c", code],
        env={"PYTHONPATH": str(SRC)},
        capture_output=True,
        encoding="utf-8",
        check=True,
    )
    assert set(ast.literal_eval(done.stdout)) <= {
        "__future__",
        "atexit",
        "importlib",
        "warnings",
        "importlib._bootstrap",
        "importlib._bootstrap_external",
    }


def test_what_a_request_does_before_its_first_call_is_in_its_own_run(tmp_path: Path) -> None:
    (tmp_path / "prompt.md").write_text("Be brief.")
    head = """
from contextvars import copy_context
from agentdbg.recording import coverage, scope
from agentdbg.model.records import Kind, StepStatus
from agentdbg.recording.run import RunRecording

class Request:
    begun = None

    def place(self, lane):
        return None if self.begun is None else scope.Scope(self.begun, None, lane)

    def took(self, run):
        pass

def serve(number, first):
    request = Request()
    scope.enter(scope.Unbegun(request, None, scope.Lane()))
    open(f"request{number}", "w").close()
    open("prompt.md").read()
    if first:
        serve_inside.run(serve, number + 1, False)
    found = coverage.state.recorder
    request.begun = run = RunRecording.start(found, "request", entry={}, run_id=f"r{number}")
    run.end(run.scope(), run.begin(run.scope(), Kind.NODE, "call"), StepStatus.OK)
    run.finish("ok", None)

agentdbg.stats()
serve_inside = copy_context()
copy_context().run(serve, 1, True)
"""
    done = run(tmp_path, head.join(["import agentdbg\n", ""]))
    assert (done.returncode, done.stderr) == (0, "")
    found = {each.source.summary().run_id: each for each in runs(tmp_path / "store")}
    for number in (1, 2):
        assert named(seen(found[f"r{number}"])) == [f"open {{root}}/request{number}"]
        modes = sorted(
            (event["path"].rpartition("/")[2], event["mode"]) for event in found[f"r{number}"].events("file")
        )
        assert modes == [("prompt.md", "read"), (f"request{number}", "write")]


def test_a_program_that_ends_with_a_traceback_is_recorded_without_a_word(tmp_path: Path) -> None:
    done = run(tmp_path, "import agentdbg\n@agentdbg.agent\ndef a():\n    raise ValueError('x')\na()\n")
    assert "degraded" not in done.stderr
    assert done.stderr.strip().endswith("ValueError: x")

"""Programs of strangers: each tells a tool what it saw, so that whatever differs in a replay is compared.

``UNCHANGED`` are ordinary ones, ``REFUSED`` reach outside (and what the refusal names), ``NOT_IN_THE_RECORD`` depend on
what no record has.
"""

# ruff: noqa: E501  # whole programs on a line
from __future__ import annotations

import sys

from tests.support.replay_lab import ReplayLab

PRELUDE = """\
import os, sys, time
PORT = int(os.environ["PORT"])
def look(x):
    return {"look": x}
def save(x):
    return "saved"
def say(*x):
    look([str(a) for a in x] if len(x) != 1 else str(x[0]))
"""
TOOLS = ("look=read", "save=write", "get=read", "ask=read")


def record(lab: ReplayLab, text: str) -> None:
    """Record a program, however it ends, with its functions of these names as tools."""
    lab.write(PRELUDE + text)
    command = ["-m", "agentdbg.cli.main", "--store", str(lab.store), "record"]
    command += [word for tool in TOOLS for word in ("--tool", tool)]
    lab.record(command=[*command, "--", sys.executable, str(lab.program)], ok=False)


def change(lab: ReplayLab, text: str) -> None:
    """Put another program in its place."""
    lab.write(PRELUDE + text)


_CLASSES = """\
import dataclasses, enum, datetime, decimal, uuid, pathlib, collections, fractions
@dataclasses.dataclass
class D:
    a: int
    b: list
@dataclasses.dataclass(frozen=True, slots=True)
class F:
    a: int
    t: datetime.datetime
class E(enum.Enum):
    A='a'
    B='b'
class I(enum.IntFlag):
    X=1
    Y=2
class N(collections.namedtuple('N','x y')): pass
"""
UNCHANGED = {
    "pathlib_log": """\
from pathlib import Path
p = Path("agent.log")
old = p.read_text() if p.exists() else ""
p.write_text(old + "a\\n"); say(old)
p.write_text(p.read_text() + "b\\n"); say(p.read_text())
""",
    "agent_with_tools_from_outside": """\
import agentdbg
@agentdbg.agent
def run(x):
    say("a"); return look(x)
if __name__ == "__main__":
    run(1)
""",
    "items_up_to_a_break": """\
def get(n):
    for i in range(n): yield i
for x in get(5):
    if x == 2: break
say(x, list(zip([1, 2, 3], get(5))), list(get(2)))
""",
    "async_generator_closed_sent_to_and_thrown_at": """\
import asyncio
async def get(n):
    told = None
    for i in range(n):
        try: told = yield (i, told)
        except ValueError: told = "thrown"
async def main():
    g = get(5)
    seen = [await g.asend(None), await g.asend("sent"), await g.athrow(ValueError())]
    await g.aclose()
    say(seen)
asyncio.run(main())
""",
    "rotating_log": """\
import logging, logging.handlers
h = logging.handlers.RotatingFileHandler("r.log", maxBytes=200, backupCount=3)
log = logging.getLogger("x"); log.addHandler(h); log.setLevel("INFO")
for i in range(20):
    log.info("line %d of the log", i)
say(sorted(os.listdir(".")), open("r.log").read())
""",
    "sqlite_wal": """\
import sqlite3
c = sqlite3.connect("s.db"); c.execute("pragma journal_mode=wal"); c.execute("create table if not exists t(x)")
n = c.execute("select count(*) from t").fetchone()[0]; say(n)
c.execute("insert into t values(1)"); c.commit()
c2 = sqlite3.connect("s.db"); say(c2.execute("select count(*) from t").fetchone())
c2.close(); c.close()
""",
    "shelve": """\
import shelve
with shelve.open("sh") as s:
    say(s.get("n", 0)); s["n"] = s.get("n", 0) + 1
with shelve.open("sh") as s: say(s["n"], list(s))
""",
    "dbm_dumb": """\
import dbm.dumb
with dbm.dumb.open("dd", "c") as s:
    say(s.get(b"n", b"0")); s[b"n"] = b"5"
""",
    "fcntl_lock": """\
import fcntl
with open("lock", "a+") as f:
    fcntl.flock(f, fcntl.LOCK_EX); f.seek(0); say(f.read()); f.write("x"); f.flush(); fcntl.lockf(f, fcntl.LOCK_UN)
""",
    "mmap_file": """\
import mmap
with open("m.bin", "w+b") as f:
    f.write(b"\\0" * 4096); f.flush()
    m = mmap.mmap(f.fileno(), 4096); m[0:5] = b"hello"; m.flush(); say(m[:5]); m.close()
say(open("m.bin","rb").read()[:5])
""",
    "delete_remake": """\
for i in range(3):
    say(os.path.exists("f")); open("f","w").write(str(i)); say(open("f").read()); os.remove("f")
""",
    "unicode_names": """\
n = "日本 é\\u0301 🙂.txt"; open(n,"w",encoding="utf-8").write("ü"); say(sorted(x for x in os.listdir(".") if not x.startswith(".")), open(n,encoding="utf-8").read())
""",
    "surrogate_name": """\
n = b"bad\\xff.txt"; open(n,"w").write("u"); say([x for x in os.listdir(b".") if x.startswith(b"bad")]); os.remove(n)
""",
    "tree_made_removed": """\
import shutil
os.makedirs("a/b/c", exist_ok=True); open("a/b/c/f","w").write("1"); say(sorted(str(x) for x in __import__("pathlib").Path("a").rglob("*")))
shutil.rmtree("a"); say(os.path.exists("a"))
""",
    "tempfiles": """\
import tempfile
with tempfile.TemporaryDirectory() as t:
    say(t); open(t+"/x","w").write("1"); say(os.listdir(t))
f = tempfile.NamedTemporaryFile(suffix=".txt", delete=False); say(f.name); f.write(b"x"); f.close(); say(os.path.getsize(f.name)); os.unlink(f.name)
with tempfile.TemporaryFile() as t: t.write(b"abc"); t.seek(0); say(t.read())
with tempfile.SpooledTemporaryFile() as t: t.write(b"abc"); t.rollover(); t.seek(0); say(t.read())
fd, n = tempfile.mkstemp(); say(n); os.close(fd); os.unlink(n)
""",
    "own_mtime": """\
open("f","w").write("b"); age = time.time() - os.path.getmtime("f"); say(age < 5, age > -5)
""",
    "cache_ttl": """\
import json
if os.path.exists("c.json") and time.time() - os.path.getmtime("c.json") < 3600: say("hit")
else: say("miss"); json.dump({}, open("c.json","w"))
if os.path.exists("c.json") and time.time() - os.path.getmtime("c.json") < 3600: say("hit")
else: say("miss")
""",
    "atomic_replace": """\
import tempfile
fd, n = tempfile.mkstemp(dir="."); os.write(fd,b"x"); os.fsync(fd); os.close(fd); os.replace(n,"final"); say(open("final").read())
""",
    "exclusive": """\
try:
    open("lockfile","x").close(); say("got")
except FileExistsError: say("taken")
""",
    "fifo": """\
import threading
os.mkfifo("ff")
t = threading.Thread(target=lambda: open("ff","w").write("hi")); t.start(); say(open("ff").read()); t.join(); os.unlink("ff")
""",
    "scandir_order": """\
for i in range(20): open(f"f{i}","w").close()
say([e.name for e in os.scandir(".") if e.name.startswith("f")])
""",
    "exit3": """\
say(1); sys.exit(3)
""",
    "exit_text": """\
say(1); sys.exit("bad thing happened")
""",
    "os_exit4": """\
say(1); sys.stdout.flush(); os._exit(4)
""",
    "uncaught": """\
class Broken(Exception):
    def __init__(self, code, *, why): super().__init__(code); self.code, self.why = code, why
say(1); raise Broken(3, why="x")
""",
    "keyboard_interrupt": """\
say(1); raise KeyboardInterrupt
""",
    "setitimer": """\
import signal
class TimeUp(Exception): pass
def h(s,f): raise TimeUp()
signal.signal(signal.SIGALRM, h); signal.setitimer(signal.ITIMER_REAL, 0.3)
try:
    while True: time.sleep(0.01)
except TimeUp: say("timeout")
""",
    "alarm_tool_timeout": """\
import signal
def h(s,f): raise TimeoutError("slow")
signal.signal(signal.SIGALRM, h); signal.alarm(5); say("fast"); signal.alarm(0); say(signal.getsignal(signal.SIGALRM) is h)
""",
    "signal_self_usr1": """\
import signal
got = []
signal.signal(signal.SIGUSR1, lambda s,f: (got.append(s), say("in handler")))
os.kill(os.getpid(), signal.SIGUSR1); say(got)
signal.raise_signal(signal.SIGUSR1); say(len(got))
""",
    "atexit_tool": """\
import atexit
atexit.register(lambda: say("bye")); say("hi")
""",
    "atexit_file": """\
import atexit, json
atexit.register(lambda: json.dump({"a":1}, open("state.json","w"))); say(os.path.exists("state.json"))
""",
    "excepthook": """\
def hook(t, v, tb): say("hook", t.__name__); print("HOOKED")
sys.excepthook = hook
say(1); raise ValueError("x")
""",
    "env_changes": """\
os.environ["MY_X"] = "1"; say(os.environ["MY_X"]); os.environ.pop("MY_X"); say(os.getenv("MY_X"), os.getenv("HOME"))
""",
    "generators": """\
def gen():
    x = yield 1
    say("got", x)
    try: yield 2
    finally: say("closed")
g = gen(); next(g); g.send("v"); g.close()
say(sum(i for i in range(10)))
""",
    "contextvars": """\
import contextvars, threading
v = contextvars.ContextVar("v", default=0); v.set(5)
def f(): say("in ctx", v.get())
ctx = contextvars.copy_context(); v.set(6); ctx.run(f); f()
t = threading.Thread(target=ctx.run, args=(f,)); t.start(); t.join()
""",
    "write_module_then_import": """\
open("made_mod.py","w").write("V = 42\\n"); sys.path.insert(0, os.getcwd())
import made_mod
say(made_mod.V)
""",
    "exec_compile": """\
ns = {}; exec(compile("x = [i*i for i in range(3)]", "<gen>", "exec"), ns); say(ns["x"])
""",
    "main_pickle": """\
import pickle
class P:
    def __init__(self, a): self.a = a
x = pickle.loads(pickle.dumps(P(3))); say(x.a, P.__module__, x.__class__ is P)
""",
    "main_check_module": """\
import __main__
say(__main__.__file__ == __file__, hasattr(__main__, "say"), __spec__ is None, sys.modules["__main__"] is __main__)
""",
    "name_main_nested": """\
def main():
    say("main")
if __name__ == "__main__":
    main()
    if __name__ == "__main__": say("again", __name__)
""",
    "recursion": """\
def f(n): return 0 if n == 0 else 1 + f(n-1)
say(f(900)); say(sys.getrecursionlimit())
def g(): return g()
try: g()
except RecursionError as e: say("rec")
""",
    "stdout_redirect": """\
import io, contextlib
b = io.StringIO()
with contextlib.redirect_stdout(b): print("hidden")
say(b.getvalue()); print("shown")
""",
    "stdout_tee": """\
class Tee:
    def __init__(s, o): s.o = o; s.n = 0
    def write(s, t): s.n += len(t); return s.o.write(t)
    def flush(s): s.o.flush()
sys.stdout = Tee(sys.stdout); print("hello"); say(sys.stdout.n)
""",
    "os_dup_stdout": """\
sys.stdout.flush(); k = os.dup(1); fd = os.open("out.txt", os.O_CREAT|os.O_WRONLY|os.O_TRUNC, 0o600); os.dup2(fd, 1); print("to file", flush=True); os.dup2(k, 1); os.close(k); os.close(fd); say(open("out.txt").read()); print("back")
""",
    "closerange": """\
os.closerange(3, 256); say("still")
""",
    "close_fds_proc": """\
for fd in os.listdir("/proc/self/fd"):
    if int(fd) > 2:
        try: os.close(int(fd))
        except OSError: pass
say("still")
""",
    "argparse_error": """\
import argparse
say("start")
p = argparse.ArgumentParser(); p.add_argument("--n",type=int,required=True)
a = p.parse_args(); say(a.n)
""",
    "dc": _CLASSES
    + """
def get(*a, **k):
    return D(a[0],[1,{'k':(1,2)}])
r = get(1); say(r, type(r).__name__, r == D(1,[1,{'k':(1,2)}])); get(r); r.b.append(1); get(r)
""",
    "dc_frozen": _CLASSES
    + """
def get(*a, **k):
    return F(1, datetime.datetime(2020,1,2,3,4,5,6, tzinfo=datetime.timezone.utc))
r = get(1); say(r); get(r, k=r); say(hash(r) == hash(F(1, r.t)))
""",
    "enum": _CLASSES
    + """
def get(*a, **k):
    return [E.A, I.X|I.Y]
r = get(E.B, I.Y); say(r, r[0] is E.A, type(r[1]).__name__)
""",
    "namedtuple": _CLASSES
    + """
def get(*a, **k):
    return N(1,2)
r = get(N(0,1)); say(r, r.x, type(r) is N)
""",
    "stdlib_values": _CLASSES
    + """
def get(*a, **k):
    return [datetime.date(2020,1,1), datetime.time(1,2), datetime.timedelta(1,2,3), decimal.Decimal('1.10'), uuid.UUID(int=5), pathlib.Path('/a/b'), fractions.Fraction(1,3), complex(1,2), range(3), slice(1,2), Ellipsis, NotImplemented]
r = get(*get()); say(r, [type(x).__name__ for x in r])
""",
    "set_values": """\
def get(*a, **k):
    return {'b','a',('x',1),frozenset({1,2})}
r = get({3,1,2}); say(sorted(map(str,r))); say(r == {'b','a',('x',1),frozenset({1,2})})
""",
    "dict_nonstr": """\
def get(*a, **k):
    return {1:'a',(1,2):'b',None:'c',1.5:'d',b'x':'e',True:'f'}
r = get({2:1,'2':2}); say(r, list(r))
""",
    "dict_order": """\
def get(*a, **k):
    return {'b':1,'a':2}
r = get({'z':1,'y':2}, b=1, a=2); say(list(r), r)
""",
    "nan_inf": """\
def get(*a, **k):
    return [float('nan'), float('inf'), -float('inf'), -0.0, 1e-320, 1e308, 0.1+0.2]
r = get(float('nan'), -0.0); say(r)
""",
    "bigint": """\
def get(*a, **k):
    return [2**70, -2**70, 2**64, 10**400]
r = get(2**80); say(r[0], len(str(r[3])))
""",
    "surrogates": """\
def get(*a, **k):
    return 'a\\udcff\\ud83d b\\x00\\u2028'
r = get('\\udc80'); say(ascii(r)); look(r)
""",
    "bytes_vals": """\
def get(*a, **k):
    return [b'\\x00\\xff', bytearray(b'ab'), memoryview(b'cd').tobytes()]
r = get(b'z'*1000, bytearray(b'q')); say(r, [type(x).__name__ for x in r])
""",
    "none_identity": """\
def get(*a, **k):
    return (None, True, '', (), 0)
r = get(); say(r[0] is None, r[1] is True, r)
""",
    "returns_gen": """\
def get(*a, **k):
    yield 1
    yield 2
r = list(get(3)); say(r)
""",
    "huge_result": """\
def get(*a, **k):
    return 'x'*5_000_000 + str(list(range(100000)))
r = get('y'*3_000_000); say(len(r)); look(r[:100000])
""",
    "deep_result": """\
def get(*a, **k):
    x = 0
    for i in range(500): x = [x]
    return x
r = get(); n = 0
while isinstance(r, list): r = r[0]; n += 1
say(n)
""",
    "int_subclass_bool": """\
def get(*a, **k):
    return [True, 1, 1.0]
r = get(True, 1, 1.0); say(r)
""",
    "kwargs_defaults": """\
def get(*a, **k):
    return k
say(get(1, b=2, a=3))
""",
    "recursive_tool": """\
def get(*a, **k):
    return 1 if a[0] == 0 else a[0] * get(a[0]-1)
say(get(5))
""",
    "async_tool": """\
import asyncio
async def get(x): await asyncio.sleep(0.01); return x * 2
async def main(): say(await asyncio.gather(*[get(i) for i in range(5)]))
asyncio.run(main())
""",
    "async_gen_tool": """\
import asyncio
async def get(x):
    for i in range(3): yield i
async def main(): say([i async for i in get(1)])
asyncio.run(main())
""",
    "cached_tool": """\
import functools
@functools.lru_cache
def get(x): return [x]
say(get(1), get(1), get(1) is get(1))
""",
    "exc_own": """\
class Own(Exception):
    def __init__(self, code, detail):
        super().__init__(f'{code}: {detail}'); self.code, self.detail = code, detail
class Kw(ValueError):
    def __init__(self, *, code): self.code = code
class Strs(RuntimeError):
    def __str__(self): return 'custom '+repr(self.args)
class Slot(Exception):
    __slots__=('z',)
    def __init__(s): s.z=4

def get(*a, **k):
    raise Own(3,'d')
try: get(1)
except BaseException as e: say(type(e).__name__, str(e), e.code, e.detail, e.args, type(e) is Own)
""",
    "exc_kw": """\
class Own(Exception):
    def __init__(self, code, detail):
        super().__init__(f'{code}: {detail}'); self.code, self.detail = code, detail
class Kw(ValueError):
    def __init__(self, *, code): self.code = code
class Strs(RuntimeError):
    def __str__(self): return 'custom '+repr(self.args)
class Slot(Exception):
    __slots__=('z',)
    def __init__(s): s.z=4

def get(*a, **k):
    raise Kw(code=7)
try: get(1)
except BaseException as e: say(type(e).__name__, str(e), e.code, e.args)
""",
    "exc_str": """\
class Own(Exception):
    def __init__(self, code, detail):
        super().__init__(f'{code}: {detail}'); self.code, self.detail = code, detail
class Kw(ValueError):
    def __init__(self, *, code): self.code = code
class Strs(RuntimeError):
    def __str__(self): return 'custom '+repr(self.args)
class Slot(Exception):
    __slots__=('z',)
    def __init__(s): s.z=4

def get(*a, **k):
    raise Strs(1,2)
try: get(1)
except BaseException as e: say(str(e), e.args, repr(e))
""",
    "exc_slot": """\
class Own(Exception):
    def __init__(self, code, detail):
        super().__init__(f'{code}: {detail}'); self.code, self.detail = code, detail
class Kw(ValueError):
    def __init__(self, *, code): self.code = code
class Strs(RuntimeError):
    def __str__(self): return 'custom '+repr(self.args)
class Slot(Exception):
    __slots__=('z',)
    def __init__(s): s.z=4

def get(*a, **k):
    raise Slot()
try: get(1)
except BaseException as e: say(e.z)
""",
    "exc_cause": """\
def get(*a, **k):
    try: 1/0
    except ZeroDivisionError as z: raise ValueError('v') from z
try: get()
except ValueError as e: say(repr(e), repr(e.__cause__), repr(e.__context__), e.__suppress_context__)
""",
    "exc_context": """\
def get(*a, **k):
    try: 1/0
    except ZeroDivisionError as z: raise ValueError('v')
try: get()
except ValueError as e: say(repr(e), repr(e.__cause__), repr(e.__context__))
""",
    "exc_group": """\
class Own(Exception):
    def __init__(self, code, detail):
        super().__init__(f'{code}: {detail}'); self.code, self.detail = code, detail
class Kw(ValueError):
    def __init__(self, *, code): self.code = code
class Strs(RuntimeError):
    def __str__(self): return 'custom '+repr(self.args)
class Slot(Exception):
    __slots__=('z',)
    def __init__(s): s.z=4

def get(*a, **k):
    raise ExceptionGroup('many',[ValueError(1),ExceptionGroup('in',[KeyError('k'),OSError(2,'no','f')])])
try: get(1)
except BaseException as e: say(repr(e), e.subgroup(KeyError), len(e.exceptions))
""",
    "exc_star": """\
def get(*a, **k):
    raise ExceptionGroup('g',[ValueError(1),TypeError('t')])
try: get()
except* ValueError as g: say('v', g.exceptions)
except* TypeError as g: say('t', g.exceptions)
""",
    "exc_notes": """\
def get(*a, **k):
    e = ValueError('v'); e.add_note('note'); raise e
try: get()
except ValueError as e: say(e.__notes__)
""",
    "exc_keyerror": """\
def get(*a, **k):
    return {}['q']
try: get()
except KeyError as e: say(e.args, str(e))
""",
    "exc_unicode": """\
def get(*a, **k):
    return b'\\xff'.decode()
try: get()
except UnicodeDecodeError as e: say(str(e), e.start, e.object)
""",
    "exc_stopiter": """\
def get(*a, **k):
    raise StopIteration(5)
try: get()
except StopIteration as e: say(e.value)
""",
    "exc_sysexit": """\
def get(*a, **k):
    raise SystemExit(5)
try: get()
except SystemExit as e: say(e.code)
""",
    "exc_json": """\
def get(*a, **k):
    import json; json.loads('{bad')
import json
try: get()
except json.JSONDecodeError as e: say(str(e), e.pos, e.doc, e.lineno)
""",
    "exc_subproc": """\
def get(*a, **k):
    import subprocess; raise subprocess.CalledProcessError(3,['a'],b'out',b'err')
import subprocess
try: get()
except subprocess.CalledProcessError as e: say(str(e), e.returncode, e.output, e.stderr)
""",
    "exc_importerr": """\
def get(*a, **k):
    import no_such_module_x
try: get()
except ImportError as e: say(str(e), e.name, type(e).__name__)
""",
    "exc_in_handler": """\
def get(*a, **k):
    try: 1/0
    except ZeroDivisionError: raise KeyError('k')
try: raise ValueError('mine')
except ValueError as v:
    try: get()
    except KeyError as e: say(repr(e.__context__), repr(e.__context__.__context__), e.__context__.__context__ is v)
""",
    "exc_from_none": """\
def get(*a, **k):
    try: 1/0
    except ZeroDivisionError: raise KeyError('k') from None
try: get()
except KeyError as e: say(e.__suppress_context__, repr(e.__context__), e.__cause__)
""",
    "exc_taskgroup": """\
import asyncio
async def bad(n):
    await asyncio.sleep(0.01*n); raise ValueError(n)
async def get(x):
    async with asyncio.TaskGroup() as tg:
        tg.create_task(bad(1)); tg.create_task(bad(1))
async def main():
    try: await get(1)
    except* ValueError as g: say(repr(g.exceptions), g.message)
asyncio.run(main())
""",
    "exc_own_group": """\
class G(ExceptionGroup):
    pass

def get(*a, **k):
    raise G('m',[ValueError(1)])
try: get()
except G as e: say(type(e).__name__, e.exceptions, e.message)
""",
    "exc_own_oserror": """\
class MyErr(OSError):
    extra = 7

def get(*a, **k):
    raise MyErr(5,'no','file')
try: get()
except MyErr as e: say(e.errno, e.filename, str(e), e.extra)
""",
    "exc_own_exit": """\
class Stop(SystemExit): pass

def get(*a, **k):
    raise Stop(7)
try: get()
except Stop as e: say(e.code, e.args)
""",
    "exc_attr": """\
def get(*a, **k):
    return (1).foo
try: get()
except AttributeError as e: say(e.name, str(e))
""",
    "exc_name": """\
def get(*a, **k):
    return undefined_x
try: get()
except NameError as e: say(e.name, str(e))
""",
    "exc_syntax": """\
def get(*a, **k):
    compile('a b', 'f.py', 'exec')
try: get()
except SyntaxError as e: say(e.msg, e.lineno, e.offset, e.text, e.filename, str(e))
""",
    "time_ctime": """\
say(time.ctime(), time.strftime("%c %f"), time.gmtime(), time.localtime(), time.asctime())
""",
    "time_clock_gettime": """\
say(time.clock_gettime(time.CLOCK_REALTIME), time.clock_gettime_ns(time.CLOCK_MONOTONIC))
""",
    "time_from_import": """\
from time import time as now, monotonic as mono, strftime
from datetime import datetime as DT
say(now(), mono(), DT.now(), strftime("%H:%M:%S"))
""",
    "time_default_arg": """\
def f(t=time.time()): return t
say(f())
import dataclasses, datetime
@dataclasses.dataclass
class A:
    t: object = dataclasses.field(default_factory=datetime.datetime.now)
    u: float = dataclasses.field(default_factory=time.time)
say(A())
""",
    "time_map": """\
say(list(map(lambda _: time.time(), range(3))))
import functools
say(functools.partial(time.strftime, "%s")())
""",
    "time_formatdate": """\
import email.utils
say(email.utils.formatdate(), email.utils.format_datetime(email.utils.localtime()))
""",
    "uuid_all": """\
import uuid
say(uuid.uuid1().version, uuid.uuid4(), uuid.uuid5(uuid.NAMESPACE_DNS,"x"), uuid.getnode() > 0)
""",
    "uuid1": """\
import uuid
say(uuid.uuid1())
""",
    "random_all": """\
import random
say(random.random(), random.randint(1,10**9), random.choice("abcdef"), random.sample(range(1000),5), random.gauss(0,1), random.getrandbits(70), random.uniform(0,1)); x = list(range(20)); random.shuffle(x); say(x); random.seed(5); say(random.random()); say(random.Random(3).random())
""",
    "random_seed_none": """\
import random
random.seed(); say(random.random())
""",
    "random_thread": """\
import random, threading
ts = [threading.Thread(target=lambda i=i: say(i, random.random())) for i in range(3)]
for t in ts: t.start(); t.join()
""",
    "hash_order": """\
say(list({"a","b","c","d","e","f"}), hash("x"), set("hello world"), frozenset(["q","w","e"]))
""",
    "locale": """\
import locale
say(locale.getlocale(), locale.getpreferredencoding(), sys.getdefaultencoding(), sys.stdout.encoding, sys.getfilesystemencoding())
locale.setlocale(locale.LC_ALL, ""); say(locale.localeconv()["decimal_point"])
""",
    "gc": """\
import gc
say(gc.isenabled(), gc.get_threshold()); gc.collect(); say(1)
""",
    "weakref": """\
import weakref, gc
class A: pass
a = A(); weakref.finalize(a, lambda: say("gone")); del a; gc.collect(); say("end")
""",
    "del_tool": """\
class A:
    def __del__(self): say("del")
a = A(); del a; say("end")
""",
    "sleep_deadline": """\
t = time.monotonic()
n = 0
while time.monotonic() - t < 0.5: n += 1; time.sleep(0.1)
say(n, round(time.monotonic() - t, 1))
""",
    "busy_deadline": """\
t = time.time()
n = 0
while time.time() - t < 0.05: n += 1
say(n > 0)
""",
    "event_wait": """\
import threading
e = threading.Event(); t = time.monotonic(); say(e.wait(0.3)); say(round(time.monotonic() - t, 1) >= 0.3)
""",
    "timer_thread": """\
import threading
r = []
t = threading.Timer(0.2, lambda: r.append(say("timer"))); t.start(); t.join(); say(len(r))
""",
    "sched": """\
import sched
s = sched.scheduler(); s.enter(0.2, 1, say, ("a",)); s.enter(0.1, 1, say, ("b",)); s.run()
""",
    "select_timeout": """\
import select
r, w = os.pipe(); say(select.select([r],[],[],0.2)); os.write(w,b"x"); say(len(select.select([r],[],[],0.2)[0]))
""",
    "prog_not_found": """\
import subprocess
try: subprocess.run(["no-such-prog-xyz"])
except FileNotFoundError as e: say(e.filename)
""",
    "which": """\
import shutil
say(shutil.which("git"), shutil.which("no-such-x"))
""",
    "py_c_input": """\
import subprocess
r = subprocess.run([sys.executable,"-c","import sys; print(sys.stdin.read()[::-1]); sys.exit(7)"],input="abc",capture_output=True,text=True); say(r.stdout, r.returncode)
""",
    "py_popen_pipe": """\
import subprocess
p = subprocess.Popen([sys.executable,"-u","-c","import sys\\nfor l in sys.stdin: print(l.strip().upper())"],stdin=-1,stdout=-1,text=True); p.stdin.write("a\\n"); p.stdin.flush(); say(p.stdout.readline()); p.stdin.write("b\\n"); p.stdin.close(); say(p.stdout.read(), p.wait())
""",
    "vfork_posix_spawn": """\
pid = os.posix_spawn(sys.executable,[sys.executable,"-c","import sys; sys.exit(4)"],os.environ); say(os.waitstatus_to_exitcode(os.waitpid(pid,0)[1]))
""",
    "fork_wait": """\
r, w = os.pipe()
pid = os.fork()
if pid == 0:
    os.write(w, b"hi"); os._exit(3)
say(os.read(r, 2)); say(os.waitstatus_to_exitcode(os.waitpid(pid,0)[1]))
""",
    "shared_mem": """\
from multiprocessing import shared_memory
s = shared_memory.SharedMemory(create=True,size=10); s.buf[0] = 5; say(s.buf[0]); s.close(); s.unlink()
""",
    "dev_null_rand": """\
open("/dev/null","w").write("x"); say(len(open("/dev/urandom","rb").read(4)))
""",
    "inotify": """\
import ctypes
l = ctypes.CDLL(None); fd = l.inotify_init(); l.inotify_add_watch(fd, b".", 0x100); open("nn","w").close(); say(len(os.read(fd, 999)) > 0)
""",
    "dev_shm": """\
open("/dev/shm/t2x","w").write("1"); say(open("/dev/shm/t2x").read()); os.unlink("/dev/shm/t2x")
""",
    "getfqdn": """\
import socket
say(socket.getfqdn())
""",
    "getaddrinfo_localhost": """\
import socket
say(sorted(socket.getaddrinfo("localhost",80)))
""",
    "socketpair": """\
import socket
a, b = socket.socketpair(); a.sendall(b"x"); say(b.recv(1))
""",
}

REFUSED = {
    "git_sub": (
        "git",
        """\
import subprocess
r = subprocess.run(["git","--version"],capture_output=True,text=True); say(r.stdout)
""",
    ),
    "os_popen": (
        "/bin/sh",
        """\
say(os.popen("echo hi").read())
""",
    ),
    "memfd_exec": (
        "/proc/self/fd",
        """\
import subprocess
fd = os.memfd_create("x"); os.write(fd, open("/bin/true","rb").read()); r = subprocess.run([f"/proc/self/fd/{fd}"], pass_fds=[fd]); say(r.returncode)
""",
    ),
    "urllib_post": (
        "127.0.0.1",
        """\
import urllib.request
say(urllib.request.urlopen(f"http://127.0.0.1:{PORT}/", data=b"a=1").read())
""",
    ),
    "http_client": (
        "127.0.0.1",
        """\
import http.client
c = http.client.HTTPConnection("127.0.0.1",PORT); c.request("GET","/"); say(c.getresponse().read())
""",
    ),
    "swallowed_all": (
        "127.0.0.1",
        """\
import urllib.request
try: urllib.request.urlopen(f"http://127.0.0.1:{PORT}/").read()
except BaseException: pass
say("fine")
""",
    ),
    "own_ip_udp": (
        "8.8.8.8",
        """\
import socket
s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
try: s.connect(("8.8.8.8",80)); ip = s.getsockname()[0]
except OSError: ip = "none"
say(ip)
""",
    ),
    "unix_socket_self": (
        "u.sock",
        """\
import socket, threading
if os.path.exists("u.sock"): os.unlink("u.sock")
s = socket.socket(socket.AF_UNIX); s.bind("u.sock"); s.listen()
def srv():
    c, _ = s.accept(); c.sendall(b"hi"); c.close()
t = threading.Thread(target=srv); t.start(); c = socket.socket(socket.AF_UNIX); c.connect("u.sock"); say(c.recv(9)); t.join(); os.unlink("u.sock")
""",
    ),
    "abstract_socket": (
        "bind",
        """\
import socket
s = socket.socket(socket.AF_UNIX); s.bind("\\0abc-t2"); s.listen(); c = socket.socket(socket.AF_UNIX); c.connect("\\0abc-t2"); say("ok")
""",
    ),
    "sig_parent": (
        "os.kill",
        """\
import signal
try: os.kill(os.getppid(), signal.SIGCONT)
except OSError: pass
say(1)
""",
    ),
    "ptrace": (
        "ptrace",
        """\
import ctypes
say(ctypes.CDLL(None).ptrace(0,0,0,0))
""",
    ),
    "proc_mem": (
        "/mem",
        """\
f = open("/proc/self/mem","r+b",0); say("opened")
""",
    ),
    "io_uring": (
        "syscall",
        """\
import ctypes
l = ctypes.CDLL(None, use_errno=True); p = ctypes.create_string_buffer(200); say(l.syscall(425, 4, p) >= -1)
""",
    ),
    "getaddr_bad": (
        "no.such.host.invalid",
        """\
import socket
try: socket.getaddrinfo("no.such.host.invalid",80)
except OSError as e: say(type(e).__name__)
""",
    ),
}

NOT_IN_THE_RECORD = {
    "mutates_arg": """\
def get(*a, **k):
    a[0].append('added'); a[0][0]['k'] = 2; return len(a[0])
x = [{'k':1}]; r = get(x); say(x, r)
""",
    "fills_buffer": """\
def get(*a, **k):
    a[0][:] = b'filled'
b = bytearray(6); get(b); say(bytes(b))
""",
    "returns_arg": """\
def get(*a, **k):
    return a[0]
x = [1]; y = get(x); y.append(2); say(x, x is y)
""",
    "secrets": """\
import secrets
say(secrets.token_hex(4))
""",
    "urandom": """\
say(os.urandom(4))
""",
    "sysrandom": """\
import random
say(random.SystemRandom().random())
""",
    "id_repr": """\
say(repr(object()), id([]))
""",
    "exc_tb_full": """\
def get(*a, **k):
    raise LookupError('gone')
import traceback
try: get()
except LookupError as e: say(traceback.format_exc())
""",
}

"""Programs that look at what a launcher might change about them: scripts, modules, code, and the files they need."""
# ruff: noqa: E501  # whole programs on a line

from __future__ import annotations

from dataclasses import dataclass, field


@dataclass(frozen=True, slots=True)
class Program:
    """A program.

    Attributes:
        words: What follows the interpreter.
        files: Files to make in its working directory.
        stdin: What it reads.
        env: Additional variables; ``{cwd}`` is the working directory.
    """

    words: tuple[str, ...] = ("prog.py",)
    files: dict[str, str] = field(default_factory=dict)
    stdin: bytes = b""
    env: dict[str, str] = field(default_factory=dict)


def script(text: str, *arguments: str, options: tuple[str, ...] = (), **files: str) -> Program:
    """A script with arguments; ``files`` are further modules."""
    return Program((*options, "prog.py", *arguments), {"prog.py": text, **{f"{k}.py": v for k, v in files.items()}})


_LOOK = """
import sys, os, locale, threading, signal
print(sys.path, sys.flags, sys.executable, sys.prefix, sys.base_prefix, sys.warnoptions, sys._xoptions)
print(sys.stdin.encoding, sys.stdout.encoding, sys.stderr.errors, sys.stdout.line_buffering, locale.getlocale())
print(sys.getrecursionlimit(), sys.gettrace(), sys.getprofile(), sys.getswitchinterval(), sys.dont_write_bytecode)
print(threading.enumerate()[0].name, threading.active_count(), sys.getfilesystemencoding(), sys.excepthook.__name__)
print(sys.displayhook.__name__, sys.unraisablehook.__name__, threading.excepthook.__name__, len(sys.path_hooks))
print(os.getcwd(), os.umask(0o22), os.getpgrp() == os.getpgid(os.getppid()), os.getsid(0) == os.getsid(os.getppid()))
print({n: v for n, v in os.environ.items() if not n.startswith("AGENTDBG") and n not in ("PYTHONPATH", "PYTHONHASHSEED")})
print([str(signal.getsignal(n)) for n in sorted(signal.valid_signals())], signal.pthread_sigmask(signal.SIG_BLOCK, []))
print(sorted(int(n) for n in os.listdir("/proc/self/fd"))[:-1] if os.path.isdir("/proc/self/fd") else "")
print(sorted(vars(sys.modules["__main__"])), __name__, __spec__ and __spec__.origin, type(__loader__).__name__, globals().get("__file__"))
try:
    import sitecustomize
except ImportError as error:
    print(repr(error), error.name)
"""
_DIES = "import os, signal, sys; print('before', flush=True); os.kill(os.getpid(), signal.{0})"
_POOL = """
import multiprocessing, sys
def square(n):
    print("child", n, sys.path == PATH, flush=True); return n * n
PATH = list(sys.path)
if __name__ == "__main__":
    context = multiprocessing.get_context("{0}")
    with context.Pool(1) as pool:
        print(pool.map(square, range(3)), flush=True)
    process = context.Process(target=square, args=(9,)); process.start(); process.join(); print(process.exitcode)
    process = context.Process(target=exit, args=(5,)); process.start(); process.join(); print(process.exitcode)
"""
_SITE = (
    "import sys; print('user site', __name__, __file__, sys.modules['sitecustomize'].__dict__ is globals()); MARK = 7\n"
)

PROGRAMS: dict[str, Program] = {
    "argv": script("import sys; print(sys.argv, sys.orig_argv)", "--json", "--", "", "é\udcff", "--run-id", "a b"),
    "look": script(_LOOK),
    "look with options": script(_LOOK, options=("-X", "utf8", "-W", "ignore", "-O", "-u", "-B", "-s")),
    "look as code": Program(("-c", _LOOK, "x")),
    "look from stdin": Program(("-", "x"), stdin=_LOOK.encode()),
    "look piped": Program((), stdin=_LOOK.encode()),
    "interactive": Program(("-i", "-c", "x = 1"), stdin=b"print(x)\n1/0\nx\n"),
    "module": Program(
        ("-m", "pack.main", "x"),
        {
            "pack/__init__.py": "",
            "pack/main.py": "from .other import name\nimport sys\nprint(name, __name__, __package__, sys.argv)" + _LOOK,
            "pack/other.py": "name = __name__",
        },
    ),
    "package": Program(("-m", "pack"), {"pack/__init__.py": "print(1)", "pack/__main__.py": "from . import x"}),
    "directory": Program(("place",), {"place/__main__.py": _LOOK}),
    "relative import of a script": Program(("pack/main.py",), {"pack/main.py": "from . import other"}),
    "script elsewhere": Program(
        ("deep/er/prog.py",), {"deep/er/prog.py": "import beside\n" + _LOOK, "deep/er/beside.py": ""}
    ),
    "stdin": script("import sys; print(sys.stdin.readline(), sys.stdin.buffer.read())"),
    "exit 3": script("import sys; sys.exit(3)"),
    "exit text": script("import sys; sys.exit('words')"),
    "exit 256": script("import sys; sys.exit(256)"),
    "os._exit": script("import os, sys; print('x', flush=True); os._exit(4)"),
    "interrupt raised": script("raise KeyboardInterrupt"),
    **{name: script(_DIES.format(name)) for name in ("SIGTERM", "SIGKILL", "SIGINT", "SIGHUP", "SIGUSR1", "SIGSEGV")},
    "traceback": script(
        "import other\ndef f():\n    try:\n        other.g()\n    except ValueError as e:\n        raise KeyError('x') from e\nf()",
        other="def g():\n    raise ValueError('é')",
    ),
    "traceback group": script("raise ExceptionGroup('many', [ValueError(1), TypeError(2)])"),
    "traceback of an import": script("import other", other="import missing_thing"),
    "traceback in a hooked module": script("import httpx", httpx="def f():\n    1 / 0\nf()"),
    "missing import in a hooked module": script("import httpx", httpx="import missing_thing"),
    "hooked module that leaves": script("import httpx", httpx="import sys; sys.exit(9)"),
    "names like ours": script("import start, events; print(start.x, events.x)", start="x = 1", events="x = 2"),
    "shadowed random": script(
        "import random, platform, uuid, inspect, json, re\nprint(random.x, random.__file__, platform.x, json.x, uuid.uuid4(), re.x)",
        random="x = 1\nprint('mine')\ndef seed(number):\n    print('seeded')\n",
        platform="x = 2",
        uuid="def uuid4(): return 'mine'",
        inspect="x = 4",
        json="x = 5",
        re="x = 6",
    ),
    "syntax error": script("def f(:\n"),
    "missing script": Program(("missing.py",)),
    "missing module": Program(("-m", "missing.module")),
    "warnings": script("import warnings\nwarnings.warn('w')\nopen(__file__)\n", options=("-W", "always", "-X", "dev")),
    "warnings are errors": script("print(1)", options=("-W", "error")),
    "atexit": script(
        "import atexit, threading, time\natexit.register(print, 'first')\natexit.register(print, 'last')\n"
        "threading.Thread(target=lambda: (time.sleep(0.05), print('thread'))).start()\nprint('main')"
    ),
    "thread dies": script("import threading\nthreading.Thread(target=lambda: 1 / 0, name='t').start()"),
    "asyncio": script(
        "import asyncio\nasync def f():\n    await asyncio.sleep(0)\n    raise ValueError\nasyncio.run(f())"
    ),
    "logging": script("import logging; logging.warning('w'); logging.getLogger('a').error('e %s', 1, exc_info=True)"),
    "unraisable": script(
        "import sys\nsys.unraisablehook = lambda u: print(u.err_msg, u.exc_value)\nclass A:\n    def __del__(self):\n        1 / 0\nA()"
    ),
    "daemon thread": script(
        "import threading, time; threading.Thread(target=time.sleep, args=(9,), daemon=True).start()"
    ),
    "binary": script("import os; os.write(1, bytes(range(256)) * 300); os.write(2, bytes(range(256)))"),
    "closes stderr": script("import os, sys; os.close(2); print('x'); sys.stderr.write('y')"),
    "closes all": script("import os; print('x', flush=True); os.closerange(0, 100)"),
    "closes and replaces": script("import sys; sys.stdout.close(); sys.stderr = None"),
    "fork": script(
        "import os, sys\npid = os.fork()\nif pid == 0:\n    sys.exit(5)\nprint(os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]))"
    ),
    "fork and die": script("import os, time\nif os.fork() == 0:\n    time.sleep(0.2)\n    print('late')\nos._exit(3)"),
    **{f"pool {way}": script(_POOL.format(way)) for way in ("fork", "spawn", "forkserver")},
    "executor": script(
        "import concurrent.futures as f\nif __name__ == '__main__':\n"
        "    with f.ProcessPoolExecutor(1) as pool: print(list(pool.map(abs, [-1, 2])))"
    ),
    "child with no environment": script(
        "import subprocess, sys\nprint(subprocess.run([sys.executable, '-c', 'import os, sys; print(dict(os.environ), sys.path)'],"
        " env={}, capture_output=True))"
    ),
    "child": script(
        "import subprocess, sys\nprint(subprocess.run([sys.executable, '-c', 'import sys; print(sys.path, sys.flags); 1/0'],"
        " capture_output=True))"
    ),
    "isolated child": script(
        "import subprocess, sys\nprint(subprocess.run([sys.executable, '-I', '-c', 'import sys; print(sys.path)']))"
    ),
    "exec": script(
        "import os, sys\nif len(sys.argv) > 1: print(sys.argv, sys.path); sys.exit(8)\n"
        "os.execv(sys.executable, [sys.executable, 'prog.py', 'again'])"
    ),
    "exec sh": script("import os; os.execvp('sh', ['sh', '-c', 'echo $0; exit 6', 'x'])"),
    "user's sitecustomize": Program(
        ("-c", "import sitecustomize, sys; print(sitecustomize.MARK, sitecustomize.__spec__.origin, sys.path)"),
        {"site/sitecustomize.py": _SITE},
        env={"PYTHONPATH": "{cwd}/site"},
    ),
    "user's sitecustomize raises": Program(
        ("-c", "import sys; print('sitecustomize' in sys.modules)"),
        {"site/sitecustomize.py": _SITE + "1/0\n"},
        env={"PYTHONPATH": "{cwd}/site"},
    ),
    "user's sitecustomize lacks something": Program(
        ("-c", "import sys; print('sitecustomize' in sys.modules)"),
        {"site/sitecustomize.py": _SITE + "import missing_thing\n"},
        env={"PYTHONPATH": "{cwd}/site"},
    ),
    "user's sitecustomize chains": Program(
        ("-c", "import sitecustomize, sys; print(sitecustomize.__file__, sys.path)"),
        {
            "first/sitecustomize.py": "import os, sys; here = os.path.dirname(__file__); sys.path.remove(here)\n"
            "me = sys.modules.pop('sitecustomize'); import sitecustomize; sys.path.insert(0, here)",
            "second/sitecustomize.py": _SITE,
        },
        env={"PYTHONPATH": "{cwd}/first:{cwd}/second"},
    ),
    "usercustomize": Program(
        ("-c", "print(1)"), {"site/usercustomize.py": "print('user')"}, env={"PYTHONPATH": "{cwd}/site"}
    ),
    "relative search path": Program(
        ("-c", "import beside, sys; print(beside.__file__, sys.path)"),
        {"lib/beside.py": ""},
        env={"PYTHONPATH": "lib:"},
    ),
    "a C locale": Program(("-c", _LOOK), env={"LANG": "C", "LC_ALL": ""}),
}

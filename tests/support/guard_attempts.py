"""An agent program that tries to reach outside in every way the guard tests know.

Run as ``python guard_attempts.py WORLD_JSON``; prints one JSON object per attempt. Each attempt makes its effect real
when nobody stops it: that is what the tests' control run shows.
"""

from __future__ import annotations

import asyncio
import concurrent.futures
import contextlib
import ctypes
import importlib
import json
import multiprocessing
import os
import pathlib
import shutil
import signal
import socket
import sqlite3
import subprocess
import sys
import tempfile
import threading
import urllib.request
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from agentdbg.replay.guard import Guard, Refused, Violation


@dataclass
class World:
    """Where the attempts can do harm.

    Attributes:
        port: TCP and UDP server on loopback.
        unix: Path of a UNIX stream server.
        outside: Directory that must not change; holds ``precious.txt`` and ``empty/``.
        scratch: Directory that may be written; ``scratch/way_out`` is a link to ``outside``.
        victim: Process that must live.
    """

    port: int
    unix: str
    outside: str
    scratch: str
    victim: int

    def new(self, name: str) -> str:
        """A path outside that does not exist yet."""
        return os.path.join(self.outside, name)

    @property
    def precious(self) -> str:
        return os.path.join(self.outside, "precious.txt")

    def copy(self, name: str) -> str:
        """A file of its own outside, made beforehand by the harness."""
        return os.path.join(self.outside, f"own_{name}.txt")


ATTEMPTS: dict[str, Callable[[World], object]] = {}


def attempt(function: Callable[[World], object]) -> Callable[[World], object]:
    ATTEMPTS[function.__name__] = function
    return function


def in_thread(work: Callable[[], object]) -> None:
    """Run in a bare thread and raise here what it raised there."""
    problems: list[BaseException] = []

    def run() -> None:
        try:
            work()
        except BaseException as problem:
            problems.append(problem)

    thread = threading.Thread(target=run)
    thread.start()
    thread.join()
    if problems:
        raise problems[0]


# Network


@attempt
def raw_socket(w: World) -> None:
    socket.create_connection(("127.0.0.1", w.port), timeout=5).close()


@attempt
def connect_ex(w: World) -> None:
    with socket.socket() as s:
        s.connect_ex(("127.0.0.1", w.port))


@attempt
def by_name(w: World) -> None:
    socket.create_connection(("localhost", w.port), timeout=5).close()


@attempt
def host_lookup(w: World) -> None:
    with contextlib.suppress(socket.gaierror):
        socket.gethostbyname("nowhere.invalid")


@attempt
def urllib_get(w: World) -> None:
    urllib.request.urlopen(f"http://127.0.0.1:{w.port}/", timeout=5).read()


@attempt
def httpx_get(w: World) -> None:
    import httpx

    httpx.get(f"http://127.0.0.1:{w.port}/", trust_env=False)


@attempt
def httpx2_async_get(w: World) -> None:
    import httpx2

    async def run() -> None:
        async with httpx2.AsyncClient(trust_env=False) as client:
            await client.get(f"http://127.0.0.1:{w.port}/")

    asyncio.run(run())


@attempt
def asyncio_streams(w: World) -> None:
    async def run() -> None:
        _, writer = await asyncio.open_connection("127.0.0.1", w.port)
        writer.close()

    asyncio.run(run())


@attempt
def asyncio_by_name(w: World) -> None:
    async def run() -> None:
        _, writer = await asyncio.open_connection("localhost", w.port, family=socket.AF_INET)
        writer.close()

    asyncio.run(run())


@attempt
def socket_in_thread(w: World) -> None:
    in_thread(lambda: raw_socket(w))


@attempt
def socket_in_pool(w: World) -> None:
    with concurrent.futures.ThreadPoolExecutor(1) as pool:
        pool.submit(raw_socket, w).result()


@attempt
def udp_sendto(w: World) -> None:
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as s:
        s.sendto(b"udp", ("127.0.0.1", w.port))


@attempt
def udp_sendmsg(w: World) -> None:
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as s:
        s.sendmsg([b"udp"], [], 0, ("127.0.0.1", w.port))


@attempt
def unix_socket(w: World) -> None:
    with socket.socket(socket.AF_UNIX) as s:
        s.connect(w.unix)


@attempt
def bind(w: World) -> None:
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))


@attempt
def ctypes_connect(w: World) -> None:
    ctypes.CDLL(None).connect(-1, None, 0)


# Processes


def touch(w: World, name: str) -> list[str]:
    return ["/bin/sh", "-c", f": > {w.new(name)}"]


@attempt
def subprocess_run(w: World) -> None:
    subprocess.run(touch(w, "subprocess_run"), check=True)


@attempt
def os_system(w: World) -> None:
    os.system(f": > {w.new('os_system')}")


@attempt
def os_popen(w: World) -> None:
    os.popen(f": > {w.new('os_popen')}").read()


@attempt
def posix_spawn(w: World) -> None:
    os.waitpid(os.posix_spawn("/bin/sh", touch(w, "posix_spawn"), {}), 0)


@attempt
def os_spawnv(w: World) -> None:
    os.spawnv(os.P_WAIT, "/bin/sh", touch(w, "os_spawnv"))


@attempt
def os_fork(w: World) -> None:
    pid = os.fork()
    if pid == 0:
        os._exit(0)
    os.waitpid(pid, 0)


@attempt
def os_forkpty(w: World) -> None:
    pid, fd = os.forkpty()
    if pid == 0:
        os._exit(0)
    os.waitpid(pid, 0)
    os.close(fd)


@attempt
def os_exec(w: World) -> None:
    os.execv("/bin/sh", touch(w, "os_exec"))


@attempt
def asyncio_subprocess(w: World) -> None:
    async def run() -> None:
        await (await asyncio.create_subprocess_exec(*touch(w, "asyncio_subprocess"))).wait()

    asyncio.run(run())


@attempt
def multiprocessing_spawn(w: World) -> None:
    process = multiprocessing.get_context("spawn").Process(target=make_file, args=(w.new("multiprocessing_spawn"),))
    process.start()
    process.join()


@attempt
def multiprocessing_fork(w: World) -> None:
    process = multiprocessing.get_context("fork").Process(target=make_file, args=(w.new("multiprocessing_fork"),))
    process.start()
    process.join()


@attempt
def ctypes_system(w: World) -> None:
    ctypes.CDLL(None).system(f": > {w.new('ctypes_system')}".encode())


@attempt
def subinterpreter(w: World) -> None:
    name = "_interpreters" if sys.version_info >= (3, 13) else "_xxsubinterpreters"
    interpreters = importlib.import_module(name)
    interpreters.destroy(interpreters.create())


@attempt
def kill_other(w: World) -> None:
    os.kill(w.victim, signal.SIGKILL)


@attempt
def kill_by_pidfd(w: World) -> None:
    signal.pidfd_send_signal(os.pidfd_open(w.victim), signal.SIGKILL)


def make_file(path: str) -> None:
    pathlib.Path(path).write_text("made")


# Files


@attempt
def open_write(w: World) -> None:
    with open(w.new("open_write"), "w"):
        pass


@attempt
def open_append_bytes(w: World) -> None:
    with open(os.fsencode(w.copy("open_append_bytes")), "ab") as file:
        file.write(b"more")


@attempt
def open_update(w: World) -> None:
    with open(w.copy("open_update"), "r+") as file:
        file.write("changed")


@attempt
def os_open(w: World) -> None:
    os.close(os.open(w.new("os_open"), os.O_CREAT | os.O_WRONLY))


@attempt
def os_open_truncating_read(w: World) -> None:
    os.close(os.open(w.copy("os_open_truncating_read"), os.O_RDONLY | os.O_TRUNC))


@attempt
def os_open_dir_fd(w: World) -> None:
    os.chdir(w.scratch)
    fd = os.open(w.outside, os.O_RDONLY)
    os.close(os.open("os_open_dir_fd", os.O_CREAT | os.O_WRONLY, dir_fd=fd))


@attempt
def pathlib_write(w: World) -> None:
    pathlib.Path(w.new("pathlib_write")).write_text("x")


@attempt
def through_link_inside(w: World) -> None:
    pathlib.Path(w.scratch, "way_out", "through_link_inside").write_text("x")


@attempt
def through_link_and_dots(w: World) -> None:
    # Lexically inside scratch; the kernel goes through the link first.
    name = os.path.join(w.scratch, "way_out", "..", os.path.basename(w.outside), "through_link_and_dots")
    with open(name, "w"):
        pass


@attempt
def hard_link_in(w: World) -> None:
    os.link(w.copy("hard_link_in"), os.path.join(w.scratch, "inside"))
    with open(os.path.join(w.scratch, "inside"), "w") as file:
        file.write("changed")


@attempt
def remove(w: World) -> None:
    os.remove(w.copy("remove"))


@attempt
def remove_dir_fd(w: World) -> None:
    os.chdir(w.scratch)
    os.remove(os.path.basename(w.copy("remove_dir_fd")), dir_fd=os.open(w.outside, os.O_RDONLY))


@attempt
def rename(w: World) -> None:
    os.rename(w.copy("rename"), w.new("renamed"))


@attempt
def move_into_scratch(w: World) -> None:
    shutil.move(w.copy("move_into_scratch"), w.scratch)


@attempt
def mkdir(w: World) -> None:
    os.makedirs(w.new("mkdir/deep"))


@attempt
def rmdir(w: World) -> None:
    os.rmdir(os.path.join(w.outside, "empty"))


@attempt
def symlink(w: World) -> None:
    os.symlink("anywhere", w.new("symlink"))


@attempt
def truncate(w: World) -> None:
    os.truncate(w.copy("truncate"), 0)


@attempt
def chmod(w: World) -> None:
    os.chmod(w.copy("chmod"), 0o777)


@attempt
def chmod_descriptor(w: World) -> None:
    os.chmod(os.open(w.copy("chmod_descriptor"), os.O_RDONLY), 0o777)


@attempt
def utime(w: World) -> None:
    os.utime(w.copy("utime"), (1, 1))


@attempt
def mkfifo(w: World) -> None:
    os.mkfifo(w.new("mkfifo"))


@attempt
def mknod(w: World) -> None:
    os.mknod(w.new("mknod"))


@attempt
def copy_file(w: World) -> None:
    shutil.copy(w.precious, w.new("copied"))


@attempt
def rmtree(w: World) -> None:
    shutil.rmtree(os.path.join(w.outside, "tree"))


@attempt
def make_archive(w: World) -> None:
    shutil.make_archive(w.new("archive"), "zip", w.scratch)


@attempt
def temporary_file(w: World) -> None:
    tempfile.mkstemp(dir=w.outside)


@attempt
def open_in_thread(w: World) -> None:
    in_thread(lambda: make_file(w.new("open_in_thread")))


@attempt
def ctypes_open(w: World) -> None:
    ctypes.CDLL(None).open(w.new("ctypes_open").encode(), os.O_CREAT | os.O_WRONLY, 0o600)


@attempt
def sqlite_file(w: World) -> None:
    with sqlite3.connect(w.new("sqlite_file.db")) as db:
        db.execute("create table t(a)")


@attempt
def sqlite_uri(w: World) -> None:
    with sqlite3.connect(f"file:{w.new('sqlite_uri.db')}?mode=rwc", uri=True) as db:
        db.execute("create table t(a)")


@attempt
def sqlite_not_a_uri(w: World) -> None:
    os.chdir(w.outside)
    with sqlite3.connect("file:sqlite_not_a_uri?mode=ro") as db:
        db.execute("create table t(a)")


@attempt
def sqlite_attach(w: World) -> None:
    db = sqlite3.connect(":memory:")
    db.execute(f"attach '{w.new('sqlite_attach.db')}' as outside")
    db.execute("create table outside.t(a)")


@attempt
def sqlite_vacuum_into(w: World) -> None:
    db = sqlite3.connect(":memory:")
    db.execute("create table t(a)")
    db.execute("vacuum into ?", (w.new("sqlite_vacuum_into.db"),))


# Harmless: must pass


@attempt
def ok_scratch(w: World) -> None:
    root = pathlib.Path(w.scratch)
    (root / "sub").mkdir()
    (root / "sub").mkdir(exist_ok=True)
    (root / "sub" / "a").write_text("x")
    os.rename(root / "sub" / "a", root / "sub" / "b")
    os.chmod(root / "sub" / "b", 0o600)
    os.symlink(w.precious, root / "sub" / "link")
    os.remove(root / "sub" / "link")
    shutil.copy(w.precious, root / "sub" / "c")
    fd = os.open(root / "sub", os.O_RDONLY)
    os.close(os.open("d", os.O_CREAT | os.O_WRONLY, dir_fd=fd))
    os.mkfifo(root / "sub" / "fifo")
    with sqlite3.connect(root / "sub" / "x.db") as db:
        db.execute("create table t(a)")
        db.execute("attach '' as y")
    shutil.rmtree(root / "sub")
    with tempfile.TemporaryDirectory(dir=root) as name, tempfile.TemporaryFile(dir=name) as file:
        file.write(b"x")


@attempt
def ok_reading(w: World) -> None:
    os.makedirs(w.outside, exist_ok=True)
    pathlib.Path(w.precious).read_text()
    os.listdir(w.outside)
    os.close(os.open(w.outside, os.O_RDONLY | os.O_DIRECTORY))
    with open(os.devnull, "w") as null:
        null.write("x")
    with open(os.dup(1), "w") as out:
        out.write("")
    sqlite3.connect(":memory:").execute("create table t(a)")
    sqlite3.connect(f"file:{w.scratch}/ro.db?mode=ro", uri=True).execute("select 1")


@attempt
def ok_in_process(w: World) -> None:
    a, b = socket.socketpair()
    a.sendmsg([b"x"])
    b.recv(1)
    a.close()
    b.close()
    if hasattr(socket, "_fallback_socketpair"):
        for end in socket._fallback_socketpair():
            end.close()
    socket.socket(socket.AF_INET).close()
    socket.getaddrinfo("127.0.0.1", 80)
    os.kill(os.getpid(), 0)
    os.kill(w.victim, 0)
    ctypes.CDLL(None).strlen(b"x")
    asyncio.run(asyncio.sleep(0))
    import xml.dom.minidom  # noqa: F401  an import must not trip over its byte code


def main() -> None:
    world = World(**json.loads(sys.argv[1]))
    options = json.loads(sys.argv[2])
    found: list[Violation] = []
    guard = Guard([world.scratch], options["tolerate"], lambda: "w1:7", found.append)
    if options["armed"]:
        guard.arm()
    for name in options["names"] or ATTEMPTS:
        found.clear()
        raised = run(ATTEMPTS[name], world)
        seen: list[dict[str, Any]] = [
            {
                "event": v.event,
                "detail": v.detail,
                "step": v.step,
                "frame": v.frame,
                "tolerated": v.tolerated,
            }
            for v in found
        ]
        print(json.dumps({"name": name, "raised": raised, "violations": seen}), flush=True)


def run(function: Callable[[World], object], world: World) -> str:
    here = os.getcwd()
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            function(world)
    except Refused as refused:
        return type(refused).__name__
    except BaseException as problem:
        return type(problem).__name__
    finally:
        os.chdir(here)
    return ""


if __name__ == "__main__":
    main()

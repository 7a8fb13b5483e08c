"""Programs that reach outside past every seam, and what is on their record of it."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from agentdbg.compare.unseen import UnseenEffect, unseen_of
from tests.support.recorded import Recorded, only_run, run, runs

OUTSIDE = """
    import http.server, os, socket, sqlite3, subprocess, sys, tempfile, threading, urllib.request
    import agentdbg

    class Server(http.server.BaseHTTPRequestHandler):
        def do_POST(self):
            self.rfile.read(int(self.headers["content-length"]))
            self.send_response(200)
            self.send_header("content-length", "2")
            self.end_headers()
            self.wfile.write(b"ok")

        def log_message(self, *_):
            pass

    def post(port):
        return urllib.request.urlopen(f"http://127.0.0.1:{port}/refund", b"amount=1").read()

    def write_note():
        with open("note.txt", "w") as file:
            file.write("refunded")

    def start_process():
        return subprocess.run([sys.executable, "-S", "-c", ""]).returncode

    def raw_socket(port):
        with socket.socket() as made:
            made.connect(("127.0.0.1", port))

    @agentdbg.agent
    def agent(port):
        post(port)
        write_note()
        start_process()
        thread = threading.Thread(target=raw_socket, args=(port,))
        thread.start()
        thread.join()
        return "done"

    if __name__ == "__main__":
        server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Server)
        threading.Thread(target=server.serve_forever, daemon=True).start()
        print(server.server_port)
        agent(server.server_port)
        server.shutdown()
"""
"""Posts, writes a file, starts a process and opens a socket from a thread, in plain functions that nobody declared."""


def agent(body: str, head: str = "", tail: str = "") -> str:
    """A program whose agent has this body."""
    lines = ["import os, sys, sqlite3, socket, subprocess, tempfile, threading, pathlib, shutil", "import agentdbg", ""]
    lines += [*head.strip("\n").splitlines(), "", "@agentdbg.agent", "def agent():"]
    lines += [f"    {line}" for line in body.strip("\n").splitlines()]
    lines += ["", "agent()", *tail.strip("\n").splitlines(), ""]
    return "\n".join(lines)


def recorded(folder: Path, source: str, **options: object) -> Recorded:
    """Run a program and open what it recorded."""
    done = run(folder, source, **options)  # type: ignore[arg-type]
    assert done.returncode == 0, done.stderr
    assert done.stderr == ""
    return only_run(folder / "store")


def seen(found: Recorded) -> list[UnseenEffect]:
    """The effects of a run that no seam saw."""
    return list(unseen_of(found.steps))


def named(effects: Sequence[UnseenEffect]) -> list[str]:
    """Event and detail of each."""
    return [f"{effect.event} {effect.detail}".rstrip() for effect in effects]


__all__ = ["OUTSIDE", "agent", "named", "recorded", "run", "runs", "seen"]

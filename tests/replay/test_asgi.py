"""A recorded request is answered again by the application as it is now, with everything it called served."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.support.replay_lab import ReplayLab

PROGRAM = """
import asyncio, json, uuid
import agentdbg
from agentdbg.recording.servers.asgi import ServedApp

OUTSIDE = __import__("os").environ["OUTSIDE"]

@agentdbg.tool(effect="write")
def book(order, ticket):
    with open(f"{OUTSIDE}/booked", "a") as file:
        file.write(order)
    return f"booked {order} as {ticket}"

class App:
    ready = False

    async def __call__(self, scope, receive, send):
        if scope["type"] == "lifespan":
            await receive()
            self.ready = True
            await send({"type": "lifespan.startup.complete"})
            await receive()
            return
        assert self.ready and scope["method"] == "POST", scope
        message = await receive()
        order = json.loads(message["body"])["order"]
        ticket = str(uuid.uuid4())
        said = await asyncio.gather(*(asyncio.to_thread(book, f"{order}{n}", ticket) for n in range(2)))
        await send({"type": "http.response.start", "status": 200, "headers": [(b"content-type", b"application/json")]})
        for part in said:
            await send({"type": "http.response.body", "body": json.dumps(part).encode() + b" ", "more_body": True})
        await send({"type": "http.response.body", "body": b"", "more_body": False})
        app.later = asyncio.ensure_future(self.later(order))

    async def later(self, order):
        await asyncio.sleep(0.01)
        book(order, "afterwards")

app = App()

async def main():
    scope = {"type": "http", "method": "POST", "path": "/book", "query_string": b"", "headers": [], "client": None}
    async def receive():
        return {"type": "http.request", "body": b'{"order": "o"}', "more_body": False}
    async def send(message):
        pass
    app.ready = True
    await ServedApp(app, None, app)(scope, receive, send)
    await app.later

if __name__ == "__main__":
    asyncio.run(main())
"""


@pytest.fixture
def lab(tmp_path: Path) -> ReplayLab:
    made = ReplayLab(tmp_path)
    made.record(PROGRAM)
    return made


def test_a_request_replays_with_its_threads_and_what_went_on_behind_it(lab: ReplayLab) -> None:
    assert (lab.outside / "booked").read_text() in ("o0o1o", "o1o0o")
    for _ in range(3):
        outcome = lab.replay()
        assert outcome.verdict == "identical", (outcome.reason, outcome.log)
        assert outcome.served == 3


def test_an_application_that_answers_otherwise_now_diverges(lab: ReplayLab) -> None:
    lab.write(PROGRAM.replace('"status": 200', '"status": 202'))
    outcome = lab.replay()
    assert outcome.verdict == "diverged"
    assert "status" in outcome.reason


def test_an_application_that_is_gone_or_does_not_start_is_said(lab: ReplayLab) -> None:
    lab.write(PROGRAM.replace("\napp = App()", "\nother = App()"))
    assert lab.replay().verdict == "not_replayable"
    failing = PROGRAM.replace('"lifespan.startup.complete"', '"lifespan.startup.failed", "message": "no database"')
    lab.write(failing)
    outcome = lab.replay()
    assert (outcome.verdict, "no database" in outcome.reason) == ("not_replayable", True)


def test_an_effect_while_it_starts_up_is_refused(lab: ReplayLab) -> None:
    lab.write(PROGRAM.replace("self.ready = True", "self.ready = bool(open(f'{OUTSIDE}/log', 'w'))", 1))
    assert lab.replay().verdict == "refused"

"""A recorded ASGI request, sent through the program's application again."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping, MutableMapping
from typing import Any

from agentdbg.model.canonical import Opaque, loads
from agentdbg.recording.asgi_entry import body_bytes, scope_of
from agentdbg.recording.process import recorder
from agentdbg.recording.servers.asgi import see_through
from agentdbg.recording.servers.asgi_request import AsgiRequest
from agentdbg.replay.entry import CannotStart

WAIT_S, IDLE_WAITS = 0.05, 40
STARTUP_S = 60.0

Message = MutableMapping[str, Any]


def serve(target: Callable[..., Any], facts: Mapping[str, Any], arguments_path: str, left: Callable[[], int]) -> None:
    """Start the application up and let it answer the recorded request.

    What it does while it starts up is no part of the run. It is not shut down: that would be none either.

    Args:
        target: The application, or what makes it.
        facts: The member ``asgi`` of the entry point.
        arguments_path: Where the recorded arguments are.
        left: How many recorded outcomes are still due.

    Raises:
        CannotStart: It does not start up, or the arguments are no request.
    """
    with open(arguments_path, "rb") as file:
        arguments = loads(file.read())
    if not isinstance(arguments, dict) or any(isinstance(value, Opaque) for value in arguments.values()):
        raise CannotStart("the recorded arguments are no request")
    app = target() if facts.get("factory") else target
    loop = asyncio.new_event_loop()  # never closed: closing would end what the application keeps open
    asyncio.set_event_loop(loop)
    loop.run_until_complete(_serve(app, facts, arguments, left))


async def _serve(app: Any, facts: Mapping[str, Any], arguments: Mapping[str, Any], left: Callable[[], int]) -> None:
    found = recorder()
    if found is None:
        raise CannotStart("recording is switched off (AGENTDBG=off)")
    state: dict[str, Any] = {}
    lifespan = await _started(app, state)
    written = str(facts.get("written", "compact"))
    client = _Client(body_bytes(arguments["body"], written) if "body" in arguments else b"")
    request = AsgiRequest(
        found,
        scope_of(facts, arguments, state),
        client.receive,
        client.send,
        None,
        None,
        eager=True,
        runs=True,
        name=str(facts.get("name") or ""),
    )
    others = {task for task in (lifespan, asyncio.current_task()) if task is not None}
    await see_through(app, request)
    await _await_tasks(others, left)


async def _started(app: Any, state: dict[str, Any]) -> asyncio.Task[Any] | None:
    """Run the application's start-up; ``None`` when it has none."""
    told: asyncio.Queue[Message] = asyncio.Queue()
    said: asyncio.Queue[Message] = asyncio.Queue()
    told.put_nowait({"type": "lifespan.startup"})
    scope = {"type": "lifespan", "asgi": {"version": "3.0", "spec_version": "2.0"}, "state": state}
    task: asyncio.Task[Any] = asyncio.ensure_future(app(scope, told.get, said.put))
    answered = asyncio.ensure_future(said.get())
    await asyncio.wait({task, answered}, timeout=STARTUP_S, return_when=asyncio.FIRST_COMPLETED)
    if not answered.done():
        answered.cancel()
        if task.done() and task.exception() is not None and not isinstance(task.exception(), Exception):
            await task  # the guard stopped it
        return task  # an application without lifespan: servers go on too
    message = answered.result()
    if message["type"] == "lifespan.startup.failed":
        raise CannotStart(f"the application does not start up: {message.get('message', '')}")
    return task


async def _await_tasks(others: set[asyncio.Task[Any]], left: Callable[[], int]) -> None:
    """Let tasks that went on behind the response, and are due recorded outcomes, come to their end too."""
    idle, before = 0, left()
    while before and idle < IDLE_WAITS:
        tasks = asyncio.all_tasks() - others
        if not tasks:
            return
        await asyncio.wait(tasks, timeout=WAIT_S)
        now = left()
        idle, before = (0 if now < before else idle + 1), now


class _Client:
    """The other side: sends the request at once, and goes away when it has the response."""

    def __init__(self, body: bytes) -> None:
        self._body: bytes | None = body
        self._answered = asyncio.Event()

    async def receive(self) -> Message:
        """The whole body, then the end of the connection."""
        if self._body is not None:
            body, self._body = self._body, None
            return {"type": "http.request", "body": body, "more_body": False}
        await self._answered.wait()
        return {"type": "http.disconnect"}

    async def send(self, message: Message) -> None:
        """Take a message of the response."""
        if message["type"] == "http.response.body" and not message.get("more_body", False):
            self._answered.set()

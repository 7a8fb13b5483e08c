"""What a regression replay's tools send is looked at on its way, whatever they send it with."""

from __future__ import annotations

import socket
from collections.abc import Iterator
from fnmatch import fnmatchcase

import pytest

from agentdbg.replay.outcome import Outcome
from agentdbg.replay.wire import Piece, Wire
from tests.support.regression_lab import RegressionLab, World

PROGRAM = """\
from helpers import *
import asyncio, contextvars, http.client, socket, ssl, threading, urllib.request

HOST, SHOP = "127.0.0.1", SHOP_PORT
URL = f"http://127.0.0.1:{SHOP}"


def raw(text, how="sendall"):
    with socket.create_connection((HOST, SHOP)) as found:
        getattr(found, how)(text)
        return found.recv(100).decode()


def posted(path, method="POST"):
    return f"{method} {path} HTTP/1.1\\r\\nhost: {HOST}:{SHOP}\\r\\ncontent-length: 1\\r\\n\\r\\nx".encode()


@agentdbg.tool(effect=EFFECT)
def look(text):
    BODY


@agentdbg.agent
def desk(text):
    ask([{"role": "user", "content": "v1"}])
    OUTSIDE
    look(text)
    BEHIND
    agentdbg.final_state("DONE")


if __name__ == "__main__":
    desk("pen")
"""


@pytest.fixture
def shop() -> Iterator[World]:
    """Where the tools look, which is no model's host."""
    found = World()
    yield found
    found.close()


def tried(
    lab: RegressionLab,
    shop: World,
    body: str,
    *,
    effect: str = '"read"',
    outside: str = "pass",
    behind: str = "pass",
    guard: str = "audit",
    reads: tuple[str, ...] = (),
) -> Outcome:
    """What comes of a program whose tool has another body by now; what arrives at the shop is of that one alone."""
    plain = PROGRAM.replace("SHOP_PORT", str(shop.port)).replace("EFFECT", effect)
    lab.record(plain.replace("BODY", "return 1").replace("OUTSIDE", "pass").replace("BEHIND", "pass"))
    changed = plain.replace("v1", "v2").replace("BODY", body).replace("OUTSIDE", outside).replace("BEHIND", behind)
    lab.write(changed)
    shop.done.clear()
    return lab.regress(guard=guard, reads=reads)


URLLIB = 'return urllib.request.urlopen(urllib.request.Request(URL + "/pay", b"x", method="{}")).read().decode()'
SENDS = {
    "urllib": URLLIB.format("POST"),
    "urllib put": URLLIB.format("PUT"),
    "urllib delete": URLLIB.format("DELETE"),
    "http.client": 'found = http.client.HTTPConnection(HOST, SHOP); found.request("POST", "/pay", "x"); '
    "return found.getresponse().read().decode()",
    "socket sendall": 'return raw(posted("/pay"))',
    "socket send": 'return raw(posted("/pay"), "send")',
    "socket sendmsg": 'return raw([posted("/pay")[:9], posted("/pay")[9:]], "sendmsg")',
    "socket makefile": "found = socket.create_connection((HOST, SHOP)); out = found.makefile('wb'); "
    'out.write(posted("/pay")); out.flush(); return found.recv(99).decode()',
    "descriptor": "found = socket.create_connection((HOST, SHOP)); "
    'os.write(found.fileno(), posted("/pay")); return found.recv(99).decode()',
    "in two": 'found = socket.create_connection((HOST, SHOP)); found.sendall(b"PO"); '
    'found.sendall(posted("/pay")[2:]); return found.recv(99).decode()',
    "behind a get": 'return raw(b"GET /a HTTP/1.1\\r\\nhost: a\\r\\n\\r\\n" + posted("/pay"))',
    "asyncio streams": "return asyncio.run(streamed())",
    "a thread": "found = []\n    worker = threading.Thread(target=lambda: "
    'found.append(raw(posted("/pay"))))\n    worker.start(); worker.join(); return found',
    "all exceptions swallowed": "try:\n        return raw(posted('/pay'))\n    "
    "except BaseException:\n        return '?'",
    "descriptor vector": "found = socket.create_connection((HOST, SHOP)); "
    'os.writev(found.fileno(), [posted("/pay")]); return found.recv(99).decode()',
    "file of the descriptor": "found = socket.create_connection((HOST, SHOP)); out = os.fdopen(found.fileno(), 'wb'); "
    "out.write(posted('/pay')); out.flush(); return found.recv(99).decode()",
    "sendfile": "import tempfile\n    found = socket.create_connection((HOST, SHOP))\n    "
    "with tempfile.TemporaryFile() as file:\n        file.write(posted('/pay')); file.seek(0)\n        "
    "found.sendfile(file)\n    "
    "return found.recv(99).decode()",
    "httpx": 'return post("/pay", "x", URL)',
    "httpx async": "return asyncio.run(by_httpx())",
}
HELPERS = """\
async def streamed():
    reader, writer = await asyncio.open_connection(HOST, SHOP)
    writer.write(posted("/pay"))
    await writer.drain()
    return (await reader.read(99)).decode()


async def by_httpx():
    async with httpx.AsyncClient(trust_env=False) as client:
        return (await client.post(URL + "/pay", content="x")).text


async def by_aiohttp():
    import aiohttp

    async with aiohttp.ClientSession() as session, session.post(URL + "/pay", data=b"x") as found:
        return await found.text()


@agentdbg.tool(effect=EFFECT)"""
PROGRAM = PROGRAM.replace("@agentdbg.tool(effect=EFFECT)", HELPERS)


@pytest.mark.parametrize(
    "way", [pytest.param(each, marks=() if each == "urllib" else pytest.mark.wide) for each in SENDS]
)
def test_a_declared_read_sends_nothing_that_writes(world_lab: RegressionLab, shop: World, way: str) -> None:
    outcome = tried(world_lab, shop, SENDS[way])
    assert [each for each in shop.done if not each.startswith("GET")] == []
    assert outcome.verdict == "refused", outcome.reason
    assert f" 127.0.0.1:{shop.port}{'*' if 'file of' in way else '/pay'}" in outcome.reason
    assert ".py:" in outcome.reason
    assert "tool look" in outcome.reason


@pytest.mark.wide
@pytest.mark.parametrize(
    "body",
    [
        'import requests; return requests.post(URL + "/pay", data="x").text',
        'import requests; return requests.get(URL + "/fact").text + requests.delete(URL + "/pay").text',
        'import urllib3; return urllib3.PoolManager().request("POST", URL + "/pay", body="x").data.decode()',
        "return asyncio.run(by_aiohttp())",
    ],
)
def test_other_clients_neither(world_lab: RegressionLab, shop: World, body: str) -> None:
    pytest.importorskip("requests")
    pytest.importorskip("aiohttp")
    outcome = tried(world_lab, shop, body)
    assert [each for each in shop.done if not each.startswith("GET")] == []
    assert outcome.verdict == "refused", outcome.reason
    assert f" 127.0.0.1:{shop.port}/pay" in outcome.reason


def test_what_a_read_may_send_goes_out(world_lab: RegressionLab, shop: World) -> None:
    """Requests that change nothing by their method or by declaration, and what the model's host gets."""
    shop.facts["fact"] = "7"
    ways = (
        "urllib.request.urlopen(URL + '/fact').read().decode()",
        "raw(b'GET /fact HTTP/1.1\\r\\nhost: a\\r\\n\\r\\n')",
        "raw(posted('/find'))",
        "post('/find', 'x', URL)",
        "post('/mine', 'x', WORLD)",
        "urllib.request.urlopen(WORLD + '/mine', b'x').read().decode()",
    )
    outcome = tried(world_lab, shop, f"return len([{', '.join(ways)}])", reads=("POST 127.0.0.1:*/find",))
    assert (outcome.verdict, outcome.refused) == ("same", ()), outcome.reason
    mine = f"declared read, and sent POST 127.0.0.1:{world_lab.world.port}/mine: it was let through"
    assert {each["reason"] for each in outcome.findings} == {mine}
    assert [each.split()[:2] for each in shop.done] == [["GET", "/fact"]] * 2 + [["POST", "/find"]] * 2
    assert [each.split()[:2] for each in world_lab.world.done] == [["POST", "/mine"]] * 2


@pytest.mark.wide
@pytest.mark.parametrize("guard", ["audit", "auto"])
@pytest.mark.parametrize(
    ("effect", "body", "outside", "behind"),
    [
        ('"none"', 'return get("/fact", URL)', "pass", "pass"),
        ('"none"', 'return httpx.get(URL + "/fact", trust_env=False).text', "pass", "pass"),
        (
            '"read"',
            "global kept; kept = http.client.HTTPConnection(HOST, SHOP); kept.request('GET', '/fact'); "
            "return kept.getresponse().read()",
            "pass",
            "kept.request('GET', '/stolen')",
        ),
        (
            '"read"',
            "global kept; kept = http.client.HTTPConnection(HOST, SHOP); kept.request('GET', '/fact'); "
            "return kept.getresponse().read()",
            "pass",
            "threading.Thread(target=lambda: kept.request('POST', '/stolen', 'x')).start()",
        ),
    ],
)
def test_what_is_open_to_a_read_alone_is_open_to_no_other(
    world_lab: RegressionLab, shop: World, effect: str, body: str, outside: str, behind: str, guard: str
) -> None:
    outcome = tried(world_lab, shop, body, effect=effect, outside=outside, behind=behind, guard=guard)
    assert outcome.verdict == "refused", outcome.reason
    assert f"127.0.0.1:{shop.port}" in outcome.reason
    assert [each for each in shop.done if "stolen" in each] == []


@pytest.mark.wide
def test_what_is_spoken_in_no_http_is_named(world_lab: RegressionLab, shop: World) -> None:
    outcome = tried(world_lab, shop, 'return raw(b"*1\\r\\n$4\\r\\nPING\\r\\n")')
    assert outcome.verdict == "same", outcome.reason
    said = f"look, declared read, spoke to 127.0.0.1:{shop.port} in no HTTP: what it did there is not known"
    assert [note for note in outcome.notes if "spoke" in note] == [said]


def looked_at(*pieces: bytes) -> list[Piece]:
    """What is said of pieces that go out over one connection."""
    found: list[Piece] = []
    wire = Wire(found.append)
    with socket.create_server(("127.0.0.1", 0)) as server, socket.create_connection(server.getsockname()) as ours:
        for piece in pieces:
            wire.look(ours, (piece,))
    return found


@pytest.mark.parametrize(
    ("pieces", "names"),
    [
        ([b"POST /a?b=1 HTTP/1.1\r\nHost: shop\r\n\r\n"], ["POST shop/a"]),
        ([b"P", b"OST /a HTTP", b"/1.1\r", b"\nHost: shop\r\n\r\n"], ["POST shop/a"]),
        ([b"PUT http://shop/a HTTP/1.0\n\n"], ["PUT shop/a"]),
        ([b"GET / HTTP/1.1\r\n\r\n", b"DELETE /b HTTP/1.1\r\n\r\n"], ["GET *:*/", "DELETE *:*/b"]),
        ([b"POST /a HTTP/1.1\r\n\r\n{}", b"POST /b HTTP/1.1\r\n\r\n"], ["POST *:*/a", "POST *:*/b"]),
        ([b"\x16\x03\x01POST /a HTTP/1.1\r\n"], []),
        ([b"GET is no request\r\n"], []),
        ([b"", b"\0" * 20_000, b"POST /a HTTP/1.1\r\n"], ["POST *:*/a"]),
    ],
)
def test_requests_are_seen_wherever_they_begin(pieces: list[bytes], names: list[str]) -> None:
    found = [request.name for piece in looked_at(*pieces) for request in piece.requests]
    assert len(found) == len(names)
    assert all(fnmatchcase(one, pattern) for one, pattern in zip(found, names, strict=True)), found

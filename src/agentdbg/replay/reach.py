"""What a regression replay may reach: addresses, and requests; the model's route, a sandbox's hosts."""

from __future__ import annotations

import socket
from collections.abc import Iterable
from contextlib import suppress
from fnmatch import fnmatchcase

_ANY = -1


class Reach:
    """Hosts by name or number, ``host`` or ``host:port``; paths of unix sockets. Numbers of names are learned."""

    def __init__(self, hosts: Iterable[str]) -> None:
        hosts = tuple(hosts)
        self._paths = frozenset(each for each in hosts if each.startswith(("/", "@")))
        self._hosts = [_parsed(each) for each in hosts if not each.startswith(("/", "@"))]
        self._numbers: set[tuple[str, int]] = set(self._hosts)

    def name(self, host: object, port: object) -> bool:
        """Whether a host may be looked up."""
        wanted = _text(host)
        number = int(port) if isinstance(port, int) or (isinstance(port, str) and port.isdigit()) else _ANY
        return any(
            (name == wanted and _ANY in (own, number)) or (name, own) == (wanted, number) for name, own in self._hosts
        )

    def learn(self, host: object, addresses: Iterable[object]) -> None:
        """The numbers that a look-up gave."""
        ports = {port for name, port in self._hosts if name == _text(host)}
        for address in addresses:
            if isinstance(address, tuple) and address:
                self._numbers.update((str(address[0]), port) for port in ports)

    def add_numbers(self, numbers: Iterable[object]) -> None:
        """Take over what somebody else has learned: host and port each."""
        for each in numbers:
            if isinstance(each, list | tuple) and len(each) == 2 and isinstance(each[1], int):
                self._numbers.add((str(each[0]), each[1]))

    def numbers(self) -> list[tuple[str, int]]:
        """Everything that may be connected to."""
        return sorted(self._numbers)

    def look_up(self) -> None:
        """Learn the numbers of all names now."""
        for name, port in self._hosts:
            with suppress(OSError):  # a name that nobody knows cannot be reached either
                found = socket.getaddrinfo(name, None if port == _ANY else port, type=socket.SOCK_STREAM)
                self.learn(name, [each[4] for each in found])

    def address(self, address: object) -> bool:
        """Whether a socket address may be connected to: ``(host, port, …)`` or a path."""
        if not isinstance(address, tuple) or len(address) < 2:
            return _text(address) in self._paths
        host, port = _text(address[0]), address[1]
        return any((host, each) in self._numbers for each in (port, _ANY))

    def written(self, address: str) -> bool:
        """The same of an address in words: ``1.2.3.4:80``, ``[::1]:80``, a path."""
        if address in self._paths:
            return True
        host, port = _parsed(address)
        return port != _ANY and self.address((host, port))


class Requests:
    """What is known of HTTP requests beside their method; each by method, host and path: ``POST shop.example/find``."""

    def __init__(self, hosts: Iterable[object], reads: Iterable[object]) -> None:
        """Prepare.

        Args:
            hosts: What may be reached by all code.
            reads: Patterns (``fnmatch``) of requests that change nothing, whatever their method.
        """
        self._hosts = Reach(str(each) for each in hosts)
        self._reads = [str(each) for each in reads]

    def only_read(self, name: str) -> bool:
        """Whether a request is declared to change nothing."""
        return any(fnmatchcase(name, pattern) for pattern in self._reads)

    def are_open(self, name: str) -> bool:
        """Whether a request goes to the route of a model, or into the sandbox."""
        host, port = _parsed(name.partition(" ")[2].partition("/")[0].rpartition("@")[2])
        return self._hosts.name(host, None if port == _ANY else port)


def _parsed(text: str) -> tuple[str, int]:
    host, colon, port = text.rpartition(":")
    if not colon or not port.isdigit() or (":" in host and not host.endswith("]")):
        host, port = text, str(_ANY)
    return host.removeprefix("[").removesuffix("]").lower(), int(port)


def _text(value: object) -> str:
    if isinstance(value, bytes | bytearray):
        return bytes(value).decode("utf-8", "replace").lower()
    return str(value).lower()

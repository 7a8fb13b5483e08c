"""Which addresses a regression replay may reach."""

from __future__ import annotations

import pytest

from agentdbg.replay.reach import Reach


@pytest.mark.parametrize(
    ("hosts", "host", "port", "allowed"),
    [
        (["a.example:443"], "a.example", 443, True),
        (["a.example:443"], b"A.Example", "443", True),
        (["a.example:443"], "a.example", 80, False),
        (["a.example:443"], "a.example", None, True),
        (["a.example"], "a.example", None, True),
        (["a.example"], "b.example", 80, False),
        (["a.example"], "xa.example", 80, False),
        ([], "a.example", 80, False),
    ],
)
def test_a_name_may_be_looked_up_for_its_port_alone(
    hosts: list[str], host: object, port: object, allowed: bool
) -> None:
    assert Reach(hosts).name(host, port) is allowed


@pytest.mark.parametrize(
    ("hosts", "address", "allowed"),
    [
        (["127.0.0.1:80"], "127.0.0.1:80", True),
        (["127.0.0.1:80"], "127.0.0.1:81", False),
        (["127.0.0.1"], "127.0.0.1:81", True),
        (["127.0.0.1:80"], "127.0.0.2:80", False),
        (["[::1]:80"], "[::1]:80", True),
        (["[::1]:80"], "[::1]:8", False),
        (["/run/x.sock"], "/run/x.sock", True),
        (["/run/x.sock"], "/run/y.sock", False),
        ([], "127.0.0.1:80", False),
        (["127.0.0.1:80"], "address family 17", False),
        (["127.0.0.1:80"], "", False),
    ],
)
def test_an_address_in_words_is_allowed_as_it_is_declared(hosts: list[str], address: str, allowed: bool) -> None:
    assert Reach(hosts).written(address) is allowed


def test_what_a_name_turns_out_to_be_may_be_reached_on_its_port() -> None:
    reach = Reach(["a.example:443"])
    reach.learn("a.example", [("10.0.0.1", 443)])
    assert reach.address(("10.0.0.1", 443))
    assert not reach.address(("10.0.0.1", 80))
    reach.learn("b.example", [("10.0.0.2", 443)])
    assert not reach.address(("10.0.0.2", 443))


def test_names_of_this_machine_are_looked_up() -> None:
    reach = Reach(["localhost:9", "no-such-host.invalid:1"])
    reach.look_up()
    assert reach.address(("127.0.0.1", 9)) or reach.address(("::1", 9, 0, 0))
    other = Reach([])
    other.add_numbers([list(each) for each in reach.numbers()])
    assert other.numbers() == reach.numbers()


def test_socket_addresses_of_other_kinds_are_not_reached() -> None:
    assert not Reach(["a"]).address(("a",))
    assert not Reach(["a"]).address(None)
    assert Reach(["@abstract"]).address("@abstract")

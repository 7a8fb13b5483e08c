"""Which paths, databases and symbols count as effects, judged without any real call."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from agentdbg.recording.effect_events import LIBC_EFFECTS, Rules, address, command, resolve


@pytest.fixture
def scratch(tmp_path: Path) -> Path:
    made = tmp_path / "scratch"
    made.mkdir()
    (tmp_path / "outside").mkdir()
    (made / "way_out").symlink_to(tmp_path / "outside")
    return made


@pytest.mark.parametrize("name", ["a", "deep/er/a", "./a", "way_out/../scratch/a", "way_out"])
def test_an_entry_inside_may_be_made(scratch: Path, name: str) -> None:
    assert Rules([str(scratch)]).create(f"{scratch}/{name}") is None


@pytest.mark.parametrize("name", ["../a", "way_out/a", "way_out/../a", "way_out/", "way_out/.", "../scratch2/a"])
def test_an_entry_that_only_looks_inside_may_not(scratch: Path, name: str) -> None:
    assert Rules([str(scratch)]).create(f"{scratch}/{name}") is not None


def test_writing_follows_the_last_link_and_making_an_entry_does_not(scratch: Path) -> None:
    rules = Rules([str(scratch)])
    (scratch / "link").symlink_to(scratch.parent / "outside" / "file")
    assert rules.write(scratch / "link") == str(scratch.parent / "outside" / "file")
    assert rules.create(scratch / "link") is None


def test_a_link_to_the_allowed_place_is_the_allowed_place(scratch: Path) -> None:
    (scratch.parent / "alias").symlink_to(scratch)
    assert Rules([str(scratch.parent / "alias")]).write(scratch / "a") is None


def test_a_relative_path_starts_at_its_directory_descriptor(scratch: Path) -> None:
    fd = os.open(scratch, os.O_RDONLY)
    try:
        assert resolve("a", fd) == str(scratch / "a")
        assert resolve(b"way_out/a", fd) == str(scratch.parent / "outside" / "a")
        assert resolve("/a", fd) == "/a"
        assert resolve(fd) == str(scratch)
    finally:
        os.close(fd)


def test_one_allowed_file_does_not_open_its_neighbours(scratch: Path) -> None:
    rules = Rules([str(scratch / "log")])
    assert rules.write(scratch / "log") is None
    assert rules.write(scratch / "log2") is not None
    assert rules.write(os.devnull) is None


@pytest.mark.parametrize(
    ("name", "fine"),
    [
        ("", True),
        (":memory:", True),
        ("file::memory:?cache=shared", True),
        ("file:shared?mode=memory&cache=shared", True),
        ("file:/elsewhere/x.db?mode=ro", True),
        ("file:///elsewhere/x.db?immutable=1", True),
        ("file:/elsewhere/x.db?mode=ro&mode=rwc", False),
        ("file:/elsewhere/x.db", False),
        ("file:/else%77here/x.db?mode=rw#mode=ro", False),
        ("/elsewhere/x.db?mode=ro", False),
        (b"/elsewhere/x.db", False),
        (Path("/elsewhere/x.db"), False),
    ],
)
def test_a_database_that_can_be_written_counts_as_a_file(scratch: Path, name: object, fine: bool) -> None:
    assert (Rules([str(scratch)]).database(name) is None) == fine


def test_a_database_inside_is_fine_in_every_spelling(scratch: Path) -> None:
    rules = Rules([str(scratch)])
    for name in (scratch / "x.db", f"file:{scratch}/x.db", f"file://localhost{scratch}/x%20y.db?mode=rwc"):
        assert rules.database(name) is None


@pytest.mark.parametrize("name", ["open", "open64", "__open", "__libc_fork", b"connect", "syscall"])
def test_a_libc_symbol_is_known_under_its_other_names(name: object) -> None:
    assert Rules([]).checks["ctypes.dlsym"]((None, name)) is not None


@pytest.mark.parametrize("name", ["strlen", "reopen", "openssl_init", 7])
def test_other_symbols_are_fine(name: object) -> None:
    assert Rules([]).checks["ctypes.dlsym"]((None, name)) is None
    assert name not in LIBC_EFFECTS


def test_addresses_and_commands_read_as_people_write_them() -> None:
    assert address(("::1", 80, 0, 0)) == "::1:80"
    assert address(("h", None)) == "h:None"
    assert address(b"/run/x") == "/run/x"
    assert command("/bin/sh", ["sh", "-c", b"ls"]) == "/bin/sh -c ls"
    assert command(None, ["ls", Path("/a")]) == "ls /a"
    assert command("ls", "-l") == "ls"


@pytest.mark.parametrize(
    ("host", "detail"),
    [("127.0.0.1", None), (b"::1", None), (None, None), ("", None), ("localhost", None), ("h.example", "h.example:80")],
)
def test_a_host_of_this_machine_needs_no_look_up_outside(host: object, detail: str | None) -> None:
    assert Rules([]).checks["socket.getaddrinfo"]((host, 80, 0, 0, 0)) == detail

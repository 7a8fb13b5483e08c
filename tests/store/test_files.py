"""A hostile store cannot make the reader leave it, block, or read anything but regular files."""

from __future__ import annotations

import os
import socket
import stat
from collections.abc import Iterator
from pathlib import Path

import pytest

from agentdbg.store import files
from agentdbg.store.files import (
    StoreError,
    check_name,
    create_private_file,
    is_run_id,
    list_below,
    looseness,
    make_private_dir,
    open_below,
    open_regular,
    read_below,
    stat_below,
)


@pytest.fixture(params=[True, False], ids=["by descriptor", "by path"])
def either_way(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """Platforms without directory descriptors take the other branch."""
    monkeypatch.setattr(files, "_HAS_DIR_FD", request.param)


@pytest.fixture
def loose_umask() -> Iterator[None]:
    before = os.umask(0)
    yield
    os.umask(before)


def mode(path: Path) -> int:
    return stat.S_IMODE(path.lstat().st_mode)


def test_a_link_is_not_followed(tmp_path: Path) -> None:
    (tmp_path / "real").write_text("secret")
    (tmp_path / "link").symlink_to("real")
    with pytest.raises(StoreError, match="symbolic link"):
        open_regular(tmp_path / "link")


def test_a_fifo_is_refused_and_does_not_block(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    with pytest.raises(StoreError, match="FIFO"):
        open_regular(tmp_path / "pipe")


def test_devices_sockets_and_directories_are_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    with socket.socket(socket.AF_UNIX) as server:
        server.bind("sock")
        for path, kind in (("/dev/zero", "device"), ("sock", "socket"), (".", "directory")):
            with pytest.raises(StoreError, match=kind):
                open_regular(path)


@pytest.mark.parametrize("name", ["", ".", "..", "a/b", "../x", "a\\b", "nul\0", "line\nfeed", "x" * 256, "\x7f"])
def test_a_strange_name_is_refused_in_one_line(tmp_path: Path, name: str) -> None:
    with pytest.raises(StoreError) as refused:
        check_name(name)
    assert "\n" not in str(refused.value)
    with pytest.raises(StoreError):
        open_below(tmp_path, name)


@pytest.mark.parametrize(
    ("name", "good"),
    [
        ("a", True),
        ("7f3a-x.y_z", True),
        ("", False),
        ("..", False),
        (".a", False),
        ("-a", False),
        ("a/b", False),
        ("a\n", False),
        ("x" * 129, False),
        ("é", False),
    ],
)
def test_run_ids_have_a_narrow_form(name: str, good: bool) -> None:
    assert is_run_id(name) is good


@pytest.mark.usefixtures("either_way")
def test_a_link_anywhere_below_the_root_is_not_followed(tmp_path: Path) -> None:
    outside = tmp_path / "outside"
    outside.mkdir()
    (outside / "file").write_text("secret")
    store = tmp_path / "store"
    store.mkdir()
    (store / "events").symlink_to(outside)
    for attempt in (open_below, stat_below):
        with pytest.raises(StoreError, match="not followed"):
            attempt(store, "events", "file")
    with pytest.raises(StoreError, match="not followed"):
        list_below(store, "events")


@pytest.mark.usefixtures("either_way")
def test_files_below_the_root_are_read_and_listed(tmp_path: Path) -> None:
    (tmp_path / "a" / "b").mkdir(parents=True)
    (tmp_path / "a" / "f").write_bytes(b"content")
    (tmp_path / "a" / "l").symlink_to("f")
    os.mkfifo(tmp_path / "a" / "p")
    assert read_below(tmp_path, "a", "f", limit=7) == b"content"
    assert stat_below(tmp_path, "a", "f").st_size == 7
    assert list_below(tmp_path, "a") == [("b", "directory"), ("f", "file"), ("l", "link"), ("p", "other")]
    assert list_below(tmp_path, "nowhere") == []
    with pytest.raises(StoreError, match="a/f is larger than 6 bytes"):
        read_below(tmp_path, "a", "f", limit=6)


def test_a_root_that_the_user_named_may_be_a_link(tmp_path: Path) -> None:
    (tmp_path / "real").mkdir()
    (tmp_path / "real" / "f").write_bytes(b"x")
    (tmp_path / "link").symlink_to("real")
    assert read_below(tmp_path / "link", "f", limit=10) == b"x"


@pytest.mark.usefixtures("loose_umask")
@pytest.mark.parametrize(("group", "directory", "file"), [(False, 0o700, 0o600), (True, 0o750, 0o640)])
def test_what_is_created_is_private_whatever_the_umask(tmp_path: Path, group: bool, directory: int, file: int) -> None:
    deep = tmp_path / "a" / "b"
    make_private_dir(deep, group=group)
    os.close(create_private_file(deep / "f", group=group))
    assert [mode(tmp_path / "a"), mode(deep), mode(deep / "f")] == [directory, directory, file]
    assert looseness((deep / "f").stat()) == looseness(deep.stat()) == ""


def test_a_strict_umask_takes_nothing_away(tmp_path: Path) -> None:
    before = os.umask(0o777)
    try:
        make_private_dir(tmp_path / "d")
        os.close(create_private_file(tmp_path / "d" / "f", group=True))
    finally:
        os.umask(before)
    assert [mode(tmp_path / "d"), mode(tmp_path / "d" / "f")] == [0o700, 0o640]


def test_creating_over_something_is_refused(tmp_path: Path) -> None:
    (tmp_path / "f").write_text("old")
    (tmp_path / "link").symlink_to("f")
    with pytest.raises(FileExistsError):
        create_private_file(tmp_path / "f")
    with pytest.raises(StoreError, match="symbolic link"):
        create_private_file(tmp_path / "link", append=True)
    with pytest.raises(StoreError, match="not a directory"):
        make_private_dir(tmp_path / "link")
    fd = create_private_file(tmp_path / "f", append=True)
    os.write(fd, b"+new")
    os.close(fd)
    assert (tmp_path / "f").read_text() == "old+new"


@pytest.mark.parametrize(
    ("is_dir", "bits", "fine"),
    [
        (False, 0o600, True),
        (False, 0o640, True),
        (False, 0o644, False),
        (False, 0o660, False),
        (True, 0o750, True),
        (True, 0o755, False),
        (True, 0o770, False),
    ],
)
def test_looser_modes_are_noticed(tmp_path: Path, is_dir: bool, bits: int, fine: bool) -> None:
    path = tmp_path / "x"
    path.mkdir() if is_dir else path.touch()
    path.chmod(bits)
    assert (looseness(path.stat()) == "") is fine
    path.chmod(0o700)

"""Where another process's paths lead: told as the kernel walks them."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import pytest

from agentdbg.replay.kernel.paths import AT_CWD, OPEN_ALREADY, descriptor, resolved

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="reads /proc")


@pytest.fixture
def place(tmp_path: Path) -> Path:
    (tmp_path / "in" / "deep").mkdir(parents=True)
    (tmp_path / "out").mkdir()
    (tmp_path / "in" / "away").symlink_to(tmp_path / "out")
    (tmp_path / "in" / "up").symlink_to("deep/../../out")
    (tmp_path / "in" / "round").symlink_to("round")
    return tmp_path.resolve()


@pytest.mark.parametrize(
    ("path", "follow", "leads"),
    [
        ("in/new", True, "in/new"),
        ("in/away", True, "out"),
        ("in/away", False, "in/away"),
        ("in/away/", False, "out"),
        ("in/away/new", False, "out/new"),
        ("in/away/../in/f", True, "in/f"),
        ("in/up/f", True, "out/f"),
        ("in//./deep/../f", True, "in/f"),
        ("missing/../in/f", True, "in/f"),
    ],
)
def test_links_and_steps_up_are_walked(place: Path, path: str, follow: bool, leads: str) -> None:
    assert resolved(os.getpid(), AT_CWD, f"{place}/{path}", follow=follow) == f"{place}/{leads}"
    fd = os.open(place, os.O_RDONLY)
    try:
        assert resolved(os.getpid(), fd, path, follow=follow) == f"{place}/{leads}"
        assert descriptor(os.getpid(), fd) == str(place)
    finally:
        os.close(fd)


def test_a_link_to_itself_is_an_error(place: Path) -> None:
    with pytest.raises(OSError, match="symbolic links"):
        resolved(os.getpid(), AT_CWD, f"{place}/in/round", follow=True)


def test_what_is_open_already_has_no_path_but_is_known_as_its_own() -> None:
    ends = os.pipe()
    try:
        found = resolved(os.getpid(), AT_CWD, f"/proc/self/fd/{ends[1]}", follow=True)
        assert found.startswith(f"{OPEN_ALREADY}pipe:")
    finally:
        for end in ends:
            os.close(end)
    assert resolved(os.getpid(), AT_CWD, "/proc/thread-self/comm", follow=True) == "/proc/self/comm"


def test_links_of_other_processes_are_not_followed() -> None:
    for path in (f"/proc/{os.getppid()}/fd/1", f"/proc/{os.getppid()}/cwd/f", f"/proc/{os.getppid()}/root/tmp"):
        assert resolved(os.getpid(), AT_CWD, path, follow=True) == path

"""Which engine is asked, and the one line that says why none is."""

from __future__ import annotations

import os
import stat
from pathlib import Path

import pytest

from agentdbg.replay.container.engines import Engine, NoContainer, find_engine, image_of, trouble_of, user_of

DOWN = "echo 'Cannot connect to the daemon at unix:///nowhere. Is it running?' >&2; echo null; exit 1"
QUIET = "echo null"  # the status of an old client whose daemon is down
DOCKER = """case "$1" in
info) echo '["name=seccomp,profile=default"]' ;;
image) case "$5" in there) echo sha256:1 linux ;; windows) echo sha256:2 windows ;;
    *) echo "Error: No such image: $5" >&2; exit 1 ;; esac ;;
esac"""
ROOTLESS = "echo '[\"name=rootless\"]'"


@pytest.fixture
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The only directory on the search path, empty."""
    monkeypatch.setenv("PATH", str(tmp_path))
    return tmp_path


def put(place: Path, name: str, script: str) -> Path:
    file = place / name
    file.write_text(f"#!/bin/sh\n{script}\n")
    file.chmod(file.stat().st_mode | stat.S_IXUSR)
    return file


def problem(wanted: str = "") -> str:
    with pytest.raises(NoContainer) as caught:
        find_engine(wanted)
    assert "\n" not in str(caught.value)
    return str(caught.value)


def test_without_an_engine_all_names_are_said(place: Path) -> None:
    assert all(word in problem() for word in ("docker", "podman", "nerdctl", "--guard audit"))


@pytest.mark.parametrize("script", [DOWN, QUIET])
def test_an_engine_whose_daemon_is_down_is_not_taken(place: Path, script: str) -> None:
    put(place, "docker", script)
    assert problem().startswith("docker does not run: ")
    assert problem("docker").startswith("docker does not run: ")
    put(place, "podman", "echo false")
    assert find_engine().name == "podman"
    assert ("Cannot connect" in problem("docker")) == (script == DOWN)


def test_the_first_that_answers_is_taken_and_another_can_be_named(place: Path) -> None:
    put(place, "docker", DOCKER)
    podman = put(place, "podman", "echo true")
    assert find_engine() == Engine("docker", str(place / "docker"))
    assert find_engine("podman") == find_engine(str(podman)) == Engine("podman", str(podman), rootless=True)
    assert "nerdctl is not there" in problem("nerdctl")
    assert "it is one of docker, podman, nerdctl" in problem("rm")


def test_an_image_must_be_there_and_for_linux(place: Path) -> None:
    engine = Engine("docker", str(put(place, "docker", DOCKER)))
    assert image_of(engine, "there") == "sha256:1"
    for image, words in (("absent", "nothing is fetched"), ("windows", "for windows"), ("-x", "no name"), ("", "name")):
        with pytest.raises(NoContainer, match=words):
            image_of(engine, image)


def test_an_engine_that_cannot_be_started_is_named(place: Path) -> None:
    with pytest.raises(NoContainer, match="cannot be started"):
        Engine("docker", str(place / "docker")).ask("info")


@pytest.mark.parametrize(
    ("output", "line"),
    [
        (
            'time="now" level=error msg="no ids"\nError: keep-id requires additional UIDs\n',
            "keep-id requires additional UIDs",
        ),
        (
            "docker: Error response from daemon: bind source is absent.\nSee 'docker run --help'.\n",
            "Error response from daemon: bind source is absent",
        ),
        ("something else\nthe last\n", "the last"),
        ("", "it says nothing"),
    ],
    ids=["podman", "docker", "other", "nothing"],
)
def test_the_line_that_says_what_went_wrong_is_shown(output: str, line: str) -> None:
    assert trouble_of(output) == line


def test_the_child_is_this_user() -> None:
    mine = f"{os.getuid()}:{os.getgid()}"
    assert user_of(Engine("docker", "d")) == ["--user", mine]
    assert user_of(Engine("docker", "d", rootless=True)) == ["--user", "0:0"]
    assert user_of(Engine("docker", "d", remapped=True)) == ["--userns", "host", "--user", mine]
    assert user_of(Engine("podman", "p", rootless=True, single=True)) == ["--user", "0:0"]
    assert user_of(Engine("podman", "p", rootless=True)) == ["--userns", "keep-id", "--user", mine]

"""What of this machine is seen in a container: nothing of it can be changed."""

from __future__ import annotations

import os
import tempfile
from pathlib import Path

import pytest

from agentdbg.replay.container import mounts
from agentdbg.replay.container.engines import Engine, NoContainer
from agentdbg.replay.container.mounts import Mounts, gather

DOCKER, PODMAN = Engine("docker", "docker"), Engine("podman", "podman")


@pytest.fixture
def project(tmp_path: Path) -> Path:
    place = tmp_path / "project"
    (place / "src").mkdir(parents=True)
    (place / "src" / "agent.py").write_text("x = 1")
    (place / ".git").mkdir()
    (place / ".venv").mkdir()
    (place / ".venv" / "pyvenv.cfg").touch()
    return place


@pytest.fixture
def scratch(tmp_path: Path) -> Path:
    (tmp_path / "scratch").mkdir()
    return tmp_path / "scratch"


def gathered(
    scratch: Path, *folders: str | Path, packages: tuple[str, ...] = (), files: tuple[str, ...] = ()
) -> Mounts:
    return gather(scratch, [str(folder) for folder in folders], packages, str(scratch.parent / "agentdbg"), files)


def test_the_outermost_directories_are_seen_once(project: Path, scratch: Path) -> None:
    found = gathered(scratch, project / "src", project, project / "absent")
    assert [folder.place for folder in found.folders] == [str(project)]


@pytest.mark.parametrize("place", ["/", "/usr", "/etc", "/proc/self", "/usr/lib", "/sys/class"])
def test_nothing_is_put_over_what_is_the_images_own(scratch: Path, place: str) -> None:
    assert gathered(scratch, place).folders == ()


def test_a_directory_for_temporary_files_is_a_view_only_where_the_program_is(scratch: Path) -> None:
    place = mounts.temporary()
    assert place in gathered(scratch).temporary
    assert place not in gathered(scratch, place).temporary
    assert [folder.place for folder in gathered(scratch, place).folders] == [place]


def test_everything_but_scratch_and_views_is_read_only(project: Path, scratch: Path, tmp_path: Path) -> None:
    (tmp_path / "packages").mkdir()
    (tmp_path / "read").write_text("x")
    packages, read = str(tmp_path / "packages"), str(tmp_path / "read")
    found = gathered(scratch, project, packages=(packages,), files=(read, "/etc/passwd", str(project / "src/agent.py")))
    bound = [word for word in mounts.options(found, DOCKER) if word.startswith("type=bind")]
    assert [word for word in bound if not word.endswith("readonly")] == [f"type=bind,src={scratch},dst={scratch}"]
    assert f"type=bind,src={packages},dst={packages},readonly" in bound
    assert f"type=bind,src={read},dst={read},readonly" in bound
    assert not any("agent.py" in word or "passwd" in word for word in bound)


def test_packages_of_the_system_do_not_hide_those_of_the_image(scratch: Path, tmp_path: Path) -> None:
    place = os.path.realpath(os.path.dirname(tempfile.__file__))
    (_, there), *_ = gathered(scratch, packages=(place,)).read
    assert there.startswith("/agentdbg-packages-") == place.startswith(("/usr/", "/opt/"))


def test_each_engine_is_asked_for_views_in_its_own_words(project: Path, scratch: Path) -> None:
    found = gathered(scratch, project)
    upper = found.folders[0].upper
    docker, podman = (" ".join(mounts.options(found, engine)) for engine in (DOCKER, PODMAN))
    assert (
        f'volume-opt=type=overlay,volume-opt=device=overlay,"volume-opt=o=lowerdir={project},upperdir={upper}' in docker
    )
    assert f"{project}:{project}:O,upperdir={upper}" in podman


@pytest.mark.parametrize(
    ("engine", "platform", "name"), [("nerdctl", "linux", "a"), ("docker", "darwin", "a"), ("docker", "linux", "a,b")]
)
def test_where_no_view_can_be_laid_it_is_not_tried(
    scratch: Path, tmp_path: Path, engine: str, platform: str, name: str
) -> None:
    (tmp_path / name).mkdir()
    assert not mounts.can_overlay(gathered(scratch, tmp_path / name), Engine(engine, engine), platform)


def test_a_copy_leaves_out_what_nobody_changes_by_running(project: Path, scratch: Path) -> None:
    (project / "link").symlink_to("src/agent.py")
    os.mkfifo(project / "pipe")
    found = gathered(scratch, project).copied()
    copy = Path(found.folders[0].copy)
    assert sorted(os.listdir(copy)) == ["link", "src"]
    assert (copy / "link").is_symlink()
    assert {os.path.basename(path) for path in found.left_out} == {".git", ".venv", "pipe"}
    assert found.changed() == []
    (copy / "src" / "agent.py").write_text("changed")
    (copy / "new").touch()
    assert found.changed() == [str(project / "new"), str(project / "src" / "agent.py")]
    assert (project / "src" / "agent.py").read_text() == "x = 1"


def test_mount_points_within_a_copy_are_made_beforehand(project: Path, scratch: Path) -> None:
    (project / ".venv" / "packages").mkdir()
    found = gathered(scratch, project, packages=(str(project / ".venv" / "packages"),)).copied()
    assert os.listdir(os.path.join(found.folders[0].copy, ".venv")) == ["packages"]


def test_a_directory_that_is_too_large_is_not_copied(
    project: Path, scratch: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(mounts, "MOST_FILES", 1)
    with pytest.raises(NoContainer, match="too large to be copied"):
        gathered(scratch, project).copied()

"""What a run needs in its container, from its record."""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping
from pathlib import Path

from agentdbg.config.paths import config_dir
from agentdbg.redaction.keys import load_key
from agentdbg.replay.container.box import Box, Wish, make_box
from agentdbg.replay.container.mounts import temporary
from agentdbg.replay.spec import expand, interpreter, launch_of, mapping, program_path, recorded_environment
from agentdbg.replay.start_state import StartState
from agentdbg.replay.trust import roots_of
from agentdbg.store.reader import DirectoryRunSource

KEY_FILE = "redaction.key"


def box_for(source: DirectoryRunSource, image: str, engine: str, start: StartState, cwd: str, scratch: Path) -> Box:
    """A container for a run.

    Args:
        source: The recorded run.
        image: The image's name.
        engine: The engine's name; empty: the first that answers.
        start: The state that the replay starts from.
        cwd: Where the agent is started.
        scratch: The replay's own directory.

    Raises:
        NoContainer: It cannot be.
    """
    known = mapping(recorded_environment(source).get("dependencies"))
    wish = Wish(
        image=image,
        engine=engine,
        folders=_folders(source, start, cwd, scratch),
        files=[*_files_read(source), *_settings()],
        python=interpreter(source),
        recorded=known if "error" not in known else {},
        scripts=_started(source),
    )
    package = str(Path(__file__).resolve().parents[3])
    return make_box(wish, scratch, package)


def variables(scratch: Path) -> dict[str, str]:
    """What the child needs to know beside the usual: placeholders are made with this user's key there too."""
    place = scratch / KEY_FILE
    place.touch(mode=0o600)
    place.write_bytes(load_key().secret)
    return {"AGENTDBG_REDACTION_KEY_FILE": str(place)}


def _folders(source: DirectoryRunSource, start: StartState, cwd: str, scratch: Path) -> list[str]:
    """Directories of the program, and where it wrote."""
    entry = mapping(source.summary().meta.get("entry"))
    roots = roots_of(source.summary())
    homes = [os.path.dirname(path) for path in _started(source)]
    written = [place for path in start.files if (place := os.path.dirname(path)) != temporary()]
    found = [cwd, roots.get("root", ""), *homes, *program_path(entry, roots), *written]
    own = str(scratch)
    return [place for place in found if os.path.isabs(place) and not f"{place}/".startswith(f"{own}/")]


def _started(source: DirectoryRunSource) -> list[str]:
    """The file of the recorded function, and that of the launched program."""
    entry = mapping(source.summary().meta.get("entry"))
    roots = roots_of(source.summary())
    launch = launch_of(entry, roots) or {}
    target = expand(str(mapping(entry.get("callable")).get("file", "")), roots)
    return [path for path in (target, str(launch.get("file", ""))) if os.path.isabs(path)]


def _files_read(source: DirectoryRunSource) -> list[str]:
    roots = roots_of(source.summary())
    found = [event.members for event in source.extra_events("file")]
    return [expand(str(members.get("path", "")), roots) for members in found if members.get("mode") == "read"]


def _settings() -> list[str]:
    """This user's settings file, where it is found at the same place in a container."""
    return [str(config_dir() / "config.toml")] if sys.platform == "linux" else []


def members(box: Box) -> Mapping[str, object]:
    """What the child is told of its container."""
    name = box.engine.name
    return {"folders": box.mounts.writable, "held": [f"container without network ({name})", box.mounts.way]}

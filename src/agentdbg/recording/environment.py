"""What an agent ran on, taken once per process: dependencies, runtime, platform, locale, zone, environment, code.

Variables appear by name with a keyed hash, their values never (a short list of harmless ones excepted). Nothing here
is redacted: the writer does that.
"""

from __future__ import annotations

import hashlib
import hmac
import os
import re
import sys
import time
import types
from collections.abc import Callable, Iterable, Mapping
from functools import partial

from agentdbg.model.records import Json
from agentdbg.recording import launched
from agentdbg.recording.paths import neutral_path, printable, project_root, virtual_environment

__all__ = ["capture", "dependencies", "module_hashes", "neutral_path", "path_case_sensitive", "variables"]

_SHOWN = re.compile(
    r"LANG|LANGUAGE|LC_[A-Z]+|TZ|TERM|NO_COLOR|CI|SOURCE_DATE_EPOCH"
    r"|PYTHON(HASHSEED|UTF8|IOENCODING|OPTIMIZE|DEVMODE|UNBUFFERED|DONTWRITEBYTECODE|NOUSERSITE|SAFEPATH|COERCECLOCALE)"
)
_ADDRESS = re.compile(r"[A-Z0-9_]+_(BASE_URL|API_BASE|ENDPOINT|API_VERSION|MODEL|MODEL_NAME|DEPLOYMENT|REGION)")
"""Where and what a model is: shown unless somebody's credentials stand in it."""
_MAX_SHOWN = 200
_COMMIT = """
    GIT_COMMIT GIT_SHA GIT_REVISION COMMIT_SHA SOURCE_COMMIT SOURCE_VERSION VCS_REF GITHUB_SHA CI_COMMIT_SHA
    BUILDKITE_COMMIT CIRCLE_SHA1 DRONE_COMMIT_SHA BITBUCKET_COMMIT BUILD_SOURCEVERSION CODEBUILD_RESOLVED_SOURCE_VERSION
    HEROKU_SLUG_COMMIT VERCEL_GIT_COMMIT_SHA RENDER_GIT_COMMIT RAILWAY_GIT_COMMIT_SHA
"""
_DIGEST = "IMAGE_DIGEST CONTAINER_IMAGE_DIGEST CONTAINER_DIGEST DOCKER_IMAGE_DIGEST IMAGE_SHA OCI_IMAGE_DIGEST"
_COMMIT_SHAPE = re.compile(r"[0-9a-fA-F]{7,64}")
_DIGEST_SHAPE = re.compile(r"([a-z0-9./:_-]{1,200}@)?sha256:[0-9a-f]{64}|[0-9a-f]{64}")
_MAX_MODULES = 5000
_MAX_SOURCE = 4 * 1024 * 1024
_LIBRARIES = (f"{os.sep}site-packages{os.sep}", f"{os.sep}dist-packages{os.sep}")


def capture(secret: bytes, *, git: bool = True, cwd: str | None = None, main: str | None = None) -> dict[str, Json]:
    """Describe this process's surroundings. Never raises; a part that fails is ``{"error": …}`` in its place.

    Starts git unless told not to, and may take seconds then: meant for a background thread. Under a replay guard
    starting git is refused, so pass ``git=False`` there.

    Args:
        secret: Key of the hashes over the values of environment variables. Without one they have no hash.
        git: Whether git may be asked. Otherwise, and where there is no repository, imported modules are hashed.
        cwd: Directory to describe; the working directory by default.
        main: File of the program itself, which its module does not name any more once it has run to its end.
    """
    folder = _attempt(lambda: os.path.abspath(cwd or os.getcwd()))
    here = folder if isinstance(folder, str) else os.sep
    root = project_root(here)
    places = {"root": root or here, "venv": virtual_environment(), "home": os.path.expanduser("~")}
    parts: dict[str, Callable[[], Json]] = {
        "cwd": lambda: neutral_path(folder, **places) if isinstance(folder, str) else folder,
        "dependencies": dependencies,
        "runtime": lambda: _runtime(places),
        "platform": _platform,
        "locale": _locale,
        "time_zone": _time_zone,
        "path_case_sensitive": lambda: path_case_sensitive(here),
        "hash_seed": _hash_seed,
        "env": lambda: variables(secret),
        "image": _image,
        "git": lambda: _git(root) if git and root else None,
    }
    found = {name: _attempt(part) for name, part in parts.items()}
    state = found["git"]
    if not isinstance(state, dict) or not state.get("commit"):
        found["modules"] = _attempt(lambda: module_hashes(**places, main=main))
    return found


def _attempt(part: Callable[[], Json]) -> Json:
    try:
        return part()
    except Exception as problem:
        return {"error": printable(f"{type(problem).__name__}: {problem}")[:400]}


def _git(root: str) -> Json:
    from agentdbg.recording.git_state import git_state

    return git_state(root)


def dependencies() -> dict[str, Json]:
    """Installed distributions, normalised name to version; of two with one name, the one that is imported."""
    from importlib.metadata import distributions

    found: dict[str, Json] = {}
    for distribution in distributions():
        try:
            text = distribution.read_text("METADATA") or distribution.read_text("PKG-INFO") or ""
        except (OSError, ValueError):
            continue
        # The two header lines, without the e-mail parser's cost for each package.
        header = text.partition("\n\n")[0]
        name = re.search(r"(?m)^Name:[ \t]*(\S+)", header)
        version = re.search(r"(?m)^Version:[ \t]*(\S+)", header)
        if name:
            key = re.sub(r"[-_.]+", "-", name[1]).lower()
            found.setdefault(key, version[1] if version else None)
    return dict(sorted(found.items()))


def _runtime(places: dict[str, str | None]) -> Json:
    return {
        "implementation": sys.implementation.name,
        "version": sys.version.split()[0],
        "executable": neutral_path(sys.executable or "", **places),
        "optimize": sys.flags.optimize,
    }


def _platform() -> Json:
    if hasattr(os, "uname"):
        system = os.uname()
        names: dict[str, Json] = {"system": system.sysname, "release": system.release, "machine": system.machine}
    else:
        import platform

        names = {"system": platform.system(), "release": platform.release(), "machine": platform.machine()}
    names["libc"] = _attempt(_libc)
    return names


def _libc() -> Json:
    if "CS_GNU_LIBC_VERSION" in getattr(os, "confstr_names", {}):
        try:
            return os.confstr("CS_GNU_LIBC_VERSION")
        except (OSError, ValueError):
            return None
    import platform

    return " ".join(platform.libc_ver()).strip() or None


def _locale() -> Json:
    import locale

    return {
        "LC_ALL": _environ().get("LC_ALL"),
        "LANG": _environ().get("LANG"),
        "preferred_encoding": locale.getpreferredencoding(False),
        "filesystem_encoding": sys.getfilesystemencoding(),
    }


def _time_zone() -> Json:
    now = time.localtime()
    return {"name": now.tm_zone, "utc_offset_s": now.tm_gmtoff, "TZ": _environ().get("TZ"), "area": _attempt(_area)}


def _area() -> Json:
    """``Europe/Berlin`` where the system's zone is a link into its zone database."""
    if not os.path.islink("/etc/localtime"):
        return None
    return printable(os.readlink("/etc/localtime")).rpartition("zoneinfo/")[2] or None


def path_case_sensitive(folder: str) -> bool | None:
    """Whether ``folder`` tells ``a`` from ``A``, found by looking only; ``None`` when nothing there has letters."""
    from itertools import islice

    with os.scandir(folder) as entries:
        names = {entry.name for entry in islice(entries, 1000)}
    candidates = [(folder, name) for name in sorted(names) if name.swapcase() not in names]
    while (parent := os.path.dirname(folder)) != folder:
        candidates.append((parent, os.path.basename(folder)))
        folder = parent
    for place, name in candidates:
        other = name.swapcase()
        if other == name or other.swapcase() != name:
            continue
        there = os.path.lexists(os.path.join(place, other))
        if not os.path.lexists(os.path.join(place, name)):
            continue  # it has just gone, so its absence under the other name says nothing
        return not (there and _same(os.path.join(place, name), os.path.join(place, other)))
    return None


def _same(one: str, other: str) -> bool:
    return os.path.samestat(os.lstat(one), os.lstat(other))


def _hash_seed() -> Json:
    return printable(launched.hash_seed())


def variables(secret: bytes) -> dict[str, Json]:
    """Every environment variable: present, keyed hash of the value, and the value of a few that are no secret."""
    found: dict[str, Json] = {}
    for name, value in sorted(_environ().items()):
        entry: dict[str, Json] = {"present": True}
        if secret:
            entry["mac"] = hmac.new(secret, os.fsencode(value), hashlib.sha256).hexdigest()[:12]
        if _is_shown(name, value):
            entry["value"] = printable(value)
        found[printable(name)] = entry
    return found


def _environ() -> Mapping[str, str]:
    """The variables that a launched program was started with; of another, those that are set by now."""
    return launched.started_with if launched.active else os.environ.copy()


def _is_shown(name: str, value: str) -> bool:
    if len(value) > _MAX_SHOWN:
        return False
    return bool(_SHOWN.fullmatch(name) or (_ADDRESS.fullmatch(name) and not set(value) & set("@?&=")))


def _image() -> Json:
    """Commit and digest that an image's build left in the environment, when they look like ones."""
    found: dict[str, Json] = {}
    for kind, names, shape in (("commit", _COMMIT, _COMMIT_SHAPE), ("digest", _DIGEST, _DIGEST_SHAPE)):
        for name in names.split():
            value = os.environ.get(name, "")
            if shape.fullmatch(value):
                found[kind] = {"variable": name, "value": value}
                break
    return found or None


def module_hashes(*, root: str | None, venv: str | None, home: str | None, main: str | None = None) -> dict[str, Json]:
    """Path and content hash of each imported module that is neither standard library nor an installed package.

    Args:
        root: See `neutral_path`; so are the others.
        venv: The virtual environment.
        home: The home directory.
        main: See `capture`.
    """
    write = partial(neutral_path, root=root, venv=venv, home=home)
    found: dict[str, Json] = {}
    for name, path in sorted(_own_modules(list(sys.modules.items()), main))[:_MAX_MODULES]:
        entry: dict[str, Json] = {"path": write(path)}
        try:
            with open(path, "rb") as file:
                source = file.read(_MAX_SOURCE + 1)
        except OSError as problem:
            entry["error"] = problem.strerror or type(problem).__name__
        else:
            entry |= {"error": "too large"} if len(source) > _MAX_SOURCE else {"sha256": _sha256(source)}
        found[printable(name)] = entry
    return found


def _own_modules(modules: Iterable[tuple[str, object]], main: str | None) -> Iterable[tuple[str, str]]:
    stdlib = os.path.dirname(os.path.abspath(os.__file__)) + os.sep
    for name, module in modules:
        if not isinstance(module, types.ModuleType):
            continue
        # Not getattr: asking a lazy module for an attribute imports it.
        path = object.__getattribute__(module, "__dict__").get("__file__", main if name == "__main__" else None)
        if not isinstance(path, str) or not os.path.isabs(path) or path.startswith(stdlib):
            continue
        ours = name.partition(".")[0] == "agentdbg" and not name.startswith("agentdbg.demo")
        if not ours and not any(place in path for place in _LIBRARIES):
            yield name, path


def _sha256(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()

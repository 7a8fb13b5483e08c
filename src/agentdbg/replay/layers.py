"""The kernel layers of a replay, from the child's side: put in place before anything of the agent's is loaded."""

from __future__ import annotations

import os
import queue
import shutil
import threading
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from types import ModuleType
from typing import Any, Protocol

from agentdbg.recording.hooks import on_standard_import
from agentdbg.replay.kernel import call_filter, calls, capabilities, landlock, namespaces

_SHARED_MEMORY = "/dev/shm"
_ALWAYS_WRITABLE = ("/dev/null", "/dev/zero", "/dev/full", "/dev/tty")


class NoKernelGuard(Exception):
    """A layer that an exact replay needs is not to be had here; the message says which and why."""


class Tell(Protocol):
    """Sends a message to the parent."""

    def __call__(self, message: Mapping[str, object], descriptor: int | None = None, /) -> None:
        """Send it, with a descriptor or without."""


def enter(spec: Mapping[str, Any], tell: Tell, wait: Callable[[], object]) -> list[str]:
    """Put the layers in place.

    Args:
        spec: ``scratch``, ``cwd``, ``views`` (folder, upper, work each), ``start_files`` (path, and content or
            directory each), ``temporary`` (folder, path, variable), and ``network``: it stays, the parent judges each
            address. ``box``: of a container that holds already, ``folders`` and ``held``; what it does not let us lay
            is left out then, and said.
        tell: Sends a message to the parent, which takes the filter's listener over.
        wait: Returns when the parent has it.

    Returns:
        Places whose changes are contained: the scratch directory, and the views that could be laid.

    Raises:
        NoKernelGuard: There is no Landlock, or no seccomp.
    """
    if spec.get("box"):
        return _enter_in_box(spec, spec["box"], tell, wait)
    _prepare()
    closed = not spec.get("network")
    held, folders = _namespaces(spec, closed=closed)
    _put_start_files(spec.get("start_files") or [], folders)
    _keep_temporary_files_where_they_are(spec, folders)
    os.chdir(spec["cwd"])
    several = spec.get("processes") or {}
    contained = [str(spec["scratch"]), *map(str, several.get("own", ())), *folders]
    try:
        capabilities.give_up()
        abi = landlock.restrict([*contained, *_ALWAYS_WRITABLE], network=closed)
        listener = call_filter.install(listened=True, several=bool(several))
    except (OSError, calls.KernelRefused) as problem:
        raise NoKernelGuard(str(getattr(problem, "strerror", None) or problem)) from problem
    if listener is None:  # an effect could be stopped without a word, and the program go on as if it had not been
        raise NoKernelGuard("seccomp cannot ask here which call it is")
    held += [f"landlock {abi}", "seccomp"]
    tell(
        {
            "event": "kernel",
            "listener": listener,
            "pid": os.getpid(),
            "layers": held,
            "contained": contained,
            "alone": "network namespace" in held,
        }
    )
    wait()
    os.close(listener)
    return contained


def _enter_in_box(spec: Mapping[str, Any], box: Mapping[str, Any], tell: Tell, wait: Callable[[], object]) -> list[str]:
    """Within a container: its mounts and its network are the views and the namespace."""
    folders = [str(place) for place in box["folders"]]
    _put_start_files(spec.get("start_files") or [], folders)
    os.chdir(spec["cwd"])
    contained = [str(spec["scratch"]), *folders]
    held, lacking = [str(layer) for layer in box["held"]], {}
    listener: int | None = None
    with _Messenger(tell) as messenger:
        try:
            _prepare()
            held.append(f"landlock {landlock.restrict([*contained, *_ALWAYS_WRITABLE])}")
        except (OSError, NoKernelGuard) as problem:
            lacking["landlock"] = str(getattr(problem, "strerror", None) or problem)
        try:
            listener = call_filter.install(listened=True, alone=False)
        except (OSError, calls.KernelRefused) as problem:
            lacking["seccomp"] = str(getattr(problem, "strerror", None) or problem)
        if listener is not None:
            held.append("seccomp")
        told = {"event": "kernel", "layers": held, "lacking": lacking, "contained": contained, "alone": True}
        messenger.send(told, listener)
    wait()
    if listener is not None:
        os.close(listener)
    return contained


class _Messenger:
    """A thread from before the filter: what it sends is not asked about, as there is nobody yet who could answer."""

    def __init__(self, tell: Tell) -> None:
        self._tell = tell
        self._told: queue.SimpleQueue[tuple[Mapping[str, object], int | None] | None] = queue.SimpleQueue()
        self._thread = threading.Thread(target=self._run)

    def send(self, message: Mapping[str, object], descriptor: int | None) -> None:
        """Send a message, and perhaps a descriptor."""
        self._told.put((message, descriptor))

    def __enter__(self) -> _Messenger:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._told.put(None)
        self._thread.join()

    def _run(self) -> None:
        while (told := self._told.get()) is not None:
            self._tell(*told)


def _prepare() -> None:
    """Load what the layers need. Raises NoKernelGuard where they are not built for this machine."""
    try:
        calls.machine()
    except calls.KernelRefused as problem:
        raise NoKernelGuard(str(problem)) from problem
    calls.prepare()


def _namespaces(spec: Mapping[str, Any], *, closed: bool) -> tuple[list[str], list[str]]:
    """Layers that hold, and the folders that are seen copy-on-write: none without namespaces."""
    try:
        held = namespaces.enter(network=closed)
    except calls.KernelRefused:
        return [], []
    views = [namespaces.View(*(str(view[name]) for name in ("folder", "upper", "work"))) for view in spec["views"]]
    laid = [view.folder for view in namespaces.cover(views, str(spec["scratch"]))]
    seen = [str(spec["scratch"]), str(spec["cwd"]), *laid]
    if any(f"{place}/".startswith(f"{_SHARED_MEMORY}/") for place in seen):
        return [*held, *(["copy-on-write view"] if laid else [])], laid  # it would be hidden
    with suppress(OSError):
        calls.mount("tmpfs", _SHARED_MEMORY, "tmpfs", 0, "size=256m")
        laid.append(_SHARED_MEMORY)
    return [*held, *(["copy-on-write view"] if laid else [])], laid


def _put_start_files(files: Sequence[Mapping[str, Any]], folders: Sequence[str]) -> None:
    """Make the files that the agent changed what they were when it first did, inside the views alone."""
    for told in files:
        path, content = str(told["path"]), told.get("content")
        is_folder, link = bool(told.get("directory")), told.get("link")
        entry = os.path.join(os.path.realpath(os.path.dirname(path)), os.path.basename(path))
        only_entry = link is not None or (content is None and not is_folder and os.path.islink(entry))
        if not _is_below(entry, folders) or not (only_entry or _is_below(os.path.realpath(entry), folders)):
            continue  # a link leads out of them
        with suppress(OSError):  # a directory that has gone: the agent will say so itself, as it would have
            if is_folder:
                if told.get("whole"):  # one that holds nothing of the user's can be moved in a view
                    _take_away(entry)
                os.makedirs(entry, exist_ok=True)
            elif link is not None:
                _take_away(entry)
                os.symlink(link, entry)
            elif content is not None:
                if os.path.islink(entry) or not (os.path.isfile(entry) and os.access(entry, os.W_OK)):
                    _take_away(entry)
                shutil.copyfile(content, entry)
                _set_status(entry, told.get("about"))
            else:
                _take_away(entry)


def _take_away(entry: str) -> None:
    if os.path.isdir(entry) and not os.path.islink(entry):
        shutil.rmtree(entry)
    elif os.path.lexists(entry):
        os.unlink(entry)


def _set_status(entry: str, about: Sequence[int] | None) -> None:
    if about is not None:
        os.chmod(entry, about[0])
        os.utime(entry, ns=(about[1], about[1]))


def _is_below(path: str, folders: Sequence[str]) -> bool:
    return any(path.startswith(folder.rstrip("/") + "/") for folder in folders)


def _keep_temporary_files_where_they_are(spec: Mapping[str, Any], folders: Sequence[str]) -> None:
    """Let them go where they always go, if that is seen copy-on-write: their paths are those of the record then."""
    usual = spec.get("temporary")
    if usual is None or not (usual["folder"] in folders or _is_below(usual["folder"], folders)):
        return
    os.environ.pop("TMPDIR", None)
    if usual["variable"] is not None:
        os.environ["TMPDIR"] = usual["variable"]
    on_standard_import("tempfile", lambda module: _do_not_probe(module, usual["path"]))


def keep_temporary_files_as_first(spec: Mapping[str, Any]) -> None:
    """The same in a further process of a replay."""
    usual = spec.get("temporary")
    if usual is not None and os.environ.get("TMPDIR") == usual["variable"]:
        on_standard_import("tempfile", lambda module: _do_not_probe(module, usual["path"]))


def _do_not_probe(module: ModuleType, path: str) -> None:
    """The directory is known to do: nothing is written there to find that out."""
    original = module._get_default_tempdir

    def default(*given: Any) -> str:
        return path if module._candidate_tempdir_list()[:1] == [path] else str(original(*given))

    vars(module)["_get_default_tempdir"] = default

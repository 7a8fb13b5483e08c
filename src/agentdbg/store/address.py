"""Opens what people name: a store by its address, a run by id, prefix, ``@``, a label, or the path of its directory."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Sequence
from pathlib import Path

from agentdbg.config.paths import store_url
from agentdbg.config.settings import settings
from agentdbg.model.records import RunStatus, RunSummary
from agentdbg.store.directory import DirectoryStore
from agentdbg.store.files import StoreError
from agentdbg.store.protocols import RunSource, RunStore
from agentdbg.store.reader import DirectoryRunSource

CANDIDATES = 5
_NONE_OF = {"@": "no runs", "@failed": "no failed run", "@flagged": "no flagged run"}
_SCHEME = re.compile(r"([a-z][a-z0-9+.-]+)://", re.ASCII)


class AddressError(StoreError):
    """An address that names nothing, or more than one thing; the message is one clear line."""


def open_store(url: str | None) -> RunStore:
    """Open the store at an address; the default one for ``None``.

    Raises:
        AddressError: The address is of a kind that is not supported.
        StoreError: The store has a newer format or is no store.
    """
    address = store_url(url, settings())
    scheme = _SCHEME.match(address)
    if scheme is None:
        return DirectoryStore(address)
    if scheme[1] == "file" and address.startswith("file:///"):
        return DirectoryStore(address.removeprefix("file://"))
    if scheme[1] == "file":
        raise AddressError(f"{address} names a machine: a store on this one is file:///PATH")
    raise AddressError(f"a store at {scheme[1]}:// cannot be opened: only directories are supported")


def resolve(store: RunStore, address: str, also: Sequence[RunStore] = ()) -> RunSource:
    """Open the run that an address names.

    Args:
        store: Where to look.
        address: Run id, unique prefix, ``@``, ``@failed``, ``@flagged``, ``thread:ID``, ``trace:ID``,
            ``tag:KEY=VALUE``, or the path of a run directory. Of several matches of a label the newest is taken.
        also: Further stores, searched in order when the first has no match.

    Raises:
        AddressError: Nothing, or more than one run, has that address.
        StoreError: The run cannot be opened.
    """
    if not address:
        raise AddressError("no run was named; @ is the latest")
    if _looks_like_path(address):
        return _open_path(address)
    stores = (store, *also)
    for candidate in stores:
        if (source := _find(candidate, address)) is not None:
            return source
    if os.path.isdir(address):
        return _open_path(address)
    searched = ", ".join(_describe(candidate) for candidate in stores)
    raise AddressError(f"{_NONE_OF.get(address, f'no run {address!r}')} in {searched}")


def _find(store: RunStore, address: str) -> RunSource | None:
    matches = _selector(address)
    if matches is not None:
        newest = next((summary for summary in store.summaries() if matches(summary)), None)
        return store.open(newest.run_id) if newest is not None else None
    try:
        return store.open(address)
    except KeyError:
        pass  # no run of exactly that id
    ids = store.run_ids() if isinstance(store, DirectoryStore) else [row.run_id for row in store.summaries()]
    found = [run_id for run_id in ids if run_id.startswith(address)]
    if len(found) > 1:
        shown = ", ".join(found[:CANDIDATES])
        more = f" and {len(found) - CANDIDATES} more" if len(found) > CANDIDATES else ""
        raise AddressError(f"{address!r} is the beginning of {len(found)} runs: {shown}{more}")
    return store.open(found[0]) if found else None


def _selector(address: str) -> Callable[[RunSummary], bool] | None:
    """The condition that a label sets, or ``None`` for an id or prefix."""
    if address == "@":
        return lambda summary: True
    if address == "@failed":
        return lambda summary: summary.status is RunStatus.FAILED
    if address == "@flagged":
        return lambda summary: summary.flag is not None
    if address.startswith("@"):
        raise AddressError(f"{address!r} is not known; there are @, @failed and @flagged")
    label, colon, value = address.partition(":")
    if not colon:
        return None
    if label == "thread":
        return lambda summary: summary.thread_id == value
    if label == "trace":
        return lambda summary: summary.meta.get("trace_id") == value
    if label == "tag":
        key, equals, wanted = value.partition("=")
        if not equals:
            raise AddressError(f"{address!r} needs a value: tag:KEY=VALUE")
        return lambda summary: summary.tags.get(key) == wanted
    raise AddressError(f"{address!r} is not known; there are thread:ID, trace:ID and tag:KEY=VALUE")


def _looks_like_path(address: str) -> bool:
    return address in (".", "..") or address.startswith("~") or "/" in address or os.sep in address


def _open_path(address: str) -> RunSource:
    path = Path(os.path.realpath(os.path.expanduser(address)))
    if not path.exists():
        raise AddressError(f"there is no {address}")
    if not path.is_dir():
        raise AddressError(f"{address} is not a run directory")
    if (path / "runs").is_dir() and not (path / "events").is_dir():
        raise AddressError(f"{address} is a store, not a run: name it with --store and a run in it")
    if path.parent.name == "runs" and path.parent.parent.is_dir():
        try:
            return DirectoryStore(path.parent.parent).open(path.name)
        except KeyError:
            pass  # its name is no run id: open it as it lies there
    return DirectoryRunSource(path)


def _describe(store: RunStore) -> str:
    missing = isinstance(store, DirectoryStore) and not store.path.exists()
    return f"{store.location()}{' (which does not exist)' if missing else ''}"

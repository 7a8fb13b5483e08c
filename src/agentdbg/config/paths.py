"""The user's directories, by the platform's custom, and where runs live when nobody says."""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from agentdbg.config.resources import demo_runs_dir

if TYPE_CHECKING:
    from agentdbg.config.settings import Settings

PROJECT_STORE = ".agentdbg"
DEMO_STORE = "demo"
_NAME = "agentdbg"


def config_dir(environ: Mapping[str, str] | None = None) -> Path:
    """Where the user's settings file and themes lie."""
    return _user_dir(environ, "XDG_CONFIG_HOME", ".config", "Library/Application Support", "APPDATA", "")


def data_dir(environ: Mapping[str, str] | None = None) -> Path:
    """Where the user's runs and notes lie."""
    return _user_dir(environ, "XDG_DATA_HOME", ".local/share", "Library/Application Support", "LOCALAPPDATA", "data")


def state_dir(environ: Mapping[str, str] | None = None) -> Path:
    """Where agentdbg's own log lies."""
    return _user_dir(environ, "XDG_STATE_HOME", ".local/state", "Library/Logs", "LOCALAPPDATA", "state")


def cache_dir(environ: Mapping[str, str] | None = None) -> Path:
    """Where derived files lie; may be deleted at any time."""
    return _user_dir(environ, "XDG_CACHE_HOME", ".cache", "Library/Caches", "LOCALAPPDATA", "cache")


def store_url(option: str | None, settings: Settings) -> str:
    """Address of the store to use.

    The option wins, then a configured address, then ``.agentdbg`` in the working directory, then the user's own store.

    Args:
        option: What ``--store`` said: a path, a URL, a name of ``[stores]``, or ``demo`` for the shipped runs.
        settings: Where ``store.url`` (``AGENTDBG_STORE``) and the names are looked up.
    """
    chosen = option or settings.text("store.url")
    if chosen:
        named = settings.table("stores").get(chosen, chosen)
        if named == DEMO_STORE and not os.path.isdir(named):
            return str(demo_runs_dir())
        return named if "://" in named else os.path.expanduser(named)
    if os.path.isdir(PROJECT_STORE):
        return PROJECT_STORE
    return str(data_dir() / "store")


def _user_dir(
    environ: Mapping[str, str] | None, xdg: str, unix: str, mac: str, windows_variable: str, windows_sub: str
) -> Path:
    environ = os.environ if environ is None else environ
    base = environ.get(xdg, "")
    if os.path.isabs(base):
        return Path(base, _NAME)
    if sys.platform == "win32":
        base = environ.get(windows_variable, "")
        root = Path(base) if os.path.isabs(base) else _home(environ) / "AppData" / "Local"
        return root / _NAME / windows_sub
    return _home(environ) / (mac if sys.platform == "darwin" else unix) / _NAME


def _home(environ: Mapping[str, str]) -> Path:
    """The home directory; a private-by-name place for temporary files when this user has none."""
    for variable in ("HOME", "USERPROFILE"):
        if os.path.isabs(environ.get(variable, "")):
            return Path(environ[variable])
    home = os.path.expanduser("~") if environ.get("HOME") != "" else _account_home()
    if os.path.isabs(home):
        return Path(home)
    import tempfile  # only in containers whose user has no home

    return Path(tempfile.gettempdir(), f"{_NAME}-{os.getuid() if hasattr(os, 'getuid') else 'user'}")


def _account_home() -> str:
    """Home of this process's account, whatever the environment says; empty where there is none."""
    try:
        import pwd  # only with an empty HOME

        return pwd.getpwuid(os.getuid()).pw_dir
    except (ImportError, KeyError):
        return ""

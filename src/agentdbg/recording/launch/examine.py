"""Looks at a Python from outside: whether it records, and which libraries in it."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import time
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

from agentdbg.recording.launch import directory
from agentdbg.recording.launch.environment import BOOTSTRAP, child_environment
from agentdbg.recording.launch.interpreter import Interpreter
from agentdbg.recording.launch.probe import ABSENT, UNPATCHED
from agentdbg.recording.seams import SEAMS

OLDEST = (3, 11)
START_S, IMPORT_S = 30.0, 30.0
_STEP_S = 0.02
_BEGIN = """
import json, os, sys
p, out, modules = sys.argv[1:4]
loaded = any(type(each).__name__ == "AgentdbgFinder" for each in sys.meta_path)
try:
    import sysconfig
    packages = sysconfig.get_path("purelib")
except ImportError:
    packages = ""
found = {"python": ".".join(str(n) for n in sys.version_info[:3]), "executable": sys.executable, "loaded": loaded,
         "packages": packages}
with open(out, "a") as file:
    file.write(json.dumps(found) + "\\n")
if sys.version_info >= (3, 11):
    if not loaded:
        with open(p) as file:
            text = file.read()
        eval(compile(text, p, "exec"), {"__name__": "agentdbg_bootstrap", "__file__": p})
    from agentdbg.recording.launch import probe
    probe.main(out, json.loads(modules))
os._exit(0)
"""


@dataclass(frozen=True, slots=True)
class SeamState:
    """One seam in the Python that was looked at.

    Attributes:
        state: ``patched``, ``unpatched`` or ``absent``.
        reason: Why it is not patched.
    """

    module: str
    label: str
    version: str
    state: str
    reason: str = ""


@dataclass(frozen=True, slots=True)
class Examination:
    """What was found.

    Attributes:
        version: Empty when it did not start.
        loaded: Whether the bootstrap was loaded by itself, as it will be under ``record``.
        packages: Its ``site-packages``.
        problem: Why the bootstrap, or the interpreter, did not start.
    """

    version: str = ""
    executable: str = ""
    loaded: bool = False
    packages: str = ""
    orjson: bool = False
    seams: tuple[SeamState, ...] = ()
    problem: str = ""

    @property
    def supported(self) -> bool:
        """Whether this version can record."""
        return tuple(int(part) for part in self.version.split(".")[:2] if part.isdigit()) >= OLDEST


def examine(
    interpreter: Interpreter, environment: Mapping[str, str], modules: Mapping[str, str] | None = None
) -> Examination:
    """Start the interpreter as ``record`` would, and import what has a seam.

    Args:
        interpreter: What starts it.
        environment: What it would get without us.
        modules: Modules to try, with their distributions; all seams when left out.

    Raises:
        OSError: No private directory can be made.
    """
    asked = {seam.module: seam.label for seam in SEAMS} if modules is None else dict(modules)
    place = directory.make(None, None, {})
    try:
        made = child_environment(environment, place, f"{place}/store", None)
        made.pop("AGENTDBG", None)
        return _Probing(interpreter, made, place, asked).result()
    finally:
        directory.remove(place, directory.Told())


class _Probing:
    """Runs the probe, again without a module that takes too long or kills it."""

    def __init__(
        self, interpreter: Interpreter, environment: dict[str, str], place: str, modules: dict[str, str]
    ) -> None:
        self._words = [*interpreter.words, *interpreter.options, "-c", _BEGIN, f"{BOOTSTRAP}/sitecustomize.py"]
        self._environment = environment
        self._place = place
        self._modules = modules
        self._found: dict[str, SeamState] = {}
        self._facts: dict[str, Any] = {}
        self._runs = 0

    def result(self) -> Examination:
        """Everything that could be found out."""
        while True:
            before = len(self._found)
            problem = self._once(
                {module: label for module, label in self._modules.items() if module not in self._found}
            )
            if problem or not self._facts or len(self._found) in (before, len(self._modules)):
                break
        told = directory.read(self._place)
        return Examination(
            str(self._facts.get("python", "")),
            str(self._facts.get("executable", "")),
            bool(self._facts.get("loaded")),
            str(self._facts.get("packages") or ""),
            bool(self._facts.get("orjson")),
            tuple(self._found[module] for module in self._modules if module in self._found),
            problem or (told.failures[0] if told.failures else ""),
        )

    def _once(self, modules: dict[str, str]) -> str:
        """Run the probe once; returns why it could not be started."""
        self._runs += 1
        out = f"{self._place}/probe-{self._runs}.jsonl"
        said = f"{self._place}/stderr"
        try:
            with open(said, "wb") as stderr:
                child = subprocess.Popen(
                    [*self._words, out, json.dumps(modules)],
                    env=self._environment,
                    stdin=subprocess.DEVNULL,
                    stdout=subprocess.DEVNULL,
                    stderr=stderr,
                    start_new_session=True,
                )
        except OSError as error:
            return f"{self._words[0]} cannot be run: {(error.strerror or str(error)).lower()}"
        trying = self._watch(child, out)
        if trying is not None and trying not in self._found:
            self._found[trying] = SeamState(trying, modules[trying], "", UNPATCHED, self._end_of(child))
        if self._facts:
            return ""
        with open(said, encoding="utf-8", errors="replace") as lines:
            return (lines.read().strip().splitlines() or [f"it ended with status {child.returncode}"])[-1]

    def _end_of(self, child: subprocess.Popen[bytes]) -> str:
        if child.returncode == -signal.SIGKILL:
            return f"its import took more than {IMPORT_S:.0f} s"
        return f"its import ended the program with status {child.returncode}"

    def _watch(self, child: subprocess.Popen[bytes], out: str) -> str | None:
        """Read findings until the probe has ended; ends it where one import takes too long. Returns the last tried."""
        trying, seen = None, 0
        deadline = time.monotonic() + START_S
        while True:
            over = child.poll() is not None
            lines = _lines(out)
            for finding in lines[seen:]:
                deadline = time.monotonic() + IMPORT_S
                trying = finding.get("trying", trying)
                self._take(finding)
            seen = len(lines)
            if over:
                return trying
            if time.monotonic() > deadline:
                with suppress(ProcessLookupError):
                    os.killpg(child.pid, signal.SIGKILL)
                child.wait()
            time.sleep(_STEP_S)

    def _take(self, finding: dict[str, Any]) -> None:
        module = finding.get("module")
        if isinstance(module, str) and module in self._modules:
            label = self._modules[module]
            state = str(finding.get("state", ABSENT))
            version = str(finding.get("version") or "")
            self._found[module] = SeamState(module, label, version, state, str(finding.get("reason") or ""))
        elif "trying" not in finding:
            self._facts.update(finding)


def _lines(path: str) -> list[dict[str, Any]]:
    """The complete lines of a probe so far."""
    try:
        with open(path, "rb") as file:
            text = file.read()
    except OSError:
        return []
    return [json.loads(line) for line in text[: text.rfind(b"\n") + 1].splitlines()]

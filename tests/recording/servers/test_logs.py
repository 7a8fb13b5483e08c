"""Log records name the run they were written in."""

from __future__ import annotations

from pathlib import Path

from tests.support.recorded import run, runs

PROGRAM = """
import logging, pickle, sys
import agentdbg

seen = []

class Own(logging.LogRecord):
    def __init__(self, *args, **kwargs):
        super().__init__(*args, **kwargs)
        seen.append(self.getMessage())

logging.setLogRecordFactory(Own)
logging.basicConfig(stream=sys.stdout, format="%(agentdbg_run_id)s|%(funcName)s|%(message)s", level="INFO")
log = logging.getLogger("desk")

@agentdbg.agent
def desk():
    log.info("inside %s", agentdbg.run_id())

def outside():
    log.info("outside")

outside()
desk()
log.info("given", extra={"agentdbg_run_id": "mine"})
assert seen[0] == "outside", seen
made = logging.makeLogRecord({"msg": "made", "levelno": 20})
assert made.agentdbg_run_id == ""
assert type(logging.getLogger().makeRecord("n", 20, "f", 1, "m", (), None)) is Own
"""


def test_a_format_may_name_the_run_and_a_programs_own_record_factory_is_kept(tmp_path: Path) -> None:
    done = run(tmp_path, PROGRAM)
    assert done.returncode == 0, done.stderr
    (found,) = runs(tmp_path / "store")
    run_id = found.source.summary().run_id
    lines = [line.split("|") for line in done.stdout.splitlines()]
    assert lines == [
        ["", "outside", "outside"],
        [run_id, "desk", f"inside {run_id}"],
        ["mine", "<module>", "given"],
    ]
    assert done.stderr == ""

"""All benchmarks in one table, each figure beside its goal and its peer.

    python tests/bench/run.py [--quick] [NAME …]

The peers come with the extra ``bench``. ``--quick`` takes fewer rounds and smaller runs; rows name the sizes taken.
"""

from __future__ import annotations

import argparse
import importlib
import platform
import shutil
import sys
import tempfile
from pathlib import Path

if __name__ == "__main__":
    sys.path[0] = str(Path(__file__).resolve().parents[2])

from tests.bench.table import Row, clock, table

BENCHMARKS = {
    "step": "record one tool call",
    "bytes": "bytes of a growing history",
    "runs": "many small runs: files, bytes, list",
    "imports": "import of the recording side",
    "served_tool": "exact replay, tool calls",
    "served_model": "exact replay, HTTP model calls",
    "replay": "start of a replay, live calls of a regression",
    "compare": "compare runs, states and prompts",
    "first_frame": "open a big run on a terminal",
    "http": "record one HTTP model call",
    "server": "requests of a uvicorn application",
    "launch": "start of a program under record",
    "seams": "a call through each HTTP seam, and the coverage hook",
}


def main() -> int:
    """Run what is asked for; 1 when a goal is missed, 2 when a benchmark failed."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    names = ", ".join(f"{name} ({about})" for name, about in BENCHMARKS.items())
    parser.add_argument("names", nargs="*", metavar="NAME", help=names)
    parser.add_argument("--quick", action="store_true", help="fewer rounds, smaller runs")
    asked = parser.parse_args()
    unknown = [name for name in asked.names if name not in BENCHMARKS]
    if unknown:
        parser.error(f"no benchmark {unknown[0]}; there are {', '.join(BENCHMARKS)}")
    rows: list[Row] = []
    failed = False
    for name in asked.names or BENCHMARKS:
        folder = Path(tempfile.mkdtemp(prefix="agentdbg-bench-")).resolve()
        try:
            print(f"{name} …", end="", file=sys.stderr, flush=True)
            began = clock()
            rows += importlib.import_module(f"tests.bench.bench_{name}").rows(folder, asked.quick)
            print(f" {clock() - began:.0f} s", file=sys.stderr)
        except KeyboardInterrupt:
            print(" stopped", file=sys.stderr)
            break
        except Exception as error:  # the others are still worth their time
            failed = True
            print(f" failed: {type(error).__name__}: {error}", file=sys.stderr)
        finally:
            shutil.rmtree(folder, ignore_errors=True)
    print(f"Python {platform.python_version()}, {platform.machine()}, medians; ratio = value / peer in the same run")
    print("\n".join(table(rows)))
    return 2 if failed else int(any(row.verdict == "over" for row in rows))


if __name__ == "__main__":
    sys.exit(main())

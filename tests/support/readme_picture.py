"""Draw the README's picture with the program itself: ``python -m tests.support.readme_picture``."""

from __future__ import annotations

import asyncio
import re
from pathlib import Path

from agentdbg.config.resources import demo_runs_dir
from agentdbg.store.directory import DirectoryStore
from agentdbg.ui.app import AgentDbg

PICTURE = Path(__file__).resolve().parents[2] / ".github" / "agentdbg.svg"
SIZE = (120, 34)
REFUND_STEP = 16


async def draw() -> str:
    """The debugger on the incident's refund, as SVG without fonts from elsewhere."""
    app = AgentDbg(DirectoryStore(demo_runs_dir()), "refund-incident", step=REFUND_STEP, animated=False)
    async with app.run_test(size=SIZE) as pilot:
        await pilot.pause(0.5)
        picture = app.export_screenshot(title="agentdbg refund-incident")
    return re.sub(r"@font-face \{.*?\}\s*", "", picture, flags=re.DOTALL).replace("Fira Code", "DejaVu Sans Mono")


def main() -> None:
    """Write the picture."""
    PICTURE.write_text(asyncio.run(draw()), encoding="utf-8")


if __name__ == "__main__":
    main()

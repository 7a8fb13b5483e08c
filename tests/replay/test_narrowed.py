"""A result of a class that cannot be made again is given back as its builtin type, and that is told."""

from __future__ import annotations

from agentdbg.replay.plan import plan_exact
from agentdbg.replay.run import ReplayOptions
from agentdbg.store.address import open_store
from tests.support.replay_lab import ReplayLab

PROGRAM = """\
from collections import Counter
import agentdbg


class Shout(str):
    def __str__(self):
        return self.upper()


@agentdbg.tool(effect="read")
def said():
    return Shout("hello")


@agentdbg.tool(effect="read")
def counted():
    return Counter("aab")


@agentdbg.tool(effect="none")
def tell(text):
    return text


@agentdbg.agent
def desk():
    return tell(str(said()) + counted().most_common(1)[0][0])


if __name__ == "__main__":
    desk()
"""


def test_the_plan_and_the_end_of_a_replay_name_it(lab: ReplayLab) -> None:
    lab.record(PROGRAM)
    source = lab.run()
    plan = plan_exact(source, ReplayOptions("audit", 30, False, (), open_store(str(lab.store))))
    source.close()
    (remark,) = [each for each in plan.remarks if each.about == "value"]
    assert remark.weight == "warning"
    assert "Shout" in remark.text and "step 2, said" in remark.text

    outcome = lab.replay()
    assert outcome.verdict == "diverged", outcome.reason
    assert "HELLOa" in outcome.reason
    assert any("given back as their builtin types (step 2, said: $: __main__.Shout)" in note for note in outcome.notes)

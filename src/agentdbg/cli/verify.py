"""``agentdbg verify``: exact replays of past successful runs, for a scheduler."""

from __future__ import annotations

from contextlib import ExitStack
from typing import TYPE_CHECKING

import click

from agentdbg.cli.commands import Verb
from agentdbg.cli.errors import Status, Trouble
from agentdbg.cli.invocation import Invocation
from agentdbg.cli.output import console, print_document, print_table, text
from agentdbg.cli.replay import check_image
from agentdbg.debugging.document import duration_words
from agentdbg.i18n.catalogue import message

if TYPE_CHECKING:
    from agentdbg.replay.run import ReplayOptions
    from agentdbg.replay.verify import Verification
    from agentdbg.store.protocols import RunStore

DEFAULT_SAMPLE = 10
_STATUS = {"passed": Status.SAME, "failed": Status.DIFFERS, "dropped": Status.DIFFERS, "nothing": Status.NOTHING}


@click.command("verify", cls=Verb)
@click.option("--sample", type=click.IntRange(min=1), default=DEFAULT_SAMPLE, metavar="K", help="How many runs.")
@click.option("--seed", metavar="S", help="Which ones; another one every day by default.")
@click.option("--keep", is_flag=True, help="Keep identical replays too, not failures alone.")
@click.option("--guard", type=click.Choice(["auto", "audit"]), default="auto", help="Which layers keep effects out.")
@click.option("--in", "image", metavar="IMAGE", help="Run them in containers without network.")
@click.option("--timeout", type=click.FloatRange(min=0, min_open=True), metavar="S", help="Longest time for one run.")
@click.option("--trust", is_flag=True, help="Run code that you did not record yourself too.")
@click.pass_obj
def command(
    invocation: Invocation,
    sample: int,
    seed: str | None,
    keep: bool,
    guard: str,
    image: str | None,
    timeout: float | None,
    trust: bool,
) -> Status:
    """Replay past successful runs exactly and say whether they go the recorded way.

    Identical replays are deleted again; failures keep theirs, tagged verify=exact. What was found is added to the
    store's verify.jsonl.
    """
    from agentdbg.replay.publishing import target_of
    from agentdbg.replay.run import ReplayOptions

    store = invocation.open_store()
    seconds = timeout or invocation.settings.seconds("replay.timeout")
    tolerate = invocation.settings.items("replay.tolerate")
    check_image(image, guard)
    engine = invocation.settings.text("replay.engine") or ""
    options = ReplayOptions(guard, seconds, trust, tolerate, target_of(store), image=image or "", engine=engine)
    found = _verified(invocation, store, options, sample, seed, keep)
    invocation.status = _STATUS[found.verdict]
    if invocation.json:
        print_document("verify", found.members())
    else:
        _print(invocation, found)
    return invocation.status


def _verified(
    invocation: Invocation, store: RunStore, options: ReplayOptions, sample: int, seed: str | None, keep: bool
) -> Verification:
    from agentdbg.replay.container.engines import NoContainer
    from agentdbg.replay.verify import ReplayRefused, default_seed, verify

    out = console(invocation, stderr=True)
    with ExitStack() as stack:
        shown = stack.enter_context(out.status("")) if out.is_terminal else None

        def began(number: int, run_id: str) -> None:
            if shown is not None:
                shown.update(text(message("verify.running", number=number, of=sample, run=run_id)))

        try:
            return verify(store, options, sample=sample, seed=seed or default_seed(), keep=keep, began=began)
        except ReplayRefused as problem:
            raise Trouble(str(problem), Status.REFUSED) from problem
        except NoContainer as problem:
            raise Trouble(str(problem), Status.TROUBLE) from problem


def _print(invocation: Invocation, found: Verification) -> None:
    out = console(invocation)
    if found.runs:
        columns = [message(f"verify.{name}") for name in ("run", "verdict", "served", "took", "replay", "why")]
        rows = [
            [
                run.run_id,
                run.verdict,
                f"{run.served}/{run.total}",
                duration_words(run.seconds * 1000),
                run.replay_run or "",
                "" if run.passed else run.reason,
            ]
            for run in found.runs
        ]
        print_table(invocation, columns, rows)
        out.print()
    for run_id, reason in found.skipped:
        out.print(text(message("verify.skipped", run=run_id, why=reason)))
    out.print(text(_summary(found)))


def _summary(found: Verification) -> str:
    if found.verdict == "nothing":
        return message("verify.nothing", store=found.store)
    rate = message("verify.rate", rate=f"{found.hit_rate:.1%}") if found.hit_rate is not None else ""
    if found.previous is not None:
        rate += message("verify.before", rate=f"{found.previous:.1%}")
    passed = len(found.runs) - len(found.failed)
    line = message(f"verify.is_{found.verdict}", passed=passed, of=len(found.runs))
    return f"{line}{rate} ({message('verify.seed', seed=found.seed)})"

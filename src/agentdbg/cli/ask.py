"""``agentdbg ask``: send one recorded model call again, without agent code and tools."""

from __future__ import annotations

import sys
import threading
from contextlib import closing
from typing import TYPE_CHECKING, Final

import click

from agentdbg.cli import asktext
from agentdbg.cli.commands import Verb
from agentdbg.cli.errors import Status, Trouble
from agentdbg.cli.invocation import Invocation
from agentdbg.cli.output import console, print_document, text
from agentdbg.cli.run_names import complete_run
from agentdbg.cli.show import find_step
from agentdbg.i18n.catalogue import message
from agentdbg.model.json_path import BadPath, split_edit

if TYPE_CHECKING:
    from agentdbg.replay.ask import Asked, Estimate, Sample
    from agentdbg.replay.ask_request import Question
    from agentdbg.store.protocols import RunSource, RunStore

MOST_SAMPLES: Final = 100
_STATUS: Final = {
    "same": Status.SAME,
    "cannot_tell": Status.SAME,
    "redacted": Status.SAME,
    "changed": Status.DIFFERS,
    "flaky": Status.FLAKY,
    "failed": Status.TROUBLE,
}


@click.command("ask", cls=Verb)
@click.argument("run", shell_complete=complete_run)
@click.option("--step", "number", type=click.IntRange(min=1), required=True, metavar="N", help="The model call.")
@click.option("--samples", type=click.IntRange(1, MOST_SAMPLES), default=1, metavar="K", help="How often to ask.")
@click.option("--edit", "edits", multiple=True, metavar="PATH=JSON", help="Change the request: temperature=0.")
@click.option("--model", metavar="M", help="Ask another model, at the same address.")
@click.option("--base-url", metavar="URL", help="Send it there instead.")
@click.option(
    "--timeout", type=click.FloatRange(min=0, min_open=True), metavar="S", help="Longest time for one answer."
)
@click.option("--yes", is_flag=True, help="Send without asking.")
@click.pass_obj
def command(
    invocation: Invocation,
    run: str,
    number: int,
    samples: int,
    edits: tuple[str, ...],
    model: str | None,
    base_url: str | None,
    timeout: float | None,
    yes: bool,
) -> Status:
    """Send one model call of RUN again, once its price was shown."""
    from agentdbg.replay import ask as asking

    store = invocation.open_store()
    with closing(invocation.resolve(run, store)) as source:
        question = _question(source, number, edits, model, base_url)
        price = asking.estimate(question, samples, invocation.settings.table("prices"))
        asktext.print_question(invocation, question, price)
        _agree(invocation, question, samples, yes)
        asked = _asked(invocation, source, question, samples, timeout)
        saved = _save(invocation, source, store, asked, price)
        status = Status.INTERRUPTED if asked.interrupted else _status(asked)
        invocation.status = status
        if invocation.json:
            document = {"run_id": source.summary().run_id, **asked.members(), "price": price.members(), "saved": saved}
            print_document("ask", document)
        else:
            asktext.print_answers(invocation, asked)
        return status


def _question(
    source: RunSource, number: int, edits: tuple[str, ...], model: str | None, base_url: str | None
) -> Question:
    from agentdbg.replay import ask_request, ask_route
    from agentdbg.replay.ask import is_own

    step = find_step(source, number)
    try:
        places = [split_edit(edit) for edit in edits]
        return ask_request.prepare(source, step, edits=places, model=model, base_url=base_url, trusted=is_own(source))
    except (BadPath, ask_route.KeyMissing) as problem:
        raise Trouble(str(problem), Status.TROUBLE) from problem
    except (ask_request.CannotAsk, ask_route.RouteUnknown) as problem:
        raise Trouble(str(problem), Status.NOTHING) from problem
    except (ask_request.AskRefused, ask_route.RouteRefused) as problem:
        raise Trouble(str(problem), Status.REFUSED) from problem


def _agree(invocation: Invocation, question: Question, samples: int, yes: bool) -> None:
    """Nothing is sent before the user has said so."""
    if yes:
        return
    if not (sys.stdin.isatty() and sys.stderr.isatty()):
        raise Trouble(message("ask.say_yes"), Status.REFUSED)
    prompt = message("ask.send_once") if samples == 1 else message("ask.send_times", count=samples)
    if not click.confirm(prompt, err=True, default=False):
        raise Trouble(message("ask.nothing_sent"), Status.REFUSED)


def _asked(invocation: Invocation, source: RunSource, question: Question, samples: int, timeout: float | None) -> Asked:
    from agentdbg.replay import ask as asking

    recorded = asking.recorded_answer(source, question.step, question)
    seconds = timeout or invocation.settings.seconds("ask.timeout")
    redacting = invocation.settings.flag("recording.redaction")
    out = console(invocation, stderr=True)
    if not out.is_terminal:
        return asking.ask(
            question, samples, recorded=recorded, timeout=seconds, stop=threading.Event(), redacting=redacting
        )
    with out.status(message("ask.sending")) as shown:
        states: dict[int, Sample] = {}

        def changed(sample: Sample) -> None:
            states[sample.n] = sample
            done = sum(each.state in (asking.ANSWERED, asking.FAILED) for each in states.values())
            shown.update(text(" · ".join(filter(None, (message("ask.done", done=done, of=samples), sample.problem)))))

        return asking.ask(
            question,
            samples,
            recorded=recorded,
            timeout=seconds,
            stop=threading.Event(),
            changed=changed,
            redacting=redacting,
        )


def _save(invocation: Invocation, source: RunSource, store: RunStore, asked: Asked, price: Estimate) -> bool:
    """Keep the answers with the run's notes; they are shown all the same when that cannot be."""
    from agentdbg.replay.ask import save
    from agentdbg.store.files import StoreError

    try:
        save(source, store, asked, price)
    except (OSError, StoreError) as problem:
        invocation.warn([message("ask.not_saved", why=str(problem))])
        return False
    return True


def _status(asked: Asked) -> Status:
    """An answer that did not come is trouble, whatever the others say."""
    if len(asked.answered) < len(asked.samples):
        return Status.TROUBLE
    return _STATUS[asked.verdict]

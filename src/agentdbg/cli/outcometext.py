"""How a replay ended, for people."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from agentdbg.cli.invocation import Invocation
from agentdbg.cli.output import block, console, print_facts
from agentdbg.i18n.catalogue import message
from agentdbg.i18n.phrases import phrase

if TYPE_CHECKING:
    from agentdbg.compare.trajectory import Divergence
    from agentdbg.replay.outcome import Outcome

_LISTED = 10
_LONGEST = 200
_WITH_LOG = ("crashed", "timed_out", "aborted", "not_replayable")


def print_outcome(invocation: Invocation, outcome: Outcome) -> None:
    """Print verdict, reason, the first divergence, what was served and what was stopped."""
    pairs = [
        *_verdict(outcome),
        *_divergence(outcome.first_divergence),
        ("edits", "; ".join(_edit(each) for each in outcome.edits)),
        *(_of_regression(outcome) if outcome.mode == "regression" else []),
        *_counts(outcome),
    ]
    print_facts(invocation, [(message(f"replay.{name}"), value) for name, value in pairs if value])
    if outcome.log and outcome.verdict in _WITH_LOG:
        out = console(invocation, stderr=True)
        out.print(message("replay.log"))
        out.print(block(outcome.log))


def _verdict(outcome: Outcome) -> list[tuple[str, str]]:
    rules = len(outcome.rules_used)
    verdict = phrase(outcome.verdict)
    if rules and outcome.verdict == "identical":
        key = "replay.under_rules" if rules > 1 else "replay.under_one_rule"
        verdict = message(key, verdict=verdict, count=rules)
    return [
        ("verdict", verdict),
        ("reason", phrase(outcome.reason)),
        ("mode", outcome.mode.upper()),
        ("source_run", outcome.source_run),
        ("replay_run", outcome.replay_run or ""),
    ]


def _divergence(found: Divergence | None) -> list[tuple[str, str]]:
    if found is None:
        return []
    return [
        ("step", f"{found.step} {found.kind} {found.name}"),
        ("path", found.path),
        ("cause", phrase(found.cause)),
        ("expected", found.expected),
        ("got", found.got),
    ]


def _of_regression(outcome: Outcome) -> list[tuple[str, str]]:
    samples = [
        f"{each.get('replay_run')}: {phrase(str(each.get('verdict')))}, {_ending(each)}" for each in outcome.samples
    ]
    return [
        ("from_step", str(outcome.from_step) if outcome.from_step else ""),
        ("touched", "; ".join(_touch(each) for each in outcome.touched[:_LISTED])),
        ("drift", "; ".join(f"step {each['step']} {each['name']} {each['path']}" for each in outcome.drift[:_LISTED])),
        ("findings", "; ".join(_finding(each) for each in outcome.findings[:_LISTED])),
        ("samples", "; ".join(samples)),
        ("stability", outcome.stability or ""),
        ("sandbox", outcome.sandbox or ""),
        ("live", str(outcome.live) if outcome.live else ""),
        ("dry_run", str(outcome.dry_run) if outcome.dry_run else ""),
    ]


def _edit(edit: Mapping[str, object]) -> str:
    value = json.dumps(edit["value"], ensure_ascii=False)
    shown = value if len(value) <= _LONGEST else value[:_LONGEST] + "…"
    held = f" ({edit['name']}, while it was held)" if edit.get("held") else ""
    return f"{edit['step'] or '?'}:{edit['path']} = {shown}{held}"


def _touch(touched: Mapping[str, object]) -> str:
    path = f" {touched['path']}" if touched.get("path") else ""
    step = f"step {touched['step']} " if touched.get("step") else ""
    return f"{step}{touched['name']}{path} ({phrase(str(touched['cause']))})"


def _finding(finding: Mapping[str, object]) -> str:
    return f"{finding['name']}: {phrase(str(finding['deed']))} ({phrase(str(finding['reason']))})"


def _ending(sample: Mapping[str, object]) -> str:
    """What a sample came to: its final state, else the error that it ended with."""
    return str(sample.get("final_state") or sample.get("error") or message("outcome.no_state"))


def _counts(outcome: Outcome) -> list[tuple[str, str]]:
    return [
        ("served", message("replay.of", served=outcome.served, total=outcome.total)),
        ("unconsumed", str(outcome.unconsumed) if outcome.unconsumed else ""),
        ("refused", _effects(outcome.refused)),
        ("tolerated", _effects(outcome.tolerated)),
        ("contained", _effects(outcome.contained)),
        ("rules_used", ", ".join(outcome.rules_used[:_LISTED])),
        ("guard", ", ".join(map(phrase, outcome.guard))),
        ("notes", "; ".join(map(phrase, outcome.notes[:_LISTED]))),
    ]


def _effects(effects: Sequence[Mapping[str, object]]) -> str:
    listed = [_effect(effect) for effect in effects[:_LISTED]]
    more = len(effects) - len(listed)
    return "; ".join(listed) + (message("brief.more", count=more) if more else "")


def _effect(effect: Mapping[str, object]) -> str:
    """Effect and detail, then the place in the agent's code."""
    known = [str(effect[name]) for name in ("effect", "detail") if effect.get(name)]
    frame = f" ({effect['frame']})" if effect.get("frame") else ""
    return phrase(" ".join(known)) + frame

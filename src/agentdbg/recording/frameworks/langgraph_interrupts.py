"""``interrupt()`` of LangGraph: an approval step with the question, the state it is about, and what was decided.

The function itself always runs, in a replay too: it steers the graph, and what it returns comes from the call that
resumes the graph, which is the record's.
"""

from __future__ import annotations

import functools
import sys
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from types import ModuleType
from typing import Any

from agentdbg.model.records import Kind, StepStatus
from agentdbg.recording import scope as scopes
from agentdbg.recording.active import record_served
from agentdbg.recording.calls import ReplayStop, Served
from agentdbg.recording.frameworks import langgraph_threads
from agentdbg.recording.frameworks.langchain_values import CODEC, STATES
from agentdbg.recording.frameworks.langgraph_frames import frame, state_of, waiting
from agentdbg.recording.frameworks.patches import missing, replace_method
from agentdbg.recording.process import Recorder, recorder
from agentdbg.recording.run import OpenStep
from agentdbg.recording.scope import Scope

_WHO = ("who", "user", "user_id", "by", "approved_by", "approver", "reviewer", "actor")
_ALLOWED = ("allowed", "allowed_decisions", "allowed_actions", "options", "choices", "actions")
_SWITCHES = {"allow_accept": "accept", "allow_edit": "edit", "allow_respond": "response", "allow_ignore": "ignore"}
_DECIDED = ("type", "action", "decision")


def install(module: ModuleType) -> None:
    """Patch ``langgraph.types``."""
    original = vars(module).get("interrupt")
    if not replace_method(module, "interrupt", _asking):
        missing("langgraph", "types.interrupt: approvals")
        return
    for holder in list(sys.modules.values()):  # a program that was there before the recorder has it by name
        if issubclass(type(holder), ModuleType) and holder is not module:  # cffi has objects that say they are one
            members: dict[str, Any] = ModuleType.__getattribute__(holder, "__dict__")
            if members.get("interrupt") is original:
                members["interrupt"] = vars(module)["interrupt"]


def _asking(original: Callable[..., Any]) -> Callable[..., Any]:
    def interrupt(value: Any, *args: Any, **kwargs: Any) -> Any:
        here = frame()
        asked = None if here is None else _open(value, here.loop, here.task.config)
        if asked is None:
            return original(value, *args, **kwargs)
        try:
            decision = original(value, *args, **kwargs)
        except BaseException as error:
            asked.raised(error)
            raise
        asked.decided(decision)
        return decision

    return interrupt


def stopped(loop: Any) -> None:
    """A graph stops before or after a node, as it was told to when it was made or called."""
    asked = _open(_next(loop), loop, loop.config)
    if asked is not None:
        asked.wait()


def gone_on(loop: Any) -> None:
    """A graph that had stopped before or after a node is called again, with nothing."""
    if loop.checkpoint.get("versions_seen", {}).get("__interrupt__"):
        asked = _open(_next(loop), loop, loop.config)
        if asked is not None:
            asked.decided("continue")
            run = asked.scope.run
            run.waiting = bool(waiting.get(run))


def _next(loop: Any) -> dict[str, object]:
    return {"question": "continue?", "nodes": sorted({str(task.name) for task in loop.tasks.values()})}


def _open(question: Any, loop: Any, config: Mapping[str, Any]) -> Asked | None:
    found, here = recorder(), scopes.current()
    if found is None or here is None:
        return None
    if found.answerer is not None and (stop := found.answerer.stopped()) is not None:
        raise stop
    try:
        return _opened(found, here, question, loop, config)
    except ReplayStop:
        raise
    except Exception as error:
        found.fault(error)
        return None


def _opened(found: Recorder, here: Scope, question: Any, loop: Any, config: Mapping[str, Any]) -> Asked:
    state = None if loop is None else STATES.freeze(state_of(loop))
    run = here.run
    allowed = allowed_in(question)
    asked = STATES.freeze(question)
    about = run.encode({"question": asked, "state": state, "allowed": allowed, "policy": None})
    step = run.begin(here, Kind.APPROVAL, _title(question), about)
    answerer = found.answerer
    served = answerer.answer(step.call) if answerer is not None and step.call is not None else None
    return Asked(found, here, step, run.encode(asked).digest, run.encode(state).digest, allowed, config, served)


@dataclass(slots=True)
class Asked:
    """An approval between question and decision.

    Attributes:
        question: Hash of the question.
        state: Hash of the graph's state now.
        allowed: What may be decided, where the question says so.
        config: Configuration that the graph was called with.
        served: What the record has, in a replay.
    """

    recorder: Recorder
    scope: Scope
    step: OpenStep
    question: str
    state: str
    allowed: list[str] | None
    config: Mapping[str, Any]
    served: Served | None

    def decided(self, decision: Any) -> None:
        """A person has answered."""
        self.recorder.guard(functools.partial(self._end, StepStatus.OK, decision, self._about(decision)), None)

    def raised(self, error: BaseException) -> None:
        """Nobody has answered yet, and the graph stops here; or the answer was not a valid one."""
        if any(kind.__name__ == "GraphInterrupt" for kind in type(error).__mro__):
            self.wait()
            return
        self.recorder.guard(lambda: self.scope.run.end(self.scope, self.step, StepStatus.ERROR, error=error), None)

    def wait(self) -> None:
        """Write down that nobody has answered."""
        langgraph_threads.show(self.scope.run, self.question, self.state)
        attrs = {"waiting": True, "question_sha256": self.question, "state_sha256": self.state}
        self.recorder.guard(functools.partial(self._end, StepStatus.PARTIAL, None, attrs), None)

    def _about(self, decision: Any) -> dict[str, object]:
        """Who decided, about which state, in the range that was allowed."""
        attrs: dict[str, object] = {"question_sha256": self.question, "state_sha256": self.state}
        if (who := _who(decision, self.config)) is not None:
            attrs["who"] = self.scope.run.gate.text(who)
        before = langgraph_threads.shown(self.scope.run, self.question)
        if before is not None:
            attrs |= {"asked_in": before[0], "state_shown_sha256": before[1], "state_changed": before[1] != self.state}
        given = decisions_in(decision)
        if self.allowed is not None and given:
            attrs |= {"decided": given, "in_range": set(given) <= set(self.allowed)}
        return attrs

    def _end(self, status: StepStatus, decision: Any, attrs: dict[str, object]) -> None:
        run = self.scope.run
        result = None if status is StepStatus.PARTIAL else run.encode(CODEC.freeze(decision))
        served = self.served
        if served is not None and served.status is status and served.result == (result.data if result else None):
            record_served(run, self.scope, self.step, served)
        else:
            run.end(self.scope, self.step, status, result, members={"attrs": attrs})


def _title(question: Any) -> str:
    if isinstance(question, Mapping):
        requests = question.get("action_requests")
        if isinstance(requests, list) and requests:
            names = [str(item.get("name") or item.get("action")) for item in requests if isinstance(item, Mapping)]
            return f"run {', '.join(names)}?"[:80]
        question = next((question[name] for name in ("question", "message", "description") if question.get(name)), None)
    return question[:80] if isinstance(question, str) and question else "interrupt"


def allowed_in(question: Any) -> list[str] | None:
    """What may be decided, as far as a question says so: by a list of its own, or as LangChain's middleware does."""
    if isinstance(question, list | tuple) and question:
        found = [allowed_in(item) for item in question]
        return _union(found)
    if not isinstance(question, Mapping):
        return None
    for name in _ALLOWED:
        named = question.get(name)
        if isinstance(named, list | tuple | set | frozenset) and all(isinstance(item, str) for item in named):
            return sorted(named)
    reviews = question.get("review_configs")
    if isinstance(reviews, list):
        return _union([allowed_in(review) for review in reviews])
    config = question.get("config")
    if isinstance(config, Mapping) and config.keys() & _SWITCHES.keys():
        return sorted(decision for switch, decision in _SWITCHES.items() if config.get(switch))
    return None


def _union(found: Iterable[list[str] | None]) -> list[str] | None:
    known = [item for item in found if item is not None]
    return sorted({word for item in known for word in item}) if known else None


def decisions_in(decision: Any) -> list[str]:
    """Which of the allowed decisions were made."""
    if isinstance(decision, str):
        return [decision]
    if isinstance(decision, list | tuple):
        return [word for item in decision for word in decisions_in(item)]
    if isinstance(decision, Mapping):
        if isinstance(decision.get("decisions"), list):
            return decisions_in(decision["decisions"])
        return [decision[name] for name in _DECIDED if isinstance(decision.get(name), str)][:1]
    return []


def _who(decision: Any, config: Mapping[str, Any]) -> str | None:
    """Who decided: as the answer says, else as the configuration of the call does."""
    for place in (decision, config.get("metadata"), config.get("configurable")):
        if isinstance(place, Mapping):
            named = next((place[name] for name in _WHO if isinstance(place.get(name), str | int)), None)
            if named is not None:
                return str(named)
    return None

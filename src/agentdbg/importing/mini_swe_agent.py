"""mini-swe-agent's trajectories: a bare list of messages, ``mini-swe-agent-1`` and ``mini-swe-agent-1.1``.

Its files hold the conversation, not the requests: the input of a call is *rebuilt* as the messages before it, tool
schemas are absent. Where actions stand in the text of an answer, tool calls are *derived* from it.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from agentdbg.importing import mini_swe_messages as says
from agentdbg.importing.imported_run import Draft, ImportedRun
from agentdbg.importing.json_files import ForeignFile
from agentdbg.importing.mini_swe_messages import Call, Members, members, text
from agentdbg.model.canonical import Unencodable
from agentdbg.model.fingerprint import fingerprint
from agentdbg.model.records import ErrorInfo, Json, Kind, Origin, RunStatus, RunSummary, Step, StepStatus
from agentdbg.model.segments import PLACE
from agentdbg.store.files import is_run_id
from agentdbg.store.protocols import RunSource

NAME: Final = "mini-swe-agent"
_MARKS: Final = (b'"role"', b'"info"', b'"messages"', b'"trajectory_format"')
_ROLES: Final = frozenset({"system", "user", "assistant", "tool"})
_DONE: Final = "Submitted"
_LOOKED_AT: Final = 3
_TIMES: Final = {"started_at": Origin.DERIVED, "latency_ms": Origin.DERIVED}
_FACTS: Final = {"response_id": "id", "created": "created", "service_tier": "service_tier"}


def probe(file: ForeignFile) -> bool:
    """Whether a file is one of the three shapes."""
    if not file.looks_like_json() or not any(mark in file.head for mark in _MARKS):
        return False
    return _shape(file.document.value) is not None


def runs(file: ForeignFile) -> list[tuple[str, Callable[[], RunSource]]]:
    """The one run in a file."""
    run_id = _run_id(members(file.document.value), file)
    return [(run_id, lambda: _open(file, run_id))]


def _shape(value: Json) -> str | None:
    """The name of a document's shape; ``None`` when it is none of ours."""
    if isinstance(value, list):
        first = [members(item) for item in value[:_LOOKED_AT]]
        chat = first and all(item.get("role") in _ROLES and "content" in item for item in first)
        return "bare list" if chat else None
    document = members(value)
    info = members(document.get("info"))
    if not isinstance(document.get("messages"), list):
        return None
    named = text(document.get("trajectory_format"))
    if named.startswith(NAME):
        return named
    return f"{NAME}, version not named" if "mini_version" in info and "trajectory" not in document else None


def _run_id(document: Members, file: ForeignFile) -> str:
    named = text(document.get("instance_id"))
    if is_run_id(named):
        return named
    stem = re.sub(r"(\.traj)?\.json$", "", Path(file.path).name)
    cleaned = re.sub(r"[^A-Za-z0-9._-]+", "-", stem).strip("-._")[:128]
    return cleaned if is_run_id(cleaned) else f"run-{file.digest[:12]}"


def _open(file: ForeignFile, run_id: str) -> RunSource:
    value = file.document.value
    document = members(value)
    messages = value if isinstance(value, list) else document.get("messages")
    conversation = _Conversation(members(document.get("info")), messages if isinstance(messages, list) else [])
    if file.document.problem:
        conversation.draft.problems.append(f"{Path(file.path).name}: {file.document.problem}")
    conversation.read()
    origin = {"file": Path(file.path).name, "sha256": file.digest, "requests": "rebuilt", "tool_schemas": "absent"}
    summary = conversation.summary(run_id, _shape(value) or NAME, document, dict(origin))
    return ImportedRun(conversation.draft, summary, f"file:{file.digest}")


@dataclass(slots=True)
class _Open:
    """A call whose result has not come yet."""

    step_id: str
    call_id: str | None


@dataclass(slots=True)
class _Conversation:
    """Walks through the messages and writes steps."""

    info: dict[str, Json]
    messages: list[Json]
    draft: Draft = field(default_factory=Draft)
    open: list[_Open] = field(default_factory=list)
    models: list[str] = field(default_factory=list)
    clock: float | None = None
    began: float | None = None
    calls: int = 0
    exit_status: str = ""
    submission: Json = None

    def read(self) -> None:
        """Write all steps."""
        self.exit_status = text(self.info.get("exit_status"))
        self.submission = self.info.get("submission")
        root = self.draft.add(Step(0, "", Kind.AGENT, NAME, status=StepStatus.OPEN))
        self.draft.say("parameters", "", self._parameters())
        for index, message in enumerate(self.messages):
            if not isinstance(message, dict):
                ref = self.draft.bodies.put(message)
                self.draft.add(Step(0, "", Kind.MESSAGE, "?", arguments=ref, holes=("a message of unknown shape",)))
                continue
            self._one(index, message)
            self._send(message)
        self._close(root)

    def summary(self, run_id: str, shape: str, document: Members, origin: dict[str, Json]) -> RunSummary:
        """The run's row."""
        versions: dict[str, Json] = {"agent": _version(self.info.get("mini_version"))}
        versions["model_route"] = _version(self._model_config().get("model_name"))
        meta: dict[str, Json] = {
            "format": shape,
            "imported": origin,
            "versions": {name: value for name, value in versions.items() if value},
            "info": {key: value for key, value in self.info.items() if key != "submission"},
        }
        instance = text(document.get("instance_id"))
        return RunSummary(
            run_id,
            self._status(),
            agent=NAME,
            tags={"instance_id": instance} if instance else {},
            steps=len(self.draft.steps),
            started_at=self.began,
            ended_at=self.clock,
            models=tuple(dict.fromkeys(self.models)),
            error=self._error(),
            holes=tuple(self._holes()),
            meta=meta,
        )

    def _one(self, index: int, message: Members) -> None:
        extra = members(message.get("extra"))
        if says.is_answer(message):
            self._answer(index, message)
        elif says.is_result(message) or (self._is_for_text_call(message)):
            self._result(message)
        else:
            rejected = members(extra.get("response")) if extra.get("interrupt_type") else {}
            if rejected:
                self._model(rejected, None, {"rejected": extra.get("interrupt_type"), "cost": extra.get("cost")})
            self._said(message)

    def _is_for_text_call(self, message: Members) -> bool:
        """Whether a user's message is the result of a call that has no id."""
        waiting = any(call.call_id is None for call in self.open)
        return waiting and message.get("role") == "user" and not members(message.get("extra")).get("interrupt_type")

    def _answer(self, index: int, message: Members) -> None:
        self.open = [call for call in self.open if call.call_id is not None]
        response = says.response_of(message)
        output: Json = response or {"choices": [{"index": 0, "message": _bare(message)}]}
        cost = members(message.get("extra")).get("cost")
        step = self._model(members(output), says.said_at(message), {"cost": cost}, rebuilt=not response)
        for call in says.calls_of(message) or self._unparsed(index, message):
            self._call(call, step)

    def _unparsed(self, index: int, message: Members) -> list[Call]:
        """An answer without a command block that was acted on all the same: it is the action as a whole."""
        following = members(self.messages[index + 1]) if index + 1 < len(self.messages) else {}
        last = index + 2 == len(self.messages) and self.exit_status == _DONE and following.get("role") == "user"
        if not says.is_observation(following) and not last:
            return []
        return [Call(says.UNPARSED, {"text": message.get("content")}, None, Origin.DERIVED)]

    def _model(self, response: Members, ended: float | None, facts: dict[str, Json], *, rebuilt: bool = False) -> Step:
        self.calls += 1
        asked = text(self._model_config().get("model_name"))
        name = text(response.get("model")) or asked
        if name:
            self.models.append(name)
        attrs: dict[str, Json] = {"model_asked": asked, "model": response.get("model")}
        attrs |= {key: response.get(member) for key, member in _FACTS.items()}
        attrs |= {"finish_reason": says.finish_of(response), **facts}
        holes: tuple[str, ...] = ()
        if response.get("previous_response_id"):
            attrs["previous_response_id"] = response["previous_response_id"]
            holes = ("the request may have named an earlier response instead of repeating what was said before",)
        step = Step(
            0,
            "",
            Kind.MODEL,
            name or "model",
            started_at=self.clock or says.seconds(response.get("created")) or ended or 0.0,
            latency_ms=self._took(ended),
            result=self.draft.bodies.put(dict(response)),
            error=_provider_error(response),
            status=StepStatus.ERROR if _provider_error(response) else StepStatus.OK,
            usage=says.usage_of(response),
            holes=holes,
            attrs={key: value for key, value in attrs.items() if value not in (None, "")},
        )
        self._pass(ended)
        return self.draft.add_model(step, {**_TIMES, **({"result": Origin.REBUILT} if rebuilt else {})})

    def _call(self, call: Call, model: Step) -> None:
        try:
            identity = fingerprint("tool", call.name, call.arguments)
        except Unencodable:
            identity = None
        step = self.draft.add(
            Step(
                0,
                "",
                Kind.TOOL,
                call.name,
                status=StepStatus.OPEN,
                started_at=self.clock or model.started_at,
                fingerprint=identity,
                arguments=self.draft.bodies.put(call.arguments),
                attrs={"call_id": call.call_id} if call.call_id else {},
            ),
            {**_TIMES, "arguments": call.origin, "name": call.origin},
        )
        self.open.append(_Open(step.id, call.call_id))

    def _result(self, message: Members) -> None:
        call = self._claimed(text(message.get("tool_call_id") or message.get("call_id")) or None)
        if call is None:
            self._said(message, holes=("a result whose call is not in the file",))
            return
        self.open.remove(call)
        result, ended = says.result_of(message), says.said_at(message)
        step = self.draft.steps[int(call.step_id.rpartition(":")[2])]
        facts: dict[str, Json] = {"returncode": result.returncode, "exception_info": result.trouble or None}
        self.draft.change(
            call.step_id,
            status=_tool_status(result),
            error=_tool_error(result),
            started_at=self.clock or step.started_at,
            latency_ms=self._took(ended),
            result=self.draft.bodies.put(result.value),
            holes=("the output was shortened before it was stored",) if result.shortened else (),
            attrs={**step.attrs, **{key: value for key, value in facts.items() if value is not None}},
        )
        self.draft.origins[call.step_id]["result"] = result.origin
        self._pass(ended)

    def _claimed(self, call_id: str | None) -> _Open | None:
        """The call of a result: the nearest one of that id that has none yet, else the first one without id."""
        same = [call for call in self.open if call.call_id == call_id]
        if same:
            return same[-1] if call_id is not None else same[0]
        return next((call for call in self.open if call.call_id is None), None)

    def _said(self, message: Members, holes: tuple[str, ...] = ()) -> None:
        extra = members(message.get("extra"))
        when = says.said_at(message)
        attrs = {key: extra[key] for key in ("interrupt_type", "exit_status") if extra.get(key)}
        ref = self.draft.bodies.put(_bare(message))
        self._pass(when)
        self.draft.add(
            Step(
                0,
                "",
                Kind.MESSAGE,
                says.role(message) or "?",
                started_at=when or self.clock or 0.0,
                arguments=ref,
                holes=holes,
                attrs=attrs,
            ),
            {} if when is not None else {"started_at": Origin.DERIVED},
        )
        if message.get("role") == "exit":
            self.exit_status = self.exit_status or text(extra.get("exit_status"))
            self.submission = extra.get("submission") if self.submission is None else self.submission

    def _send(self, message: Members) -> None:
        """Put a message where later requests have it; what the agent noted for itself was never sent."""
        if message.get("role") == "exit":
            return
        output = message.get("output")
        if message.get("object") == "response" and isinstance(output, list):
            for item in output:
                self.draft.say("message", says.role(members(item)), item)
            return
        name = says.role(message)
        self.draft.say("system" if name in ("system", "developer") else "message", name, _bare(message))

    def _close(self, root: Step) -> None:
        status = {RunStatus.OK: StepStatus.OK, RunStatus.FAILED: StepStatus.ERROR}.get(self._status(), StepStatus.OPEN)
        result = None if self.submission is None else self.draft.bodies.put(self.submission)
        took = (self.clock - self.began) * 1000 if self.clock is not None and self.began is not None else None
        self.draft.change(
            root.id, status=status, started_at=self.began or 0.0, latency_ms=took, result=result, error=self._error()
        )
        self.draft.origins[root.id] = dict(_TIMES)
        stated = says.count(members(self.info.get("model_stats")).get("api_calls"))
        if stated is not None and stated != self.calls:
            self.draft.problems.append(f"the file says {stated} model calls were made, and holds {self.calls}")

    def _parameters(self) -> dict[str, Json]:
        config = self._model_config()
        spoken = [says.response_of(members(message)) for message in self.messages]
        key = "input" if any(response.get("object") == "response" for response in spoken) else "messages"
        known: dict[str, Json] = {"model": config["model_name"]} if config.get("model_name") else {}
        return {**known, **members(config.get("model_kwargs")), key: {PLACE: "messages"}}

    def _model_config(self) -> dict[str, Json]:
        return members(members(self.info.get("config")).get("model"))

    def _status(self) -> RunStatus:
        if not self.exit_status:
            return RunStatus.LOST
        return RunStatus.OK if self.exit_status == _DONE else RunStatus.FAILED

    def _error(self) -> ErrorInfo | None:
        if self._status() is not RunStatus.FAILED:
            return None
        said = self.info.get("exception_str") or self.info.get("traceback") or self.submission
        return ErrorInfo(self.exit_status, text(said))

    def _holes(self) -> list[str]:
        holes = ["the file has no requests and no tool schemas: inputs are rebuilt from the messages before each call"]
        if not self.exit_status:
            holes.append("the file does not say how the run ended")
        if self.began is None:
            holes.append("the file has no times")
        return holes

    def _took(self, ended: float | None) -> float | None:
        if ended is None or self.clock is None or ended < self.clock:
            return None
        return (ended - self.clock) * 1000

    def _pass(self, when: float | None) -> None:
        if when is not None:
            self.began = when if self.began is None else self.began
            self.clock = when


def _bare(message: Members) -> dict[str, Json]:
    """A message without what the agent noted beside it."""
    return {key: value for key, value in message.items() if key not in ("extra", "timestamp")}


def _version(value: Json) -> Json:
    return {"value": value, "origin": "recorded"} if isinstance(value, str) and value else None


def _provider_error(response: Members) -> ErrorInfo | None:
    error = members(response.get("error"))
    return ErrorInfo(text(error.get("code")) or "error", text(error.get("message"))) if error else None


def _tool_status(result: says.Result) -> StepStatus:
    if result.timed_out:
        return StepStatus.TIMED_OUT
    if result.not_executed:
        return StepStatus.CANCELLED
    return StepStatus.ERROR if result.returncode or result.trouble else StepStatus.OK


def _tool_error(result: says.Result) -> ErrorInfo | None:
    if result.not_executed or _tool_status(result) is StepStatus.OK:
        return None
    if result.trouble:
        return ErrorInfo("exception", result.trouble)
    return ErrorInfo("exit status", f"the command returned {result.returncode}")

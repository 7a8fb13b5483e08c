"""What an agent says about itself: checkpoints, retrieved documents, reads, approvals, configuration, final state.

Every function here is a no-op outside a run or with recording off, and never raises into the agent.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import partial
from typing import Any, TypeVar, cast

from agentdbg.model.hashing import sha256_hex
from agentdbg.model.records import Kind
from agentdbg.recording import scope as scopes
from agentdbg.recording.active import ActiveCall
from agentdbg.recording.process import Recorder, recorder
from agentdbg.recording.revive import freeze
from agentdbg.recording.scope import Scope

T = TypeVar("T")
PENDING = "pending"


def _here() -> tuple[Recorder, Scope] | None:
    found = recorder()
    if found is None:
        return None
    scope = scopes.current()
    if scope is None:
        scope = found.guard(found.outer_scope, None)
        if scope is None:
            return None
    if found.answerer is not None and (stop := found.answerer.stopped()) is not None:
        raise stop
    return found, scope


def _note(
    kind: Kind, name: str, value: Callable[[], object], attrs: Callable[[], Mapping[str, object]] | None = None
) -> None:
    here = _here()
    if here is None:
        return
    found, scope = here

    def note() -> None:
        encoded = scope.run.encode(value())
        known = scope.run.gate.value(dict(attrs())) if attrs is not None else None
        scope.run.note(scope, kind, str(name), encoded, {"attrs": known} if known else None)

    found.guard(note, None)


def checkpoint(node: str, state: object, *, can_resume: bool | None = None, unsafe_reasons: Sequence[str] = ()) -> None:
    """Save the agent's state after a node.

    Args:
        node: Name of the node in the agent's graph or plan.
        state: Plan, scratchpad, variables, budget; its member ``status`` is the run's state.
        can_resume: Whether a run may be restored from here; ``None``: undeclared, never guessed.
        unsafe_reasons: Why it may not.
    """

    def attrs() -> dict[str, object]:
        found: dict[str, object] = {}
        if unsafe_reasons:
            found["unsafe_reasons"] = [unsafe_reasons] if isinstance(unsafe_reasons, str) else list(unsafe_reasons)
        if can_resume is not None:
            found["can_resume"] = bool(can_resume)
        status = state.get("status") if isinstance(state, Mapping) else None
        if isinstance(status, str):
            found["status"] = status[:200]
        return found

    _note(Kind.CHECKPOINT, node, lambda: freeze(state) if can_resume else state, attrs)


def retrieved(docs: Iterable[object], *, query: str = "") -> None:
    """Note the documents that retrieval returned, apart from the prompt: id, source, hash and text of each.

    Args:
        docs: Mappings with ``id``, ``source`` and ``text`` (or ``content``), or objects with such attributes.
        query: What was searched for.
    """
    described: list[dict[str, Any]] = []

    def described_docs() -> list[dict[str, Any]]:
        if isinstance(docs, Iterator):
            raise TypeError("retrieved() takes a list of documents: reading an iterator would take them from the agent")
        described.extend(_document(item) for item in docs)
        return described

    _note(Kind.RETRIEVAL, query or "retrieved", described_docs, lambda: {"documents": len(described)})


def external_read(source: str, value: object) -> None:
    """Note that outside state was read: when, from where, its hash and content."""
    _note(Kind.READ, source, lambda: value)


def config_content(name: str, content: object) -> None:
    """Note configuration from outside version control (a database row, an admin page): hash and content."""
    here = _here()
    if here is None:
        return
    found, scope = here

    def note() -> None:
        encoded = scope.run.encode(content)
        version = {"value": sha256_hex(encoded.data)[:16], "origin": "recorded"}
        scope.run.facts.versions = {**scope.run.facts.versions, f"config:{scope.run.gate.text(str(name))}": version}
        scope.run.note(scope, Kind.CONFIG, name, encoded)

    found.guard(note, None)


def final_state(value: object) -> None:
    """Declare how the run ended (``AUTO_EXECUTE``); else the last checkpoint's status counts."""
    attrs: dict[str, object] = {"final": True}
    if isinstance(value, str):
        attrs["status"] = value[:200]
    _note(Kind.CHECKPOINT, "final state", lambda: value, lambda: attrs)


def tag(**tags: object) -> None:
    """Tag the current run."""
    here = _here()
    if here is not None:
        found, scope = here

        def add() -> None:
            texts = {key: str(value) for key, value in tags.items()}
            scope.run.facts.tags = {**scope.run.facts.tags, **texts}
            scope.run.save()

        found.guard(add, None)


def run_id() -> str | None:
    """Id of the current run, or ``None`` outside every run."""
    scope = scopes.current()
    if scope is not None:
        return scope.run.run_id
    found = recorder()
    run = found.begun if found is not None else None
    return None if run is None else run.run_id


def stats() -> dict[str, object]:
    """What the recorder did in this process: records, bytes, dropped, errors, queued, last_error."""
    found = recorder()
    return {"enabled": False} if found is None else {"enabled": True, **found.stats()}


def flag(run: str, reason: str) -> None:
    """Mark a bad run, hours later too; flagged runs keep their bodies."""
    found = recorder()
    if found is None:
        return

    def mark() -> None:
        from agentdbg.redaction.gate import Gate
        from agentdbg.store.directory import DirectoryStore
        from agentdbg.store.notes import set_flag

        gate = Gate(found.key, enabled=found.redacting)
        set_flag(DirectoryStore(found.store), run, gate.text(reason))

    found.guard(mark, None)


def approval(
    question: str,
    *,
    decide: Callable[[], T] | None = None,
    decision: T | None = None,
    who: str | None = None,
    state: object = None,
    allowed: object = None,
    policy: str | None = None,
) -> T:
    """Ask a person, as a step: recorded with who, when, the state's hash and what was allowed; served in a replay.

    Args:
        question: What is asked.
        decide: Gets the decision; may be a coroutine function, then the result is to be awaited. Returning ``None`` or
            ``"pending"`` means that nobody has decided yet, and the run ends as *waiting*.
        decision: The decision itself, where it is there already and nobody has to be asked.
        who: Who decides.
        state: The state that the decision is about.
        allowed: Range of actions that a yes allows.
        policy: Policy in force.
    """
    here = _here()
    if decide is None:
        decide = partial(cast("Callable[[T | None], T]", _itself), decision)
    if here is None:
        return decide()
    found, scope = here
    about = {"question": question, "state": state, "allowed": allowed, "policy": policy}
    active = found.guard(lambda: _open_call(found, scope, Kind.APPROVAL, str(question)[:80], about, {"who": who}), None)
    if _is_async(decide):
        return _decide_async(active, scope, decide)  # type: ignore[return-value]  # T is the coroutine that decide() returns
    return _finish(active, scope, decide)


def _itself(value: T) -> T:
    return value


def model_call(function: Callable[..., T], /, *args: Any, model: str = "", **kwargs: Any) -> T:
    """Call a model client that no seam covers, as a model step: ``model_call(client.generate, prompt=…, model="…")``.

    ``model`` names the step and is passed on to ``function`` too when it is given.
    """
    if model:
        kwargs["model"] = model
    here = _here()
    if here is None:
        return function(*args, **kwargs)
    found, scope = here
    about = {"args": list(args), **kwargs}
    name = model or getattr(function, "__qualname__", "model")
    active = found.guard(
        lambda: _open_call(found, scope, Kind.MODEL, name, about, {"model": model, "seam": "model_call"}), None
    )
    if _is_async(function):
        return _decide_async(active, scope, lambda: function(*args, **kwargs))  # type: ignore[return-value]  # T is a coroutine
    return _finish(active, scope, lambda: function(*args, **kwargs))


def _open_call(
    found: Recorder, scope: Scope, kind: Kind, name: str, about: Mapping[str, object], attrs: Mapping[str, object]
) -> ActiveCall:
    run = scope.run
    members: dict[str, object] = {"attrs": {key: run.gate.text(str(value)) for key, value in attrs.items() if value}}
    step = run.begin(scope, kind, name, run.encode(dict(about)), members=members)
    return ActiveCall(found, scope, step, scope.below(step.id, tool=True))


def _finish(active: ActiveCall | None, scope: Scope, function: Callable[[], T]) -> T:
    if active is None:
        return function()
    served = active.served()
    if served is not None:
        value: T = served.deliver()
        _see_pending(active, scope, value)
        return value
    with scopes.inside(active.scope):
        try:
            value = function()
        except BaseException as error:
            active.fail(error)
            raise
    active.succeed(value)
    _see_pending(active, scope, value)
    return value


async def _decide_async(active: ActiveCall | None, scope: Scope, function: Callable[[], Any]) -> Any:
    if active is None:
        return await function()
    served = await active.served_async()
    if served is not None:
        value = served.deliver()
        _see_pending(active, scope, value)
        return value
    with scopes.inside(active.scope):
        try:
            value = await function()
        except BaseException as error:
            active.fail(error)
            raise
    active.succeed(value)
    _see_pending(active, scope, value)
    return value


def _is_async(function: Callable[..., object]) -> bool:
    return inspect.iscoroutinefunction(function) or inspect.iscoroutinefunction(getattr(function, "__call__", None))  # noqa: B004


def _see_pending(active: ActiveCall, scope: Scope, value: object) -> None:
    if active.step.kind is Kind.APPROVAL:
        scope.run.waiting = value is None or (isinstance(value, str) and value == PENDING)


def _document(item: object) -> dict[str, Any]:
    def get(*names: str) -> Any:
        for name in names:
            value = item.get(name) if isinstance(item, Mapping) else getattr(item, name, None)
            if value is not None:
                return value
        return None

    text = get("text", "content", "page_content")
    shown = text if isinstance(text, str) else ("" if text is None else str(text))
    source = get("source")
    return {
        "id": str(get("id") or ""),
        "source": str(source or ""),
        "sha256": sha256_hex(shown.encode("utf-8", "surrogatepass")),
        "text": shown,
    }

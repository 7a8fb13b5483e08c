"""OpenTelemetry beside the recorder: the run id on the active span, the trace id on the run, baggage on the way out."""

from __future__ import annotations

import functools
from collections.abc import Callable
from importlib import import_module
from types import ModuleType
from typing import TYPE_CHECKING, Any

from agentdbg.recording import root_facts
from agentdbg.recording import scope as scopes
from agentdbg.recording.hooks import on_import
from agentdbg.recording.http_headers import patch
from agentdbg.recording.servers.trace_context import RUN_KEY

if TYPE_CHECKING:
    from agentdbg.recording.run import RunRecording

ATTRIBUTE = "agentdbg.run_id"


def install(module: ModuleType) -> None:
    """Describe the runs that begin from now on by the span they begin in. Idempotent."""
    describe = functools.partial(_describe, module)
    if not any(getattr(known, "func", None) is _describe for known in root_facts.DESCRIBERS):
        root_facts.DESCRIBERS.append(describe)
    on_import("opentelemetry.baggage.propagation", _patch_propagation)


def _describe(module: ModuleType, run: RunRecording) -> None:
    span = module.get_current_span()
    context = span.get_span_context()
    if not context.is_valid:
        return
    run.facts.trace_id = f"{context.trace_id:032x}"
    if span.is_recording():
        span.set_attribute(ATTRIBUTE, run.run_id)


def _patch_propagation(module: ModuleType) -> None:
    """Whoever sends baggage on, sends the run it stands in as well; nobody sends any who did not before."""
    propagator = module.W3CBaggagePropagator
    patch(propagator, "inject", _naming_run(propagator.inject, import_module("opentelemetry.baggage")))


def _naming_run(inject: Callable[..., None], baggage: ModuleType) -> Callable[..., None]:
    @functools.wraps(inject)
    def inject_with_run(self: object, carrier: Any, context: Any = None, *args: Any, **kwargs: Any) -> None:
        here = scopes.current()
        if here is not None:
            try:
                context = baggage.set_baggage(RUN_KEY, here.run.run_id, context)
            except Exception as error:
                here.run.recorder.fault(error)
        inject(self, carrier, context, *args, **kwargs)

    return inject_with_run

"""Retrievers of LangChain: one step each, with the documents that came back; served in a replay."""

from __future__ import annotations

import functools
from types import ModuleType
from typing import Any

from agentdbg.model.hashing import sha256_hex
from agentdbg.model.records import Kind
from agentdbg.recording import drive
from agentdbg.recording.framework_calls import FrameworkTool, ToolDescription
from agentdbg.recording.frameworks.langchain_values import CODEC
from agentdbg.recording.frameworks.patches import replace_method

_SOURCES = ("source", "file_path", "url", "path", "title")


def install(module: ModuleType) -> None:
    """Patch ``langchain_core.retrievers``."""
    opener = FrameworkTool(_describe, DocumentCodec(), Kind.RETRIEVAL)
    replace_method(module.BaseRetriever, "invoke", functools.partial(drive.function, opener))
    replace_method(module.BaseRetriever, "ainvoke", functools.partial(drive.coroutine, opener))


class DocumentCodec:
    """Documents as id, source, hash and text, as `agentdbg.retrieved` has them, with all that makes them again."""

    def freeze(self, value: Any) -> object:
        """A list of documents, described; anything else as the framework's values are."""
        kept = CODEC.freeze(value)
        if not isinstance(value, list) or not all(hasattr(item, "page_content") for item in value):
            return kept
        assert isinstance(kept, list)
        return [{**_described(item), "document": frozen} for item, frozen in zip(value, kept, strict=True)]

    def thaw(self, frozen: Any) -> Any:
        """The documents."""
        if isinstance(frozen, list):
            frozen = [item["document"] if isinstance(item, dict) and "document" in item else item for item in frozen]
        return CODEC.thaw(frozen)


def _described(document: Any) -> dict[str, str]:
    text = str(document.page_content)
    metadata = document.metadata if isinstance(document.metadata, dict) else {}
    source = next((metadata[name] for name in _SOURCES if metadata.get(name)), "")
    named = getattr(document, "id", None) or metadata.get("id") or ""
    digest = sha256_hex(text.encode("utf-8", "surrogatepass"))
    return {"id": str(named), "source": str(source), "sha256": digest, "text": text}


def _describe(args: tuple[Any, ...], kwargs: dict[str, Any]) -> ToolDescription:
    query = args[1] if len(args) > 1 else kwargs.get("input")
    name = getattr(args[0], "name", None) or type(args[0]).__name__
    return ToolDescription(str(name), {"query": CODEC.freeze(query)}, "read")

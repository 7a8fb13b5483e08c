"""Messages and outputs of models as rows that read well."""

from __future__ import annotations

from agentdbg.debugging.dialects import Spoken, read_message
from agentdbg.debugging.document import Row, Tone, row
from agentdbg.debugging.jsontext import coloured, looks_like_json, pretty, text_lines
from agentdbg.model.canonical import loads_json
from agentdbg.model.safe_text import SafeText


def spoken_in(data: bytes) -> Spoken | None:
    """The message in a body; ``None`` where it is in no known shape."""
    try:
        return read_message(loads_json(data))
    except ValueError:
        return None


def spoken_lines(spoken: Spoken) -> list[SafeText | Row]:
    """A message as people read it: reasoning, text, then the tool calls it asks for."""
    lines: list[SafeText | Row] = []
    if spoken.reasoning:
        lines.append(row(("reasoning", Tone.LABEL)))
        lines.extend(row((line, Tone.DIM)) for line in text_lines(spoken.reasoning))
    if spoken.text:
        lines.extend(text_rows(spoken.text))
    for tool in spoken.tools:
        lines.append(row(("→ ", Tone.ACCENT), (tool.name, Tone.TOOL), (f"  {tool.call_id}", Tone.DIM)))
        lines.extend(json_rows(tool.arguments, indent="  "))
    lines.extend(row((f"[{other}]", Tone.DIM)) for other in spoken.others)
    return lines or [row(("(empty)", Tone.DIM))]


def text_rows(text: str) -> list[SafeText | Row]:
    """Text as lines; JSON inside it, as tools return it, laid out."""
    return list(json_rows(text)) if looks_like_json(text) else list(text_lines(text))


def json_rows(text: str, *, indent: str = "") -> list[Row]:
    """JSON text as coloured rows."""
    return [row(indent, *coloured(line)) for line in pretty(text)]

"""The desk's handbook: a few snippets and a search by shared words, in place of a vector store."""

from __future__ import annotations

import re

SNIPPETS: tuple[dict[str, str], ...] = (
    {
        "id": "handbook-12",
        "source": "handbook/electronics.md",
        "text": "Opened electronics are inspected before money goes back. A person looks at every such refund.",
    },
    {
        "id": "handbook-07",
        "source": "handbook/refunds.md",
        "text": "Refund an order to the card that paid it. The bank takes two to three days.",
    },
    {
        "id": "handbook-19",
        "source": "handbook/books.md",
        "text": "Unread books can be sent back within two weeks; no inspection is needed.",
    },
    {
        "id": "handbook-03",
        "source": "handbook/tone.md",
        "text": "Write to customers in short sentences, and never promise a date.",
    },
)


def search(query: str, limit: int) -> list[dict[str, str]]:
    """The snippets that share most words with a query, best first."""
    asked = _words(query)
    ranked = sorted(SNIPPETS, key=lambda snippet: (-len(asked & _words(snippet["text"])), snippet["id"]))
    return [dict(snippet) for snippet in ranked[:limit]]


def _words(text: str) -> set[str]:
    return {word for word in re.findall(r"[a-z]+", text.lower()) if len(word) > 3}

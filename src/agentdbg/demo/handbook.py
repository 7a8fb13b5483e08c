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
    {
        "id": "handbook-21",
        "source": "handbook/zh/books.md",
        "text": "未拆封的图书两周之内可以退货📚，无需人工检查；请用顾客的语言回复。",
    },
)


def search(query: str, limit: int) -> list[dict[str, str]]:
    """The snippets that share most words with a query, best first."""
    asked = _words(query)
    ranked = sorted(SNIPPETS, key=lambda snippet: (-len(asked & _words(snippet["text"])), snippet["id"]))
    return [dict(snippet) for snippet in ranked[:limit]]


def _words(text: str) -> set[str]:
    """Longer words, and single Chinese characters: there are no spaces to find words by."""
    return set(re.findall(r"[a-z]{4,}|[\u4e00-\u9fff]", text.lower()))

"""Recall and precision on the corpus."""

from __future__ import annotations

import gzip
import json
from collections.abc import Callable
from pathlib import Path

import pytest

from agentdbg.redaction.engine import scan

CORPUS = Path(__file__).parents[2] / ".." / "shared" / "data" / "security" / "redaction.dev.jsonl.gz"


def measure(rows: list[dict[str, object]]) -> tuple[float, float, list[str]]:
    """Return recall (90 % of a span covered), precision, and what went wrong."""
    hit = true = predicted = good = 0
    wrong: list[str] = []
    for row in rows:
        text, truth = str(row["text"]), row["spans"]
        assert isinstance(truth, list)
        spans = scan(text)
        covered = {i for s in spans for i in range(s.start, s.end)}
        wanted = {i for a, b, _ in truth for i in range(a, b)}
        for a, b, kind in truth:
            true += 1
            if sum(i in covered for i in range(a, b)) >= 0.9 * (b - a):
                hit += 1
            else:
                wrong.append(f"missed {kind}: {text[:120]!r}")
        for span in spans:
            predicted += 1
            if sum(i in wanted for i in range(span.start, span.end)) >= 0.5 * (span.end - span.start):
                good += 1
            else:
                wrong.append(f"false {span.kind}: {text[:120]!r}")
    return hit / true, good / predicted, wrong


def test_recall_and_precision_on_the_development_corpus(record_property: Callable[[str, object], None]) -> None:
    if not CORPUS.exists():
        pytest.skip("the redaction corpus is not beside this checkout")
    with gzip.open(CORPUS, "rt", encoding="utf-8") as lines:
        rows = [json.loads(line) for line in lines]
    recall, precision, wrong = measure(rows)
    record_property("recall", recall)
    record_property("precision", precision)
    print(f"recall {recall:.4f} precision {precision:.4f} on {len(rows)} rows")
    assert recall >= 0.99, wrong
    assert precision >= 0.99, wrong

"""What redaction costs: throughput, one recorded call, import, quality on the corpus. Run as a program."""

from __future__ import annotations

import argparse
import base64
import gzip
import json
import random
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

from agentdbg.redaction.engine import scan
from agentdbg.redaction.gate import Gate
from agentdbg.redaction.keys import RedactionKey

CORPUS = Path(__file__).parents[2] / ".." / "shared" / "data" / "security" / "redaction.dev.jsonl.gz"
KEY = RedactionKey(b"k" * 32, "bench")
SENTENCE = (
    "Please check the order 10293 of the customer and tell me whether the refund policy applies; the tool returned a "
    'document with "max_tokens": 512 in it.\n'
)


def best(work: Callable[[], object], repeat: int) -> float:
    """Return the shortest processor time of some runs, in seconds."""
    times = []
    for _ in range(repeat):
        began = time.thread_time_ns()
        work()
        times.append(time.thread_time_ns() - began)
    return min(times) / 1e9


def samples() -> dict[str, str]:
    """Return texts of 200 KB."""
    rnd = random.Random(1)
    code = Path(argparse.__file__).read_text(encoding="utf-8")
    return {
        "chat": (SENTENCE * 1500)[:200_000],
        "code": (code * 3)[:200_000],
        "base64": base64.b64encode(rnd.randbytes(150_000)).decode(),
        "floats": json.dumps([rnd.uniform(-1, 1) for _ in range(9_500)])[:200_000],
        "Chinese": ("请根据退款政策检查订单号，并告诉我是否可以退款，工具返回了一个文档。" * 6_000)[:200_000],
        "uuids": json.dumps([f"{rnd.getrandbits(128):032x}" for _ in range(5_500)])[:200_000],
        "secrets": (SENTENCE + "mail anna.k@example-mail.org or 13800138000. ") * 900,
    }


def call(rnd: random.Random) -> dict[str, object]:
    """Return a tool call of about 2 KB that nobody has sent before."""
    rows = [
        {
            "id": f"{rnd.getrandbits(64):016x}",
            "name": f"item {i} of order {rnd.randrange(10**6)}",
            "price": rnd.uniform(1, 99),
            "qty": i,
        }
        for i in range(10)
    ]
    return {
        "name": "read_order",
        "arguments": {"order_id": str(rnd.randrange(10**6))},
        "result": rows,
        "note": SENTENCE * 4 + str(rnd.random()),
    }


def throughput() -> None:
    """Print MB/s and the ratio to copying the text."""
    print(f"{'text':10} {'MB/s':>8} {'x a copy':>9} {'resent us':>10}")
    for name, text in samples().items():
        scan(text)
        taken = best(lambda text=text: scan(text), 9)  # type: ignore[misc]
        copied = best(lambda text=text: text.encode("utf-8").decode("utf-8"), 9)  # type: ignore[misc]
        gate = Gate(KEY)
        gate.text(text)
        again = best(lambda gate=gate, text=text: gate.text(text), 20)  # type: ignore[misc]
        print(f"{name:10} {len(text) / taken / 1e6:8.1f} {taken / copied:9.1f} {again * 1e6:10.1f}")


def one_call() -> None:
    """Print what a 2 KB call costs, the first time and when it is sent again, and a long prompt sent again."""
    rnd = random.Random(2)
    gate = Gate(KEY)
    gate.value(call(rnd))
    fresh = [call(rnd) for _ in range(200)]
    size = len(json.dumps(fresh[0]))
    first = min(best(lambda value=value: gate.value(value), 1) for value in fresh)  # type: ignore[misc]
    median = sorted(best(lambda value=value: gate.value(value), 1) for value in [call(rnd) for _ in range(200)])[100]  # type: ignore[misc]
    again = best(lambda: gate.value(fresh[0]), 300)
    flat = [SENTENCE * 12 + str(rnd.random()) for _ in range(200)]
    text_first = sorted(best(lambda text=text: gate.text(text), 1) for text in flat)[100]  # type: ignore[misc]
    prompt = SENTENCE * 130
    gate.text(prompt)
    resent = best(lambda: gate.text(prompt), 100)
    print(f"\n{'one call':34} {'us':>8}")
    print(f"{f'{size} bytes of JSON, first, best':34} {first * 1e6:8.1f}")
    print(f"{f'{size} bytes of JSON, first, median':34} {median * 1e6:8.1f}")
    print(f"{f'{size} bytes of JSON, resent':34} {again * 1e6:8.1f}")
    print(f"{f'{len(flat[0])} bytes of text, first, median':34} {text_first * 1e6:8.1f}")
    print(f"{f'{len(prompt)} bytes of text, resent':34} {resent * 1e6:8.1f}")


def importing() -> None:
    """Print what importing the gate costs over a bare interpreter."""

    def run(code: str) -> float:
        times = []
        for _ in range(7):
            began = time.perf_counter()
            subprocess.run([sys.executable, "-c", code], check=True)
            times.append(time.perf_counter() - began)
        return min(times)

    bare, loaded = (
        run("import json, re, hmac, hashlib, threading, typing, dataclasses, pathlib"),
        run("import agentdbg.redaction.gate"),
    )
    print(f"\nimport agentdbg.redaction.gate: {(loaded - bare) * 1e3:.1f} ms over the standard library it uses")


def quality() -> None:
    """Print recall and precision on the development corpus."""
    if not CORPUS.exists():
        print("\nthe redaction corpus is not beside this checkout")
        return
    hit = true = good = predicted = 0
    with gzip.open(CORPUS, "rt", encoding="utf-8") as lines:
        for line in lines:
            row = json.loads(line)
            spans = scan(row["text"])
            covered = {i for s in spans for i in range(s.start, s.end)}
            wanted = {i for a, b, _ in row["spans"] for i in range(a, b)}
            true += len(row["spans"])
            hit += sum(sum(i in covered for i in range(a, b)) >= 0.9 * (b - a) for a, b, _ in row["spans"])
            predicted += len(spans)
            good += sum(any(i in wanted for i in range(s.start, s.end)) for s in spans)
    print(f"\nrecall {hit / true:.4f}, precision {good / predicted:.4f} ({true} secrets, {predicted} findings)")


def main() -> None:
    """Print all tables."""
    throughput()
    one_call()
    importing()
    quality()


if __name__ == "__main__":
    main()

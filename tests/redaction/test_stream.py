"""Text that arrives in pieces is redacted as if it had arrived whole."""

from __future__ import annotations

import gzip
import json
import random
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from agentdbg.redaction.gate import Gate
from agentdbg.redaction.keys import RedactionKey
from agentdbg.redaction.stream import HOLD
from tests.support.secret_samples import ID_LIKE, secrets

KEY = RedactionKey(b"k" * 32, "test")
SECRETS = secrets(7)
CORPUS = Path(__file__).parents[2] / ".." / "shared" / "data" / "security"
SENTENCE = "the customer asks for a refund of order 10293 and we check the policy first, then answer. 退款政策如下：\n"
WORDS = SENTENCE.split(" ")


def cut(text: str, rnd: random.Random, longest: int) -> list[str]:
    pieces = []
    at = 0
    while at < len(text):
        size = rnd.randint(1, longest)
        pieces.append(text[at : at + size])
        at += size
    return pieces


def through(gate: Gate, pieces: list[str]) -> tuple[str, list[object]]:
    stream = gate.stream()
    out = [item for i, piece in enumerate(pieces) for item in stream.feed("content", piece, i)]
    out += stream.flush()
    return "".join(text for _, text in out), [token for token, _ in out]


@st.composite
def texts(draw: st.DrawFn) -> str:
    part = st.one_of(
        st.sampled_from([*SECRETS.values(), *ID_LIKE.values()]),
        st.sampled_from(WORDS),
        st.sampled_from(["password=hunter2x!", "数据库密码：dL6Kx0JcSefR", '{"api_key": "two words"}', "a\\nb", "\n"]),
        st.integers(1, 60).map(lambda n: " ".join(WORDS * 20)[: n * 12]),
    )
    return " ".join(draw(st.lists(part, max_size=14)))


@settings(max_examples=250, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(texts(), st.integers(0, 2**32), st.sampled_from([1, 4, 30, 400]))
def test_pieces_joined_are_the_whole_redacted(text: str, seed: int, longest: int) -> None:
    pieces = cut(text, random.Random(seed), longest)
    joined, tokens = through(Gate(KEY), pieces)
    assert joined == Gate(KEY).text(text)
    assert tokens == list(range(len(pieces)))


@pytest.mark.parametrize("name", SECRETS)
def test_a_secret_cut_anywhere_never_comes_out(name: str) -> None:
    secret = SECRETS[name]
    rnd = random.Random(3)
    before, after = " ".join(WORDS * 6), " ".join(WORDS * 9)
    for longest in (1, 5, 40):
        joined, _ = through(Gate(KEY), cut(f"{before} {secret} {after}", rnd, longest))
        assert joined == f"{before} {Gate(KEY).text(secret)} {after}"


def test_the_placeholder_stands_where_the_secret_begins() -> None:
    secret = SECRETS["github"]
    stream = Gate(KEY).stream()
    for token, piece in enumerate(["use ", secret[:5], secret[5:20], secret[20:], " ok"]):
        assert stream.feed("c", piece, token) == []
    out = stream.flush()
    assert [token for token, _ in out] == [0, 1, 2, 3, 4]
    assert [text[:16] for _, text in out] == ["use ", "⟦R:github_token:", "", "", " ok"]


def test_no_more_than_the_hold_back_waits() -> None:
    stream = Gate(KEY).stream()
    fed = out = 0
    for i in range(400):
        fed += len(f"word {i} ")
        out += sum(len(text) for _, text in stream.feed("c", f"word {i} ", i))
        assert fed - out <= HOLD + 9


def test_a_private_key_waits_until_it_is_closed() -> None:
    pem = SECRETS["pem"]
    stream = Gate(KEY).stream()
    text = f"key:\n{pem}\n" + "after " * 100
    out = []
    for i in range(0, len(text), 7):
        out += stream.feed("c", text[i : i + 7], i)
        assert "PRIVATE" not in "".join(t for _, t in out)
    joined = "".join(t for _, t in out + stream.flush())
    assert joined.startswith("key:\n⟦R:private_key:")
    assert joined.endswith("after " * 3)
    assert pem[60:90] not in joined


def test_channels_are_separate_texts_and_deltas_keep_their_order() -> None:
    phone, mail = SECRETS["phone"], SECRETS["email"]
    stream = Gate(KEY).stream()
    fed = [("a", phone[:4]), ("b", mail[:9]), ("a", phone[4:]), ("b", mail[9:]), ("a", " x"), ("b", " y")]
    out = [item for i, (channel, text) in enumerate(fed) for item in stream.feed(channel, text, (i, channel))]
    out += stream.flush()
    assert [token for token, _ in out] == [(i, channel) for i, (channel, _) in enumerate(fed)]
    joined = {c: "".join(text for token, text in out if isinstance(token, tuple) and token[1] == c) for c in "ab"}
    assert joined == {"a": Gate(KEY).text(phone) + " x", "b": Gate(KEY).text(mail) + " y"}


def test_a_channel_that_has_ended_can_be_flushed_alone() -> None:
    stream = Gate(KEY).stream()
    assert stream.feed("thinking", "short thought", 1) == []
    assert stream.feed("content", "answer", 2) == []
    assert stream.flush("thinking") == [(1, "short thought")]
    assert stream.flush() == [(2, "answer")]
    assert stream.flush("nothing") == []


def test_a_number_in_streamed_json_arguments_stays_a_number() -> None:
    text = '{"note": "' + "x " * 300 + '", "phone": 13800138000, "said": "13800138000, ok"}'
    joined, _ = through(Gate(KEY), cut(text, random.Random(5), 6))
    parsed = json.loads(joined)
    assert isinstance(parsed["phone"], int)
    assert parsed["phone"] != 13800138000
    assert parsed["said"].startswith("⟦R:phone:11:")


def test_what_the_run_knows_is_removed_from_streams() -> None:
    gate = Gate(KEY)
    known = gate.value({"password": "Xk29-vvP"})["password"]
    assert through(gate, ["it is Xk", "29-", "vvP!"])[0] == f"it is {known}!"


def test_a_broken_engine_lets_nothing_through(monkeypatch: pytest.MonkeyPatch) -> None:
    gate = Gate(KEY)

    def broken(*_: object) -> list[object]:
        raise RuntimeError("broken")

    monkeypatch.setattr("agentdbg.redaction.known_clean.scan", broken)
    monkeypatch.setattr("agentdbg.redaction.gate.scan", broken, raising=False)
    joined, tokens = through(gate, [f"{SECRETS['email']} "] * 40)
    assert SECRETS["email"] not in joined
    assert "unscanned" in joined
    assert tokens == list(range(40))


def test_the_split_stream_corpus() -> None:
    path = CORPUS / "redaction.split_sse.jsonl.gz"
    if not path.exists():
        pytest.skip("the redaction corpus is not beside this checkout")
    with gzip.open(path, "rt", encoding="utf-8") as lines:
        rows = [json.loads(line) for line in lines]
    for row in rows:
        events = [json.loads(line[6:]) for line in row["text"].split("\n") if line.startswith("data: ")]
        pieces = [event["choices"][0]["delta"]["content"] for event in events]
        joined, _ = through(Gate(KEY), pieces)
        assert joined == Gate(KEY).text("".join(pieces))
        assert joined.startswith("use ⟦R:"), row["kind"]
        assert joined.endswith("⟧ ok"), row["kind"]

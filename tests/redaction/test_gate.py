"""The gate, as the recorder and a replay use it."""

from __future__ import annotations

import json
import threading
from urllib.parse import quote_plus

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from agentdbg.redaction.checks import luhn
from agentdbg.redaction.gate import Gate
from agentdbg.redaction.keys import RedactionKey
from agentdbg.redaction.placeholder import pattern, strip_digests
from agentdbg.redaction.rules import Rule
from tests.support.secret_samples import ID_LIKE, secrets

KEY = RedactionKey(b"k" * 32, "test")
SECRETS = secrets()


def gate() -> Gate:
    return Gate(KEY)


def test_text_without_secrets_is_the_same_object() -> None:
    text = "an ordinary sentence, number 42"
    assert gate().text(text) is text
    value = {"a": [1, 2.5, None, True, {"b": text}], "c": (text, {3})}
    assert gate().value(value) is value


def test_kind_and_length_stay_visible() -> None:
    secret = SECRETS["openai"]
    assert strip_digests(gate().text(f"use {secret} now")) == f"use ⟦R:openai_key:{len(secret)}⟧ now"


def test_the_same_secret_has_the_same_placeholder_and_another_has_another() -> None:
    g = gate()
    one, two = g.text(SECRETS["email"]), g.text("x" + SECRETS["email"])
    assert one == g.text(SECRETS["email"]) == gate().text(SECRETS["email"])
    assert one != two
    assert one != Gate(RedactionKey(b"z" * 32, "other")).text(SECRETS["email"])


def test_what_was_redacted_once_is_redacted_as_a_substring_later() -> None:
    g = gate()
    first = g.value({"password": "hunter2x"})["password"]
    assert g.text("pre-hunter2x-post") == f"pre-{first}-post"
    assert g.value(["hunter2x", {"hunter2x": 1}]) == [first, {first: 1}]
    assert (
        g.body(b'{"q":"say hunter2x"}')
        == json.dumps({"q": f"say {first}"}, ensure_ascii=False).replace(": ", ":").encode()
    )


def test_a_text_seen_before_its_secret_was_known_is_redacted_when_it_is_sent_again() -> None:
    g = gate()
    prompt = "log in as bob with Xk29-vvP"
    assert g.text(prompt) == prompt
    g.value({"password": "Xk29-vvP"})
    assert "Xk29" not in g.text(prompt)


def test_an_integer_stays_an_integer_and_its_text_becomes_the_placeholder() -> None:
    g = gate()
    seen = g.value({"phone": 13800138000, "note": "call 13800138000", "ratio": 13800138000.0, "neg": -13800138000})
    number = seen["phone"]
    assert isinstance(number, int)
    assert len(str(number)) == 11
    assert str(number)[0] == "9"
    assert not luhn(str(number))
    assert seen["note"] == "call " + dict(g.surrogates())[number]
    assert seen["ratio"] == float(number)
    assert isinstance(seen["neg"], int) and seen["neg"] < 0
    assert g.value(number) == number
    assert g.text(str(number)) == str(number)


@pytest.mark.parametrize("number", [5, 99_999, 1613299734416, 1765994529063847957, 2**70, 1234567890123456, True])
def test_other_integers_are_left_alone(number: int) -> None:
    assert gate().value([number]) == [number]


def test_a_quantity_that_looks_like_a_phone_number_is_left_alone() -> None:
    value = {"size": 13442719125, "args": '{"size_bytes": 13442719125}'}
    assert gate().value(value) is value


def test_a_number_in_a_json_text_stays_a_number() -> None:
    g = gate()
    arguments = g.text('{"phone": 13800138000, "note": "list: 13800138000, ok"}')
    parsed = json.loads(arguments)
    assert isinstance(parsed["phone"], int)
    assert parsed["note"].startswith("list: ⟦R:phone:11:")
    assert g.value({"phone": 13800138000})["phone"] == parsed["phone"]
    assert g.text(arguments) == arguments


SAFE = {
    "max_tokens": 512,
    "input_tokens": 13,
    "token_count": 3,
    "tokens": ["a", "b"],
    "auth": {"type": "oauth2"},
    "secret_santa": True,
    "password": 12345678,
    "token": "Hello",
    "secret": None,
    "next_page_token": "x",
    "token_type": "bearer",
    "idempotency_key": ID_LIKE["uuid"],
    "session_id": ID_LIKE["uuid"],
    "input_hash": ID_LIKE["sha256"],
    "tool_call_id": ID_LIKE["call"],
}


def test_harmless_fields_survive() -> None:
    assert gate().value(SAFE) is SAFE
    raw = json.dumps(SAFE).encode()
    assert gate().body(raw) is raw


@pytest.mark.parametrize(
    "name",
    [
        "password",
        "passwd",
        "secret",
        "api_key",
        "apikey",
        "apiKey",
        "authorization",
        "access_token",
        "refreshToken",
        "client_secret",
        "private_key",
        "x-api-key",
        "X-Api-Key",
    ],
)
def test_a_telling_name_redacts_the_whole_string(name: str) -> None:
    g = gate()
    assert strip_digests(g.value({name: "any old thing"})[name]) == "⟦R:field:13⟧"
    assert "any old" not in g.body(json.dumps({"inner": json.dumps({name: "any old thing"})}).encode()).decode()
    assert g.value({name: ["any old thing"]})[name] != ["any old thing"]


def test_the_scheme_of_an_authorization_stays() -> None:
    g = gate()
    seen = dict(g.headers([("Authorization", "Bearer abc.def.ghi"), ("x-goog-api-key", "q1"), ("accept", "text/html")]))
    assert seen["Authorization"].startswith("Bearer ⟦R:field:11:")
    assert seen["x-goog-api-key"].startswith("⟦R:field:2:")
    assert seen["accept"] == "text/html"


def test_cookies_keep_their_names() -> None:
    g = gate()
    pairs = [("Set-Cookie", "sid=abcd1234; Path=/; HttpOnly"), ("cookie", "a=xyzxyz1; b=2"), ("set-cookie", "opaque")]
    for (_, before), (_, after) in zip(pairs, g.headers(pairs), strict=True):
        assert before != after
    assert g.headers(pairs)[0][1].endswith("; Path=/; HttpOnly")
    assert "xyzxyz1" not in g.text("later: xyzxyz1")


def test_a_basic_password_is_known_afterwards() -> None:
    g = gate()
    g.headers([("Authorization", "Basic YW5uYTpacTl4eDc3cA==")])
    assert "Zq9xx77p" not in g.text("her password was Zq9xx77p")


def test_dictionary_keys_are_redacted_and_types_are_kept() -> None:
    email = SECRETS["email"]
    seen = gate().value({email: (email, {email}, frozenset([email]), [email])})
    ((key, inner),) = seen.items()
    assert inner == (key, {key}, frozenset([key]), [key])


def test_nothing_of_the_input_is_changed_in_place() -> None:
    value = {"password": "hunter2x", "list": [SECRETS["phone"], {"x": 13800138000}]}
    before = json.dumps(value)
    gate().value(value)
    assert json.dumps(value) == before


def test_depth_and_cycles() -> None:
    deep: object = SECRETS["email"]
    for level in range(3_000):
        deep = [deep] if level % 2 else {"k": deep}
    seen: object = gate().value(deep)
    for level in reversed(range(3_000)):
        seen = seen[0] if level % 2 else seen["k"]  # type: ignore[index]
    assert str(seen).startswith("⟦R:email:")
    loop: list[object] = []
    loop.append(loop)
    assert "unscanned" in str(gate().value(loop))


def test_placeholders_are_left_alone_forged_ones_too_and_not_counted() -> None:
    g = gate()
    issued = g.text(f"mail {SECRETS['email']}")
    count = g.count
    assert g.text(issued) == issued
    forged = "⟦R:email:9:0123456789ab⟧"
    assert g.text(f"a {forged} b") == f"a {forged} b"
    assert g.count == count
    assert not g.issued(forged)
    assert g.issued(pattern().search(issued).group())  # type: ignore[union-attr]
    other = gate()
    other.adopt({"messages": [{"content": forged}]})
    assert other.issued(forged)


def test_a_secret_beside_a_forged_placeholder_is_found() -> None:
    assert SECRETS["github"] not in gate().text(f"⟦R:email:9:0123456789ab⟧{SECRETS['github']}⟦R:x:{SECRETS['aws']}⟧")
    assert SECRETS["aws"] not in gate().text(f"⟦R:x:{SECRETS['aws']}⟧")


def test_a_replay_serves_a_surrogate_and_knows_its_text() -> None:
    recorded = gate()
    stand_in = recorded.value({"phone": 13800138000})["phone"]
    said = recorded.text("calling 13800138000")
    ((number, placeholder),) = recorded.surrogates()
    replay = Gate(RedactionKey(b"o" * 32, "other"))
    replay.adopt_int(number, placeholder)
    assert replay.value({"phone": stand_in}) == {"phone": stand_in}
    assert replay.text(f"calling {stand_in}") == said
    assert replay.text(f'{{"phone": {stand_in}}}') == f'{{"phone": {stand_in}}}'


def test_bodies_keep_their_bytes_unless_something_was_found() -> None:
    g = gate()
    for raw in (
        b'{ "a" : 1.50, "b":1e400 }',
        b"",
        b"\xff\xfe plain",
        b"key=value",
        b'{"a":1,"a":2}',
        b"[1,",
        b"nul\x00l",
    ):
        assert g.body(raw) is raw
    assert g.body(b'{ "b": 1, "a": "138' + b'00138000" }').startswith(b'{"b":1,"a":"\xe2\x9f\xa6R:phone:11:')
    assert b"hunter2x" not in g.body(b'{"password": "hunter2x", "password": "hunter3x"}')


def test_bytes_that_are_no_text_are_scanned_and_otherwise_kept() -> None:
    secret = SECRETS["github"].encode()
    seen = gate().body(b"\xff\xfe\x00 " + secret + b" \x80\x81")
    assert seen.startswith(b"\xff\xfe\x00 \xe2\x9f\xa6R:github_token:")
    assert seen.endswith(b" \x80\x81")


def test_event_streams_are_redacted_event_by_event() -> None:
    raw = b'data: {"n": 13800138000}\n\ndata: {"delta": "' + SECRETS["email"].encode() + b'"}\n\ndata: [DONE]\n\n'
    lines = gate().body(raw).decode().split("\n")
    assert isinstance(json.loads(lines[0][6:])["n"], int)
    assert json.loads(lines[2][6:])["delta"].startswith("⟦R:email:")
    assert lines[4] == "data: [DONE]"


def test_what_cannot_be_scanned_is_withheld(monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(*_: object) -> list[object]:
        raise RuntimeError("broken")

    g = gate()
    monkeypatch.setattr("agentdbg.redaction.gate.found_by_rules", broken)
    assert strip_digests(g.text("anything at all")) == "⟦R:unscanned:15⟧"
    assert "unscanned" in str(g.value({"password": "x", "a": ["some text"]}))
    assert b"some text" not in g.body(b'{"a": "some text"}')
    assert "unscanned" in g.headers([("a", "some text")])[0][1]


def test_a_value_that_takes_too_long_is_withheld() -> None:
    g = Gate(KEY, seconds=-1.0)
    assert g.text("short text") == "short text"
    assert "unscanned" in g.text("long " * 20_000)


def test_switched_off_it_lets_everything_through() -> None:
    g = Gate(KEY, enabled=False)
    assert g.text(SECRETS["email"]) == SECRETS["email"]
    assert g.headers([("Authorization", "Bearer x")]) == [("Authorization", "Bearer x")]
    assert g.stream().feed("c", SECRETS["email"], 1) == [(1, SECRETS["email"])]


def test_rules_of_the_user_have_their_kind() -> None:
    g = Gate(KEY, extra_rules=[Rule("ticket", ("TICKET-",), r"TICKET-[0-9]{4}")])
    assert strip_digests(g.text("see TICKET-1234")) == "see ⟦R:ticket:11⟧"


def test_everyday_words_are_not_replaced_everywhere() -> None:
    g = gate()
    g.value({"password": "password", "secret": "default", "api_key": "string"})
    text = "the default password is a string"
    assert g.text(text) == text


def test_a_word_is_replaced_where_it_stands_alone_only() -> None:
    g = gate()
    known = g.value({"password": "letmein"})["password"]
    assert g.text("say letmein, not letmeinside") == f"say {known}, not letmeinside"


def test_many_known_values_are_all_remembered() -> None:
    g = gate()
    values = [f"Zq{i:05}xyW" for i in range(400)]
    for value in values:
        g.value({"password": value})
    seen = g.text(" ".join(f"[{v}]" for v in values))
    assert not any(v in seen for v in values)


def test_threads_agree() -> None:
    g = gate()
    results: list[str] = []

    def run() -> None:
        value = {"p": 13800138000, "t": [f"{s} {i}" for i, s in enumerate(SECRETS.values())]}
        for _ in range(20):
            results.append(json.dumps(g.value(value)))  # noqa: PERF401

    threads = [threading.Thread(target=run) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(set(results)) == 1


FRAGMENTS = st.sampled_from(
    [
        *SECRETS.values(),
        *ID_LIKE.values(),
        "password=",
        "密码：",
        '"token": "',
        "⟦R:email:9:0123456789ab⟧",
        "⟦",
        "⟧",
        "\\n",
        "%41",
        "@",
    ]
)
MESSY = st.lists(
    st.one_of(FRAGMENTS, st.text(max_size=8), st.sampled_from(list(" ,;:=\"'\n\\/{}[]"))), max_size=12
).map("".join)


@settings(max_examples=300, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(MESSY)
def test_redacting_twice_is_redacting_once(text: str) -> None:
    g = gate()
    once = g.text(text)
    assert g.text(once) == once


@settings(max_examples=200, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(MESSY, st.sampled_from(sorted(SECRETS)))
def test_no_secret_survives_between_other_text(text: str, name: str) -> None:
    secret = SECRETS[name]
    assert secret not in gate().text(f"{text} {secret} {text}")


@settings(max_examples=200, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(
    st.recursive(
        st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=6) | FRAGMENTS,
        lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=6), inner, max_size=4),
        max_leaves=12,
    )
)
def test_values_keep_their_shape(value: object) -> None:
    seen = gate().value(value)

    def shape(v: object) -> object:
        if isinstance(v, dict):
            return [shape(x) for x in v.values()]
        return [shape(x) for x in v] if isinstance(v, list) else type(v)

    assert shape(seen) == shape(value)
    assert gate().value(seen) == seen or gate().value(seen) is not None


def test_what_was_redacted_under_a_telling_name_stays_as_it_is_when_it_comes_back() -> None:
    seen = gate().value({"cookie": "sid=abcdef0123456789", "set-cookie": "a=0123456789abcdef; Path=/"})
    assert "sid=⟦R:" in seen["cookie"]
    again = gate()
    again.adopt(json.dumps(seen, ensure_ascii=False))
    assert again.value(seen) is seen


def test_a_private_key_is_the_same_with_its_line_breaks_escaped_or_not() -> None:
    key = SECRETS["pem"]
    first, second = gate(), gate()
    assert first.text(repr({"k": key})) == repr({"k": first.text(key)})
    assert second.text(json.dumps([key])) == json.dumps([second.text(key)], ensure_ascii=False)
    assert first.text(key) == second.text(key)


def test_a_known_value_is_found_in_a_form_with_its_blanks_as_plus_signs() -> None:
    known = gate()
    mark = known.text(SECRETS["phone_e164"])
    assert known.text(f"/q?n=1&tel={quote_plus(SECRETS['phone_e164'])}&m=2") == f"/q?n=1&tel={mark}&m=2"

"""The rules: every kind of secret in every surrounding, no look-alike, linear time."""

from __future__ import annotations

import re
import sys
from types import FrameType

import pytest

from agentdbg.redaction import context, decode, numbers, rules
from agentdbg.redaction.engine import scan
from tests.support.secret_samples import ID_LIKE, secrets

SECRETS = secrets()
AROUND = [
    "%s",
    "密钥是%s，请妥善保管。",
    "use %s please",
    '{"note":"%s"}',
    "<a>%s</a>",
    "x=%s&y=1",
    "(%s)",
    "值：%s。",
    "`%s`;",
]


def covered(text: str, secret: str) -> bool:
    start = text.index(secret)
    inside = set(range(start, start + len(secret)))
    for span in scan(text):
        inside -= set(range(span.start, span.end))
    return not inside


@pytest.mark.parametrize("around", AROUND)
@pytest.mark.parametrize("name", SECRETS)
def test_a_secret_is_found_wherever_it_stands(name: str, around: str) -> None:
    assert covered(around % SECRETS[name], SECRETS[name])


@pytest.mark.parametrize("around", AROUND)
@pytest.mark.parametrize("name", ID_LIKE)
def test_ids_hashes_and_versions_are_left_alone(name: str, around: str) -> None:
    assert scan(around.replace("密钥", "编号") % ID_LIKE[name]) == []


@pytest.mark.parametrize(
    "text",
    [
        '"max_tokens": 7841, "token_count": 68499',
        "def get_token(self, token: str) -> Token: ...",
        'password = getpass.getpass("Password: ")',
        'if password != confirm_password: raise ValueError("password mismatch")',
        "export API_KEY=<YOUR_API_KEY>",
        "Authorization: Bearer ${TOKEN}",
        'api_key = os.environ["OPENAI_API_KEY"]',
        "The secret to good bread is patience; the key ingredient is time.",
        "npm i @types/node@18.19.3 react@18",
        "background: url(icon@2x.png)",
        "size 10442719125.5 bytes",
        '"size": 13442719125, "start_ms": 1380013800012',
        '"minipass": "^7.0.4"',
        "postgresql://localhost:5432/test",
        "tokenizer.eos_token = tokenizer.pad_token",
        "from sklearn.linear_model import LogisticRegression  # pip install scikit-learn",
        "a disk-usage-report-with-many-hyphenated-words-in-it",
        '{"type":"object","properties":{"password":{"type":"string"}}}',
        "lat 39.83090029967971, lon 116.87808481826457",
    ],
)
def test_everyday_text_is_left_alone(text: str) -> None:
    assert scan(text) == []


@pytest.mark.parametrize(
    ("text", "secret"),
    [
        ("postgresql://app:mY" + "FR95$kuM@10.0.3.17:5432/orders", "mYFR95$kuM"),
        ("redis://:CAL" + "G_mU7@10.0.3.17/0", "CALG_mU7"),
        ("Server=db;User ID=sa;Password=W6" + "ld^tu4X;Encrypt=True", "W6ld^tu4X"),
        ('login(user="a", passwd="Av' + 'TxuW27")', "AvTxuW27"),
        ("mysql -uroot -p'CiJ" + "NL3Zjg' -h db", "CiJNL3Zjg"),
        ("数据库密码：dL6Kx0" + "JcSefR", "dL6Kx0JcSefR"),
        ("Authorization: Bearer Co14GpLM97UU" + "at7j7IrMBH", "Co14GpLM97UUat7j7IrMBH"),
        ("Authorization: Basic c3VwcG9ydDpm" + "QktJaHVP", "c3VwcG9ydDpmQktJaHVP"),
        ("Cookie: theme=dark; session=22aX1N7l" + "AJnE1OjN", "22aX1N7lAJnE1OjN"),
        ('{"user":"li","password":"two words' + ' here"}', "two words here"),
        ('{"password":"ab\\"cd' + 'ef"}', 'ab\\"cdef'),
        ("x-api-key: 8ad8fcc80def4e73" + "dc7512f3630b59bc", "8ad8fcc80def4e73dc7512f3630b59bc"),
        ("tel 138-1234-" + "5670", "138-1234-5670"),
        ("+86 138 1234 " + "5670", "+86 138 1234 5670"),
    ],
)
def test_secrets_known_by_their_surroundings(text: str, secret: str) -> None:
    assert covered(text, secret)
    assert covered(f"错误：{text}", secret)


@pytest.mark.parametrize("name", ["openai", "github", "aws", "email", "phone", "jwt"])
def test_encoded_secrets_are_found(name: str) -> None:
    import base64
    import json
    from urllib.parse import quote

    secret = SECRETS[name]
    assert scan("".join(f"\\u{ord(c):04x}" for c in secret))[0].value == secret
    assert scan("q=" + "".join(f"%{ord(c):02X}" for c in secret))[0].value == secret
    assert scan(json.dumps(json.dumps({"a": f"\n{secret}\n"})))[0].value == secret
    assert scan(f"a\\n{secret}\\tb")[0].value == secret
    assert scan(quote(f"to {secret} now"))
    assert scan("data " + base64.b64encode(f"the value is {secret} ok".encode()).decode())
    assert scan("\u200b".join(secret))
    wide = "".join(chr(0xFF10 + int(c)) if c.isdigit() else c for c in secret)
    assert scan(wide)


def test_a_private_key_without_its_end_goes_to_the_end_of_its_base64() -> None:
    whole = SECRETS["pem"]
    cut = whole[: whole.index("-----END") - 30]
    spans = scan(f"key:\n{cut}")
    assert (spans[0].start, spans[0].end) == (5, 5 + len(cut))
    certificate = whole.replace("RSA PRIVATE KEY", "CERTIFICATE")
    assert scan(certificate) == []


def test_a_rule_needs_an_anchor_and_a_plain_kind() -> None:
    with pytest.raises(ValueError, match="anchor"):
        rules.Rule("mine", (), "x")
    with pytest.raises(ValueError, match="kind"):
        rules.Rule("Not:Good", ("x",), "x")


def test_rules_of_the_user_are_applied() -> None:
    mine = rules.Rule("ticket", ("TICKET-",), r"TICKET-[0-9]{4}")
    assert scan("see TICKET-1234 now", (mine,))[0].kind == "ticket"


ADVERSARIAL = [
    *("eyJ", "eyJhbGciOiJIUzI1NiJ9.", "-----BEGIN PRIVATE KEY-----", "-----BEGIN RSA PRIVATE KEY-----\nAAAA"),
    *("password=", "key_key_", "token: ", "a@", "a.a@a.", "@a.a", "://a:b", "://", "sk-", "sk-a-", "+1 ", "1-", "+1"),
    *("000-0000", "12345678901 ", "0.1234567890123456 ", "\\", '\\"', '\\"password\\":\\"', "\\u0041", "%41", "%"),
    *("a" * 16 + "+", "YWFhYWFhYWFhYWFhYWFhYWFhYWFh ", "GB00 ", "Cookie: ", "cookie: a=bbbbbbbbbbb;", "bearer "),
    *("basic a", "mysql ", "mysql -p", "&sig=", "xoxb-", "SG.", ":AA", '"password": "', "密码", "密码是", "\u200b"),
    *("１", "⟦", "⟦R:a:1:", "auth_", "hooks.slack.com/services/T", "+1234567890123456789012345678901234567x", "+12 34"),
]


def work(text: str) -> int:
    """Count the calls, C functions included, that scanning a text takes."""
    calls = 0

    def count(_frame: FrameType, event: str, _arg: object) -> None:
        nonlocal calls
        calls += event in {"call", "c_call"}

    sys.setprofile(count)
    try:
        scan(text)
    finally:
        sys.setprofile(None)
    return calls


@pytest.mark.parametrize("unit", ADVERSARIAL)
def test_work_grows_with_the_length_and_no_faster(unit: str) -> None:
    scan(unit * 3)
    small, large = (work(unit * (n // len(unit))) for n in (5_000, 20_000))
    assert large <= 4.6 * small + 300


def test_no_pattern_repeats_a_repetition_without_bound() -> None:
    from re import _constants as opcodes  # type: ignore[attr-defined]
    from re import _parser as parser  # type: ignore[attr-defined]

    def check(tree: object, inside: bool, source: str) -> None:
        for opcode, argument in tree:  # type: ignore[attr-defined]
            if opcode in {opcodes.MAX_REPEAT, opcodes.MIN_REPEAT}:
                unbounded = argument[1] is opcodes.MAXREPEAT
                assert not (inside and unbounded), source
                check(argument[2], inside or unbounded, source)
            elif opcode is opcodes.SUBPATTERN:
                check(argument[3], inside, source)
            elif opcode is opcodes.BRANCH:
                for branch in argument[1]:
                    check(branch, inside, source)
            elif opcode is opcodes.POSSESSIVE_REPEAT:
                check(argument[2], False, source)

    every = [r.pattern for r in (*rules.TOKEN_RULES, *rules.FIND_RULES, rules.TELEGRAM)]
    every += [*context._SOURCES.values(), *decode._SOURCES.values()]
    every += [p.pattern for p in numbers._grouped().values()]
    for source in every:
        assert not re.search(r"(?<!\\)\\b", source), "boundaries are look-arounds"
        check(parser.parse(source), False, source)


@pytest.mark.bench
@pytest.mark.parametrize("unit", ADVERSARIAL)
def test_time_grows_with_the_length(unit: str) -> None:
    import time

    def best(n: int) -> float:
        text = unit * (n // len(unit))
        times = []
        for _ in range(3):
            began = time.thread_time()
            scan(text, (), 60.0)
            times.append(time.thread_time() - began)
        return min(times)

    assert best(400_000) < 6 * best(100_000) + 0.01

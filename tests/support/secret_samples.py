"""Secret-looking values, put together at test time so that nothing in the source looks like one."""

from __future__ import annotations

import base64
import json
import random
import string

ALNUM = string.ascii_letters + string.digits


def pick(rnd: random.Random, alphabet: str, n: int) -> str:
    """Return ``n`` random characters with at least one digit where the alphabet has digits."""
    text = "".join(rnd.choice(alphabet) for _ in range(n))
    return text if not set(alphabet) & set(string.digits) or any(c.isdigit() for c in text) else "7" + text[1:]


def secrets(seed: int = 1) -> dict[str, str]:
    """Return one value of each self-describing kind."""
    rnd = random.Random(seed)
    hexes = "0123456789abcdef"

    def part(obj: dict[str, object]) -> str:
        return base64.urlsafe_b64encode(json.dumps(obj).encode()).decode().rstrip("=")

    jwt = ".".join((part({"alg": "HS256"}), part({"sub": pick(rnd, ALNUM, 9)}), pick(rnd, ALNUM + "-_", 40)))
    pem_body = "\n".join(pick(rnd, ALNUM + "+/", 64) for _ in range(6))
    return {
        "openai": "sk-" + "proj-" + pick(rnd, ALNUM + "-_", 80),
        "openai_old": "sk" + "-" + pick(rnd, ALNUM, 48),
        "anthropic": "sk-" + "ant-api03-" + pick(rnd, ALNUM + "-_", 90),
        "aws": "AK" + "IA" + pick(rnd, "ABCDEFGHIJKLMNOPQRSTUVWXYZ234567", 16),
        "github": "gh" + "p_" + pick(rnd, ALNUM, 36),
        "github_fine": "github" + "_pat_" + pick(rnd, ALNUM, 22) + "_" + pick(rnd, ALNUM, 59),
        "gitlab": "gl" + "pat-" + pick(rnd, ALNUM, 20),
        "slack": "xo" + f"xb-{rnd.randrange(10**11, 10**12)}-{rnd.randrange(10**12, 10**13)}-" + pick(rnd, ALNUM, 24),
        "stripe": "sk" + "_live_" + pick(rnd, ALNUM, 24),
        "google": "AI" + "za" + pick(rnd, ALNUM + "-_", 35),
        "google_oauth": "ya" + "29." + pick(rnd, ALNUM + "-_", 60),
        "huggingface": "h" + "f_" + pick(rnd, string.ascii_letters, 34),
        "npm": "np" + "m_" + pick(rnd, ALNUM, 36),
        "pypi": "py" + "pi-AgEIcHlwaS5vcmc" + pick(rnd, ALNUM + "-_", 100),
        "sendgrid": "S" + "G." + pick(rnd, ALNUM + "-_", 22) + "." + pick(rnd, ALNUM + "-_", 43),
        "twilio": "S" + "K" + pick(rnd, hexes, 32),
        "telegram": f"{rnd.randrange(10**9, 10**10)}:" + "AA" + pick(rnd, ALNUM + "-_", 33),
        "jwt": jwt,
        "pem": "-----BEGIN " + "RSA PRIVATE KEY-----\n" + pem_body + "\n-----END " + "RSA PRIVATE KEY-----",
        "slack_hook": "https://hooks.slack"
        + ".com/services/T"
        + "/".join((pick(rnd, ALNUM, 9), pick(rnd, ALNUM, 10), pick(rnd, ALNUM, 24))),
        "email": f"anna.{pick(rnd, string.ascii_lowercase, 5)}@example-mail.org",
        "phone": f"138{rnd.randrange(10**7, 10**8)}",
        "phone_e164": f"+44 20 7{rnd.randrange(100, 999)} {rnd.randrange(1000, 9999)}",
        "phone_us": f"({rnd.randrange(210, 989)}) {rnd.randrange(230, 989)}-{rnd.randrange(1000, 9999)}",
    }


ID_LIKE = {
    "sha256": "9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08",
    "uuid": "2f00a5ca-91a7-4617-9f90-f3ee7e54decc",
    "call": "call_" + "tQaieurs86EdiJB8XHn1EM9I",
    "toolu": "toolu_" + "01lB2zCnfYXYAAQKRyfP1Yr3",
    "chatcmpl": "chatcmpl-" + "A8NJ4BMGUXxTyjZeXeJvAwwfwNEQU",
    "resp": "resp_" + "68af4030baa48193b0b43b4c2a176a1a0e6967589f080e78",
    "commit": "9fceb02d0ae598e95dc970b74767f19372d61af8",
    "version": "v2.31.0-rc.1+build.20261129",
    "traceparent": "00-7465835fee98dc28fe6d1eea89979798-c3309e24daf7d8aa-01",
    "ulid": "01H6XC2DGT2G5SEK05GMRA8X67",
    "ms": "1613299734416",
    "ns": "1765994529063847957",
    "float": "0.40443839121578784",
    "isbn": "978-7-3030-9036-1",
    "ip": "192.168.155.249:8080",
    "date": "2026-11-29T18:20:29.123456Z",
}

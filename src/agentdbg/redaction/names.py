"""Names of fields that hold secrets, in any of the usual spellings."""

from __future__ import annotations

import re
from functools import cache, lru_cache

from agentdbg.redaction.wordlist import words

STRONG = 2
"""Whatever string stands there is secret."""
WEAK = 1
"""A string that looks generated is secret (``token``, ``stripe_key``)."""

_EXACT = words(
    "pass passwd password passphrase passcode pwd secret secrets apikey api_key x_api_key xapikey authorization "
    "proxy_authorization cookie cookies set_cookie credential credentials privatekey accesskey secretkey "
    "accountkey authtoken accesstoken clientsecret mypassword dbpassword userpassword signature_secret otp_secret "
    "ssn sharedaccesskey sharedaccesssignature jdbc_password pgpassword mysql_pwd redis_password encryptionkey"
)
_STRONG_ENDS = words(
    "password passwd passphrase passcode pwd client_secret app_secret api_secret secret_key access_key api_key "
    "apikey private_key access_token refresh_token auth_token id_token session_token bearer_token security_token "
    "secret_access_key account_key storage_key shared_key encryption_key signing_key master_key subscription_key "
    "webhook_secret signing_secret shared_secret jwt_secret session_secret secret cookie authorization "
    "service_key service_role_key auth_key deploy_key connection_password"
)
_WEAK_ENDS = words("token credential credentials secrets key_secret passkey x_auth auth")
_VENDOR_KEY = words(
    "openai anthropic stripe twilio sendgrid azure google gemini mistral cohere groq github gitlab slack aws gcp "
    "deepseek dashscope zhipu moonshot qwen hf huggingface pinecone tavily serpapi maps datadog sentry mailgun "
    "admin server app subscription license webhook crypt encrypt sign secret"
)
_HARMLESS_TOKENS = words(
    "next page prev previous continuation sync cursor pagination start end stop eos bos pad unk sep cls mask "
    "delta special max min input output prompt completion total reasoning cached text num n"
)
_NOT_SECRET = words("public_key primary_key foreign_key sort_key partition_key cache_key idempotency_key")
_ALIASES = {"密码": STRONG, "口令": STRONG, "密钥": STRONG, "令牌": WEAK, "私钥": STRONG}


@cache
def _splitter() -> re.Pattern[str]:
    return re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|[0-9]+", re.ASCII)


@lru_cache(maxsize=4096)
def strength(name: str) -> int:
    """Return how surely the field of this name holds a secret: 0, ``WEAK`` or ``STRONG``."""
    if len(name) > 80:
        return 0
    if not name.isascii():
        return max((s for alias, s in _ALIASES.items() if name.endswith(alias)), default=0)
    parts = [w.lower() for w in _splitter().findall(name)]
    if not parts:
        return 0
    joined = "_".join(parts)
    if joined in _NOT_SECRET:
        return 0
    if joined in _EXACT or _ends(joined, _STRONG_ENDS) or parts[-1].endswith(("password", "passwd", "apikey")):
        return STRONG
    if parts[-1] == "token" and len(parts) > 1 and parts[-2] in _HARMLESS_TOKENS:
        return 0
    if _ends(joined, _WEAK_ENDS) or (parts[-1] == "key" and len(parts) > 1 and parts[-2] in _VENDOR_KEY):
        return WEAK
    return 0


def _ends(joined: str, ends: frozenset[str]) -> bool:
    return any(joined.endswith(end) and (len(joined) == len(end) or joined[-len(end) - 1] == "_") for end in ends)


@cache
def _counter() -> re.Pattern[str]:
    return re.compile(
        r"(?:^|[^a-z])(?:size|bytes|count|total|len|length|offset|ns|ms|us|time|ts|at|timestamp|duration|created|updated|"
        r"seq|sequence|cents|amount|price|balance|tokens?|limit|nanos|micros|mono|wall|version|revision|seed|port|pid|used|"
        r"free|memory)$"
    )


@lru_cache(maxsize=4096)
def counts(name: str) -> bool:
    """Return whether a number under this name is a quantity or a time, whatever its digits look like."""
    joined = "_".join(w.lower() for w in _splitter().findall(name[:120]))
    return _counter().search(joined) is not None

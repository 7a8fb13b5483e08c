"""Where a recorded model call may be sent again, and which variable holds the key for it."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from urllib.parse import SplitResult, parse_qsl, urlencode, urlsplit

from agentdbg.recording.providers import (
    CHAT,
    COHERE,
    COMPLETIONS,
    GEMINI,
    MESSAGES,
    OLLAMA_CHAT,
    OLLAMA_GENERATE,
    RESPONSES,
)
from agentdbg.redaction.placeholder import OPEN

NO_KEY = "agentdbg"
"""Sent in the place of a key to a server on this machine that was not named by the user."""
SECRET_HEADERS = ("authorization", "x-api-key", "api-key", "x-goog-api-key")
_SUFFIX = {
    CHAT: "/chat/completions",
    COMPLETIONS: "/completions",
    RESPONSES: "/responses",
    MESSAGES: "/v1/messages",
    OLLAMA_CHAT: "/api/chat",
    OLLAMA_GENERATE: "/api/generate",
    COHERE: "/v2/chat",
}
_HOSTS: tuple[tuple[str, tuple[str, ...]], ...] = (
    ("api.openai.com", ("OPENAI_API_KEY",)),
    (".openai.azure.com", ("AZURE_OPENAI_API_KEY",)),
    ("api.anthropic.com", ("ANTHROPIC_API_KEY",)),
    ("generativelanguage.googleapis.com", ("GEMINI_API_KEY", "GOOGLE_API_KEY")),
    ("api.cohere.com", ("CO_API_KEY",)),
    ("api.cohere.ai", ("CO_API_KEY",)),
    ("ollama.com", ("OLLAMA_API_KEY",)),
    ("api.mistral.ai", ("MISTRAL_API_KEY",)),
    ("api.groq.com", ("GROQ_API_KEY",)),
    ("openrouter.ai", ("OPENROUTER_API_KEY",)),
    ("api.deepseek.com", ("DEEPSEEK_API_KEY",)),
    ("api.together.xyz", ("TOGETHER_API_KEY",)),
    ("api.fireworks.ai", ("FIREWORKS_API_KEY",)),
    ("api.x.ai", ("XAI_API_KEY",)),
)
"""Providers' own hosts: the only ones that a key goes to because of what a stranger's record says."""
_BY_SHAPE = {
    MESSAGES: ("ANTHROPIC_API_KEY",),
    GEMINI: ("GEMINI_API_KEY", "GOOGLE_API_KEY"),
    COHERE: ("CO_API_KEY",),
    OLLAMA_CHAT: ("OLLAMA_API_KEY",),
    OLLAMA_GENERATE: ("OLLAMA_API_KEY",),
}
_HEADER = {MESSAGES: "x-api-key", GEMINI: "x-goog-api-key"}
_SIGNED = re.compile(r"(^|\.)(bedrock-runtime\.[a-z0-9-]+\.amazonaws\.com|[a-z0-9-]*aiplatform\.googleapis\.com)$")


class RouteUnknown(Exception):
    """The call cannot be sent again from here; the message says why."""


class RouteRefused(Exception):
    """The call is not sent there, for safety; the message says why and what to do."""


class KeyMissing(Exception):
    """The variable that holds the key is not set; the message names it."""


@dataclass(frozen=True, slots=True)
class Route:
    """Attributes:
    url: Where the call goes.
    headers: Headers that carry the key; empty where none is needed.
    secrets: Values that must not be shown.
    variable: The variable that the key is from; empty without one.
    """

    url: str
    headers: tuple[tuple[str, str], ...]
    secrets: tuple[str, ...]
    variable: str


def route_for(
    url: str,
    provider: str,
    recorded: Mapping[str, str],
    environ: Mapping[str, str],
    *,
    base_url: str | None,
    model: str,
    trusted: bool,
) -> Route:
    """Decide where a call goes and with which key.

    Args:
        url: The recorded address; empty where the record has none.
        provider: Shape of the call.
        recorded: Its request headers, names in lower case.
        environ: Where keys are looked up.
        base_url: Address that the user named instead.
        model: The model asked for.
        trusted: Whether this user recorded the run: other hosts than the providers' own are believed then.

    Raises:
        RouteUnknown: There is no address, or its requests have to be signed.
        RouteRefused: A stranger's record names the address.
        KeyMissing: There is no key.
    """
    target = _target(url, provider, base_url, model)
    own = _own_variables(target)
    if base_url is None and not own and not trusted:
        raise RouteRefused(
            f"{target.scheme}://{target.netloc} is no provider's own address, and this user did not record the run: "
            "say --base-url URL to send the call there, or elsewhere"
        )
    query = [(name, value) for name, value in parse_qsl(target.query, keep_blank_values=True) if OPEN not in value]
    plain = target._replace(query=urlencode(query)).geturl()
    header = _header(provider, recorded, target)
    if not header:
        return Route(plain, (), (), "")
    variable = _variable(own or _BY_SHAPE.get(provider, ("OPENAI_API_KEY",)), header, environ)
    local = _is_local(target)
    if local and (base_url is None or not environ.get(variable)):
        return Route(plain, ((header, _credential(header, NO_KEY)),), (), "")
    key = environ.get(variable)
    if not key:
        raise KeyMissing(f"{variable} is not set: the key is not in the record; set it and ask again")
    if target.scheme != "https" and not local:
        raise RouteRefused(f"{plain}: {variable} is not sent without TLS: say --base-url https://…")
    return Route(plain, ((header, _credential(header, key)),), (key,), variable)


def _variable(known: tuple[str, ...], header: str, environ: Mapping[str, str]) -> str:
    """The first variable that holds a key, else the one that should."""
    names = ("ANTHROPIC_AUTH_TOKEN", *known) if header == "authorization" and "ANTHROPIC_API_KEY" in known else known
    return next((name for name in names if environ.get(name)), known[0])


def without_streaming(url: str) -> str:
    """The address of the same call answered in one piece."""
    parts = urlsplit(url)
    path = parts.path.replace(":streamGenerateContent", ":generateContent")
    query = [(name, value) for name, value in parse_qsl(parts.query, keep_blank_values=True) if name != "alt"]
    return parts._replace(path=path, query=urlencode(query)).geturl() if path != parts.path else url


def with_model(url: str, model: str) -> str:
    """The address for another model, where it names one."""
    parts = urlsplit(url)
    path = re.sub(r"/([^/:]+)(:\w+)$", lambda found: f"/{model}{found[2]}", parts.path)
    path = re.sub(r"/deployments/[^/]+/", lambda _: f"/deployments/{model}/", path)
    return parts._replace(path=path).geturl()


def _target(url: str, provider: str, base_url: str | None, model: str) -> SplitResult:
    if base_url is not None:
        suffix = f"/v1beta/models/{model}:generateContent" if provider == GEMINI else _SUFFIX.get(provider, "")
        base = base_url.rstrip("/")
        cut = suffix.removeprefix("/v1") if base.endswith("/v1") else suffix
        url = base if base.endswith(cut) else base + cut
    if not url:
        raise RouteUnknown("the record does not say where the call went: say --base-url URL")
    try:
        target = urlsplit(url)
        host = target.hostname or ""
        _ = target.port
    except ValueError as error:
        raise RouteUnknown(f"{url[:200]} is no address: say --base-url URL") from error
    if target.scheme not in ("http", "https") or not host or OPEN in target.netloc:
        raise RouteUnknown(f"{url[:200]} is no address that a call can be sent to: say --base-url URL")
    if _SIGNED.search(host):
        raise RouteUnknown(f"{host} wants signed requests, which is not supported: say --base-url URL of another route")
    if target.username or target.password:
        raise RouteRefused("an address with a password in it is not used: set the key's variable instead")
    return target


def _own_variables(target: SplitResult) -> tuple[str, ...]:
    host = (target.hostname or "").lower()
    if target.scheme != "https" or target.port not in (None, 443):
        return ()
    for known, variables in _HOSTS:
        if host == known or (known.startswith(".") and host.endswith(known)):
            return variables
    return ()


def _header(provider: str, recorded: Mapping[str, str], target: SplitResult) -> str:
    """The header that carries the key; empty where the recorded call had none and needed none."""
    host = (target.hostname or "").lower()
    if host.endswith(".openai.azure.com"):
        return "api-key" if "api-key" in recorded or "authorization" not in recorded else "authorization"
    used = next((name for name in SECRET_HEADERS if name in recorded), "")
    if provider in (OLLAMA_CHAT, OLLAMA_GENERATE) and not used and host != "ollama.com":
        return ""
    return used or _HEADER.get(provider, "authorization")


def _credential(header: str, key: str) -> str:
    return f"Bearer {key}" if header == "authorization" else key


def _is_local(target: SplitResult) -> bool:
    host = (target.hostname or "").lower()
    return host in ("localhost", "::1") or host.startswith("127.")

"""Rules: literal anchor, then a pattern that must match from there, then a validator. Tokens with a shape of their own.

Boundaries are ASCII look-arounds, never ``\\b``: between ``号`` and a digit there is no ``\\b``.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache

from agentdbg.redaction.checks import looks_random

RULES_VERSION = "r1"
MIN_TOKEN = 20
"""A token rule with ``run=True`` needs this many characters of ``[A-Za-z0-9_-]`` in a row."""


@dataclass(frozen=True, slots=True)
class Rule:
    """One kind of secret.

    Attributes:
        kind: Name in the placeholder: ``[a-z][a-z0-9_]*``.
        anchors: Literals that every match begins with (found with ``str.find``); at least one.
        pattern: Regular expression, matched at the anchor; must run in linear time.
        validator: Says whether a match is real; None accepts all.
        run: The match holds ``MIN_TOKEN`` token characters in a row, beginning with an anchor or after it and ``.``.
    """

    kind: str
    anchors: tuple[str, ...]
    pattern: str
    validator: Callable[[str], bool] | None = None
    run: bool = False

    def __post_init__(self) -> None:
        if not self.anchors or not all(self.anchors):
            raise ValueError(f"rule {self.kind!r} needs a literal anchor")
        if not re.fullmatch(r"[a-z][a-z0-9_]{0,31}", self.kind):
            raise ValueError(f"{self.kind!r} is not a rule kind")


@cache
def compiled(rule: Rule) -> re.Pattern[str]:
    """Return the rule's pattern, compiled once."""
    return re.compile(rule.pattern)


def _has_digit(text: str) -> bool:
    return any(c.isdigit() for c in text)


def _sk(text: str) -> bool:
    body = text[3:]
    plain = body.replace("-", "")
    return _has_digit(body) and len(plain) >= 20 and len(set(plain)) >= 8 and not _kebab(body)


def _kebab(text: str) -> bool:
    parts = text.split("-")
    return len(parts) > 2 and all(p.islower() and (p.isalpha() or len(p) < 4) for p in parts if p)


def _mixed(text: str) -> bool:
    return len(set(text[4:])) >= 8


_W = r"[A-Za-z0-9_-]"
_A = r"[A-Za-z0-9]"


def _run(kind: str, anchor: str, pattern: str, check: Callable[[str], bool] | None = _mixed) -> Rule:
    return Rule(kind, tuple(anchor.split()), pattern, check, run=True)


TOKEN_RULES: tuple[Rule, ...] = (
    _run("anthropic_key", "sk-ant-", rf"sk-ant-{_W}{{16,}}"),
    _run("openai_key", "sk-proj- sk-svcacct- sk-admin- sk-None-", rf"sk-(?:proj|svcacct|admin|None)-{_W}{{16,}}"),
    _run("openrouter_key", "sk-or-", rf"sk-or-{_W}{{20,}}"),
    _run("langfuse_key", "sk-lf-", rf"sk-lf-{_W}{{20,}}"),
    _run("api_key", "sk-", rf"sk-{_W}{{20,}}", _sk),
    _run("aws_access_key", "AKIA ASIA", rf"A[KS]IA[A-Z2-7]{{16}}(?!{_W})"),
    _run("aws_access_key", "AKIA ASIA ABIA ACCA", rf"A[KSBC][IC]A[A-Z0-9]{{16}}(?!{_W})"),
    _run("tencent_key", "AKID", rf"AKID{_A}{{28,}}"),
    _run("aliyun_key", "LTAI", rf"LTAI{_A}{{16,28}}(?!{_W})"),
    _run("github_token", "ghp_ gho_ ghu_ ghs_ ghr_", rf"gh[pousr]_{_A}{{30,}}"),
    _run("github_token", "github_pat_", r"github_pat_[A-Za-z0-9_]{50,}"),
    _run("gitlab_token", "gl", rf"gl(?:pat|dt|rt|ft|cbt|ptt|imt|agent|soat|oas|ffct)-{_W}{{18,}}"),
    _run("slack_token", "xox xapp-", rf"(?:xox[a-z]|xapp)-{_W}{{18,}}"),
    _run("stripe_key", "sk_ rk_", rf"[sr]k_(?:live|test)_{_A}{{16,}}"),
    _run("webhook_secret", "whsec_", r"whsec_[A-Za-z0-9+/=]{16,}"),
    _run("google_key", "AIza", rf"AIza{_W}{{35,}}"),
    _run("google_oauth", "ya29", rf"ya29\.{_W}{{20,}}"),
    _run("google_oauth", "GOCSPX-", rf"GOCSPX-{_W}{{20,}}"),
    _run("huggingface_token", "hf_ api_org_", rf"(?:hf|api_org)_{_A}{{30,}}"),
    _run("npm_token", "npm_", rf"npm_{_A}{{30,}}"),
    _run("pypi_token", "pypi-", rf"pypi-{_W}{{50,}}"),
    _run("sendgrid_key", "SG", rf"SG\.{_W}{{16,}}\.{_W}{{16,}}"),
    _run("twilio_key", "SK", rf"SK[0-9a-f]{{32}}(?!{_W})"),
    _run("langsmith_key", "lsv2_", r"lsv2_(?:pt|sk)_[0-9a-f]{32}_[0-9a-f]{6,}"),
    _run("groq_key", "gsk_", rf"gsk_{_A}{{40,}}"),
    _run("xai_key", "xai-", rf"xai-{_A}{{60,}}"),
    _run("perplexity_key", "pplx-", rf"pplx-{_A}{{32,}}"),
    _run("tavily_key", "tvly-", rf"tvly-{_W}{{20,}}", lambda t: _has_digit(t) and _mixed(t)),
    _run("nvidia_key", "nvapi-", rf"nvapi-{_W}{{40,}}"),
    _run("replicate_key", "r8_", rf"r8_{_A}{{36,}}"),
    _run("databricks_token", "dapi", rf"dapi[0-9a-f]{{32}}(?:-[0-9])?(?!{_W})"),
    _run("digitalocean_token", "do", r"do[oprt]_v1_[0-9a-f]{60,}"),
    _run("shopify_token", "shp", r"shp(?:at|ca|pa|ss)_[0-9a-fA-F]{32,}"),
    _run("square_token", "sq0", rf"sq0(?:atp|csp|idp)-{_W}{{20,}}"),
    _run("atlassian_token", "ATATT3 ATCTT3 ATBB", rf"AT(?:ATT3|CTT3|BB){_W}{{24,}}=?[0-9A-F]*"),
    _run("grafana_token", "glsa_ glc_", r"(?:glsa|glc)_[A-Za-z0-9_+/=]{32,}"),
    _run("vault_token", "hvs hvb", rf"hv[sb]\.{_W}{{24,}}"),
    _run("sentry_token", "sntrys_ sntryu_", r"sntry[su]_[A-Za-z0-9+/=_]{40,}"),
    _run("linear_key", "lin_api_", rf"lin_api_{_A}{{32,}}"),
    _run("notion_token", "ntn_ secret_", rf"(?:ntn|secret)_{_A}{{40,}}"),
    _run("figma_token", "figd_", rf"figd_{_W}{{30,}}"),
    _run("postman_key", "PMAK-", r"PMAK-[0-9a-f]{24}-[0-9a-f]{34}"),
    _run("newrelic_key", "NRAK-", r"NRAK-[A-Z0-9]{27}"),
    _run("brevo_key", "xkeysib- xsmtpsib-", rf"x(?:key|smtp)sib-[0-9a-f]{{64}}-{_A}{{16}}"),
    _run("mailgun_key", "key-", rf"key-[0-9a-f]{{32}}(?!{_W})"),
    _run("tailscale_key", "tskey-", rf"tskey-[a-z]+-{_W}{{16,}}"),
    _run("docker_token", "dckr_pat_ dckr_oat_", rf"dckr_[po]at_{_W}{{20,}}"),
    _run("rubygems_key", "rubygems_", r"rubygems_[0-9a-f]{48}"),
    _run("pulumi_token", "pul-", rf"pul-[0-9a-f]{{40}}(?!{_W})"),
    _run("posthog_key", "phx_", rf"phx_{_A}{{40,}}"),
    _run("hubspot_token", "pat-", r"pat-(?:na|eu)[0-9]-[0-9a-f-]{36}"),
    _run("doppler_token", "dp", rf"dp\.(?:pt|st|ct|scim|sa)\.(?:[a-z0-9_-]{{2,35}}\.)?{_A}{{40,}}"),
    _run("jina_key", "jina_", rf"jina_{_A}{{50,}}"),
    _run("firecrawl_key", "fc-", rf"fc-[0-9a-f]{{32}}(?!{_W})"),
    _run("facebook_token", "EAA", rf"EAA[A-Z0-9]{_A}{{90,}}"),
    _run("jwt", "eyJ", rf"eyJ{_W}{{8,1000}}\.eyJ{_W}{{4,}}(?:\.{_W}*){{0,3}}", None),
)
"""Token rules, tried in this order at the beginning of a long token."""

FIND_RULES: tuple[Rule, ...] = (
    Rule(
        "slack_webhook",
        ("https://hooks.slack.com/",),
        r"https://hooks\.slack\.com/(?:services|workflows|triggers)/[A-Za-z0-9/_-]{20,}",
    ),
    Rule(
        "discord_webhook",
        ("https://discord.com/api/webhooks/", "https://discordapp.com/api/webhooks/"),
        rf"https://discord(?:app)?\.com/api/webhooks/[0-9]{{15,22}}/{_W}{{40,}}",
    ),
    Rule("age_key", ("AGE-SECRET-KEY-1",), r"AGE-SECRET-KEY-1[A-Z0-9]{50,}"),
)

TELEGRAM = Rule("telegram_token", (":AA",), rf"[0-9]{{8,10}}:AA{_W}{{32,34}}(?!{_W})")


@cache
def token_rules() -> dict[bytes, tuple[tuple[str, Rule], ...]]:
    """Return the token rules by the first two characters of their anchors."""
    table: dict[bytes, list[tuple[str, Rule]]] = {}
    for rule in TOKEN_RULES:
        for anchor in rule.anchors:
            table.setdefault(anchor[:2].encode(), []).append((anchor, rule))
    return {prefix: tuple(rules) for prefix, rules in table.items()}


def opaque(text: str) -> bool:
    """Return whether a bearer or assigned value looks like a credential and not like a word."""
    return looks_random(text)

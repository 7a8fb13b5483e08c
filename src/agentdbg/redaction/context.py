"""Secrets known by what stands beside them: assignments, JSON fields, headers, cookies, URLs, PEM blocks, e-mail."""

from __future__ import annotations

import base64
import binascii
import json
import re
from functools import cache

from agentdbg.redaction import names
from agentdbg.redaction.checks import is_dummy, is_reference
from agentdbg.redaction.placeholder import OPEN, pattern
from agentdbg.redaction.rules import opaque
from agentdbg.redaction.span import Span
from agentdbg.redaction.wordlist import words

FIELD = "field"
"""The kind of every value that only its context gives away, so that one value has one kind wherever it stands."""

WORDS = (b"pass", b"pwd", b"secret", b"token", b"key", b"auth", b"cookie", b"credential", b"ssn")
CJK_WORDS = ("密码", "口令", "密钥", "令牌", "私钥")
_COOKIE_ATTRIBUTES = words("path expires max-age domain samesite secure httponly priority version comment")
_SCHEMES = words("bearer basic token apikey api-key digest negotiate key aws4-hmac-sha256 oauth")

_SOURCES = {
    "after": r"[A-Za-z0-9_-]{0,24}(?P<close>\\{0,3}[\"'`]?)\]?[ \t]{0,4}(?P<sep>[:=]=?>?|：|＝|=>)[ \t]{0,4}"
    r"(?:\r?\n[ \t]{0,8})?(?P<open>\\{0,3}[\"'`“「]?)",
    "is": r"[A-Za-z0-9_]{0,8} {0,2}(?:is|was|are|=|为|是|设为|:|：)[ :：]{0,3}(?P<open>[\"'`“「]?)",
    "double": r"(?:[^\"\\]|\\.){0,4096}+",
    "single": r"(?:[^'\\\n]|\\.){0,1024}+",
    "tick": r"[^`\n]{0,1024}",
    "cjk": r"[^”」\n]{0,256}",
    "bare": r"[^\s\"'`,;&<>(){}\[\]|\\⟦⟧，。；、！？：）】」』“”]{3,512}",
    "bearer": r"bearer(?:[ \t]{1,4}|%20|\+)(?P<v>[A-Za-z0-9._~+/=-]{12,}+)",
    "basic": r"basic[ \t]{1,4}(?P<v>[A-Za-z0-9+/_-]{6,}+={0,2})",
    "cookie": r"(?:set-)?cookie[\"']?[ \t]{0,2}[:=][ \t]{0,2}[\"']?(?P<v>[^\r\n\"']{3,4096})",
    "crumb": r"(?P<n>[^=;,\s]{1,64})=(?P<v>[^;,\s\"']{1,2048})",
    "userinfo": r"://(?P<u>[^\s/?#@:\"'<>\\⟦]{0,96}):"
    r"(?P<v>[^\s@/\"'<>\\⟦，。]{1,160}|[^\s@\"'<>\\⟦，。]{1,160})@(?=[A-Za-z0-9\[_])",
    "mysql": r"mysql[a-z_-]{0,12}[^\n]{0,80}?[ ]-p"
    r"(?:'(?P<a>[^'\n]{4,128})'|\"(?P<b>[^\"\n]{4,128})\"|(?P<c>[^\s'\"]{6,128}))",
    "sig": r"[?&](?:sig|signature|x-amz-signature|x-goog-signature|x-amz-security-token)="
    r"(?P<v>[A-Za-z0-9%/+=_-]{24,2048})",
    "pem": r"-----BEGIN (?:[A-Z0-9]+ ){0,4}PRIVATE KEY(?: BLOCK)?-----",
    "pem_whole": r"(?:(?:\\[nr]|\s)*[A-Za-z-]{3,20}: [^\n\\]{0,120})*+[A-Za-z0-9+/=\s\\]*+"
    r"(?:-----END (?:[A-Z0-9]+ ){0,4}PRIVATE KEY(?: BLOCK)?-----)",
    "pem_cut": r"(?:(?:\\[nr]|\s)*[A-Za-z-]{3,20}: [^\n\\]{0,120})*+(?:(?:\\[nr]|\s)*+[A-Za-z0-9+/]{16,}+=*+)*+"
    r"(?:(?:\\[nr]|\n)[A-Za-z0-9+/]{1,80}+=*+)?(?:-----?E?N?D?)?",
    "email": r"@[A-Za-z0-9](?:[A-Za-z0-9-]{0,61}[A-Za-z0-9])?"
    r"(?:\.[A-Za-z0-9](?:[A-Za-z0-9-]{0,61}[A-Za-z0-9])?){1,8}",
}


@cache
def _re(name: str) -> re.Pattern[str]:
    flags = re.IGNORECASE | re.ASCII if name in {"cookie", "mysql", "sig", "bearer", "basic"} else 0
    return re.compile(_SOURCES[name], flags)


def scan_context(text: str, data: bytes, shape: bytes, found: list[Span]) -> None:
    """Append what is found in ``text``; ``data`` is the same text, one byte a character, ``shape`` its token runs."""
    lower = data.lower()
    if data.find(b"-----BEGIN ") >= 0:
        _scan_pem(text, data, found)
    if len(data) >= 512 or b":" in data or b"=" in data or b" " in data or not text.isascii():
        for word in WORDS:
            at = lower.find(word)
            while at >= 0:
                at = lower.find(word, _assignment(text, shape, lower, at, at + len(word), found))
    if not text.isascii():
        for alias in CJK_WORDS:
            at = text.find(alias)
            while at >= 0:
                at = text.find(alias, _spoken(text, at + len(alias), alias, found))
    _scan_each(text, lower, b"bearer", "bearer", found)
    _scan_each(text, lower, b"basic", "basic", found)
    _scan_each(text, lower, b"mysql", "mysql", found)
    if lower.find(b"sig") >= 0 or lower.find(b"x-amz-security") >= 0:
        for needle in (b"?sig", b"&sig", b"-signature=", b"&x-amz-security"):
            _scan_each(text, lower, needle, "sig", found, back=7 if needle[0] == 0x2D else 0)
    _scan_cookies(text, lower, found)
    if data.find(b"@") >= 0:
        if data.find(b"://") >= 0:
            _scan_each(text, data, b"://", "userinfo", found)
        _scan_email(text, data, found)


def _scan_each(text: str, data: bytes, needle: bytes, name: str, found: list[Span], back: int = 0) -> None:
    at = data.find(needle)
    while at >= 0:
        match = _re(name).match(text, max(0, at - back))
        step = at + len(needle)
        if match is not None:
            group = match.lastgroup or "v"
            value, (start, end) = match.group(group), match.span(group)
            if _accept(name, text, at, value):
                found.append(Span(start, end, FIELD, value))
            step = max(step, start)
        at = data.find(needle, step)


def _accept(name: str, text: str, at: int, value: str) -> bool:
    if name == "bearer":
        return opaque(value) and not is_dummy(value)
    if name == "basic":
        named = "uthorization" in text[max(0, at - 24) : at] or "UTHORIZATION" in text[max(0, at - 24) : at]
        return credentials_of(value) is not None or (named and len(value) >= 12)
    return not is_dummy(value)


def credentials_of(encoded: str) -> str | None:
    """Return ``user:password`` of a basic authorization value, or None when it is none."""
    try:
        url_safe = "-" in encoded or "_" in encoded
        raw = base64.b64decode(encoded + "=" * (-len(encoded) % 4), altchars=b"-_" if url_safe else None)
        decoded = raw.decode("utf-8")
    except (binascii.Error, ValueError):
        return None
    return decoded if ":" in decoded and decoded.isprintable() else None


def _scan_pem(text: str, data: bytes, found: list[Span]) -> None:
    at = data.find(b"-----BEGIN ")
    while at >= 0:
        head = _re("pem").match(text, at)
        end = at + 11
        if head is not None:
            tail = _re("pem_whole").match(text, head.end()) or _re("pem_cut").match(text, head.end())
            end = tail.end() if tail is not None else head.end()
            found.append(Span(at, end, "private_key", _unfolded(text[at:end])))
        at = data.find(b"-----BEGIN ", end)


def _unfolded(key: str) -> str:
    """A private key whose line breaks are written as escapes, as it is."""
    return re.sub(r"\\+([nr])", lambda m: "\n" if m[1] == "n" else "\r", key) if "\\" in key else key


def _name_start(shape: bytes, lower: bytes, at: int, after: int) -> int:
    """Go back to where the name of an assigned variable begins."""
    floor = max(0, at - 40)
    start = max(floor, shape.rfind(b"?", floor, at) + 1)
    if start == at and lower[at:after] == b"key" and start > floor + 1 and lower[start - 1] == 0x20:
        return max(floor, shape.rfind(b"?", floor, start - 1) + 1)
    return start


def _assignment(text: str, shape: bytes, lower: bytes, at: int, after: int, found: list[Span]) -> int:
    """Look at ``name = value`` around a word hit; return where to look on."""
    if lower[after : after + 1] in {b"s", b"."} and lower[at:after] == b"token":
        return after
    match = _re("after").match(text, after)
    if match is None:
        return _spoken(text, after, "", found, (shape, lower, at))
    sep = match.group("sep")
    if sep in {"==", "==>"} or (sep == "=" and text[match.start("sep") - 1] in "!<>"):
        return after
    name = text[_name_start(shape, lower, at, after) : match.start("close")].rstrip("]")
    strength = names.strength(name)
    opening = match.group("open")
    if not strength or opening[:1] == "\\" or (not opening and name[-6:].lower() == "cookie"):
        return after
    close = match.group("close")
    span = _value(text, match.end(), opening, strength, close in {'"', "'"} and sep == ":")
    if span is not None:
        found.append(span)
        return max(after, span.start)
    return after


def _value(text: str, start: int, opening: str, strength: int, field: bool) -> Span | None:
    """Return the assigned value that begins at ``start`` when it is a secret."""
    kind = {'"': "double", "'": "single", "`": "tick", "“": "cjk", "「": "cjk"}.get(opening, "bare")
    match = _re(kind).match(text, start)
    if match is None:
        return None
    value, end = match.group(), match.end()
    if kind == "double" and "\\" in value:
        value = _unescaped(value)
    scheme, _, rest = value.partition(" ")
    if kind == "bare" and value.lower() in _SCHEMES:
        match = _re("bare").match(text, end + 1) if text[end : end + 1] == " " else None
        if match is None:
            return None
        start, end, value = match.start(), match.end(), match.group()
    elif rest and scheme.lower() in _SCHEMES and kind != "bare":
        start, value = start + len(scheme) + 1, rest
    if kind == "bare":
        return Span(start, end, FIELD, value) if _bare_secret(text, value, end, strength) else None
    return Span(start, end, FIELD, value) if quoted_secret(value, strength, field) else None


def quoted_secret(value: str, strength: int, field: bool) -> bool:
    """Return whether a quoted value under a name of this strength is a secret; ``field``: the name was a JSON key."""
    if not value or not value.strip("⟦") or is_placeholder(value):
        return False
    if field and strength == names.STRONG:
        return not is_reference(value)
    if strength == names.STRONG:
        return len(value) >= 4 and not any(c.isspace() for c in value) and not is_dummy(value)
    return opaque(value) and not any(c.isspace() for c in value) and not is_dummy(value)


def schemed(value: str) -> tuple[str, str]:
    """Split ``Bearer abc`` into its scheme (with the space) and its credential."""
    scheme, space, rest = value.partition(" ")
    if space and scheme.lower() in _SCHEMES and rest.strip():
        return scheme + space, rest
    return "", value


def cookie_values(content: str, start: int = 0, end: int | None = None) -> list[tuple[int, int]]:
    """Return where the values of a cookie header stand, attributes left out."""
    crumbs = _re("crumb").finditer(content, start, len(content) if end is None else end)
    return [m.span("v") for m in crumbs if m.group("n").strip().lower() not in _COOKIE_ATTRIBUTES]


def is_placeholder(value: str) -> bool:
    """Return whether the value is one placeholder and nothing else."""
    return value.startswith(OPEN) and pattern().fullmatch(value) is not None


def _unescaped(value: str) -> str:
    try:
        decoded = json.loads(f'"{value}"', strict=False)
    except ValueError:
        return value
    return decoded if isinstance(decoded, str) else value


def _bare_secret(text: str, value: str, end: int, strength: int) -> bool:
    value = value.rstrip(".")
    if "://" in value or value.startswith("⟦"):
        return False
    if len(value) < 5 or is_dummy(value) or text[end : end + 1] in {"(", "["}:
        return False
    if strength == names.WEAK:
        return opaque(value) and any(c.isdigit() for c in value)
    if any(c.isdigit() for c in value):
        return not value.isdigit() or len(value) >= 6
    parts = value.replace("-", "_").replace(".", "_").split("_")
    symbols = any(not c.isalnum() and c not in "._-:/" for c in value)
    return symbols or (len(value) >= 12 and not all(p.islower() or p.istitle() or p.isupper() or not p for p in parts))


def _spoken(text: str, after: int, alias: str, found: list[Span], place: tuple[bytes, bytes, int] | None = None) -> int:
    """Look at ``the password is value`` and its Chinese forms."""
    match = _re("is").match(text, after)
    if match is None:
        return after
    name = alias if place is None else text[_name_start(*place, after) : after]
    strength = names.strength(name.replace(" ", "_"))
    if not strength:
        return after
    bare = _re("bare").match(text, match.end())
    if bare is None:
        return after
    value = bare.group().rstrip(".")
    wanted = len(value) >= 6 and "://" not in value and not value.isdigit() and any(c.isdigit() for c in value)
    if wanted and value.isascii() and not is_dummy(value) and (alias or opaque(value)):
        found.append(Span(bare.start(), bare.start() + len(value), FIELD, value))
        return bare.start() + len(value)
    return after


def _scan_cookies(text: str, lower: bytes, found: list[Span]) -> None:
    at = lower.find(b"cookie")
    while at >= 0:
        start = at - 4 if lower[max(0, at - 4) : at] == b"set-" else at
        match = _re("cookie").match(text, start)
        step = at + 6
        if match is not None:
            crumbs = cookie_values(text, *match.span("v"))
            found.extend(Span(a, b, FIELD, text[a:b]) for a, b in crumbs if b - a >= 8 and "⟦" not in text[a:b])
            step = match.end()
        at = lower.find(b"cookie", step)


_LOCAL = frozenset(b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789._%+-")
_FILE_ENDS = words("png jpg jpeg gif svg webp css js ts tsx py json html md txt sh yml yaml toml lock whl zip gz so")


def _scan_email(text: str, data: bytes, found: list[Span]) -> None:
    taken = {span.end for span in found}
    at = data.find(b"@")
    while at >= 0:
        start, floor = at, max(0, at - 64)
        while start > floor and data[start - 1] in _LOCAL:
            start -= 1
        while start < at and data[start] in b".%+-":
            start += 1
        step = at + 1
        match = _re("email").match(text, at) if start < at and at not in taken else None
        if match is not None:
            end = match.end()
            top = text[at:end].rpartition(".")[2]
            following = text[end : end + 1]
            if top.isalpha() and len(top) >= 2 and top.lower() not in _FILE_ENDS and following not in {"(", "@", "_"}:
                found.append(Span(start, end, "email", text[start:end]))
                step = end
        at = data.find(b"@", step)

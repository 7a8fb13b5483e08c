"""Validators: what tells a real number or secret from a look-alike."""

from __future__ import annotations

import re
from functools import cache

from agentdbg.redaction.wordlist import words

_IBAN_LENGTH = dict(
    part.split(":")
    for part in words(
        "AD:24 AE:23 AL:28 AT:20 AZ:28 BA:20 BE:16 BG:22 BH:22 BR:29 BY:28 CH:21 CR:22 CY:28 CZ:24 DE:22 DK:18 DO:28 "
        "EE:20 EG:29 ES:24 FI:18 FO:18 FR:27 GB:22 GE:22 GI:23 GL:18 GR:27 GT:28 HR:21 HU:28 IE:22 IL:23 IQ:23 IS:26 "
        "IT:27 JO:30 KW:30 KZ:20 LB:28 LC:32 LI:21 LT:20 LU:20 LV:21 LY:25 MC:27 MD:24 ME:22 MK:19 MR:27 MT:31 MU:30 "
        "NL:18 NO:15 PK:24 PL:28 PS:29 PT:25 QA:29 RO:24 RS:22 SA:24 SC:31 SE:24 SI:19 SK:24 SM:27 ST:25 SV:28 TL:23 "
        "TN:24 TR:26 UA:29 VA:22 VG:24 XK:20"
    )
)
_COUNTRY_CODES = words(
    "1 7 20 27 30 31 32 33 34 36 39 40 41 43 44 45 46 47 48 49 51 52 53 54 55 56 57 58 60 61 62 63 64 65 66 81 82 "
    "84 86 90 91 92 93 94 95 98 211 212 213 216 218 220 221 222 223 224 225 226 227 228 229 230 231 232 233 234 "
    "235 236 237 238 239 240 241 242 243 244 245 246 248 249 250 251 252 253 254 255 256 257 258 260 261 262 263 "
    "264 265 266 267 268 269 290 291 297 298 299 350 351 352 353 354 355 356 357 358 359 370 371 372 373 374 375 "
    "376 377 378 380 381 382 383 385 386 387 389 420 421 423 500 501 502 503 504 505 506 507 508 509 590 591 592 "
    "593 594 595 596 597 598 599 670 672 673 674 675 676 677 678 679 680 681 682 683 685 686 687 688 689 690 691 "
    "692 800 850 852 853 855 856 870 880 886 888 960 961 962 963 964 965 966 967 968 970 971 972 973 974 975 976 "
    "977 979 992 993 994 995 996 998"
)
_LUHN_DOUBLE = (0, 2, 4, 6, 8, 1, 3, 5, 7, 9)
_MONTH_DAYS = (31, 29, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31)


def luhn(digits: str) -> bool:
    """Return whether the last digit is the Luhn check digit of the others."""
    total = sum(map(int, digits[-1::-2])) + sum(_LUHN_DOUBLE[int(c)] for c in digits[-2::-2])
    return total % 10 == 0


def _card_issuer(digits: str) -> bool:
    """Return whether prefix and length belong to a card network."""
    n, two, three, four = len(digits), int(digits[:2]), int(digits[:3]), int(digits[:4])
    if digits[0] == "4":
        return n in {13, 16, 19}
    if 51 <= two <= 55 or 2221 <= four <= 2720:
        return n == 16
    if two in {34, 37}:
        return n == 15
    if two in {36, 38} or 300 <= three <= 305:
        return n == 14
    if two == 62:
        return 16 <= n <= 19
    if four == 6011 or two == 65 or 644 <= three <= 649:
        return n in {16, 19}
    return n == 16 and (3500 <= four <= 3589 or 2200 <= four <= 2204 or four in {6759, 6761, 6762, 6763})


def card(digits: str) -> bool:
    """Return whether the digits are a payment card number: issuer, length and check digit."""
    return 13 <= len(digits) <= 19 and _card_issuer(digits) and luhn(digits) and len(set(digits)) > 2


def cn_id(text: str) -> bool:
    """Return whether the 18 characters are a resident id: region, date of birth, ISO 7064 check character."""
    if len(text) != 18 or not 11 <= int(text[:2]) <= 82:
        return False
    year, month, day = int(text[6:10]), int(text[10:12]), int(text[12:14])
    if not (1850 <= year <= 2100 and 1 <= month <= 12 and 1 <= day <= _MONTH_DAYS[month - 1]):
        return False
    total = sum(int(c) * (1 << (17 - i)) for i, c in enumerate(text[:17]))
    return "10X98765432"[total % 11] == text[17].upper()


def iban(compact: str) -> bool:
    """Return whether the text without spaces is an IBAN: country length and mod 97."""
    if _IBAN_LENGTH.get(compact[:2]) != str(len(compact)):
        return False
    moved = compact[4:] + compact[:4]
    return int("".join(str(int(c, 36)) for c in moved)) % 97 == 1


def iban_length(country: str) -> int:
    """Return the length of a country's IBAN, 0 when it has none."""
    return int(_IBAN_LENGTH.get(country, 0))


def international_phone(digits: str, separated: bool) -> bool:
    """Return whether the digits after ``+`` begin with a country code and are as many as a number has."""
    if not (9 if separated else 10) <= len(digits) <= 15 or len(set(digits)) < 3:
        return False
    return any(digits[:n] in _COUNTRY_CODES for n in (1, 2, 3))


def us_ssn(text: str) -> bool:
    """Return whether ``AAA-GG-SSSS`` is an issuable number."""
    area, group, serial = text.split("-")
    return area not in {"000", "666"} and area[0] != "9" and group != "00" and serial != "0000"


def looks_random(text: str) -> bool:
    """Return whether a value known by a weak context only looks like generated material."""
    if len(text) < 12:
        return False
    upper = lower = digit = 0
    for c in text[:128]:
        if c.isdigit():
            digit += 1
        elif c.islower():
            lower += 1
        elif c.isupper():
            upper += 1
    if len(set(text[:64])) < 8:
        return False
    return bool(digit) if len(text) < 20 else bool(digit) or (upper > 3 and lower > 3 and not set("_.") & set(text))


@cache
def _dummy() -> re.Pattern[str]:
    return re.compile(
        r"(?i)^(?:\$\{.*|(?-i:\$[A-Z_][A-Z0-9_]*|\$[a-z_]+)|\$\(.*|<.*>?|\{\{?.*\}?\}?|%\w+%?|%\(.*|\[.*\]?|[*x•.#_\-…?]{3,}|.*\*{4,}.*|"
        r"(?:your|my|some|the|an?|insert|enter|replace|change|example|dummy|fake|sample|placeholder|redacted|todo)"
        r"[_\-. ]?(?:[a-z_\-. ]*)|.*your[_\-.].*|none|null|nil|true|false|undefined|string|str|bytes|bool|int|integer|"
        r"optional.*|required|password|passwd|passphrase|pass|pwd|secret|token|api[_\-]?key|key|user(?:name)?|"
        r"os\.(?:environ|getenv).*|process\.env.*|env\[.*|getenv.*|import\.meta.*|secrets?\.[a-z_.]+|vault:.*|"
        r"self\..*|this\..*|config\..*|settings\..*|args\..*|request\..*|\w+\(.*)$",
        re.ASCII,
    )


def is_dummy(text: str) -> bool:
    """Return whether a value is a reference or a stand-in (``${TOKEN}``, ``<YOUR_KEY>``, ``os.environ[…]``)."""
    return _dummy().match(text) is not None


@cache
def _reference() -> re.Pattern[str]:
    return re.compile(
        r"^(?:\$\{.*|\$\(.*|\$[A-Z_][A-Z0-9_]*|(?:<[^<>]*>[:@]?)+|\{\{.*\}\}|%\w+%|%\(\w+\)s|[*x•.…]{3,}|.*\*{4,}.*|"
        r"(?i:.*(?<![a-z])your[_\-.].*|os\.(?:environ|getenv).*|process\.env\..*))$",
        re.ASCII,
    )


def is_reference(text: str) -> bool:
    """Return whether a value only names where the secret comes from, or is a mask; stricter than ``is_dummy``."""
    return text.lower() in {"none", "null", "true", "false"} or _reference().match(text) is not None

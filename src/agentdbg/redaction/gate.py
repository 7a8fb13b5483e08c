"""The gate: every byte that a run writes passes through it."""

from __future__ import annotations

import os
import threading
import weakref
from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, TypeVar

from agentdbg.redaction import body as bodies
from agentdbg.redaction import jsontext, names
from agentdbg.redaction.context import FIELD, cookie_values, credentials_of, is_placeholder, quoted_secret, schemed
from agentdbg.redaction.dull import SMALL_NUMBER, is_dull
from agentdbg.redaction.engine import scan
from agentdbg.redaction.keys import RedactionKey, load_key
from agentdbg.redaction.known_clean import found_by_rules
from agentdbg.redaction.memory import SHORTEST, Memory, occurrences
from agentdbg.redaction.numbers import kind_of_digits
from agentdbg.redaction.placeholder import OPEN, digest12, make, pattern, unescape
from agentdbg.redaction.rules import RULES_VERSION, Rule
from agentdbg.redaction.span import Span, merge
from agentdbg.redaction.surrogate import surrogate
from agentdbg.redaction.walk import Visitor, walk

if TYPE_CHECKING:
    from agentdbg.redaction.stream import StreamRedactor

T = TypeVar("T")

UNSCANNED = "unscanned"
_CACHE_ENTRIES = 8192
_CACHE_CHARS = 16_000_000
_ROUNDS = 4
_NEUTRAL = frozenset(["", *" \t\r\n\"'`,;)]}<>，。；、"])
_gates: weakref.WeakSet[Gate] = weakref.WeakSet()


class Gate:
    """Redacts one run. Thread-safe and re-entrant; never raises; what it cannot scan it does not let through."""

    def __init__(
        self,
        key: RedactionKey | None = None,
        *,
        enabled: bool = True,
        extra_rules: Iterable[Rule] = (),
        seconds: float = 2.0,
    ) -> None:
        """Make a gate.

        Args:
            key: Behind the digests; ``load_key()`` when None.
            enabled: False lets everything through unchanged.
            extra_rules: Rules of the user, after the built-in ones.
            seconds: Processor time for one value before it is withheld as *unscanned*.
        """
        self.key = key if key is not None else load_key()
        self.enabled = enabled
        self._rules = tuple(extra_rules)
        self._seconds = seconds
        self._lock = threading.RLock()
        self._memory = Memory()
        self._cache: dict[str, tuple[str | None, int, int]] = {}
        self._cached_chars = 0
        self._issued: set[str] = set()
        self._surrogates: dict[int, str] = {}
        self._of_int: dict[int, int] = {}
        self._count = 0
        self._clean: dict[str, int] = {}
        self._visitor = Visitor(self._string, self._integer, self._floating, self.body)
        _gates.add(self)

    @property
    def count(self) -> int:
        """How many places were redacted so far."""
        return self._count

    def version(self) -> dict[str, str]:
        """Return what ``run.json`` says about redaction."""
        return {"version": RULES_VERSION, "kid": self.key.kid}

    def issued(self, placeholder: str) -> bool:
        """Return whether this run made or adopted the placeholder (a user may have typed a forged one)."""
        return placeholder in self._issued

    def surrogates(self) -> list[tuple[int, str]]:
        """Return the integers that stand for redacted ones, each with its placeholder."""
        with self._lock:
            return list(self._surrogates.items())

    def text(self, s: str) -> str:
        """Redact a text; the same object when nothing was found."""
        if not self.enabled or len(s) < SHORTEST:
            return s
        try:
            return self._text(s)
        except Exception:
            return self.withheld(s)

    def value(self, v: T) -> T:
        """Redact a value of any shape: dict keys too, types kept; the same object when nothing was found."""
        if not self.enabled:
            return v
        try:
            return walk(v, self._visitor)  # type: ignore[return-value]
        except Exception:
            return self.withheld("")  # type: ignore[return-value]

    def is_clean(self, digest: str) -> bool:
        """Return whether a value with that hash was looked at, nothing was found, and nothing was learned since."""
        return self._clean.get(digest) == self.learned

    def keep_clean(self, digest: str, learned: int) -> None:
        """Note that nothing was found in a value with that hash; ``learned`` as it was before."""
        with self._lock:
            if len(self._clean) >= _CACHE_ENTRIES:
                self._clean.clear()
            self._clean[digest] = learned

    def is_dull(self, data: bytes, tree: object) -> bool:
        """Return whether plain JSON certainly holds nothing to redact; False says nothing."""
        return not self._rules and is_dull(data, tree, self._memory.order)

    @property
    def learned(self) -> int:
        """Grows with everything that can change what is found in a value."""
        return len(self._memory.order) + len(self._of_int) + len(self._surrogates)

    def body(self, raw: bytes) -> bytes:
        """Redact the body of a request or response; the same object when nothing was found."""
        if not self.enabled or not raw:
            return raw
        try:
            return bodies.redact(self, raw)
        except Exception:
            return self.withheld(raw.decode("latin-1")).encode()

    def headers(self, pairs: list[tuple[str, str]]) -> list[tuple[str, str]]:
        """Redact headers: credentials and cookies whole, the others as texts."""
        return [(name, self._string(content, name)) for name, content in pairs] if self.enabled else list(pairs)

    def stream(self) -> StreamRedactor:
        """Return a redactor for text that arrives in pieces."""
        from agentdbg.redaction.stream import StreamRedactor

        return StreamRedactor(self)

    def adopt(self, served: object) -> None:
        """Take over the placeholders in a served text, body or value: they are known to this run from now on."""
        if isinstance(served, (bytes, bytearray)):
            served = served.decode("utf-8", "replace")

        def note(text: str, _name: str = "") -> str:
            if OPEN in text:
                with self._lock:
                    self._issued.update(m.group() for m in pattern().finditer(text))
            return text

        def note_bytes(raw: bytes) -> bytes:
            note(raw.decode("utf-8", "replace"))
            return raw

        walk(served, Visitor(note, lambda n, _: n, lambda n, _: n, note_bytes))

    def adopt_int(self, number: int, placeholder: str) -> None:
        """Take over a served surrogate: the integer stays; formatted into text it becomes the placeholder."""
        match = pattern().fullmatch(placeholder)
        if match is None:
            return
        with self._lock:
            self._issued.add(placeholder)
            self._surrogates[number] = placeholder
            self._of_int[number] = number
            self._memory.adopt(str(abs(number)), match.group(1), placeholder)

    def find(self, text: str) -> list[Span]:
        """Return what must go, without remembering it: sorted, not overlapping, placeholders left out."""
        masked = _masked(text)
        spans = self._find(masked)
        return self._grown(text, masked, spans) if spans else spans

    def _grown(self, text: str, masked: str, spans: list[Span]) -> list[Span]:
        """Look again beside what was found: its neighbours may have a boundary now."""
        for _ in range(_ROUNDS):
            if all(text[s.end : s.end + 1] in _NEUTRAL and text[s.start - 1 : s.start] in _NEUTRAL for s in spans):
                break
            parts: list[str] = []
            last = 0
            for s in spans:
                parts += (masked[last : s.start], "⟦" * (s.end - s.start))
                last = s.end
            masked = "".join((*parts, masked[last:]))
            more = self._find(masked)
            if not more:
                break
            spans = merge(spans + more, text)
        return [s if "⟦" not in s.value else s._replace(value=text[s.start : s.end]) for s in spans]

    def _find(self, masked: str) -> list[Span]:
        spans = scan(masked, self._rules, self._seconds) if self._rules else found_by_rules(masked, self._seconds)
        return merge(self._memory.find(masked) + spans, masked) if self._memory.order else spans

    def commit(self, span: Span, *, bare: bool = False) -> str:
        """Return what stands in a span's place from now on. ``bare``: the span is a JSON number."""
        with self._lock:
            self._count += 1
            if bare:
                return str(self._surrogate_of(int(span.value), span.kind))
            return self._placeholder(span.kind, span.value)

    def bare(self, text: str, span: Span, json_text: bool, inside: bool = False) -> bool:
        """Return whether a span is a number of a JSON text, so that digits must stand there."""
        value = span.value
        if not json_text or not value.isdigit() or value[0] == "0" or span.end - span.start != len(value):
            return False
        return jsontext.is_bare(text, span.start, span.end, inside)

    def _text(self, s: str) -> str:
        hit = self._cache.get(s)
        generation = len(self._memory.order)
        if hit is not None:
            result, seen, places = hit
            if seen == generation or not any(occurrences(k, s) for k in self._memory.since(seen)):
                if seen != generation:
                    self._cache[s] = (result, generation, places)
                self._count += places
                return s if result is None else result
        before = self._count
        result = self._redacted(s)
        self._keep(s, result, self._count - before)
        return result

    def _redacted(self, s: str) -> str:
        s = unescape(s)
        spans = self.find(s)
        if not spans:
            return s
        for _ in range(_ROUNDS):
            generation = len(self._memory.order)
            for span in spans:
                self._learn(span.kind, span.value)
            again = [place for known in self._memory.since(generation) for place in occurrences(known, s)]
            again = [a for a in again if "⟦" not in s[a.start : a.end]]
            wider = merge(spans + again, s) if again else spans
            if wider == spans:
                break
            spans = self._grown(s, _masked(s), wider)
        json_text = jsontext.is_json(s)
        parts: list[str] = []
        last = 0
        for span in spans:
            parts += (s[last : span.start], self.commit(span, bare=self.bare(s, span, json_text)))
            last = span.end
        return "".join((*parts, s[last:]))

    def _keep(self, s: str, result: str, places: int) -> None:
        with self._lock:
            if len(self._cache) >= _CACHE_ENTRIES or self._cached_chars > _CACHE_CHARS:
                keep = list(self._cache.items())[len(self._cache) // 2 :] if self._cached_chars <= _CACHE_CHARS else []
                self._cache = dict(keep)
                self._cached_chars = sum(len(text) for text, _ in keep)
            self._cache[s] = (None if result is s else result, len(self._memory.order), places)
            self._cached_chars += len(s)

    def _learn(self, kind: str, value: str) -> None:
        with self._lock:
            self._memory.learn(kind, value)
            if kind == FIELD and (pair := credentials_of(value)) is not None:
                self._memory.learn(FIELD, pair.partition(":")[2])

    def _placeholder(self, kind: str, value: str) -> str:
        known = self._memory.get(value)
        if known is not None and known.placeholder:
            return known.placeholder
        if known is None:
            self._learn(kind, value)
        else:
            kind, value = known.kind, known.value
        made = make(kind, len(value), digest12(self.key, kind, value))
        self._issued.add(made)
        return made

    def withheld(self, s: str) -> str:
        """Return what stands for a text that could not be scanned."""
        self._count += 1
        return make(UNSCANNED, len(s), digest12(self.key, UNSCANNED, s))

    def _string(self, s: str, name: str) -> str:
        strength = names.strength(name) if name else 0
        if not strength or not self.enabled:
            hit = self._cache.get(s)
            if hit is not None and hit[0] is None and hit[1] == len(self._memory.order):
                return s
            return self.text(s)
        try:
            return self._cookies(s) if name.lower() in {"cookie", "set-cookie"} else self._field(s, strength)
        except Exception:
            return self.withheld(s)

    def _field(self, s: str, strength: int) -> str:
        """Redact a string under a telling name: whole, but the scheme of an authorization value stays."""
        scheme, credential = schemed(s)
        redacted = is_placeholder(credential) or self._is_redacted(credential)
        if redacted or not quoted_secret(credential, strength, field=True):
            return self.text(s)
        spans = self.find(credential)
        whole = len(spans) == 1 and spans[0].start == 0 and spans[0].end == len(credential)
        return scheme + self.commit(spans[0] if whole else Span(0, len(credential), FIELD, credential))

    def _is_redacted(self, credential: str) -> bool:
        """Whether a value was redacted before, by this run or the one whose record it comes from."""
        return OPEN in credential and any(m.group() in self._issued for m in pattern().finditer(credential))

    def _cookies(self, content: str) -> str:
        parts: list[str] = []
        last = 0
        for start, end in cookie_values(content):
            if not is_placeholder(content[start:end]):
                parts += (content[last:start], self.commit(Span(start, end, FIELD, content[start:end])))
                last = end
        return "".join((*parts, content[last:])) if parts else self._field(content, names.STRONG)

    def _integer(self, n: int, name: str) -> int:
        if -SMALL_NUMBER <= n <= SMALL_NUMBER or n in self._surrogates:
            return n
        done = self._of_int.get(n)
        if done is not None:
            self._count += 1
            return done
        digits = str(abs(n))
        known = self._memory.get(digits) if self._memory.order else None
        kind = known.kind if known is not None else self._kind_of(digits, name)
        if kind is None:
            return n
        with self._lock:
            self._count += 1
            return self._surrogate_of(n, kind)

    def _kind_of(self, digits: str, name: str) -> str | None:
        if not 11 <= len(digits) <= 19 or (name and names.counts(name)):
            return None
        return kind_of_digits(digits)

    def _surrogate_of(self, n: int, kind: str) -> int:
        if n in self._surrogates:
            return n
        placeholder = self._placeholder(kind, str(abs(n)))
        stand_in = surrogate(self.key, kind, n)
        self._of_int[n] = stand_in
        self._surrogates[stand_in] = placeholder
        return stand_in

    def _floating(self, x: float, name: str) -> float:
        if not SMALL_NUMBER < abs(x) < 1e16 or not x.is_integer():
            return x
        number = int(x)
        seen = self._integer(number, name)
        return x if seen == number else float(seen)


def _masked(text: str) -> str:
    """Return the text with its placeholders blotted out, at the same length."""
    return pattern().sub(lambda m: "⟦" * len(m.group()), text) if OPEN in text else text


def _fresh_locks() -> None:
    """A forked child must not wait for a lock that a thread of its parent held."""
    for gate in list(_gates):
        gate._lock = threading.RLock()


_register: Callable[..., None] | None = getattr(os, "register_at_fork", None)
if _register is not None:
    _register(after_in_child=_fresh_locks)

"""The headers of a run's requests: written down once, then only what differs from then."""

from __future__ import annotations

Headers = list[list[str]]
_KINDS_KEPT = 64


class RequestHeaders:
    """Knows the headers that a run has written in full, by their names in order."""

    def __init__(self) -> None:
        self._full: dict[tuple[str, ...], tuple[str, Headers]] = {}

    def attrs(self, headers: Headers) -> dict[str, object]:
        """The attributes of a step that sends these headers: all of them, or those that differ and where the rest is.

        Either way ``written`` must be told afterwards.
        """
        known = self._full.get(_names(headers))
        if known is None:
            return {"request_headers": headers}
        differing = [new for new, old in zip(headers, known[1], strict=True) if new != old]
        return {"request_headers": differing, "request_headers_like": known[0]}

    def written(self, step: str, headers: Headers) -> None:
        """That step with these headers is on disk."""
        names = _names(headers)
        if len(self._full) < _KINDS_KEPT and len(set(names)) == len(names):
            self._full.setdefault(names, (step, headers))


def _names(headers: Headers) -> tuple[str, ...]:
    return tuple(pair[0] for pair in headers)

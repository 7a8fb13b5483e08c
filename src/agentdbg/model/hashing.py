"""Hashes of bodies and of chained inputs."""

from __future__ import annotations

import hashlib


def sha256_hex(data: bytes) -> str:
    """Lower-case hex SHA-256 of ``data``."""
    return hashlib.sha256(data).hexdigest()


def chain(previous: str, kind: str, segment_hash: str) -> str:
    """Hash of an input prefix extended by one segment; ``previous`` is empty for the first."""
    return hashlib.sha256(f"{previous}{kind}\0{segment_hash}".encode("utf-8", "surrogatepass")).hexdigest()

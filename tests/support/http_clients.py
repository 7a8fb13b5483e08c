"""HTTP clients that are no dependency of the project, in environments of their own: the newest, and an old pin each.

Tests that need one are *wide*, but for a first one each, which runs where the environment has been built already.
"""

from __future__ import annotations

import pytest

from tests.support.environments import IndexUnreachable, NoInterpreter, cached, environment

NEWEST = ("aiohttp", "boto3", "requests")
OLD = ("aiohttp==3.9.5", "boto3==1.34.0", "requests==2.28.2")
OLD_ON_313 = ("aiohttp==3.10.11", "boto3==1.34.0", "requests==2.28.2")  # older ones have no wheels there
VERSIONS = [
    pytest.param((NEWEST, "3.11"), id="newest-3.11"),
    pytest.param((OLD, "3.11"), id="old-3.11"),
    pytest.param((NEWEST, "3.13"), id="newest-3.13"),
    pytest.param((OLD_ON_313, "3.13"), id="old-3.13"),
]


def python_with(version: tuple[tuple[str, ...], str]) -> str:
    """The Python of one of `VERSIONS`; built when it is not there."""
    requirements, python = version
    try:
        return str(environment(*requirements, python=python))
    except (IndexUnreachable, NoInterpreter) as problem:
        pytest.skip(str(problem))


def python_at_hand() -> str:
    """The Python with the newest versions, if it has been built."""
    if not cached(*NEWEST):
        pytest.skip("the environment with aiohttp, boto3 and requests is not built yet: pytest -m wide builds it")
    return str(environment(*NEWEST))

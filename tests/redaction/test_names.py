"""Names of secret fields, and names that only look like it."""

from __future__ import annotations

import pytest

from agentdbg.redaction import names

SECRET = """
password passwd Password dbPassword DB_PASSWORD PGPASSWORD secret client_secret clientSecret api_key
apikey apiKey API_KEY OPENAI_API_KEY x-api-key X-Api-Key authorization Proxy-Authorization access_token
accessToken refreshToken private_key cookie set-cookie Set-Cookie AccountKey aws_secret_access_key
SecretAccessKey 数据库密码
"""
HARMLESS = """
max_tokens input_tokens token_count tokens next_page_token nextPageToken secret_santa idempotency_key key
public_key tool_call_id author authority monkey keyboard passenger compass bypass_cache password_policy
secretary session_id input_hash cache_key primaryKey token_type
"""


@pytest.mark.parametrize(
    "name",
    SECRET.split(),
)
def test_names_that_hold_secrets(name: str) -> None:
    assert names.strength(name) == names.STRONG


@pytest.mark.parametrize("name", ["token", "bot_token", "STRIPE_KEY", "auth"])
def test_names_that_may_hold_secrets(name: str) -> None:
    assert names.strength(name) == names.WEAK


@pytest.mark.parametrize(
    "name",
    HARMLESS.split(),
)
def test_names_that_hold_none(name: str) -> None:
    assert names.strength(name) == 0


@pytest.mark.parametrize("name", ["size", "fileSize", "start_ns", "created_at", "token_count", "duration-ms", "mono"])
def test_names_of_quantities(name: str) -> None:
    assert names.counts(name)


@pytest.mark.parametrize("name", ["phone", "mobile", "id", "to", "items", "amounts_to"])
def test_names_of_other_numbers(name: str) -> None:
    assert not names.counts(name)

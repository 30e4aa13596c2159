"""Addresses with credentials are distinguished from all others."""

import time

import pytest

from projects.rules.addresses import holds_credential

NAMES = (
    *("token", "api_key", "apikey", "API-KEY", "access_token", "auth", "password", "pwd", "client.secret", "bot_token"),
    *("tavilyApiKey", "client_secret", "x-api-key", "refresh_token", "api%5Fkey", "userPassword", "tavilyapikey"),
    *("sig", "signature", "X-Amz-Signature", "jwt", "pass", "bearer", "credential", "access_token[]", "private_key"),
)
HARMLESS = ("sort_key=name", "group-key=5", "primaryKey=id", "page_token=2", "max_token=500", "passage=1", "design=x")
KEYS = ("AIzaSyD-9tSrke72PouQMnMX-a7eZSW0jkFMBWY", "0123456789abcdef" * 2, "d3b07384-d9a0-4e9b-8f3c-1234567890ab")
WORDS = ("x", "weather", "2024", "2024-annual-report-summary", "the-name-of-a-rather-long-sheet-2")


@pytest.mark.parametrize(
    ("text", "holds"),
    [
        *((f"https://host.example/path?a=b&{name}=x", True) for name in NAMES),
        *((f"https://host.example/?{name}={key}", True) for name in ("key", "Key", "monkey") for key in KEYS),
        *((f"https://host.example/?{name}={word}", False) for name in ("key", "monkey") for word in WORDS),
        (f"https://host.example/?sheet={KEYS[1]}", False),
        ("https://host.example/?password=12345678", True),
        *((f"https://host.example/?{each}", False) for each in HARMLESS),
        ("https://user:password@host.example", True),
        (" HTTPS://token@host.example/", True),
        ("http://:pw@[::1]:8080/", True),
        ("https://host.example/#access_token=x", True),
        ("https://host.example/@user?q=a@b", False),
        ("https://host.example/?q=", False),
        ("https://host.example/?key=", False),
        ("https://host.example/?monkey=1&tokens=2", False),
        ("write to me@host.example, key=1", False),
        ("see https://user:password@host.example", False),
        ("", False),
    ],
)
def test_a_credential_in_an_address(text: str, holds: bool) -> None:
    assert holds_credential(text) is holds


@pytest.mark.parametrize(
    "text", ["https://h/?key=a1" + "a" * 16_000, "https://h/?" + "key" * 5_000, "https://h/?" + "&a=b" * 4_000]
)
def test_the_longest_settings_are_looked_at_at_once(text: str) -> None:
    began = time.process_time()
    assert not holds_credential(text)
    assert time.process_time() - began < 1

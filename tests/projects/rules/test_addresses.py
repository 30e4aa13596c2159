"""Addresses with credentials are told from all others."""

import pytest

from projects.rules.addresses import holds_credential

KEYS = ("key", "token", "api_key", "apikey", "API-KEY", "access_token", "auth", "password", "pwd", "client.secret")


@pytest.mark.parametrize(
    ("text", "holds"),
    [
        *((f"https://host.example/path?a=b&{name}=x", name != "client.secret") for name in KEYS),
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

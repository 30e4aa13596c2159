"""Which address counts as the client's, with and without proxies in front of the service."""

import pytest
from django.test import RequestFactory
from pytest_django import Settings

from accounts.http import client_address


@pytest.mark.parametrize(
    ("proxies", "peer", "forwarded", "address"),
    [
        (0, "192.0.2.1", None, "192.0.2.1"),
        (0, "192.0.2.1", "198.51.100.7", "192.0.2.1"),
        (0, "::ffff:192.0.2.1", None, "192.0.2.1"),
        (0, "2001:DB8:0::1", None, "2001:db8::1"),
        (0, "fe80::1%eth0", None, "fe80::1"),
        (0, "", None, None),
        (0, "unix:", None, None),
        (1, "10.0.0.1", "198.51.100.7", "198.51.100.7"),
        (1, "10.0.0.1", "203.0.113.9, 198.51.100.7", "198.51.100.7"),
        (1, "10.0.0.1", None, "10.0.0.1"),
        (1, "10.0.0.1", "", "10.0.0.1"),
        (1, "10.0.0.1", "garbage", "10.0.0.1"),
        (1, "10.0.0.1", "198.51.100.7:4711", "198.51.100.7"),
        (1, "10.0.0.1", "[2001:db8::7]:4711", "2001:db8::7"),
        (1, "", "198.51.100.7", "198.51.100.7"),
        (2, "10.0.0.1", "203.0.113.9, 198.51.100.7, 10.0.0.2", "198.51.100.7"),
        (2, "10.0.0.1", "203.0.113.9", "10.0.0.1"),
    ],
)
def test_the_address_that_cannot_be_forged_counts(
    settings: Settings, proxies: int, peer: str, forwarded: str | None, address: str | None
) -> None:
    settings.BERTH_TRUSTED_PROXIES = proxies
    headers = {} if forwarded is None else {"X-Forwarded-For": forwarded}

    assert client_address(RequestFactory().get("/", REMOTE_ADDR=peer, headers=headers)) == address

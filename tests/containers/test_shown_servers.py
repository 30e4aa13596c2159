"""The part of an address that is shown is the server that is called, and contains no credential."""

import socket
from typing import Any

import pytest

from containers import public_http
from containers.public_http import AddressRefusedError, NoAnswerError, check_address

pytestmark = pytest.mark.one_database

PLACES = (
    "{}hooks.example/token",
    "hooks.{}.example/token",
    "hooks.example{}token",
    "hooks.example{}[token",
    "hooks.example:{}/token",
    "hooks.example:8443{}token",
    "hooks.example/{}token",
    "hooks.example?{}token",
)
SIGNS = [*map(chr, range(256)), "\u2028", "\uff3c", "\U000e0001"]


def test_the_displayed_server_is_the_one_that_is_asked(monkeypatch: pytest.MonkeyPatch) -> None:
    """With every character at every place of an address."""
    asked: list[str] = []

    def look_up(host: str, port: int, **_: Any) -> list[Any]:
        asked.append(f"https://{host}" + ("" if port == 443 else f":{port}"))
        return [(socket.AF_INET, socket.SOCK_STREAM, 6, "", ("8.8.8.8", port))]

    monkeypatch.setattr(socket, "getaddrinfo", look_up)
    monkeypatch.setattr(public_http, "_is_ours", lambda *_: False)
    passed = set()
    for place in PLACES:
        for sign in SIGNS:
            try:
                shown = check_address("https://" + place.format(sign), within=20.0)
            except (AddressRefusedError, NoAnswerError):
                continue
            assert shown == asked[-1], (place, sign)
            assert not set(shown.removeprefix("https://")) & set("/?#@\\ "), (place, sign)
            passed.add(sign)
    assert {"a", "-", "~"} <= passed
    assert not any(sign in passed for sign in SIGNS if not sign.isascii() or not sign.isprintable() or sign in " \\")


def test_an_address_of_numbers_and_a_port_are_shown(monkeypatch: pytest.MonkeyPatch, settings: Any) -> None:
    settings.BERTH_WEBHOOK_ALLOW = [("127.0.0.1/32", None), ("::1/128", None)]
    for url, server in (
        ("http://127.0.0.1:80/x", "http://127.0.0.1"),
        ("HTTPS://[::1]:8443/x?y", "https://[::1]:8443"),
        ("https://127.0.0.1:80#x", "https://127.0.0.1:80"),
    ):
        assert check_address(url, within=20.0) == server

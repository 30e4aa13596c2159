"""A POST to a user-supplied address goes to the public internet, to nobody else, and once."""

import random
import socket
from collections.abc import Iterator
from ipaddress import IPv4Address, IPv4Network, IPv6Address, ip_address, ip_network
from pathlib import Path
from typing import Any

import pytest

from containers import public_http
from containers.firewall.blocked_networks import PRIVATE_NETWORKS, PUBLIC_NETWORKS
from containers.public_http import AddressRefusedError, NoAnswerError, check_address, is_public, post
from tests.certificates import make_authority
from tests.fakes.hostile_answers import HEAD
from tests.fakes.hostile_server import HostileServer
from tests.sockets import _getaddrinfo

pytestmark = pytest.mark.one_database

WITHIN, SOON = 20.0, 0.3
LOOPBACK = [("127.0.0.1/32", None)]
_random = random.Random(13)


def _examples(network: str) -> Iterator[IPv4Address | IPv6Address]:
    found = ip_network(network)
    first, last = int(found.network_address), int(found.broadcast_address)
    for number in {first, last, _random.randint(first, last)}:
        yield found.network_address + (number - first)


def _embedded(address: IPv4Address) -> Iterator[IPv6Address]:
    """Returns the IPv6 addresses through which this IPv4 address could be reached."""
    number = int(address)
    for prefix in ("::", "::ffff:0:0", "::ffff:0:0:0", "64:ff9b::", "64:ff9b:1::"):
        yield IPv6Address(int(IPv6Address(prefix)) + number)
    yield IPv6Address((0x2002 << 112) + (number << 80))  # 6to4
    yield IPv6Address((0x20010000 << 96) + (number ^ 0xFFFFFFFF))  # Teredo


PUBLIC = [ip_network(network) for networks in PUBLIC_NETWORKS.values() for network in networks]
REFUSED = [
    address
    for networks in PRIVATE_NETWORKS.values()
    for network in networks
    for address in _examples(network)
    if not any(address in each for each in PUBLIC if each.version == address.version)
]


def test_addresses_outside_the_internet_are_refused_in_every_disguise() -> None:
    disguised = [other for address in REFUSED if isinstance(address, IPv4Address) for other in _embedded(address)]
    assert len(disguised) > 200
    assert [str(address) for address in (*REFUSED, *disguised) if is_public(str(address))] == []


def test_addresses_that_python_calls_not_global_are_refused_too() -> None:
    """It is another list by other people. Multicast and metadata are refused even if it calls them global."""
    drawn = [IPv4Address(_random.getrandbits(32)) for _ in range(2000)]
    near = [IPv4Network(f"{address}/8", strict=False).network_address + 1 for address in drawn[:300]]
    for address in (*drawn, *near, *(IPv6Address(_random.getrandbits(128)) for _ in range(2000))):
        is_global = ip_address(str(address)).is_global
        assert is_global or not is_public(str(address)), address
    assert is_public("8.8.8.8")
    assert is_public("2606:4700:4700::1111")
    assert not any(is_public(address) for address in ("224.0.0.1", "ff0e::1", "168.63.129.16", "fe80::1%eth0"))


@pytest.mark.parametrize(
    "host",
    [
        *("127.0.0.1", "2130706433", "0x7f000001", "017700000001", "127.1", "0", "localhost", "①②⑦.0.0.1"),
        *("169.254.169.254", "0xa9fea9fe", "10.0.0.1", "[::1]", "[::ffff:127.0.0.1]", "[64:ff9b::a9fe:a9fe]"),
        *("[fd00:ec2::254]", "[fe80::1%25lo]"),
    ],
)
def test_every_notation_of_an_address_is_recognised(host: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(socket, "getaddrinfo", _getaddrinfo)  # these are not names that could be looked up
    with pytest.raises((AddressRefusedError, NoAnswerError)):
        check_address(f"https://{host}/", within=WITHIN)
    with pytest.raises((AddressRefusedError, NoAnswerError)):
        post(f"https://{host}:1/", b"", {}, within=WITHIN)


@pytest.mark.parametrize(
    ("url", "words"),
    [
        ("ftp://example.invalid/", "https://"),
        ("https:///", "https://"),
        ("example.invalid", "https://"),
        ("https://alice:secret@localhost/", "no user name"),
        ("https://localhost/ GET", "no spaces"),
        ("https://localhost/\r\nX: y", "no spaces"),
        ("https://localhost/" + "a" * 2000, "at most"),
        ("https://[::1/", "not an address"),
    ],
)
def test_an_invalid_address_is_refused_with_a_sentence(url: str, words: str) -> None:
    with pytest.raises(AddressRefusedError, match=words):
        check_address(url, within=WITHIN)


def test_without_tls_only_hosts_named_by_the_operator_are_contacted(monkeypatch: pytest.MonkeyPatch) -> None:
    _lead(monkeypatch, ["8.8.8.8"])
    monkeypatch.setattr(public_http, "_is_ours", lambda *_: False)
    with pytest.raises(AddressRefusedError, match="https"):
        check_address("http://hooks.example/", within=WITHIN)
    check_address("https://hooks.example/", within=WITHIN)


def test_a_public_address_of_this_machine_is_refused() -> None:
    for family, prefix in ((socket.AF_INET, ""), (socket.AF_INET6, "64:ff9b::")):
        assert [public_http._is_ours(family, prefix + each) for each in ("127.0.0.1", "10.9.9.9")] == [True, False]


def test_one_private_address_among_several_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(public_http, "_is_ours", lambda *_: False)
    _lead(monkeypatch, ["8.8.8.8", "127.0.0.1"])
    with pytest.raises(AddressRefusedError, match="private network"):
        check_address("https://hooks.example/", within=WITHIN)


def test_a_name_that_leads_elsewhere_a_moment_later_is_not_followed(
    monkeypatch: pytest.MonkeyPatch, settings: Any
) -> None:
    """The second answer would be refused; it is never requested."""
    with HostileServer() as server:
        port = int(server.url.rsplit(":", 1)[1])
        settings.BERTH_WEBHOOK_ALLOW = [("127.0.0.1/32", port)]
        asked = _lead(monkeypatch, ["127.0.0.1"], ["127.0.0.2"])
        assert post(f"http://hooks.example:{port}/x", b"{}", {"X-A": "b"}, within=WITHIN) == 200
        assert server.requests == ["POST /x HTTP/1.1"]
        assert asked == ["hooks.example"]
        with pytest.raises(AddressRefusedError):
            post(f"http://hooks.example:{port}/x", b"{}", {}, within=WITHIN)
        assert len(server.requests) == 1


def test_a_redirect_is_an_answer_and_not_followed(settings: Any) -> None:
    settings.BERTH_WEBHOOK_ALLOW = LOOPBACK
    with HostileServer() as server:
        answer = b"HTTP/1.1 302 Found\r\nLocation: " + server.url.encode() + b"/there\r\nContent-Length: 0\r\n\r\n"
        server.shapes["/here"] = lambda _: iter((answer,))
        url = server.url.replace("localhost", "127.0.0.1")
        assert post(f"{url}/here", b"{}", {}, within=WITHIN) == 302
        assert len(server.requests) == 1


@pytest.mark.parametrize("answer", [HEAD + (b"X: " + b"a" * 8000 + b"\r\n") * 8, b"nonsense\r\n\r\n"])
def test_a_hostile_answer_does_not_count(answer: bytes, settings: Any) -> None:
    settings.BERTH_WEBHOOK_ALLOW = LOOPBACK
    with HostileServer() as server:
        server.shapes["/x"] = lambda _: iter((answer,))
        with pytest.raises(NoAnswerError, match=r"too large|could not be read"):
            post(server.url.replace("localhost", "127.0.0.1") + "/x", b"{}", {}, within=WITHIN)


def test_one_deadline_covers_a_dripping_answer(settings: Any) -> None:
    settings.BERTH_WEBHOOK_ALLOW = LOOPBACK
    with HostileServer() as server:
        server.shapes["/x"] = lambda _: (piece for _ in range(10_000) for piece in (b"H", b""))
        with pytest.raises(NoAnswerError, match=r"in time|could not be read"):
            post(server.url.replace("localhost", "127.0.0.1") + "/x", b"{}", {}, within=SOON)


def test_a_body_without_end_is_not_read(settings: Any) -> None:
    settings.BERTH_WEBHOOK_ALLOW = LOOPBACK
    with HostileServer() as server:
        server.shapes["/x"] = lambda _: iter((HEAD + b"Content-Length: 99999999\r\n\r\n", b"a"))
        assert post(server.url.replace("localhost", "127.0.0.1") + "/x", b"{}", {}, within=WITHIN) == 200


def test_the_certificate_must_be_for_the_name(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, settings: Any) -> None:
    settings.BERTH_WEBHOOK_ALLOW = LOOPBACK
    authority = make_authority(tmp_path)
    monkeypatch.setenv("REQUESTS_CA_BUNDLE", str(authority.certificate))
    with HostileServer(authority.server_context()) as server:
        port = server.url.rsplit(":", 1)[1]
        _lead(monkeypatch, ["127.0.0.1"])
        assert post(f"https://localhost:{port}/x", b"{}", {}, within=WITHIN) == 200
        with pytest.raises(NoAnswerError, match="certificate"):
            post(f"https://hooks.example:{port}/x", b"{}", {}, within=WITHIN)
        monkeypatch.delenv("REQUESTS_CA_BUNDLE")
        with pytest.raises(NoAnswerError, match="certificate"):
            post(f"https://localhost:{port}/x", b"{}", {}, within=WITHIN)


def _lead(monkeypatch: pytest.MonkeyPatch, *answers: list[str]) -> list[str]:
    """Resolves every name to these addresses, one list for each look-up. Returns the names looked up."""
    asked: list[str] = []

    def look_up(host: str, port: int, **_: Any) -> list[Any]:
        asked.append(host)
        now = answers[min(len(asked), len(answers)) - 1]
        return [(socket.AF_INET, socket.SOCK_STREAM, 6, "", (address, port)) for address in now]

    monkeypatch.setattr(socket, "getaddrinfo", look_up)
    return asked
